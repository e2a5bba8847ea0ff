"""The worlds of the suite: drawn ones by family and seed, and the built-in settings as families of their own.

`v2.csv` holds, for every world, which draw of its seed was taken, a hash of its parameters, and for each
execution the exact regret of the best feedback schedule (`floor`) and of the schedule by which worlds were
drawn (`replan.suite.table` makes it). Version v1 is the part of it without localised robots and measured
worlds, to the last digit. The zero of the score is the card of the rule `even`.
"""

from __future__ import annotations

import csv
import hashlib
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cache, cached_property
from importlib import resources
from typing import Any, Literal, get_args

from replan import Mission, Need, Rule, Setting, list_names, make_mission
from replan import regret as exact_regret
from replan.errors import InputError, did_you_mean, require_word
from replan.results.measure import canonical
from replan.schedule.periodic import Even
from replan.skip.latency import read_durations
from replan.suite.families import FAMILIES, MEASURED, Data, Draws
from replan.typing import Execution, Meanwhile
from replan.worlds import settings
from replan.worlds.forecasts import ForecastKind
from replan.worlds.parameters import parse_toml, read_toml
from replan.worlds.robot_words import as_durations, describe_latency
from replan.worlds.settings import FILES, PAPER_SETTINGS, parse_setting

FIRST_VERSION, VERSION = "v1", "v2"
VERSIONS: dict[str, tuple[Execution, ...]] = {
    FIRST_VERSION: ("map", "belief"),
    VERSION: ("map", "belief", "localised"),
}
"""Executions under which each version scores its worlds."""
EXECUTIONS = VERSIONS[VERSION]
BLIND = VERSIONS[FIRST_VERSION]
Part = Literal["tune", "test"]
LEAST_RANGE = 0.02
"""Least distance of `even` and `floor` of a world that is scored."""
FIRST_SEED: dict[Part, int] = {"tune": 0, "test": 1000}
WORLDS_OF_A_FAMILY: dict[Part, dict[str, int]] = {
    "tune": {name: 28 if name in ("thin-ice", "crosswind", "terrain") else 26 for name in FAMILIES}
    | {"wind": 30},
    "test": {name: 10 if name.startswith("rover-") else 16 for name in FAMILIES} | {"wind": 40},
}
BUILT_IN = ("paper", "hand-made", "nsbridge")
"""Families of built-in settings, all in the part `test`."""


@dataclass(frozen=True)
class SuiteRobot:
    """The robot on which a rule is measured, apart from its execution."""

    forecast: ForecastKind = "frozen"
    """Forecast of the steps ahead."""
    update_steps: int | dict[str, float] = 0
    """Steps that an update takes, or their probabilities, as in a setting."""
    meanwhile: Meanwhile = "go-on"
    """Acting while an update runs."""

    def __post_init__(self) -> None:
        read_durations(as_durations(self.update_steps))
        require_word(get_args(Meanwhile), meanwhile=self.meanwhile)

    @property
    def latency(self) -> str:
        """Duration of updates and the action meanwhile in words; "instant" if updates take no time."""
        return describe_latency(self.update_steps, self.meanwhile)

    def unusual(self) -> list[str]:
        """Return in words what differs from the paper's robot."""
        usual = SuiteRobot()
        words = ((self.forecast, usual.forecast), (self.latency, usual.latency))
        return [word for word, usual_word in words if word != usual_word]

    def axes(self) -> dict[str, Any]:
        """Return the robot as axes of a study."""
        axes = {"forecasts": [self.forecast]}
        if self.latency == SuiteRobot().latency:
            return axes
        return axes | {"update_steps": [self.update_steps], "meanwhile": [self.meanwhile]}


@dataclass(frozen=True)
class SuiteWorld:
    """A world of the suite, as the setting of a mission."""

    name: str
    part: Part
    family: str
    data: Mapping[str, Any] = field(repr=False)
    """The setting as plain data."""
    floor: Mapping[Execution, float]
    """Exact regret of the best feedback schedule of a robot that expects no change, by execution."""
    since: str = VERSION
    """Version of the suite that brought the world."""

    @property
    def setting(self) -> Setting:
        """The setting."""
        return parse_setting(dict(self.data), where=self.name)

    @cached_property
    def even(self) -> Mapping[Execution, float]:
        """Exact regret by execution of the rule `even`: that of its card in the test part, else computed."""
        if self.part == "test":
            return _even_regrets()[self.name]
        return {kind: exact_regret(self.mission(kind), Even()) for kind in EXECUTIONS}

    def mission(self, execution: Execution = "map", robot: SuiteRobot | None = None) -> Mission:
        """Return the mission of this world, with another execution or robot."""
        robot = robot or SuiteRobot()
        return make_mission(
            self.setting,
            execution=execution,
            forecast=robot.forecast,
            update_steps=as_durations(robot.update_steps),
            meanwhile=robot.meanwhile,
        )

    def has_room(self, robot: SuiteRobot) -> bool:
        """Return whether the budget fits the robot's updates, and the robot can wait if it is to."""
        try:
            self.mission(robot=replace(robot, forecast="frozen"))
        except InputError:
            return False
        return True

    def scored(self, execution: Execution) -> bool:
        """Return whether `even` and `floor` are far enough apart for a score."""
        return self.even[execution] - self.floor[execution] >= LEAST_RANGE

    def score(self, execution: Execution, regret: float) -> float | None:
        """Return (even - regret) / (even - floor), or None if the world is not scored."""
        if not self.scored(execution):
            return None
        return (self.even[execution] - regret) / (self.even[execution] - self.floor[execution])


