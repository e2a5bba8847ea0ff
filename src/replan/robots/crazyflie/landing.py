"""Landing a drone over a link that may fail, and telling truly how it ended.

The drone lands by its own commander, so that it comes down even if the link dies on the way. The command is
repeated until the drone acknowledges it; one that is landing already keeps its plan.

Without any setpoint the firmware stops the motors after 2 s. A drone that has been silent for longer is
landing, has landed, or has been stopped; a late command would turn on the motors of a drone on the floor.

A drone that restarts in the air falls, and then answers as if nothing had happened. Its reports have to be
asked for anew, and the clock in them tells the restart.
"""

from __future__ import annotations

import math
from collections import deque
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from replan.robots.crazyflie.craft import FlightClock, FlightLimits, Restart, Sample, Status

if TYPE_CHECKING:
    from replan.robots.crazyflie.cflib_craft import CflibCraft

LandingOutcome = Literal["landed", "landed but locked", "fell", "unknown", "left flying", "never took off"]

WATCHDOG = 2.0  # s without a setpoint after which the firmware stops the motors
REPEAT = 0.1  # s between landing commands
FRESH = 0.3  # s; an older report does not tell how the drone is now
FLOOR = 0.08  # m; lower is on the floor, for firmware that does not report whether it flies
STILL = 0.02  # m; a height that changes by less is at rest
SETTLED = 2.5  # s on the floor after which such firmware may be disarmed
FALL, FALL_SPEED = 0.2, 0.8  # m and m/s; no commanded descent is as fast
FALL_WINDOW = 0.5  # s of reports in which a fall is looked for
RENEW = 1.0  # s of silence after which reports are asked for anew, and again


@dataclass(frozen=True)
class Landing:
    """The end of a flight, as far as it is known."""

    outcome: LandingOutcome
    reason: str | None = None

    def __str__(self) -> str:
        return self.outcome if self.reason is None else f"{self.outcome}: {self.reason}"

    @property
    def after_flight(self) -> bool:
        """Whether the drone was flown."""
        return self.outcome not in ("left flying", "never took off")


class FallWatch:
    """Finds a fall in the heights that a drone reports."""

    def __init__(self) -> None:
        self._recent: deque[Sample] = deque()
        self.height: float | None = None  # m, from which the drone fell

    def look(self, sample: Sample) -> None:
        """Take the newest report."""
        recent, height = self._recent, sample.position[2]
        if (recent and sample is recent[-1]) or not math.isfinite(height):
            return
        for before in recent:
            drop, passed = before.position[2] - height, sample.uptime - before.uptime
            if drop > FALL and drop > FALL_SPEED * passed > 0:
                self.height = max(self.height or 0.0, before.position[2])
        recent.append(sample)
        while len(recent) > 2 and sample.uptime - recent[0].uptime > FALL_WINDOW:
            recent.popleft()


def bring_down(craft: CflibCraft, limits: FlightLimits, clock: FlightClock, falls: FallWatch) -> Landing:
    """Land, and return when the drone is seen down or has been silent for `limits.link_patience`."""
    descent = _Descent(craft, limits, clock)
    low_since, still_since, rest = math.inf, math.inf, math.inf
    while True:
        now, sample = clock.now(), craft.latest()
        silent = now - sample.time
        falls.look(sample)
        if craft.restart is not None:
            return _after_restart(craft.restart, limits)
        if silent > limits.link_patience:
            return Landing("unknown", _unseen(craft, silent))
        if silent < FRESH:
            low = math.isfinite(sample.position[2]) and sample.position[2] < FLOOR
            low_since = min(low_since, now) if low else math.inf
            if abs(sample.position[2] - rest) > STILL:
                rest, still_since = sample.position[2], now
            if _is_stopped(sample):
                return Landing("landed but locked", f"its supervisor reports {_words(sample)}; restart it")
            if descent.passed > 1.0 and _is_down(sample, now - low_since, now - still_since):
                landing = disarm(craft, clock)
                if landing.outcome == "landed" and falls.height is not None:
                    return Landing("fell", f"from {falls.height:.2f} m")
                return landing
            if now - descent.sent > descent.seconds + 3.0 and not low:
                descent = _Descent(craft, limits, clock)
        descent.ask(silent)
        clock.sleep(REPEAT / 2)


