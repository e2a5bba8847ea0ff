"""Flying a mission: one interface, two backends, and a loop that always ends in a landing.

`CrazyflowFlight` flies a batch of drones in simulated physics, `CflibFlight` one real drone (or a firmware
simulator) over a link. Positions are in the layout's frame: x right along columns, y down along rows, z up.

A collision event is an entry into a pole's safety radius. Touching a pole ends the flight: it counts as one
event, as a failure, and nothing after it is counted. So does reaching the goal, otherwise the horizon.

    C = (L_exec + kappa N_coll) / L_ref,   kappa = 11 m

L_exec is the length of the way through the positions at the ends of moves; what control and gusts add within
a move is left out. kappa is the slope of cost against collisions in the paper's own table (1.70 per
event over its 27 entries) times the reference length of an open layout, 6.6 m.
"""

from __future__ import annotations

import logging
import signal
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import ClassVar, Protocol

import numpy as np

from replan import Agent
from replan.robots.crazyflie.craft import Tracking
from replan.robots.crazyflie.landing import Landing
from replan.robots.crazyflie.layouts import (
    CONTACT_DISTANCE,
    GOAL,
    SAFETY_RADIUS,
    START,
    Layout,
    cells_at,
    centres,
    state_of,
)
from replan.typing import Array, Indices

log = logging.getLogger(__name__)

STOP_SIGNALS = ("SIGINT", "SIGTERM", "SIGHUP")
Locate = Callable[[Array], Indices]
OnMove = Callable[[int, "Flight", Sequence[Agent]], None]  # called after every move with its number


class FlightAborted(RuntimeError):
    """Raised to break off a flight, with the reason. `fly` then lands the drones."""


@dataclass(frozen=True)
class FlightLog:
    """Positions and setpoints of the drones, sample by sample."""

    times: Array = field(repr=False)
    """(M,) seconds since the log began."""
    moves: Indices = field(repr=False)
    """(M,) move of each sample; -1 before the first."""
    positions: Array = field(repr=False)
    """(M, N, 3) metres."""
    setpoints: Array = field(repr=False)
    """(M, N, 3) metres."""

    def after_move(self, t: int) -> Array:
        """Return (N, 3) positions at the end of move t (-1: at the beginning of the first)."""
        return self.positions[np.flatnonzero(self.moves <= t)[-1]]

    def cells(self, cuts: int = 1) -> Indices:
        """Return (moves + 1, N) states at t = 0, 1, ..."""
        return np.stack(
            [cells_at(self.after_move(t)[:, :2], cuts) for t in range(-1, int(self.moves.max()) + 1)]
        )


class Flight(Protocol):
    """N drones that fly from cell to cell. Methods raise `FlightAborted` where going on would be unsafe."""

    @property
    def drones(self) -> int:
        """N."""
        ...

    def take_off(self) -> None:
        """Take off from the start cell to flying height."""
        ...

    def localise(self, which: Sequence[int]) -> Array:
        """Return (len(which), 2) positions of these drones and correct their own estimates with them."""
        ...

    def move(self, actions: Indices) -> None:
        """Move each drone by (N,) actions, relative to its own estimate of its position."""
        ...

    def stop(self, reason: str) -> None:
        """Break the flight off: what flies raises `FlightAborted`. Called from signal handlers."""
        ...

    @property
    def landing(self) -> Landing | None:
        """The end of the flight; None while it lasts."""
        ...

    @property
    def tracking(self) -> Tracking | None:
        """Tracking error of the flight; None if it was not measured."""
        ...

    def land(self) -> None:
        """Land the drones where they are; safe to call at any time and more than once."""
        ...

    def log(self) -> FlightLog:
        """Return all samples so far."""
        ...


@dataclass(frozen=True)
class Flown:
    """Result of a flight."""

    log: FlightLog
    agents: Sequence[Agent] = field(repr=False)
    aborted: str | None = None
    """Reason why the flight was broken off, None if it was not."""
    landing: Landing | None = None
    tracking: Tracking | None = None

    def updates(self, drone: int) -> list[tuple[int, str]]:
        """Return time and reason of each update of one drone."""
        return [(event.time, event.why) for event in self.agents[drone].log if event.what == "update"]


class FlightStopped(KeyboardInterrupt):
    """A signal ended the flight. The drones are landed; `flown` is the flight up to then."""

    def __init__(self, flown: Flown, number: int) -> None:
        super().__init__(flown.aborted)
        self.flown = flown
        self.number = number  # of the signal


