"""One Crazyflie over cflib: its commands and the newest state that it reported.

The order of commands follows the firmware: its supervisor, and the priorities of its commanders. A streamed
setpoint outranks the drone's own commander and cancels its plan, and it must be repeated within 0.5 s.
"""

from __future__ import annotations

import logging
import math
import threading
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from replan.errors import InputError
from replan.robots.crazyflie.craft import (
    FlightClock,
    FlightLimits,
    PositionPid,
    Restart,
    Sample,
    Setpoint,
    Status,
    Vector,
)
from replan.robots.crazyflie.flight import FlightAborted
from replan.robots.crazyflie.layouts import CELL_SIZE, GRID, START, centres, state_of

if TYPE_CHECKING:
    from replan.robots.crazyflie.cflib_link import CflibLink

log = logging.getLogger(__name__)

STATE = ("stateEstimate.x", "stateEstimate.y", "stateEstimate.z")
SPREAD = ("kalman.varPX", "kalman.varPY", "kalman.varPZ")  # m2
YAW, BATTERY, SUPERVISOR = "stateEstimate.yaw", "pm.vbat", "supervisor.info"
LOG_PERIOD, SPREAD_PERIOD = 50, 200  # ms
CLOCK_WRAP = 2**24 / 1000  # s, after which the clock of reports begins anew
FARTHEST = 32.0  # m; a setpoint is sent in millimetres as 16 bits
CONTROLLER, PID = "stabilizer.controller", 1
PID_GAINS = ("posCtlPid.xKp", "posCtlPid.yKp", "posCtlPid.zKp")
VELOCITY_GAINS = ("velCtlPid.vxKp", "velCtlPid.vyKp")  # degrees of tilt by m/s of error
GRAVITY = 9.81  # m/s2
LAND = 8  # number of the command to the drone's own commander
PLANNED = (0, 1)  # its answers: planned, and already landing