def suite_executions(rule: Rule) -> tuple[Execution, ...]:
    """Return the executions of the suite to which a rule applies."""
    if Need.RUNNING_ESTIMATE in rule.needs:
        return tuple(kind for kind in EXECUTIONS if kind not in BLIND)
    return BLIND if rule.weighs_the_state else EXECUTIONS


def suite_worlds(part: Part, version: str = VERSION) -> list[SuiteWorld]:
    """Return the worlds of a part of the suite, family by family.

    Parameters
    ----------
    part : {"tune", "test"}
        The part.
    version : {"v1", "v2"}
        Version of the suite.

    Returns
    -------
    list of SuiteWorld
        The worlds.

    Raises
    ------
    InputError
        If there is no such part.
    """
    if part not in FIRST_SEED:
        raise InputError(f"a part of the suite is tune or test, not {part!r}")
    return [world for world in _all_worlds() if world.part == part and world.since <= version]


def worlds_with_room(part: Part, robot: SuiteRobot, version: str = VERSION) -> list[SuiteWorld]:
    """Return the worlds of a part in which the robot's updates have room."""
    worlds = suite_worlds(part, version)
    return worlds if robot.latency == "instant" else [world for world in worlds if world.has_room(robot)]


def suite_settings(family: str) -> dict[str, Mapping[str, Any]]:
    """Return the settings of a family by name, for studies: "test/thin-ice", "tune/terrain"."""
    part, _, name = family.partition("/")
    worlds = [world for world in _all_worlds() if (world.part, world.family) == (part, name)]
    if not worlds:
        known = dict.fromkeys(f"{world.part}/{world.family}" for world in _all_worlds())
        raise InputError(f"the suite has no family {family!r}{did_you_mean(family, known)}")
    return {world.name: world.data for world in worlds}


settings.FAMILIES["suite"] = suite_settings


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
def suite_hash(version: str = VERSION) -> str:
    """Return the hash of all worlds of a version and their reference values, in hexadecimal."""
    return hashlib.sha256(_table_text(version).encode()).hexdigest()


def draw_data(family: str, seed: int, draw: int) -> Data:
    """Return the setting that a family draws; `draw` counts the draws of one seed."""
    draws = Draws(f"{family_version(family)}/{family}/{seed}/{draw}")
    if family in MEASURED:
        return MEASURED[family](draws, "test" if seed >= FIRST_SEED["test"] else "tune")
    return FAMILIES[family](draws)


def family_version(family: str) -> str:
    """Return the version of the suite that brought a family."""
    return VERSION if family in MEASURED else FIRST_VERSION


def built_in_families() -> Iterator[tuple[str, str]]:
    """Yield name and family of every built-in setting in the suite."""
    for name in list_names("settings"):
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
    return tuple(_world(row) for row in table_rows())


def _world(row: dict[str, str]) -> SuiteWorld:
    data = row_data(row)
    if parameters_hash(data) != row["parameters"]:
        raise InputError(f"suite {VERSION}: the parameters of {row['world']} are not those that were frozen")
    floor: dict[Execution, float] = {kind: float(row[f"floor_{kind}"]) for kind in EXECUTIONS}
    part: Part = "test" if row["part"] == "test" else "tune"
    return SuiteWorld(row["world"], part, row["family"], data, floor, family_version(row["family"]))


@cache
def _even_regrets() -> dict[str, dict[Execution, float]]:
    """Return the regrets on the card of `even` by world and execution."""
    file = resources.files("replan.suite") / "cards" / "even.json"
    found: dict[str, dict[Execution, float]] = {}
    for entry in json.loads(file.read_text(encoding="utf-8"))["worlds"]:
        found.setdefault(entry["name"], {})[entry["execution"]] = entry["regret"]
    return found


def row_data(row: Mapping[str, Any]) -> Data:
    """Return the setting of a row of the table as plain data."""
    name, family = row["world"], row["family"]
    if family in BUILT_IN:
        return built_in_data(name)
    return draw_data(family, int(name.rpartition("-")[2]), int(row["draw"]))


def table_rows() -> list[dict[str, str]]:
    """Return the rows of the table by column."""
    return list(csv.DictReader(_table_text(VERSION).splitlines()))


def _table_text(version: str) -> str:
    """Return the table of a version: some columns and rows of the last one."""
    text = (resources.files("replan.suite") / f"{VERSION}.csv").read_text(encoding="utf-8")
    if version == VERSION:
        return text
    lines = [line.split(",") for line in text.splitlines()]
    kept = [
        i for i, name in enumerate(lines[0]) if name.partition("_")[2] not in set(EXECUTIONS) - set(BLIND)
    ]
    return "".join(",".join(line[i] for i in kept) + "\n" for line in lines if line[2] not in MEASURED)
