"""A drone on a link: its reports, its commands, and the limits that it is held to."""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntFlag
from typing import Protocol

from replan.robots.crazyflie.ramp import Point, Setpoint


class Status(IntFlag):
    """The firmware's supervisor, as its log variable `supervisor.info` reports it."""

    ARMED = 1 << 1
    AUTO_ARMED = 1 << 2
    CAN_FLY = 1 << 3
    FLYING = 1 << 4
    TUMBLED = 1 << 5
    LOCKED = 1 << 6
    CRASHED = 1 << 7


@dataclass(frozen=True)
class Sample:
    """One report of the drone."""

    time: float  # s, when it arrived
    position: Point  # layout frame
    battery: float | None  # V; None where the drone does not report it
    status: Status | None  # None where the drone does not report it


@dataclass(frozen=True)
class Limits:
    """Conditions that end a flight."""

    fence_margin: float = 0.20  # m beyond the grid's edge
    ceiling: float = 1.2  # m above the floor
    battery_floor: float = 3.1  # V under load, for more than a second
    silence: float = 0.8  # s without a report: the link is lost
    link_patience: float = 15.0  # s without a report after which a landing's end is given up as unknown
    landing_speed: float = 0.2  # m/s


class Craft(Protocol):
    """The commands of a drone. None of them blocks, and none raises on a lost link."""

    landing_is_planned: bool  # the drone acknowledged a landing

    @property
    def link_error(self) -> str | None:
        """The newest error of the link."""
        ...

    def renew_link(self) -> None:
        """Reopen the link if it reported an error."""
        ...

    def latest(self) -> Sample:
        """Return the newest report."""
        ...

    def send_setpoint(self, setpoint: Setpoint) -> None:
        """Follow this setpoint; cancels a landing."""
        ...

    def send_landing(self, seconds: float) -> None:
        """Plan a landing on board; it begins at the handover."""
        ...

    def send_handover(self) -> None:
        """Let the plan made on board take over from streamed setpoints."""
        ...

    def send_arming(self, armed: bool) -> None:
        """Arm, or on the floor disarm."""
        ...