class CflibCraft:
    """The commands of one flight over cflib, and the newest state.

    None of the commands blocks in the air, and none raises on a lost link.
    """

    def __init__(self, uri: str, on_sample: Callable[[Sample], None], clock: FlightClock) -> None:
        try:
            from replan.robots.crazyflie.cflib_link import CflibLink
        except ImportError as error:
            raise InputError(
                f"flights over a link need: pip install -e '.[cflib]' in the checkout ({error})"
            ) from None
        self._link: CflibLink = CflibLink(uri)
        self._clock = clock
        self._on_sample = on_sample
        self._sample: Sample | None = None
        self._origin: Vector = (0.0, 0.0, 0.0)  # drone's frame minus layout frame
        self._yaw = 0.0  # degrees
        self._frame_is_set = False
        self._pid: PositionPid | None = None  # if the position is under PID control
        self._spread: float | None = None
        self._blocks: list[Any] = []
        self.landing_planned: float | None = None  # s, when the drone's own commander acknowledged it
        self.restart: Restart | None = None
        self.was_found_flying = False

    def connect(self, patience: float, watch: Callable[[], None]) -> None:
        """Open the link and start the log. `watch` is called while waiting and may raise."""
        why = self._link.connect(patience, watch)
        if why is not None:
            raise FlightAborted(f"no Crazyflie at {self._link.uri}: {why}")
        from cflib.crtp.crtpstack import CRTPPort

        self._link.add_port_callback(CRTPPort.SETPOINT_HL, self._commander_answered)
        if self._link.parameter(CONTROLLER) == PID:
            x, y, z, vx, vy = (self._link.parameter(name) or 0.0 for name in PID_GAINS + VELOCITY_GAINS)
            if x and y and z and vx and vy:
                lags = (1 / (GRAVITY * math.radians(vx)), 1 / (GRAVITY * math.radians(vy)), 0.0)
                self._pid = PositionPid((x, y, z), lags)
        self._start_log()

    @property
    def link_error(self) -> str | None:
        """The newest error of the link that was not mended by `renew_link`."""
        return self._link.error

    def renew_link(self) -> None:
        """Reopen the link if it reported an error."""
        self._link.renew()

    def renew_reports(self) -> None:
        """Set up the log once more; a drone that still has it answers that it exists."""
        self._link.drop_requests()
        for block in self._blocks:
            block.added = False
            block.start()

    def latest(self) -> Sample:
        """The newest state, in the layout's frame."""
        assert self._sample is not None, "not connected"
        return self._sample

    def next_sample(self, watch: Callable[[], None] = lambda: None, patience: float = 3.0) -> Sample:
        """Return the next state that arrives. `watch` is called while waiting and may raise."""
        before, until = self._sample, self._clock.now() + patience
        while self._sample is before:
            watch()
            if self._clock.now() > until:
                raise FlightAborted("the drone sends no state")
            self._clock.sleep(0.01)
        assert self._sample is not None
        return self._sample

    def check_on_floor(self, limits: FlightLimits) -> None:
        """Refuse to arm a drone that is flying, tumbled, empty or unsure of its place; set the frame."""
        seen = [self.next_sample() for _ in range(10)]
        if (status := seen[-1].status) is not None:
            for bad in (Status.FLYING, Status.TUMBLED, Status.LOCKED, Status.CRASHED):
                if bad in status:
                    self.was_found_flying = bad is Status.FLYING
                    raise FlightAborted(f"not armed: the drone is {_word(bad)}")
        places = np.array([sample.position for sample in seen])
        if not np.isfinite(places).all():
            raise FlightAborted("not armed: the position is not a number")
        if (wander := np.ptp(places, axis=0).max()) > 0.10:
            raise FlightAborted(f"not armed: the position wanders by {wander:.2f} m at rest")
        if np.abs(places).max() > FARTHEST - GRID * CELL_SIZE:
            raise FlightAborted(f"not armed: the position is {np.abs(places).max():.0f} m from the origin")
        if (spread := seen[-1].spread) is not None and spread > limits.spread:
            raise FlightAborted(f"not armed: the drone knows its position only to {spread:.2f} m")
        battery = seen[-1].battery
        if battery is None:
            log.warning("the drone does not report its battery, so the battery floor is not watched")
        elif battery < limits.battery_floor + 0.2:
            raise FlightAborted(f"not armed: battery at {battery:.2f} V")
        start = (*map(float, centres(state_of(START))), 0.0)
        x, y, z = (float(p) - s for p, s in zip(places.mean(axis=0), start, strict=True))
        self._origin, self._frame_is_set = (x, y, z), True
        self.next_sample()

    def arm(self, patience: float = 3.0) -> None:
        """Ask for arming until the drone reports that it can fly; give older firmware half a second."""
        self._link.commander.send_notify_setpoint_stop()  # an earlier client may have left its own in charge
        begun = self._clock.now()
        while True:
            self.send_arming(True)
            self._clock.sleep(0.1)
            status, passed = self.latest().status, self._clock.now() - begun
            if Status.CAN_FLY in status if status is not None else passed > 0.5:
                return
            if passed > patience:
                raise FlightAborted("armed, but the drone says that it cannot fly")

    def send_arming(self, armed: bool) -> None:
        """Ask for arming, or on the floor for disarming."""
        self._link.supervisor.send_arming_request(armed)

    def send_setpoint(self, setpoint: Setpoint) -> None:
        """Follow this setpoint, by position, velocity and acceleration."""
        if self._pid is not None:
            setpoint = setpoint.ahead(self._pid)
        place = [s + o for s, o in zip(setpoint.position, self._origin, strict=True)]
        half = math.radians(self._yaw) / 2
        self._link.commander.send_full_state_setpoint(
            place, setpoint.velocity, setpoint.acceleration, (0, 0, math.sin(half), math.cos(half)), 0, 0, 0
        )

    def send_landing(self, seconds: float) -> None:
        """Let the drone's own commander plan a landing; a streamed setpoint cancels it."""
        self._link.high_level_commander.land(self._origin[2], seconds, yaw=None)  # pyright: ignore[reportArgumentType]

    def send_handover(self) -> None:
        """Hand over to the drone's own commander, which stops the motors if it has no plan."""
        self._link.commander.send_notify_setpoint_stop()

    def close(self) -> None:
        """Close the link."""
        self._link.shut()

    def _start_log(self) -> None:
        from cflib.crazyflie.log import LogConfig

        table = self._link.log.toc
        for name in STATE:
            if table is None or table.get_element_by_complete_name(name) is None:
                raise FlightAborted(f"the drone has no log variable {name}")
        for names, period, receive in (
            ((*STATE, YAW, BATTERY, SUPERVISOR), LOG_PERIOD, self._received),
            (SPREAD, SPREAD_PERIOD, self._spread_received),
        ):
            block = LogConfig(name="replan", period_in_ms=period)
            for name in names:
                if table.get_element_by_complete_name(name) is not None:  # pyright: ignore[reportOptionalMemberAccess]
                    block.add_variable(name, "uint16_t" if name == SUPERVISOR else "float")
            if not block.variables:
                continue
            block.data_received_cb.add_callback(receive)
            started = threading.Event()
            block.started_cb.add_callback(lambda *_, started=started: started.set())
            self._link.log.add_config(block)
            self._blocks.append(block)
            block.start()
            if not started.wait(3.0):
                raise FlightAborted("the drone does not start its log")
        self.next_sample()

    def _spread_received(self, timestamp: int, data: dict[str, float], block) -> None:
        self._spread = math.sqrt(max(0.0, *data.values()))

    def _received(self, timestamp: int, data: dict[str, float], block) -> None:
        x, y, z = (float(data[name]) - o for name, o in zip(STATE, self._origin, strict=True))
        if YAW in data and not self._frame_is_set and math.isfinite(data[YAW]):
            self._yaw = float(data[YAW])
        battery = float(data[BATTERY]) if BATTERY in data else None
        status = Status(int(data[SUPERVISOR])) if SUPERVISOR in data else None
        before = self._sample
        sample = Sample(self._clock.now(), timestamp / 1000, (x, y, z), battery, status, self._spread)
        if before is not None and 1.0 < before.uptime - sample.uptime < CLOCK_WRAP / 2:
            silence = sample.time - sample.uptime - before.time
            self.restart = self.restart or Restart(before.position[2], silence)
        self._sample = sample
        self._on_sample(sample)

    def _commander_answered(self, packet) -> None:
        if len(packet.data) >= 4 and packet.data[0] == LAND and packet.data[3] in PLANNED:
            self.landing_planned = self._clock.now()


def _word(status: Status) -> str:
    return "already flying" if status is Status.FLYING else str(status.name).lower()
