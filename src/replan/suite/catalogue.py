"""The worlds of the suite: drawn ones by family and seed, and the built-in settings as families of their own.

`v1.csv` holds, for every world, which draw of its seed was taken, a hash of its parameters, and the exact
regret of evenly spaced updates (`even`) and of the best feedback schedule (`floor`) for each execution.
`python -m replan.suite.catalogue FILE.csv` makes it, once for a version: a seed is drawn again until even
spacing and the floor lie apart under both executions.
"""

from __future__ import annotations

import csv
import hashlib
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from importlib import resources
from itertools import count
from pathlib import Path
from typing import Any, Literal

from replan.errors import InputError, did_you_mean
from replan.evaluation.exact import regret
from replan.evaluation.optimal_schedule import feedback_regrets
from replan.execute.mission import Mission
from replan.results.measure import canonical
from replan.schedule.periodic import Periodic
from replan.skip.propagation import Execution
from replan.suite.families import FAMILIES, Data, Draws
from replan.worlds.forecasts import ForecastKind
from replan.worlds.parameters import parse_toml, read_toml
from replan.worlds.settings import (
    FILES,
    PAPER_SETTINGS,
    Setting,
    builtin_settings,
    make_mission,
    parse_setting,
)

VERSION = "v1"
EXECUTIONS: tuple[Execution, ...] = ("map", "belief")
"""Executions under which every world is scored."""
DECIMALS = 10
"""Decimals of the reference values."""
Part = Literal["tune", "test"]
LEAST_RANGE = 0.02
"""Least distance of `even` and `floor`: worlds in which they are closer are drawn again, or not scored."""
FIRST_SEED: dict[Part, int] = {"tune": 0, "test": 1000}
WORLDS_OF_A_FAMILY: dict[Part, dict[str, int]] = {
    "tune": {name: 28 if name in ("thin-ice", "crosswind", "terrain") else 26 for name in FAMILIES},
    "test": {name: 10 if name.startswith("rover-") else 16 for name in FAMILIES},
}
BUILT_IN = ("paper", "hand-made", "nsbridge")
"""Families of built-in settings, all in the part `test`."""


@dataclass(frozen=True)
class SuiteWorld:
    """A world of the suite, as the setting of a mission."""

    name: str
    part: Part
    family: str
    data: Mapping[str, Any] = field(repr=False)
    """The setting as plain data."""
    even: Mapping[Execution, float]
    """Exact regret of `periodic` by execution."""
    floor: Mapping[Execution, float]
    """Exact regret of the best feedback schedule of the paper's robot by execution."""

    @property
    def setting(self) -> Setting:
        """The setting."""
        return parse_setting(dict(self.data), where=self.name)

    def mission(self, execution: Execution = "map", forecast: ForecastKind = "frozen") -> Mission:
        """Return the mission of this world, with another execution or forecast."""
        return make_mission(self.setting, execution=execution, forecast=forecast)

    def scored(self, execution: Execution) -> bool:
        """Return whether `even` and `floor` are far enough apart for a score."""
        return self.even[execution] - self.floor[execution] >= LEAST_RANGE

    def score(self, execution: Execution, regret: float) -> float | None:
        """Return (even - regret) / (even - floor), or None if the world is not scored."""
        if not self.scored(execution):
            return None
        return (self.even[execution] - regret) / (self.even[execution] - self.floor[execution])


def suite_worlds(part: Part) -> list[SuiteWorld]:
    """Return the worlds of a part of the suite, family by family.

    Parameters
    ----------
    part : {"tune", "test"}
        The part.

    Returns
    -------
    list of SuiteWorld
        The worlds.
    """
    if part not in FIRST_SEED:
        raise InputError(f"a part of the suite is tune or test, not {part!r}")
    return [world for world in _all_worlds() if world.part == part]


def suite_world(name: str) -> SuiteWorld:
    """Return a world of the suite.

    Parameters
    ----------
    name : str
        Its name, as `rover-sines-1003`.

    Returns
    -------
    SuiteWorld
        The world.

    Raises
    ------
    InputError
        If there is no such world.
    """
    known = {world.name: world for world in _all_worlds()}
    if name not in known:
        raise InputError(f"unknown world of the suite {name!r}{did_you_mean(name, known)}")
    return known[name]


