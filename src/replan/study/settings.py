"""Settings: a TOML file, or the name of a built-in one, checked key by key and turned into a mission."""

from __future__ import annotations

import tomllib
from importlib import resources
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    TypeAdapter,
    ValidationError,
    field_validator,
    model_validator,
)

from replan.errors import InputError
from replan.execute.mission import Mission
from replan.model import TVMDP, burst_intervals, linear, load_npz, piecewise, require_valid, sinusoidal
from replan.model.kernel import Array
from replan.plan.ties import Ties
from replan.skip.propagate import Execution
from replan.worlds.rover import rover

PAPER_SETTINGS = (
    "late-burst",
    "two-burst",
    "alternating",
    "sinusoidal-medium",
    "narrow-late",
    "sparse-late-60",
    "sparse-late-50",
    "three-short",
)

Fraction = Annotated[float, Field(ge=0, le=1)]
Whole = Annotated[int, Field(ge=1)]


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)


class LinearDrift(_Strict):
    """Slip that grows by the same amount every step."""

    kind: Literal["linear"]
    slip: Fraction
    rate: float

    def profile(self, horizon: int) -> Array:
        """(T,) slip."""
        return linear(horizon, slip=self.slip, rate=self.rate)


class SinusoidalDrift(_Strict):
    """Slip that swings."""

    kind: Literal["sinusoidal"]
    slip: Fraction
    amplitude: float
    period: Annotated[float, Field(gt=0)]

    def profile(self, horizon: int) -> Array:
        """(T,) slip."""
        return sinusoidal(horizon, slip=self.slip, amplitude=self.amplitude, period=self.period)


class PiecewiseDrift(_Strict):
    """Slip that creeps, and climbs in bursts."""

    kind: Literal["piecewise"]
    slip: Fraction
    quiet: float
    bursts: list[tuple[Fraction, Fraction, float]]

    @field_validator("bursts", mode="before")
    @classmethod
    def _as_tuples(cls, value: Any) -> Any:
        return (
            [tuple(part) if isinstance(part, list) else part for part in value]
            if isinstance(value, list)
            else value
        )

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


class _Mission(_Strict):
    """What every setting has."""

    planning_horizon: Whole
    budget: int
    ties: str = "first"

    @field_validator("ties")
    @classmethod
    def _known_ties(cls, value: str) -> str:
        Ties.parse(value)
        return value


class RoverSetting(_Mission):
    """The paper's rover."""

    world: Literal["rover"]
    n: Annotated[int, Field(ge=2)]
    horizon: Annotated[int, Field(ge=2)]
    drift: Annotated[LinearDrift | SinusoidalDrift | PiecewiseDrift, Field(discriminator="kind")]
    obstacles: list[list[int]] = []
    drift_bounds: list[float] | None = None

    @model_validator(mode="after")
    def _whole(self) -> RoverSetting:
        for cell in self.obstacles:
            if len(cell) != 2:
                raise ValueError(f"obstacles: a cell is two numbers [row, column], not {cell}")
        return self

    def build(self) -> TVMDP:
        """The world."""
        obstacles = [(cell[0], cell[1]) for cell in self.obstacles]
        return rover(
            self.n, self.drift.profile(self.horizon), obstacles=obstacles, stated_bounds=self.drift_bounds
        )


class ArraysSetting(_Mission):
    """A world of one's own from an .npz file (see replan.model.load_npz)."""

    world: Literal["arrays"]
    file: str
    horizon: Annotated[int, Field(ge=2)] | None = None

    def build(self) -> TVMDP:
        """The world, checked."""
        return require_valid(load_npz(self.file, horizon=self.horizon))


Setting = RoverSetting | ArraysSetting
_ADAPTER: TypeAdapter[Setting] = TypeAdapter(Annotated[Setting, Field(discriminator="world")])


def builtin_settings() -> list[str]:
    """The names of the settings that come with replan, the paper's first."""
    folder = resources.files("replan.worlds") / "settings"
    names = {Path(file.name).stem for file in folder.iterdir() if file.name.endswith(".toml")}
    return [*PAPER_SETTINGS, *sorted(names - set(PAPER_SETTINGS))]


def load_setting(source: str | Path) -> Setting:
    """From the path of a TOML file, or the name of a built-in setting."""
    text, where = _read(source)
    try:
        data = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise InputError(f"{where}: not valid TOML: {error}") from None
    return parse_setting(data, where=where)


def parse_setting(data: dict[str, Any], *, where: str = "setting") -> Setting:
    """From plain data; the first fault is named with its key."""
    try:
        setting = _ADAPTER.validate_python(data)
    except ValidationError as error:
        raise InputError(f"{where}: {one_line(error)}") from None
    if isinstance(setting, ArraysSetting):
        beside = Path(where).parent / setting.file
        if beside.exists():
            setting = setting.model_copy(update={"file": str(beside)})
    return setting


def make_mission(setting: Setting, *, execution: Execution = "map", budget: int | None = None) -> Mission:
    """The mission that a setting describes."""
    return Mission(
        world=setting.build(),
        budget=setting.budget if budget is None else budget,
        planning_horizon=setting.planning_horizon,
        ties=Ties.parse(setting.ties),
        execution=execution,
    )


def one_line(error: ValidationError) -> str:
    """The first fault that pydantic found, as one line that names the key."""
    fault: Any = error.errors(include_url=False)[0]
    tags = {"rover", "arrays", "linear", "sinusoidal", "piecewise"}
    path = [part for k, part in enumerate(fault["loc"]) if not (k in (0, 2, 1) and part in tags)]
    key = ".".join(str(part) for part in path)
    kind, value = fault["type"], fault.get("input")
    if kind == "extra_forbidden":
        return f"unknown key {key!r}"
    if kind == "missing":
        return f"missing key {key!r}"
    if kind == "union_tag_not_found":
        return f"missing key {'.'.join([*map(str, path), _discriminator(fault)])!r}"
    if kind == "union_tag_invalid":
        named = ".".join([*map(str, path), _discriminator(fault)])
        return f"{named!r} must be one of {fault['ctx']['expected_tags']}, not {fault['ctx']['tag']!r}"
    said = fault["msg"].removeprefix("Value error, ").removeprefix("Input ").rstrip(".")
    shown = "" if isinstance(value, (dict, list)) and kind == "value_error" else f", not {value!r}"
    return f"{key!r} {said}{shown}" if key else said


def _discriminator(fault: Any) -> str:
    return str(fault["ctx"]["discriminator"]).strip("'")


def _read(source: str | Path) -> tuple[str, str]:
    name = str(source)
    if name in builtin_settings():
        return (resources.files("replan.worlds") / "settings" / f"{name}.toml").read_text(), name
    path = Path(source)
    if path.suffix != ".toml" and not path.exists():
        raise InputError(
            f"{name!r} is neither a TOML file nor a built-in setting ({', '.join(builtin_settings())})"
        )
    try:
        return path.read_text(), name
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"{name}: cannot be read ({getattr(error, 'strerror', None) or error})") from None
