"""A study as a file: STUDY.toml, checked key by key.

    settings = ["two-burst", { base = "late-burst", vary = { budget = { from = 2, to = 6 } } }]
    rules = ["periodic", { rule = "regret-guided", set = { score = "gap" }, grid = { alpha = [0.5, 0.9] } }]
    executions = ["map", "belief"]
    measure = ["exact", "sampled"]
    seeds = { first = 0, count = 1000 }

A rule that is only named has its hyper-parameters chosen on the validation seeds. Every point of a grid is a
cell of its own; what neither `set` nor `grid` gives is the rule's default there, or chosen if `tune = true`.

Keys at the top hold for all of the study; `[[blocks]]` may give their own, and are run one after another.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, Field, ValidationError, field_validator, model_validator

import replan.study.measures  # noqa: F401  (registers the measures)
from replan.errors import InputError
from replan.results.measure import Measure
from replan.study.axes import RuleAxis, SettingAxis, StrictModel, combinations
from replan.study.candidates import Search
from replan.typing import Execution, Meanwhile
from replan.worlds.estimators import EXACT_ESTIMATORS, FOR_LOCALISED, check_estimator
from replan.worlds.forecasts import ForecastParameters, named_forecast
from replan.worlds.parameters import builtin_names, one_line, parse_toml, read_toml
from replan.worlds.robot_words import check_steps
from replan.worlds.settings import FAMILIES

Density = Literal["none", "sparse", "dense"]
StatedBounds = Literal["right", "too-small", "too-large", "shifted"]

CELLS_AT_MOST = 1_000_000
SEEDS_AT_MOST = 1_000_000  # of one cell, which samples them side by side
LAST_SEED = 2**62
LAYOUTS_AT_MOST = 1_000_000  # of one density; those from there on are for validation
FILES = {"package": "replan.study", "folder": "studies"}


def _known_measure(name: str) -> str:
    """Return the name of a measure; flights are known if `replan.report.reports.drones` is imported."""
    if name not in Measure.named:
        raise ValueError(f"must be one of {', '.join(sorted(Measure.named))}")
    return name


MeasureName = Annotated[str, AfterValidator(_known_measure)]


class Seeds(StrictModel):
    """The seeds of sampled measurements, one after another."""

    first: Annotated[int, Field(ge=0, le=LAST_SEED)] = 0
    count: Annotated[int, Field(ge=2, le=SEEDS_AT_MOST)] = 1000


class Block(StrictModel):
    """Every rule on every setting, measured alike."""

    settings: list[SettingAxis] = Field([])
    densities: list[Density] = Field([])  # of obstacles: simulated flights in place of settings
    layouts: Annotated[int, Field(ge=1, le=LAYOUTS_AT_MOST)] = 15  # flown for each density
    trial: Annotated[int, Field(ge=0, le=LAST_SEED)] = 0  # of the wind, and of rules that draw in flight
    cuts: Literal[1, 3] = 1  # of a cell in the planner's grid model of flights
    rules: Annotated[list[RuleAxis], Field(min_length=1)]
    executions: list[Execution] = Field(["map"], min_length=1)
    forecasts: list[ForecastParameters] = Field([])  # empty: that of each setting
    update_steps: list[int | dict[str, float]] = Field([])  # empty: those of each setting
    meanwhile: list[Meanwhile] = Field([])  # empty: that of each setting
    estimators: list[str] = Field([])  # empty: true-kernel, and tracked of localised robots
    stated_bounds: list[StatedBounds] = Field(["right"], min_length=1)
    measure: list[MeasureName] = Field(["exact"], min_length=1)
    seeds: Seeds = Seeds()
    search: Search = "paper"  # how hyper-parameters that are not given are chosen
    intervals: bool = True  # bootstrap intervals of sampled regret
    decisions: bool = True  # keep every decision with its terms

    @field_validator("forecasts", mode="before")
    @classmethod
    def _named_forecasts(cls, value: Any) -> Any:
        return [named_forecast(each) for each in value] if isinstance(value, list) else value

    @field_validator("update_steps", mode="before")
    @classmethod
    def _known_steps(cls, value: Any) -> Any:
        return [check_steps(each) for each in value] if isinstance(value, list) else value

    @field_validator("seeds", mode="before")
    @classmethod
    def _seeds_are_a_table(cls, value: Any) -> Any:
        if isinstance(value, (dict, Seeds)):
            return value
        count = value if isinstance(value, int) else 100
        raise ValueError(f"must be a table such as seeds = {{ first = 0, count = {count} }}, not {value!r}")

    @model_validator(mode="after")
    def _fits(self) -> Block:
        for name in self.estimators:
            check_estimator(name)
        learned = [name for name in self.estimators if name not in EXACT_ESTIMATORS]
        seeing = [name for name in self.estimators if name in FOR_LOCALISED]
        if seeing and set(self.executions) != {"localised"}:
            raise ValueError(f'estimator {seeing[0]} goes with executions = ["localised"] alone')
        if bool(self.settings) == bool(self.densities):
            raise ValueError("a study has either settings or densities")
        if bool(self.densities) != (self.measure == ["flight"]):
            raise ValueError('measure is ["flight"] for densities, and for nothing else')
        exact = [name for name in sorted(set(self.measure)) if not Measure.named[name].of_learners]
        if learned and exact:
            raise ValueError(
                f"measure {', '.join(exact)} goes with estimator {' or '.join(EXACT_ESTIMATORS)}, "
                f"not {learned[0]}"
            )
        return self

    def latencies(self) -> list[dict[str, Any]]:
        """The keys of a setting that say how long updates take; one empty table if they are left to it.

        Updates that take no time are measured once, whatever `meanwhile` is.
        """
        acting = [{"meanwhile": each} for each in self.meanwhile] or [{}]
        found = []
        for steps in self.update_steps:
            found += [{"update_steps": steps} | each for each in (acting if steps != 0 else [{}])]
        return found or acting

    def cells(self) -> int:
        """The number of cells."""
        settings = sum(combinations(axis.vary) for axis in self.settings) + len(self.densities)
        rules = sum(combinations(axis.grid) for axis in self.rules)
        ways = len(self.executions) * max(1, len(self.estimators)) * len(self.stated_bounds)
        return settings * rules * ways * max(1, len(self.forecasts)) * len(self.latencies())


class Study(StrictModel):
    """A named study: its blocks are run as one."""

    name: Annotated[str, Field(pattern=r"^[\w][\w.-]*$", max_length=100)]
    about: str = ""  # one line, for `replan reproduce`
    takes: str = ""  # how long, on two cores
    blocks: Annotated[list[Block], Field(min_length=1)]

    @model_validator(mode="after")
    def _few_enough(self) -> Study:
        cells = sum(block.cells() for block in self.blocks)
        if cells > CELLS_AT_MOST:
            raise ValueError(f"a study has at most {CELLS_AT_MOST} cells, not {cells}")
        return self


def builtin_studies() -> list[str]:
    """Return the names of the studies that come with replan."""
    return builtin_names(**FILES)


def study_data(source: str | Path) -> dict[str, Any]:
    """Return the contents of a study file, unchecked."""
    text, where = read_toml(source, **FILES, what="study")
    return parse_toml(text, where=where)


def load_study(source: str | Path, **replaced: Any) -> tuple[Study, str]:
    """Load a study.

    Parameters
    ----------
    source : str or Path
        A TOML file, or the name of a study that comes with replan.
    **replaced : object
        Keys that replace those of the file.

    Returns
    -------
    tuple of Study and str
        The study, and its text, which is kept with the results.
    """
    text, where = read_toml(source, **FILES, what="study")
    data = parse_toml(text, where=where)
    if replaced:
        text += f"\n# replaced: {json.dumps(replaced)}\n"
    return parse_study({"name": Path(source).stem, **data, **replaced}, where=where), text


def parse_study(data: dict[str, Any], *, where: str = "study") -> Study:
    """Return the study of plain data; the first fault is named with its key. Settings lie beside `where`."""
    own = {key: data[key] for key in ("name", "about", "takes") if key in data}
    common = {key: value for key, value in data.items() if key not in (*own, "blocks")}
    blocks = data.get("blocks", [{}])
    if not isinstance(blocks, list) or not all(isinstance(block, dict) for block in blocks):
        raise InputError(f"{where}: 'blocks' must be a list of tables")
    try:
        found = [_block({**common, **block}, where) for block in blocks]
        return Study.model_validate({**own, "blocks": found})
    except ValidationError as error:
        known = {*Study.model_fields, *Block.model_fields, *Seeds.model_fields}
        raise InputError(f"{where}: {one_line(error, known=known)}{_where_budgets_are(error)}") from None


def _where_budgets_are(error: ValidationError) -> str:
    """Return where a study varies budgets, if the first fault is a key for them."""
    key = error.errors(include_url=False)[0]["loc"][-1:]
    if key not in (("budget",), ("budgets",)):
        return ""
    return ": did you mean settings = [{ base = NAME, vary = { budget = [2, 3] } }]?"


def _block(data: dict[str, Any], where: str) -> Block:
    """The block with files of settings and rules taken from beside the study."""
    if isinstance(data.get("settings"), list):
        data = data | {"settings": [each for axis in data["settings"] for each in _members(where, axis)]}
    beside = {
        key: [_beside(where, axis, name) for axis in data[key]]
        for key, name in (("settings", "base"), ("rules", "rule"))
        if isinstance(data.get(key), list)
    }
    return Block.model_validate(data | beside)


def _members(where: str, axis: Any) -> list[Any]:
    """Return the axes of a family's settings in place of the axis that names the family."""
    named = [key for key in FAMILIES if isinstance(axis, dict) and key in axis]
    if not named:
        return [axis]
    (key,) = named
    others = {name: value for name, value in axis.items() if name != key}
    if not isinstance(axis[key], str) or not others.keys() <= {"vary"}:
        raise InputError(f'{where}: a table with {key} = "PART/FAMILY" may have `vary`, and nothing else')
    settings = FAMILIES[key](axis[key])
    return [{"base": dict(data), "name": name, **others} for name, data in settings.items()]


def _beside(where: str, axis: Any, key: str) -> Any:
    """The axis as a table, its file (mine.toml, mine.py:Rule) beside `where` if there is one."""
    axis = {key: axis} if isinstance(axis, str) else axis
    if not isinstance(axis, dict) or not isinstance(axis.get(key), str):
        return axis
    file, colon, name = axis[key].rpartition(":") if key == "rule" else (axis[key], "", "")
    path = Path(where).parent / file
    if not file.endswith((".toml", ".py")) or not os.path.exists(path):  # noqa: PTH110, or it is too long
        return axis
    return axis | {key: f"{path}{colon}{name}"}