def fly(
    flight: Flight, agents: Sequence[Agent], *, progress: OnMove | None = None, locate: Locate = cells_at
) -> Flown:
    """Fly one mission, an agent for each drone; a single drone lands at the goal.

    `locate` gives the states of positions in the agents' worlds.

    However the mission ends, the drones are landed. Ctrl-C, SIGTERM and SIGHUP land them too and then raise
    `FlightStopped`; repeated, they do not interrupt the landing.
    """
    aborted = None
    with _Signals(flight) as signals:
        try:
            flight.take_off()
            for agent in agents:
                agent.start(int(locate(centres(state_of(START)))))
            while not agents[0].done:
                t = agents[0].time
                _spend_updates(flight, agents, locate)
                flight.move(np.array([agent.act() for agent in agents], dtype=np.int64))
                if progress is not None:
                    progress(t, flight, agents)
                if flight.drones == 1 and cells_at(flight.log().after_move(t)[0, :2]) == state_of(GOAL):
                    break
        except FlightAborted as reason:
            aborted = str(reason)
        finally:
            flight.land()
    flown = Flown(flight.log(), agents, aborted, flight.landing, flight.tracking)
    if signals.number is not None:
        raise FlightStopped(flown, signals.number)
    return flown


class _Signals:
    """Let signals stop a flight; during its landing they are only recorded. Does nothing in other threads."""

    def __init__(self, flight: Flight) -> None:
        self._flight = flight
        self._before = {}
        self.number: int | None = None  # of the first signal

    def __enter__(self) -> _Signals:
        if threading.current_thread() is threading.main_thread():
            for number in (s for s in signal.Signals if s.name in STOP_SIGNALS):
                if number.name != "SIGHUP" or signal.getsignal(number) != signal.SIG_IGN:  # nohup
                    self._before[number] = signal.signal(number, self._received)
        return self

    def __exit__(self, *_) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)

    def _received(self, number: int, frame) -> None:
        if self.number is None:
            self.number = number
            self._flight.stop(f"stopped by {signal.Signals(number).name}")
        elif self._flight.landing is not None:
            raise KeyboardInterrupt
        else:
            log.warning("landing first")


def _spend_updates(flight: Flight, agents: Sequence[Agent], locate: Locate) -> None:
    """Localise the drones whose agents want an update; an agent left without a new plan ends the flight."""
    due = [k for k, agent in enumerate(agents) if agent.due().update]
    if not due:
        return
    for k, state in zip(due, locate(flight.localise(due)), strict=True):
        if not agents[k].update(int(state)):
            raise FlightAborted(f"no new plan at {agents[k].time}: {agents[k].log[-1].why}")


@dataclass(frozen=True)
class FlightOutcome:
    """Measurements of a finished flight."""

    success: bool
    """Whether a move within the horizon ended in the goal cell, and no pole was touched."""
    collisions: int
    """Collision events, N_coll."""
    length: float
    """Length flown in metres, L_exec."""
    cost: float
    """Cost, C."""
    touched: bool
    """Whether a pole was touched."""
    moves: int
    """Moves until the goal, the touch or the horizon."""
    collision_length: ClassVar[float] = 11.0
    """Length in m that a collision adds to the cost, kappa."""


def outcome(layout: Layout, log: FlightLog, drone: int = 0) -> FlightOutcome:
    """Measure one drone's flight on the samples of its log."""
    if not np.isfinite(log.positions).all():
        return FlightOutcome(False, 0, 0.0, float("nan"), False, 0)
    begin = int(np.flatnonzero(log.moves < 0)[-1])
    path = log.positions[begin:, drone, :2]  # (M, 2) from the last sample on the start cell
    moves = log.moves[begin:]
    distance = layout.pole_distance(path)
    touches = np.flatnonzero(distance < CONTACT_DISTANCE)
    move_ends = np.append(np.flatnonzero(np.diff(moves)), len(moves) - 1)
    at_goal = move_ends[cells_at(path[move_ends]) == state_of(GOAL)]
    last = len(path) - 1
    touch = int(touches[0]) if len(touches) else last + 1
    goal = int(at_goal[0]) if len(at_goal) else last + 1
    end = min(touch, goal, last)
    inside = distance[: end + 1] < SAFETY_RADIUS
    collisions = int(inside[0]) + int((inside[1:] & ~inside[:-1]).sum())
    corners = path[[0, *move_ends[move_ends < end], end]]
    length = float(np.linalg.norm(np.diff(corners, axis=0), axis=1).sum())
    cost = (length + FlightOutcome.collision_length * collisions) / layout.reference_length
    return FlightOutcome(
        goal < touch and goal <= last, collisions, length, cost, touch <= end, int(moves[end]) + 1
    )
