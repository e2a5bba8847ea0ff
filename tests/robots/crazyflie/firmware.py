"""A Crazyflie's firmware as its documentation describes it: supervisor, commanders, watchdog, and kinematics.

It shares no code with the backend under test or with our simulator. Time is passed in. A low-level setpoint
outranks the drone's own commander and cancels its plan until a notify-setpoint-stop; without a new setpoint
the drone levels after 0.5 s and its motors stop after 2 s. The drone's own commander renews its setpoint by
itself, so the watchdog never acts while it flies.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field

COAST = 0.5  # s, in which a level drone slows down to 1/e
LEVEL_OUT, SHUTDOWN, HYSTERESIS, LANDED_TIMEOUT = 0.5, 2.0, 2.0, 3.0  # s
PID, MELLINGER = 1, 2
BUSY = 16
LOW_LEVEL, OWN, NOBODY = 2, 1, 0  # priorities of setpoints
HARD = 0.10  # m; a fall from higher ends in a lock


@dataclass
class Plan:
    """A vertical way of the drone's own commander, from rest to rest."""

    begin: float
    end: float
    since: float
    seconds: float
    lands: bool

    def height(self, now: float) -> float:
        u = min((now - self.since) / self.seconds, 1.0)
        return self.begin + (self.end - self.begin) * (35 * u**4 - 84 * u**5 + 70 * u**6 - 20 * u**7)


