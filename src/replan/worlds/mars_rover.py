"""The Mars rover of the paper's example 1: parameters of its grid and of the drift of its slip."""

from __future__ import annotations

from abc import abstractmethod
from math import inf
from typing import Annotated, Any, ClassVar, Literal

import numpy as np
from pydantic import Field, field_validator

from replan.model.drift import (
    GREATEST_SLIP,
    SLIP_LIMITS,
    Limits,
    burst_intervals,
    linear,
    piecewise,
    sinusoidal,
)
from replan.model.kernel import Array
from replan.model.world import World
from replan.worlds.parameters import (
    Fraction,
    Horizon,
    Pair,
    Parameters,
    Side,
    WorldParameters,
    register_world,
)
from replan.worlds.slip_grid import rover

DriftingSlip = Annotated[float, Field(ge=0, le=GREATEST_SLIP)]


class ClippedDrift(Parameters):
    """Slip by a formula, held within limits."""

    limits: ClassVar[Limits] = SLIP_LIMITS

    @abstractmethod
    def profile(self, horizon: int, *, limits: Limits = SLIP_LIMITS) -> Array:
        """Return the slip of each step, (T,)."""

    def clipped_times(self, horizon: int) -> list[int]:
        """Return the times at which the formula leaves the limits."""
        free = self.profile(horizon, limits=(-inf, inf))
        low, high = self.limits
        return np.flatnonzero((free < low - 1e-9) | (free > high + 1e-9)).tolist()

    def notes(self, horizon: int) -> list[str]:
        """Return one line if the formula leaves the limits."""
        clipped, (low, high) = self.clipped_times(horizon), self.limits
        if not clipped:
            return []
        return [
            f"the slip is held between {low:g} and {high:g}: the drift would leave that range "
            f"at {len(clipped)} of {horizon} steps, first at t = {clipped[0]}"
        ]


class LinearDrift(ClippedDrift):
    """Slip that grows by the same amount every step."""

    kind: Literal["linear"]
    slip: DriftingSlip = Field(examples=[0.05])
    """Slip at t = 0."""
    rate: float = Field(examples=[0.005])
    """Change of the slip in each step."""

    def profile(self, horizon: int, *, limits: Limits = SLIP_LIMITS) -> Array:
        """Return the slip of each step, (T,)."""
        return linear(horizon, slip=self.slip, rate=self.rate, limits=limits)


class SinusoidalDrift(ClippedDrift):
    """Slip that swings around a mean."""

    kind: Literal["sinusoidal"]
    slip: DriftingSlip = Field(examples=[0.15])
    """Slip at t = 0, the mean of the swing."""
    amplitude: float = Field(examples=[0.1])
    """Largest distance from the mean."""
    period: Annotated[float, Field(gt=0)] = Field(examples=[25.0])
    """Steps of one swing."""

    def profile(self, horizon: int, *, limits: Limits = SLIP_LIMITS) -> Array:
        """Return the slip of each step, (T,)."""
        return sinusoidal(
            horizon, slip=self.slip, amplitude=self.amplitude, period=self.period, limits=limits
        )


class PiecewiseDrift(ClippedDrift):
    """Slip with one slope during bursts and another between them."""

    kind: Literal["piecewise"]
    slip: DriftingSlip = Field(examples=[0.03])
    """Slip at t = 0."""
    quiet: float = Field(examples=[0.001])
    """Change of the slip in each step outside of bursts."""
    bursts: list[tuple[Fraction, Fraction, float]] = Field(
        examples=[[[0.2, 0.34, 0.018], [0.62, 0.82, 0.018]]]
    )
    """Beginning and end of each burst as shares of the horizon, and its slope."""

    @field_validator("bursts", mode="before")
    @classmethod
    def _as_tuples(cls, value: Any) -> Any:
        if not isinstance(value, list):
            return value
        for part in value:
            if isinstance(part, (list, tuple)) and len(part) != 3:
                raise ValueError(f"must each be from, to and slope, not {part}")
        return [tuple(part) if isinstance(part, list) else part for part in value]

    @field_validator("bursts")
    @classmethod
    def _in_order(cls, value: list) -> list:
        for begin, end, _ in value:
            if begin >= end:
                raise ValueError(f"a burst must end after it begins, not {begin} to {end}")
        return value

    def profile(self, horizon: int, *, limits: Limits = SLIP_LIMITS) -> Array:
        """Return the slip of each step, (T,)."""
        return piecewise(horizon, slip=self.slip, quiet=self.quiet, bursts=self.bursts, limits=limits)

    def intervals(self, horizon: int) -> list[tuple[int, int]]:
        """Return the bursts as whole times [begin, end)."""
        return burst_intervals(horizon, self.bursts)


class TableDrift(Parameters):
    """Slip step by step, as measured or estimated."""

    kind: Literal["table"]
    slip: Annotated[list[Fraction], Field(min_length=1)] = Field(examples=[[0.05, 0.05, 0.06]])
    """Slip at t = 0, 1, ...; the last one stays."""

    def profile(self, horizon: int) -> Array:
        """Return the slip of each step, (T,)."""
        return np.array(self.slip)[np.minimum(np.arange(horizon), len(self.slip) - 1)]


SlipDrift = Annotated[
    LinearDrift | SinusoidalDrift | PiecewiseDrift | TableDrift, Field(discriminator="kind")
]


@register_world("rover")
class Rover(WorldParameters):
    """An n x n grid with a goal in the far corner, and a slip that drifts."""

    n: Side
    """Rows and columns."""
    horizon: Horizon
    """Steps, T."""
    drift: SlipDrift
    """Slip over time: linear, sinusoidal, piecewise or table."""
    obstacles: list[Pair] = Field(default=[])
    """Row and column of each cell that cannot be entered."""
    drift_bounds: list[float] | None = None
    """Drift bounds that rules are given in place of the true drift, T - 1 numbers."""

    def build(self) -> World:
        """Return the world."""
        slip = self.drift.profile(self.horizon)
        obstacles = [(cell[0], cell[1]) for cell in self.obstacles]
        return rover(self.n, slip, obstacles=obstacles, stated_bounds=self.drift_bounds)

    def notes(self) -> list[str]:
        """Return one line if the slip is clipped."""
        return self.drift.notes(self.horizon) if isinstance(self.drift, ClippedDrift) else []
