"""Flying a mission: one interface, two backends, and a loop that always ends in a landing.

`CrazyflowFlight` flies a batch of drones in simulated physics, `CflibFlight` one real drone (or a firmware
simulator) over a link. Positions are in the layout's frame: x right along columns, y down along rows, z up.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np

from replan.execute.agent import Agent
from replan.model.kernel import Array, Indices
from replan.worlds.crazyflie.layouts import START, cells_at, state_of

Progress = Callable[[int, "Flight", Sequence[Agent]], None]  # called after every move with its number


class FlightAborted(RuntimeError):
    """Why a flight was broken off. Whoever raises it leaves the landing to `fly`."""


@dataclass(frozen=True)
class FlightLog:
    """Where the drones were, and where they were told to be, sample by sample."""

    times: Array = field(repr=False)  # (M,) seconds since the log began
    moves: Indices = field(repr=False)  # (M,) which move the sample belongs to; -1 before the first
    positions: Array = field(repr=False)  # (M, N, 3) metres
    setpoints: Array = field(repr=False)  # (M, N, 3) metres

    def after_move(self, t: int) -> Array:
        """(N, 3) where the drones were at the end of move t (-1: when the first began)."""
        return self.positions[np.flatnonzero(self.moves <= t)[-1]]

    def cells(self) -> Indices:
        """(moves + 1, N) the states at t = 0, 1, ..."""
        return np.stack([cells_at(self.after_move(t)[:, :2]) for t in range(-1, int(self.moves.max()) + 1)])


class Flight(Protocol):
    """N drones that fly from cell to cell. Anything that makes going on unsafe raises `FlightAborted`."""

    @property
    def drones(self) -> int:
        """N."""
        ...

    def take_off(self) -> None:
        """From the start cell to flying height."""
        ...

    def localise(self, which: Sequence[int]) -> Array:
        """(len(which), 2) positions of these drones, which then know where they are."""
        ...

    def move(self, actions: Indices) -> None:
        """One move of each drone, (N,) actions, relative to where it believes itself to be."""
        ...

    def land(self) -> None:
        """Down, wherever the drones are; safe to call at any time and more than once."""
        ...

    def log(self) -> FlightLog:
        """All samples so far."""
        ...


@dataclass(frozen=True)
class Flown:
    """A flight that is over."""

    log: FlightLog
    agents: Sequence[Agent] = field(repr=False)
    aborted: str | None = None  # why it was broken off

    def updates(self, drone: int) -> list[tuple[int, str]]:
        """Time and reason of each update of one drone."""
        return [(event.time, event.why) for event in self.agents[drone].log if event.what == "update"]


def fly(flight: Flight, agents: Sequence[Agent], *, progress: Progress | None = None) -> Flown:
    """One mission, an agent for each drone. However it ends, and Ctrl-C is one way, the drones are landed."""
    aborted = None
    try:
        flight.take_off()
        for agent in agents:
            agent.start(state_of(START))
        while not agents[0].done:
            t = agents[0].time
            _spend_updates(flight, agents)
            flight.move(np.array([agent.act() for agent in agents], dtype=np.int64))
            if progress is not None:
                progress(t, flight, agents)
    except FlightAborted as reason:
        aborted = str(reason)
    finally:
        flight.land()
    return Flown(flight.log(), agents, aborted)


def _spend_updates(flight: Flight, agents: Sequence[Agent]) -> None:
    """Localise the drones whose agents want an update; an agent left without a new plan ends the flight."""
    due = [k for k, agent in enumerate(agents) if agent.due().update]
    if not due:
        return
    for k, state in zip(due, cells_at(flight.localise(due)), strict=True):
        if not agents[k].update(int(state)):
            raise FlightAborted(f"no new plan at {agents[k].time}: {agents[k].log[-1].why}")
