"""A real Crazyflie, or a firmware simulator, over any link of Bitcraze's cflib.

Nothing here knows of our own simulator. cflib is under the GPLv3, so it is imported only when a flight over a
link is asked for. The drone stands on the middle of the start cell before take-off: that fixes the frame.
"""

from __future__ import annotations

import contextlib
import logging
import math
import struct
import sys
import threading
import time
from collections.abc import Sequence

import numpy as np

from replan.errors import InputError
from replan.model.kernel import Array, Indices
from replan.model.slip import MOVES
from replan.worlds.crazyflie.flight import FlightAborted, FlightLog
from replan.worlds.crazyflie.guard import Guard, Limits, Point, Sample
from replan.worlds.crazyflie.layouts import CELL_SIZE, GRID, START, cells_at, centres, state_of
from replan.worlds.crazyflie.wind import Wind

log = logging.getLogger(__name__)

WALL = CELL_SIZE / 2  # m; no setpoint is nearer to the grid's edge
ZERO_LENGTH = 0.01  # m; a shorter move is skipped
WIND_STIFFNESS = 0.44  # N/m: what a steady force moves the drone by, measured in the simulator
STATE = ("stateEstimate.x", "stateEstimate.y", "stateEstimate.z")
YAW, BATTERY = "stateEstimate.yaw", "pm.vbat"
LOG_PERIOD = 50  # ms
NOWHERE: Point = (math.nan, math.nan, math.nan)


class CflibFlight:
    """A `Flight` of one drone."""

    drones = 1

    def __init__(
        self,
        uri: str,
        *,
        height: float = 0.5,
        climb_speed: float = 0.25,
        move_seconds: float = 2.0,
        wind: Wind | None = None,
        limits: Limits | None = None,
        connect_seconds: float = 20.0,
    ) -> None:
        """`wind` is simulated: it shifts the setpoints, unnoticed until the next update, as in the paper."""
        self.uri = uri
        self.limits = limits or Limits()
        self._height = height
        self._climb_speed = climb_speed
        self._move_seconds = move_seconds
        self._wind = wind
        self._connect_seconds = connect_seconds
        self._craft: _Crazyflie | None = None
        self._guard: Guard | None = None
        self._samples: list[tuple[float, int, Point, Point]] = []
        self._began = time.monotonic()
        self._moves = -1
        self._ramp: tuple[Point, Point, float] | None = None  # from, to, since when
        self._knows_place = True
        self._landed = False

    def take_off(self) -> None:
        """Connect, check, arm and climb. Nothing is armed unless the state is sane."""
        self._craft = _Crazyflie(self.uri, self._on_sample)
        self._craft.connect(self._connect_seconds)
        self._craft.check_on_floor(self.limits)
        self._guard = Guard(self._craft, self._craft.latest, self._setpoint, self.limits)
        self._craft.on_lost = self._guard.lost
        self._began = time.monotonic()
        try:
            self._craft.arm()
        finally:
            self._guard.start()  # from here on every way out is a landing
        seconds = self._height / self._climb_speed
        self._craft.climb(self._height, seconds)
        self._wait(seconds)
        patience = time.monotonic() + 3.0
        while self._position()[2] < 0.6 * self._height:
            if time.monotonic() > patience:
                raise FlightAborted(f"no take-off: still at {self._position()[2]:.2f} m")
            self._wait(0.1)
        x, y = map(float, centres(state_of(START)))
        here = (x, y, self._height)
        self._ramp = (here, here, time.monotonic())
        self._wait(self._move_seconds)

    def localise(self, which: Sequence[int]) -> Array:
        """(1, 2) where the drone's estimator says it is; the next setpoint is made from there."""
        self._check()
        assert self._craft is not None, "take off first"
        self._knows_place = True
        seen = self._craft.next_sample().position[:2]
        return np.array([seen for _ in which])

    def move(self, actions: Indices) -> None:
        """Stream setpoints to the next cell; a move of no length is skipped, the drone goes on hovering."""
        self._check()
        self._moves += 1
        told = self._setpoint()
        assert told is not None, "take off first"
        base = centres(cells_at(self._position()[:2])) if self._knows_place else np.array(told[:2])
        target = base + MOVES[int(actions[0])][::-1] * CELL_SIZE
        if self._wind is not None:
            target = target + self._wind.force[self._moves].mean(axis=0) / WIND_STIFFNESS
        x, y = np.clip(target, WALL, GRID * CELL_SIZE - WALL)
        self._knows_place = False
        if math.dist(told[:2], (x, y)) < ZERO_LENGTH:
            return
        self._ramp = (told, (float(x), float(y), self._height), time.monotonic())
        self._wait(self._move_seconds)

    def land(self) -> None:
        """Down where the drone is, motors off once it is seen on the floor, link closed."""
        if self._guard is not None and self._guard.ident is not None:
            self._guard.land()
            log.info("%s", self._guard.outcome)
        if self._craft is not None and not self._landed:
            self._landed = True
            self._craft.close(on_floor=self._guard is None or "seen on the floor" in self.landing)

    @property
    def landing(self) -> str:
        """How the flight ended."""
        return "never armed" if self._guard is None else self._guard.outcome

    def log(self) -> FlightLog:
        """Every state sample since the drone was armed."""
        samples = self._samples or [(0.0, -1, NOWHERE, NOWHERE)]
        times, moves, positions, setpoints = zip(*samples, strict=True)
        return FlightLog(
            np.array(times), np.array(moves), np.array(positions)[:, None, :], np.array(setpoints)[:, None, :]
        )

    def _setpoint(self) -> Point | None:
        """Where the drone should be now, on a minimum-jerk way; None while its own commander flies it."""
        if self._ramp is None:
            return None
        begin, end, since = self._ramp
        u = min(max((time.monotonic() - since) / (0.6 * self._move_seconds), 0.0), 1.0)
        share = 10 * u**3 - 15 * u**4 + 6 * u**5
        x, y, z = (a + share * (b - a) for a, b in zip(begin, end, strict=True))
        return x, y, z

    def _position(self) -> Point:
        assert self._craft is not None, "take off first"
        return self._craft.latest().position

    def _on_sample(self, sample: Sample) -> None:
        if self._guard is not None:
            told = self._setpoint() or NOWHERE
            self._samples.append((sample.time - self._began, self._moves, sample.position, told))

    def _check(self) -> None:
        if self._guard is not None and self._guard.trouble is not None:
            raise FlightAborted(self._guard.trouble)

    def _wait(self, seconds: float) -> None:
        until = time.monotonic() + seconds
        while True:
            self._check()
            left = until - time.monotonic()
            if left <= 0:
                return
            time.sleep(min(0.02, left))