@cache
def suite_hash() -> str:
    """Return the hash of all worlds and their reference values, in hexadecimal."""
    return hashlib.sha256(_table_text().encode()).hexdigest()


def draw_data(family: str, seed: int, draw: int) -> Data:
    """Return the setting that a family draws; `draw` counts the draws of one seed."""
    return FAMILIES[family](Draws(f"{VERSION}/{family}/{seed}/{draw}"))


def built_in_families() -> Iterator[tuple[str, str]]:
    """Yield name and family of every built-in setting in the suite."""
    for name in builtin_settings():
        family = "paper" if name in PAPER_SETTINGS else name.partition("-")[0]
        yield name, family if family in BUILT_IN else "hand-made"


def built_in_data(name: str) -> Data:
    """Return a built-in setting as plain data."""
    text, where = read_toml(name, **FILES, what="setting")
    return parse_toml(text, where=where)


def parameters_hash(data: Mapping[str, Any]) -> str:
    """Return the first digits of the hash of a setting's data."""
    return hashlib.sha256(canonical(data).encode()).hexdigest()[:12]


@cache
def _all_worlds() -> tuple[SuiteWorld, ...]:
    return tuple(_world(row) for row in csv.DictReader(_table_text().splitlines()))


def _world(row: dict[str, str]) -> SuiteWorld:
    name, family = row["world"], row["family"]
    drawn = family in FAMILIES
    data = draw_data(family, int(name.rpartition("-")[2]), int(row["draw"])) if drawn else built_in_data(name)
    if parameters_hash(data) != row["parameters"]:
        raise InputError(f"suite {VERSION}: the parameters of {name} are not those that were frozen")
    even: dict[Execution, float] = {kind: float(row[f"even_{kind}"]) for kind in EXECUTIONS}
    floor: dict[Execution, float] = {kind: float(row[f"floor_{kind}"]) for kind in EXECUTIONS}
    part: Part = "test" if row["part"] == "test" else "tune"
    return SuiteWorld(name, part, family, data, even, floor)


def _table_text() -> str:
    return (resources.files("replan.suite") / f"{VERSION}.csv").read_text(encoding="utf-8")


def reference_values(data: Mapping[str, Any]) -> Data:
    """Return `even` and `floor` of a setting by execution, as columns of the table."""
    setting, values = parse_setting(dict(data)), {}
    for execution in EXECUTIONS:
        mission = make_mission(setting, execution=execution)
        values[f"even_{execution}"] = _rounded(regret(mission, Periodic()))
        values[f"floor_{execution}"] = _rounded(feedback_regrets(mission, mission.limit)[-1])
    return values


def drawn_row(family: str, seed: int) -> Data:
    """Return draw, hash and reference values of the first draw of a seed that can be scored."""
    for draw in count():
        data = draw_data(family, seed, draw)
        values = reference_values(data)
        if all(values[f"even_{kind}"] - values[f"floor_{kind}"] >= LEAST_RANGE for kind in EXECUTIONS):
            return {"draw": draw, "parameters": parameters_hash(data), **values}
    raise AssertionError


def rows() -> Iterator[Data]:
    """Yield the rows of the table."""
    for part, families in WORLDS_OF_A_FAMILY.items():
        for family, worlds in families.items():
            for seed in range(FIRST_SEED[part], FIRST_SEED[part] + worlds):
                named = {"world": f"{family}-{seed}", "part": part, "family": family}
                yield {**named, **drawn_row(family, seed)}
    for name, family in built_in_families():
        data = built_in_data(name)
        named = {"world": name, "part": "test", "family": family, "draw": ""}
        yield {**named, "parameters": parameters_hash(data), **reference_values(data)}


def _rounded(value: float) -> float:
    return round(float(value), DECIMALS) + 0.0  # never -0.0


def main(path: str) -> None:
    """Write the table."""
    lines: list[str] = []
    for row in rows():
        lines = lines or [",".join(row)]
        lines.append(",".join(map(str, row.values())))
        print(lines[-1], file=sys.stderr, flush=True)
    Path(path).write_text("\n".join(lines) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main(*sys.argv[1:])
