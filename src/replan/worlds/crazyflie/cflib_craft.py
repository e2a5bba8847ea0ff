"""One Crazyflie over cflib: connecting, its commands, and the newest state it reported.

What is done in which order, and what is waited for, follows the firmware: its supervisor, and the ranks
of its commanders.
"""

from __future__ import annotations

import contextlib
import logging
import math
import struct
import sys
import threading
import time
from collections.abc import Callable

import numpy as np

from replan.errors import InputError
from replan.worlds.crazyflie.flight import FlightAborted
from replan.worlds.crazyflie.guard import Limits, Point, Sample
from replan.worlds.crazyflie.layouts import START, centres, state_of

log = logging.getLogger(__name__)

STATE = ("stateEstimate.x", "stateEstimate.y", "stateEstimate.z")
YAW, BATTERY = "stateEstimate.yaw", "pm.vbat"
LOG_PERIOD = 50  # ms


class CflibCraft:
    """The commands of one flight over cflib, and the newest state. A `Craft` for the guard."""

    def __init__(self, uri: str, on_sample) -> None:
        try:
            import cflib.crtp
            from cflib.crazyflie import Crazyflie
        except ImportError as error:
            raise InputError(f"flights over a link need: pip install 'replan[cflib]' ({error})") from None
        logging.getLogger("cflib.crazyflie.toccache").setLevel(logging.ERROR)  # no cache is wanted
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

    @property
    def _has_supervisor(self) -> bool:
        """Whether the firmware can be asked for its state."""
        return self._cf.platform.get_protocol_version() >= 12

    def latest(self) -> Sample:
        """The newest state, in the layout's frame."""
        assert self._sample is not None, "not connected"
        return self._sample

    def next_sample(self, watch: Callable[[], None] = lambda: None, patience: float = 3.0) -> Sample:
        """The first state that comes in from now on; `watch`, called meanwhile, may raise."""
        before, until = self._sample, time.monotonic() + patience
        while self._sample is before:
            watch()
            if time.monotonic() > until:
                raise FlightAborted("the drone sends no state")
            time.sleep(0.005)
        assert self._sample is not None
        return self._sample

    def check_on_floor(self, limits: Limits) -> None:
        """Refuse to arm a drone that is tumbled, empty, or unsure where it is; set the layout's frame."""
        supervisor = self._cf.supervisor
        if self._has_supervisor:
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
        """Arm, and wait until the drone says that it can fly; give older firmware a moment."""
        self._cf.commander.send_notify_setpoint_stop()  # an earlier client may have left its own in charge
        self._cf.supervisor.send_arming_request(True)
        time.sleep(0.5)
        until = time.monotonic() + 2.0
        while self._has_supervisor and not self._cf.supervisor.can_fly:
            if time.monotonic() > until:
                raise FlightAborted("armed, but the drone says that it cannot fly")
            time.sleep(0.1)

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
        floor = self._origin[2]
        commander = self._cf.high_level_commander
        commander.land(floor, seconds, yaw=None)  # pyright: ignore[reportArgumentType]
        self._cf.commander.send_notify_setpoint_stop()  # with no landing planned it would fall
        commander.land(floor, seconds, yaw=None)  # pyright: ignore[reportArgumentType]
        return self._cf.link is not None

    def send_stop(self) -> None:
        """Disarm, once the firmware has noticed that it stands: before, it would take that for a crash."""
        until = time.monotonic() + (4.0 if self._has_supervisor else 2.5)
        while time.monotonic() < until and (not self._has_supervisor or self._cf.supervisor.is_flying):
            time.sleep(0.1)
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