class _Crazyflie:
    """The commands of one flight over cflib, and the newest state. A `Craft` for the guard."""

    def __init__(self, uri: str, on_sample) -> None:
        try:
            import cflib.crtp
            from cflib.crazyflie import Crazyflie
        except ImportError as error:
            raise InputError(f"flights over a link need: pip install 'replan[cflib]' ({error})") from None
        if not cflib.crtp.CLASSES:
            cflib.crtp.init_drivers()
        self._uri = uri
        self._cf = Crazyflie()
        self._on_sample = on_sample
        self._sample: Sample | None = None
        self._origin: Point = (0.0, 0.0, 0.0)  # drone's frame minus layout frame
        self._yaw = 0.0
        self._frame_is_set = False
        self._names: list[str] = []
        self._block = 0  # number of the log block
        self.on_lost = lambda message: None

    def connect(self, seconds: float) -> None:
        """Open the link, read the tables of contents, start the log. Gives up with one clear line."""
        ready, failed = threading.Event(), []
        self._cf.connected.add_callback(lambda uri: ready.set())
        for caller in (self._cf.connection_failed, self._cf.connection_lost):
            caller.add_callback(lambda uri, message: (failed.append(message), ready.set()))
        self._cf.connection_lost.add_callback(lambda uri, message: self.on_lost(_first_line(message)))
        self._cf.open_link(self._uri)
        if not ready.wait(seconds) or failed:
            why = _first_line(failed[0]) if failed else f"no answer within {seconds:g} s"
            self.close(on_floor=True)
            raise FlightAborted(f"no Crazyflie at {self._uri}: {why}")
        # cflib's pings join their own thread when a send fails, and its send lock would be held for ever.
        self._cf.link_statistics.stop()
        self._start_log()

    def latest(self) -> Sample:
        """The newest state, in the layout's frame."""
        assert self._sample is not None, "not connected"
        return self._sample

    def next_sample(self, patience: float = 3.0) -> Sample:
        """The first state that comes in from now on."""
        before, until = self._sample, time.monotonic() + patience
        while self._sample is before:
            if time.monotonic() > until:
                raise FlightAborted("the drone sends no state")
            time.sleep(0.005)
        assert self._sample is not None
        return self._sample

    def check_on_floor(self, limits: Limits) -> None:
        """Refuse to arm a drone that is tumbled, empty, or unsure where it is; set the layout's frame."""
        supervisor = self._cf.supervisor
        if self._cf.platform.get_protocol_version() >= 12:
            for bad in ("is_tumbled", "is_locked", "is_crashed"):
                if getattr(supervisor, bad):
                    raise FlightAborted(f"not armed: the drone {bad.replace('_', ' ')}")
        seen = [self.next_sample() for _ in range(10)]
        places = np.array([sample.position for sample in seen])
        if not np.isfinite(places).all():
            raise FlightAborted("not armed: the position is not a number")
        if np.ptp(places, axis=0).max() > 0.10:
            raise FlightAborted(
                f"not armed: the position wanders by {np.ptp(places, axis=0).max():.2f} m at rest"
            )
        battery = seen[-1].battery
        if battery is None:
            log.warning("the drone does not report its battery, so the battery floor is not watched")
        elif battery < limits.battery_floor + 0.2:
            raise FlightAborted(f"not armed: battery at {battery:.2f} V")
        start = (*map(float, centres(state_of(START))), 0.0)
        x, y, z = (float(p) - s for p, s in zip(places.mean(axis=0), start, strict=True))
        self._origin, self._frame_is_set = (x, y, z), True
        self.next_sample()

    def arm(self) -> None:
        """Arm, and give the motors a moment."""
        self._cf.supervisor.send_arming_request(True)
        time.sleep(0.5)

    def climb(self, height: float, seconds: float) -> None:
        """Take off by the drone's own commander."""
        self._cf.high_level_commander.takeoff(self._origin[2] + height, seconds, yaw=None)  # pyright: ignore[reportArgumentType]

    def send_position(self, setpoint: Point) -> None:
        """Hold this position."""
        x, y, z = (s + o for s, o in zip(setpoint, self._origin, strict=True))
        self._cf.commander.send_position_setpoint(x, y, z, self._yaw)

    def send_landing(self, seconds: float) -> bool:
        """Hand over to the drone's own commander and let it land; on a dead link, over a fresh one."""
        if self._cf.link is None and not self._reopen():
            return False
        self._cf.commander.send_notify_setpoint_stop()
        self._cf.high_level_commander.land(self._origin[2], seconds, yaw=None)  # pyright: ignore[reportArgumentType]
        return self._cf.link is not None

    def send_stop(self) -> None:
        """Motors off and disarmed."""
        self._cf.high_level_commander.stop()
        self._cf.supervisor.send_arming_request(False)

    def close(self, *, on_floor: bool) -> None:
        """Close the link. cflib ends with a zero-thrust setpoint, so in the air only the driver is closed."""
        with contextlib.redirect_stdout(sys.stderr):  # one of cflib's drivers prints
            if on_floor:
                self._cf.close_link()
            elif (link := self._cf.link) is not None:
                self._cf.link = None
                link.close()

    def _reopen(self) -> bool:
        """A new driver on the same address, without the long way through the tables. True if it answers."""
        import cflib.crtp
        from cflib.crazyflie import Crazyflie
        from cflib.crtp.crtpstack import CRTPPacket, CRTPPort

        failed, answered = threading.Event(), threading.Event()
        link = cflib.crtp.get_link_driver(self._uri, None, lambda message: failed.set())
        if link is None:
            return False
        fresh = Crazyflie(link=link)
        fresh.packet_received.add_callback(lambda packet: answered.set())
        fresh.add_port_callback(CRTPPort.LOGGING, self._received_raw)
        echo = CRTPPacket()
        echo.set_header(CRTPPort.LINKCTRL, 0)
        echo.data = (1,)
        fresh.send_packet(echo)
        if answered.wait(0.5) and not failed.is_set():
            fresh.platform._protocolVersion = self._cf.platform.get_protocol_version()
            self._cf = fresh
            return True
        fresh.link = None
        link.close()
        return False

    def _start_log(self) -> None:
        from cflib.crazyflie.log import LogConfig

        table = self._cf.log.toc
        for name in STATE:
            if table is None or table.get_element_by_complete_name(name) is None:
                self.close(on_floor=True)
                raise FlightAborted(f"the drone has no log variable {name}")
        present = [name for name in (YAW, BATTERY) if table.get_element_by_complete_name(name)]  # pyright: ignore[reportOptionalMemberAccess]
        self._names = [*STATE, *present]
        block = LogConfig(name="replan", period_in_ms=LOG_PERIOD)
        for name in self._names:
            block.add_variable(name, "float")
        block.data_received_cb.add_callback(self._received)
        self._cf.log.add_config(block)
        self._block = block.id
        block.start()
        self.next_sample()

    def _received(self, timestamp: int, data: dict[str, float], block) -> None:
        x, y, z = (float(data[name]) - o for name, o in zip(STATE, self._origin, strict=True))
        if YAW in data and not self._frame_is_set and math.isfinite(data[YAW]):
            self._yaw = float(data[YAW])
        self._sample = Sample(time.monotonic(), (x, y, z), float(data[BATTERY]) if BATTERY in data else None)
        self._on_sample(self._sample)

    def _received_raw(self, packet) -> None:
        """A sample of the log block that the drone goes on sending when the link is opened anew."""
        values = bytes(packet.data[4:])
        if packet.channel == 2 and packet.data[0] == self._block and len(values) == 4 * len(self._names):
            numbers = struct.unpack(f"<{len(self._names)}f", values)
            self._received(0, dict(zip(self._names, numbers, strict=True)), None)


def _first_line(message: str) -> str:
    lines = [line for line in str(message).splitlines() if line.strip()]
    return lines[0] if lines else "no reason given"