def disarm(craft: CflibCraft, clock: FlightClock) -> Landing:
    """Disarm a drone on the floor; return that it landed, or that it is locked."""
    until = clock.now() + 1.5
    while clock.now() < until:
        status = craft.latest().status
        if status is not None and (Status.ARMED not in status or Status.AUTO_ARMED in status):
            break
        craft.send_arming(False)
        clock.sleep(REPEAT)
    sample = craft.latest()
    if _is_stopped(sample):
        return Landing("landed but locked", f"its supervisor reports {_words(sample)}; restart it")
    return Landing("landed")


class _Descent:
    """One descent, and the repeated request for it."""

    def __init__(self, craft: CflibCraft, limits: FlightLimits, clock: FlightClock) -> None:
        height = craft.latest().position[2]
        least = limits.ceiling / 2  # it may be rising, or have risen since; too fast a descent is a fall
        self.seconds = (max(height, least) if math.isfinite(height) else least) / limits.landing_speed
        self._craft, self._clock = craft, clock
        self._begun = self.sent = clock.now()
        self._asked = self._renewed = -math.inf
        craft.landing_planned = None

    @property
    def passed(self) -> float:
        """Seconds since the descent was first asked for."""
        return self._clock.now() - self._begun

    def ask(self, silent: float) -> None:
        """Ask for the descent unless it is acknowledged, or asking could only do harm."""
        now, craft = self._clock.now(), self._craft
        if now - self._asked < REPEAT:
            return
        self._asked = now
        craft.renew_link()
        if silent > RENEW and now - self._renewed > RENEW:
            self._renewed = now
            craft.renew_reports()
        if craft.landing_planned is not None:
            if now - craft.landing_planned < 1.0:  # nothing acknowledges a handover, so it is repeated
                craft.send_handover()
        elif silent < WATCHDOG + 0.5:
            self.sent = now
            craft.send_landing(self.seconds)
            if self.passed > FRESH or silent > FRESH:  # no acknowledgement is to be expected
                craft.send_handover()
                craft.send_landing(self.seconds)  # a handover that overtakes the landing stops the motors


def _is_stopped(sample: Sample) -> bool:
    stopped = Status.LOCKED | Status.CRASHED | Status.TUMBLED
    return sample.status is not None and bool(sample.status & stopped)


def _words(sample: Sample) -> str:
    assert sample.status is not None
    names = [s.name for s in (Status.LOCKED, Status.CRASHED, Status.TUMBLED) if s in sample.status]
    return " and ".join(str(name).lower() for name in names)


def _is_down(sample: Sample, low_for: float, still_for: float) -> bool:
    """Return whether the drone is on the floor; one that only stopped flying may still be falling."""
    if sample.status is None:
        return low_for > SETTLED
    at_rest = low_for >= 0 or still_for > FRESH or not math.isfinite(sample.position[2])
    return Status.FLYING not in sample.status and at_rest


def _after_restart(restart: Restart, limits: FlightLimits) -> Landing:
    """Return the end of a drone that restarted, which stops its motors; by then it may have landed."""
    if restart.silence > restart.height / limits.landing_speed:
        return Landing(
            "unknown", f"it restarted {restart.silence:.0f} s after a report at {restart.height:.2f} m"
        )
    if restart.height < FALL:
        return Landing("landed", f"it restarted at {restart.height:.2f} m")
    return Landing("fell", f"from {restart.height:.2f} m: it restarted in the air")


def _unseen(craft: CflibCraft, silent: float) -> str:
    told = "it did not acknowledge the landing"
    if craft.landing_planned is not None:
        told = "it acknowledged the landing"
        if craft.landing_planned > craft.latest().time + FRESH:
            told += " after its last report, perhaps after a restart"
    return (
        f"no report for {silent:.0f} s; {told}; firmware that receives nothing stops the motors after"
        f" {WATCHDOG:g} s, from any height"
    )
