"""The settings of each kind of world, key by key."""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, field_validator, model_validator

from replan.model import TVMDP, burst_intervals, linear, load_npz, piecewise, require_valid, sinusoidal
from replan.model.drift import GREATEST_SLIP
from replan.model.kernel import Array
from replan.planning.ties import Ties
from replan.worlds import crosswind, terrain, thin_ice
from replan.worlds.rover import rover

Fraction = Annotated[float, Field(ge=0, le=1)]
DriftingSlip = Annotated[float, Field(ge=0, le=GREATEST_SLIP)]
Whole = Annotated[int, Field(ge=1)]
Horizon = Annotated[int, Field(ge=2, le=1_000_000)]
Side = Annotated[int, Field(ge=2, le=10_000)]
Cell = Annotated[list[int], Field(min_length=2, max_length=2)]


class Strict(BaseModel):
    """No key that is not known, no value of another type, no number that is not finite."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True, allow_inf_nan=False)


class LinearDrift(Strict):
    """Slip that grows by the same amount every step."""

    kind: Literal["linear"]
    slip: DriftingSlip
    rate: float

    def profile(self, horizon: int) -> Array:
        """(T,) slip."""
        return linear(horizon, slip=self.slip, rate=self.rate)


class SinusoidalDrift(Strict):
    """Slip that swings."""

    kind: Literal["sinusoidal"]
    slip: DriftingSlip
    amplitude: float
    period: Annotated[float, Field(gt=0)]

    def profile(self, horizon: int) -> Array:
        """(T,) slip."""
        return sinusoidal(horizon, slip=self.slip, amplitude=self.amplitude, period=self.period)


class PiecewiseDrift(Strict):
    """Slip that creeps, and climbs in bursts."""

    kind: Literal["piecewise"]
    slip: DriftingSlip
    quiet: float
    bursts: list[tuple[Fraction, Fraction, float]]

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

    def profile(self, horizon: int) -> Array:
        """(T,) slip."""
        return piecewise(horizon, slip=self.slip, quiet=self.quiet, bursts=self.bursts)

    def intervals(self, horizon: int) -> list[tuple[int, int]]:
        """The bursts as whole times [begin, end)."""
        return burst_intervals(horizon, self.bursts)


class AnyWorld(Strict):
    """What every setting has."""

    planning_horizon: Whole
    budget: int
    ties: str = "first"

    @field_validator("ties")
    @classmethod
    def _known_ties(cls, value: str) -> str:
        Ties.parse(value)
        return value


class RoverSetting(AnyWorld):
    """The paper's rover."""

    world: Literal["rover"]
    n: Side
    horizon: Horizon
    drift: Annotated[LinearDrift | SinusoidalDrift | PiecewiseDrift, Field(discriminator="kind")]
    obstacles: list[Cell] = []
    drift_bounds: list[float] | None = None

    def build(self) -> TVMDP:
        """The world."""
        obstacles = [(cell[0], cell[1]) for cell in self.obstacles]
        slip = self.drift.profile(self.horizon)
        return rover(self.n, slip, obstacles=obstacles, stated_bounds=self.drift_bounds)


class Ice(Strict):
    """See replan.worlds.thin_ice."""

    slip: Fraction = 0.04
    failure: Fraction = 0.02
    worst_failure: Fraction = 0.8
    melt_begin: int = 0
    melt_steps: Whole = 9
    fall_cost: float = 3.0
    swept: int = 3
    ice_width: Whole = 3
    river: int = 9
    bridge: int = 5


class ThinIceSetting(AnyWorld):
    """A short way over ice that melts, and a long way over a bridge."""

    world: Literal["thin-ice"]
    n: Side = 12
    horizon: Horizon
    ice: Ice = Ice()

    def build(self) -> TVMDP:
        """The world."""
        return thin_ice.build(n=self.n, horizon=self.horizon, **self.ice.model_dump())


class Wind(Strict):
    """See replan.worlds.crosswind."""

    lakes: Whole = 2
    lake_length: Whole = 5
    lake_height: Whole = 3
    gusts: Fraction = 0.2
    lean: Fraction = 0.9
    turn_begin: int = 2
    turn_steps: Whole = 4
    turn: float = 180.0
    hazard_cost: float = 3.0


class CrosswindSetting(AnyWorld):
    """Wind that turns, and lakes on its lee side."""

    world: Literal["crosswind"]
    horizon: Horizon
    wind: Wind = Wind()

    def build(self) -> TVMDP:
        """The world."""
        return crosswind.build(horizon=self.horizon, **self.wind.model_dump())


class Patch(Strict):
    """See replan.worlds.terrain."""

    rows: Cell
    columns: Cell
    slip: Fraction
    final_slip: Fraction | None = None
    begin: int = 0
    end: int = 1

    @model_validator(mode="after")
    def _in_order(self) -> Patch:
        if self.begin >= self.end:
            raise ValueError(f"a patch must end its drift after it begins, not {self.begin} to {self.end}")
        return self


class Terrain(Strict):
    """See replan.worlds.terrain."""

    slip: Fraction = 0.02
    patches: list[Patch] = []
    walls: list[Annotated[list[int], Field(min_length=4, max_length=4)]] = []
    start: Cell = [0, 0]
    goal: Cell | None = None


class TerrainSetting(AnyWorld):
    """Ground that differs from cell to cell and drifts in places only."""

    world: Literal["terrain"]
    n: Side = 12
    horizon: Horizon
    terrain: Terrain = Terrain()

    def build(self) -> TVMDP:
        """The world."""
        return terrain.build(n=self.n, horizon=self.horizon, **self.terrain.model_dump())


class ArraysSetting(AnyWorld):
    """A world of one's own from an .npz file (see replan.model.load_npz)."""

    world: Literal["arrays"]
    file: str
    horizon: Horizon | None = None

    def build(self) -> TVMDP:
        """The world, checked; drift bounds that it states count, true or not, as a rover's do."""
        world = load_npz(self.file, horizon=self.horizon)
        require_valid(replace(world, stated_bounds=None))
        return world


Setting = RoverSetting | ThinIceSetting | CrosswindSetting | TerrainSetting | ArraysSetting
TAGS = {"rover", "thin-ice", "crosswind", "terrain", "arrays", "linear", "sinusoidal", "piecewise"}