@dataclass
class Firmware:
    """The state of one drone."""

    place: tuple[float, float, float] = (1.0, -2.0, 0.02)
    controller: int = PID
    gain: float = 2.0  # 1/s, of the position controller
    velocity_gain: float = 25.0  # degrees of tilt by m/s
    replans: bool = True  # whether `land` during a landing plans anew
    auto_arms: bool = False
    battery: float = 4.0
    locks: bool = True  # whether a fall ends in a lock

    state: str = "ready"  # ready, armed, flying, level, landed, locked
    armed: bool = False
    tumbled: bool = False
    refuses_until: float = -math.inf  # s; armed, but not ready before
    priority: int = NOBODY
    target: tuple[tuple[float, ...], tuple[float, ...]] | None = None  # position, velocity; None: motors off
    stamp: float = 0.0  # s, when the target was set
    plan: Plan | None = None
    fell: bool = False
    offset: tuple[float, float, float] = (0.0, 0.0, 0.0)  # of the position that it believes to have
    variance: float = 1e-4  # m2, of that position
    events: list[str] = field(default_factory=list)  # arm, takeoff, notify, land, stop, disarm, in order
    setpoints: list[tuple[float, ...]] = field(default_factory=list)  # low-level positions
    descended: list[tuple[float, float]] = field(
        default_factory=list
    )  # time and height since a landing was asked for
    motors_on: bool = False
    motors_stopped: float = math.inf  # s, when they last stopped

    def __post_init__(self) -> None:
        self.position = list(self.place)
        self.floor = self.place[2]
        self._thrust_at = self._landed_at = -math.inf
        self._speed = [0.0, 0.0, 0.0]
        self._fall_speed, self._fell_from = 0.0, self.floor
        self._before: float | None = None

    @property
    def height(self) -> float:
        return self.position[2] - self.floor

    @property
    def estimate(self) -> list[float]:
        return [true + off for true, off in zip(self.position, self.offset, strict=True)]

    @property
    def flying(self) -> bool:
        return self.state in ("flying", "level")

    @property
    def locked(self) -> bool:
        return self.state == "locked"

    @property
    def bits(self) -> int:
        """The log variable supervisor.info."""
        able = self.state in ("armed", "flying", "level", "landed")
        flags = (
            self.state == "ready",
            self.armed,
            self.auto_arms,
            able,
            self.flying,
            self.tumbled,
            self.locked,
        )
        return sum(flag << k for k, flag in enumerate(flags))

    def hover(self, height: float) -> None:
        """Fly at a height by the drone's own commander, as an earlier client left it."""
        self.armed, self.state = True, "flying"
        self.position[2] = self.floor + height
        self.plan = Plan(self.position[2], self.position[2], 0.0, 1.0, lands=False)

    def reboot(self) -> None:
        """Start anew: motors off, nothing planned, and no memory of a fall."""
        self.state, self.armed, self.tumbled, self.locks = "ready", False, False, False
        self.priority, self.target, self.plan = NOBODY, None, None
        self._thrust_at = -math.inf

    def request_arming(self, armed: bool) -> None:
        self.events.append("arm" if armed else "disarm")
        if not armed or (self.state == "ready" and not self.tumbled):
            self.armed = armed

    def low_level(self, now: float, position, velocity) -> None:
        """A streamed setpoint; None switches the motors off."""
        self.priority, self.plan, self.stamp = LOW_LEVEL, None, now
        self.target = None if position is None else (tuple(position), tuple(velocity))
        if position is not None:
            self.setpoints.append(tuple(position))

    def notify_setpoint_stop(self) -> None:
        self.events.append("notify")
        self.priority = NOBODY

    def take_off_or_land(self, now: float, height: float, seconds: float, *, lands: bool) -> int:
        """Answer 0 if a way is planned, 1 if it is refused."""
        self.events.append("land" if lands else "takeoff")
        if self.locked or self.tumbled:
            return BUSY
        if self.plan is not None and (not lands or (self.plan.lands and not self.replans)):
            return 1
        self.plan = Plan(self.position[2], height, now, max(seconds, 0.01), lands)
        return 0

    def stop(self) -> None:
        self.events.append("stop")
        self.plan = None

    def step(self, now: float) -> None:
        """Let time pass."""
        passed = 0.0 if self._before is None else now - self._before
        self._before = now
        self._command_self(now)
        self._supervise(now)
        was_on = self.motors_on
        self.motors_on = self.target is not None and self.state in ("armed", "flying", "level", "landed")
        self.motors_on &= now >= self.refuses_until
        if was_on and not self.motors_on:
            self.motors_stopped = now
        if self.motors_on:
            self._thrust_at, self._fall_speed, self._fell_from = now, 0.0, self.position[2]
            self._follow(passed)
        else:
            self._fall(passed)
        if "land" in self.events:
            self.descended.append((now, self.height))

    def _command_self(self, now: float) -> None:
        """The drone's own commander renews its setpoint while nobody outranks it."""
        if self.priority == LOW_LEVEL:
            return
        self.stamp = now
        if self.plan is None:
            self.target = None
            return
        self.priority = OWN
        x, y, _ = self.position
        self.target = ((x, y, self.plan.height(now)), (0.0, 0.0, 0.0))
        if self.plan.lands and now - self.plan.since >= self.plan.seconds:
            self.plan = self.target = None

    def _supervise(self, now: float) -> None:
        age, thrust = now - self.stamp, now - self._thrust_at < HYSTERESIS
        if self.state == "ready":
            self.armed |= self.auto_arms
            self.state = "armed" if self.armed and now >= self.refuses_until else "ready"
        elif self.flying and age > SHUTDOWN:
            self.state, self.armed = "locked", False
        elif self.state in ("armed", "flying", "level", "landed") and not self.armed:
            self.state = "ready"
        elif self.state in ("armed", "landed") and thrust:
            self.state = "flying"
        elif self.state == "flying" and not thrust:
            self.state, self._landed_at = "landed", now
        elif self.flying:
            self.state = "level" if age > LEVEL_OUT else "flying"
        elif self.state == "landed" and now - self._landed_at > LANDED_TIMEOUT:
            self.state, self.armed = "ready", False

    def _follow(self, passed: float) -> None:
        assert self.target is not None
        position, velocity = self.target
        for axis in (0, 1, 2):
            if self.state == "level" and axis < 2:  # it coasts
                self.position[axis] += passed * self._speed[axis]
                self._speed[axis] *= math.exp(-passed / COAST)
                continue
            asked = self.gain * (position[axis] - self.estimate[axis])
            if self.controller == MELLINGER:
                asked += velocity[axis]
            asked = max(-1.0, min(1.0, asked))
            if axis == 2 or self.controller == MELLINGER:
                self._speed[axis] = asked
            else:  # by tilting
                push = 9.81 * math.radians(self.velocity_gain) * (asked - self._speed[axis])
                self._speed[axis] += passed * push
            self.position[axis] += passed * self._speed[axis]
        self.position[2] = max(self.position[2], self.floor)

    def _fall(self, passed: float) -> None:
        if self.height <= 0.0:
            return
        self._fall_speed += 9.81 * passed
        self.position[2] -= self._fall_speed * passed
        if self.height <= 0.0:
            self.position[2] = self.floor
            if self._fell_from - self.floor > HARD:
                self.fell = True
                if self.locks:
                    self.state, self.armed = "locked", False
