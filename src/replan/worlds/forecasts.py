"""The forecast of a setting: its kind, and for a given one its file or how wrong it is."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any, Literal, Self

from pydantic import Field, model_validator

from replan.errors import InputError
from replan.forecast.archive import Archive
from replan.forecast.base import Forecast, Frozen
from replan.forecast.from_family import FromFamily
from replan.forecast.given import ForecastFault, Given
from replan.forecast.mixture import Mixture
from replan.forecast.trend import Trend
from replan.model.array_worlds import load_npz
from replan.model.world import World
from replan.worlds.parameters import FileParameters

ForecastKind = Literal["frozen", "trend", "mixture", "given", "archive", "family", "family-ahead"]


def named_forecast(value: Any) -> Any:
    """Return the table of a forecast given by its kind."""
    return {"kind": value} if isinstance(value, str) else value


class ForecastParameters(FileParameters):
    """The forecast of a setting: the kernels that the robot expects after an update.

    `given` is the true future, or that of `file` or of another `world`, made wrong by `error`, `late` and
    `noise`. `mixture` has a given member if any of these is set. `archive` applies changes of the world's
    past. `family` moves the parameters of the world's family on; `family-ahead` also knows the drift bounds
    of the steps ahead.
    """

    kind: ForecastKind
    file: str | None = None
    """An .npz file with the kernels of all times, as `replan.load_npz` reads them."""
    world: dict[str, Any] | None = None
    """Keys of the setting by which the world with the given kernels differs, such as another station."""
    error: Annotated[float, Field(ge=-100, le=100)] | None = None
    """The forecast change since the update is (1 + error) times the true one."""
    late: Annotated[int, Field(ge=0)] | None = None
    """Steps by which the forecast lags behind."""
    noise: Annotated[float, Field(ge=0, le=100)] | None = None
    """Every entry is multiplied by exp(noise N), N standard normal."""
    seed: Annotated[int, Field(ge=0)] = 0
    """Seed of the noise."""

    @model_validator(mode="after")
    def _goes_together(self) -> ForecastParameters:
        if self.kind not in ("given", "mixture") and self.has_given:
            raise ValueError(
                f"file, world, error, late and noise go with given or mixture, not with {self.kind}"
            )
        if self.file is not None and self.world is not None:
            raise ValueError("the given kernels are those of a file or of a world, not of both")
        return self

    @property
    def has_given(self) -> bool:
        """Whether a given future is described."""
        return any(part is not None for part in (self.file, self.world, self.error, self.late, self.noise))

    def build(self, world: World, other: Callable[[dict[str, Any]], World] | None = None) -> Forecast:
        """Return the forecast for missions in a world.

        `other` makes the world of the setting with other keys; None where there is no setting.
        """
        if self.kind == "frozen":
            return Frozen()
        if self.kind == "trend":
            return Trend()
        if self.kind == "archive":
            return Archive().informed_by(world.knowledge, None)
        if self.kind in ("family", "family-ahead"):
            return self._family(world)
        given = self._given(world, other) if self.kind == "given" or self.has_given else None
        return given if self.kind == "given" and given else Mixture(given)

    def _family(self, world: World) -> FromFamily:
        if world.family is None:
            raise InputError(f"the forecast {self.kind} needs a world that declares a family")
        return FromFamily(world.family, world.local_drift_bounds, knows_ahead=self.kind == "family-ahead")

    def _given(self, world: World, other: Callable[[dict[str, Any]], World] | None) -> Given:
        fault = ForecastFault(self.late or 0, self.error or 0.0, self.noise or 0.0, self.seed)
        if self.file is None and self.world is None:
            return Given(world.kernel, fault)
        if self.file is not None:
            given, where = load_npz(self.file, horizon=world.horizon), self.file
        elif other is not None:
            given, where = other(self.world or {}), f"the forecast's world, {self._changed}"
            if given.horizon < world.horizon:
                raise InputError(f"{where}: {given.horizon} steps, but the world has {world.horizon}")
        else:
            raise InputError("a forecast of another world needs a setting")
        if (given.states, given.actions) != (world.states, world.actions):
            raise InputError(
                f"{where}: {given.states} states and {given.actions} actions, but the world has "
                f"{world.states} and {world.actions}"
            )
        return Given([given.kernel(t) for t in range(world.horizon)], fault)

    @property
    def _changed(self) -> str:
        """The keys and values of the other world in words."""
        return ", ".join(f"{key} {value}" for key, value in (self.world or {}).items())

    def beside(self, folder: Path) -> Self:
        """Return the parameters with the files that lie in the folder, if there are any."""
        found, file = super().beside(folder), (self.world or {}).get("file")
        if file is None or not (folder / file).exists():
            return found
        return found.model_copy(update={"world": {**(self.world or {}), "file": str(folder / file)}})

    def __str__(self) -> str:
        faults = {"error": self.error, "late": self.late, "noise": self.noise}
        wrong = [f"{name} {value:g}" for name, value in faults.items() if value is not None]
        given = [each for each in (self.file, self._changed) if each]
        return ", ".join([self.kind, *given, *wrong])
