"""Flights as a measure of studies, the choice of a rule on layouts, and Table 3 beside the paper's."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import lru_cache
from typing import Annotated, Any, ClassVar

import numpy as np

from replan import RegretGuided, Rule, find_rule
from replan.evaluation.exact import schedule_key
from replan.report.reports import REPORTS, reference, table_of
from replan.results.key import Record, RecordKey
from replan.results.measure import ColumnFormat, JointMeasure, Measure
from replan.results.pivot import group
from replan.results.run import Run
from replan.results.table import Table
from replan.robots import FlightOutcome, FlightScene, Job, Track, draw_flights, fly_batch
from replan.schedule.registry import list_parameters
from replan.study.candidates import candidates
from replan.study.cells import Cell
from replan.study.definition import LAYOUTS_AT_MOST, Density
from replan.study.measures import RuleColumns
from replan.study.protocol import Bench, bootstrap_interval, exact_regret, with_given
from replan.typing import Array, Execution
from replan.worlds.forecasts import ForecastParameters

VALIDATION_LAYOUTS = 3  # for each density
LARGEST_BATCH = 1536  # drones flown at once; with their missions they take about 2 GB
HEAVY_BATCH = 64  # of drones that plan on sub-cells or on a forecast, which take up to 30 MB each
FEWEST_CELLS = 10  # flown together, on some of their layouts at a time
DRAWN_LAYOUT = 8  # whose flights are kept for the figure: the rules end differently on it
TITLES = {"none": "no obstacles", "sparse": "sparse obstacles", "dense": "dense obstacles"}
COLUMNS = ("rule", "", "success", "paper", "collisions", "paper", "cost", "paper", "cost difference")
REFERENCE = ("regret-guided", "map")  # the others' costs are compared with it, or else with the first row


@dataclass(frozen=True)
class Flights(JointMeasure, name="flight"):
    """The measure `flight` of studies: the layouts of a density, flown in simulated physics."""

    flights: list[dict[str, Any]] | None = None
    """The outcome of every layout."""
    collision_length: float | None = None
    """Length in m that a collision adds to the cost."""
    drawn: Annotated[dict[str, Any] | None, ColumnFormat(in_csv=False)] = None
    """The way flown over one layout, for the figure."""
    largest_batch: ClassVar[int] = LARGEST_BATCH
    heavy_batch: ClassVar[int] = HEAVY_BATCH

    @classmethod
    def together(cls, cell: Cell) -> tuple[tuple[int, bool], int]:
        """Return cuts and whether there is a forecast, and the number of such cells in a batch of work.

        Batches are large because a step costs little more for many drones.
        """
        setting = json.loads(cell.setting)
        most = max(FEWEST_CELLS, cls.largest_batch // setting["layouts"])
        return (setting["cuts"], "forecast" in setting), most

    @classmethod
    def of_all(cls, cells: Sequence[Cell]) -> list[tuple[Measure, ...]]:
        """Fly the layouts of cells that go together.

        A rule is chosen on layouts of its own, for the density and the execution. `trial` fixes the wind
        and, with the number of the layout, what a rule draws. The way over one layout is kept for the figure.
        """
        jobs = [_jobs(cell) for cell in cells]
        tracks: list[list[Track]] = [[] for _ in cells]
        largest = cls.largest_batch if cells[0].together == (1, False) else cls.heavy_batch
        together = max(1, largest // len(cells))  # layouts of each cell
        for first in range(0, max(map(len, jobs)), together):
            batch = [(k, job) for k, some in enumerate(jobs) for job in some[first : first + together]]
            flown = fly_batch([job for _, job in batch])
            for (k, _), made in zip(batch, flown, strict=True):
                tracks[k].append(made)
        return [
            (RuleColumns(list_parameters(some[0].rule)), cls._of_tracks(made))
            for some, made in zip(jobs, tracks, strict=True)
        ]

    @classmethod
    def _of_tracks(cls, tracks: Sequence[Track]) -> Flights:
        drawn = tracks[min(DRAWN_LAYOUT, len(tracks) - 1)]
        kept = {
            "number": drawn.number,
            "path": drawn.path.round(6).tolist(),
            "updates": drawn.updates.round(6).tolist(),
            "update_times": drawn.update_times,
        }
        return cls([asdict(made.outcome) for made in tracks], FlightOutcome.collision_length, kept)


def _jobs(cell: Cell) -> list[Job]:
    """The flights of a cell, one for each layout."""
    setting = json.loads(cell.setting)
    density, layouts, trial = setting["density"], setting["layouts"], setting["trial"]
    forecast = ForecastParameters(**setting["forecast"]) if "forecast" in setting else None
    execution: Execution = cell.execution  # pyright: ignore[reportAssignmentType]
    given = json.loads(cell.given)
    if cell.search is None:
        rule = find_rule(cell.rule, text=cell.source).make(**given)
    else:
        rule = choose_rule(cell.rule, density, execution, given=given)
    latency = {name: setting[name] for name in ("update_steps", "meanwhile") if name in setting}
    scenes = [
        FlightScene(density, k, execution, trial, setting["cuts"], forecast, **latency)
        for k in range(layouts)
    ]
    return [Job(scene, rule, draws=trial * layouts + k) for k, scene in enumerate(scenes)]


def choose_rule(
    name: str, density: Density, execution: Execution = "map", *, given: dict[str, Any] | None = None
) -> Rule:
    """Return the candidate with the least total exact regret on the validation layouts."""
    benches = _validation(density, execution)
    options = with_given(name, candidates(name, benches[0].mission), given or {})
    if name == "regret-guided" and not given:  # the paper flies this one score
        options = [rule for rule in options if isinstance(rule, RegretGuided) and rule.score == "gap+drift"]
    if len(options) == 1:
        return options[0]
    known = [{} for _ in benches]  # exact regret by schedule, on each layout

    def total(rule: Rule) -> float:
        found = 0.0
        for bench, regrets in zip(benches, known, strict=True):
            if (key := schedule_key(bench.mission, rule)) not in regrets:
                regrets[key] = exact_regret(bench, rule)
            found += regrets[key]
        return found

    return min(options, key=total)


@lru_cache(maxsize=1)
def _validation(density: Density, execution: Execution) -> list[Bench]:
    numbers = range(LAYOUTS_AT_MOST, LAYOUTS_AT_MOST + VALIDATION_LAYOUTS)
    return [Bench(FlightScene(density, number, execution).mission()) for number in numbers]


@table_of("table3", "table3")
@table_of("table3-report", "table3-report")
@table_of("table3-late", "table3-late")
def table_3(run: Run) -> list[Table]:
    """Return one table for each density."""
    flown = [record for record in run.records if record.get("flights") is not None]
    return [
        _density_table(density, records, run.data[records[0]["setting"]])
        for (density,), records in group(flown, lambda each: run.data[each["setting"]]["density"]).items()
    ]


def _density_table(density: str, records: Sequence[Record], data: Mapping[str, Any]) -> Table:
    compared = next((each for each in records if _robot(each) == REFERENCE), records[0])
    printed = {
        row["rule"]: [row[name] for name in ("success", "collisions", "cost")]
        for row in reference("paper-table3")
        if row["density"] == density
    }
    rows = [_row(record, compared) for record in records]
    others = [row for row, record in zip(rows, records, strict=True) if record is not compared]
    inside = sum(not _differs(row) for row in others)
    return Table(
        title=f"Table 3, {TITLES[density]}: {data['layouts']} layouts, simulated Crazyflie",
        columns=COLUMNS,
        labels=2,
        rows=[_cells(row, printed) for row in rows],
        notes=(
            f"Seed {data['trial']}, ties first, kappa {compared['collision_length']:g} m. In brackets 95 % "
            "intervals over layouts (Wilson for success, bootstrap for the others).",
            f"Cost difference: to {compared['rule']} with {compared['execution']} execution on the same "
            f"layouts. A star marks an interval that leaves out 0; {inside} of {len(others)} differences "
            "cannot be told from 0.",
        ),
        name=f"table3-{density}",
    )


def _robot(record: Record) -> tuple[str, ...]:
    """Return rule and execution, and whatever else is unusual."""
    key = RecordKey.of(record)
    return (key.rule, key.execution, *(value for value in key.unusual() if value != key.execution))


def _row(record: Record, compared: Record) -> Mapping[str, Any]:
    """Return the mean figures of a rule, with their intervals over layouts."""
    rule, *robot = _robot(record)
    costs = _figures(record, "cost")
    return {
        "rule": rule,
        "robot": ", ".join(robot),
        "success": _proportion(_figures(record, "success")),
        "collisions": _mean(_figures(record, "collisions")),
        "cost": _mean(costs),
        "cost_difference": _mean(costs - _figures(compared, "cost")),
    }


def _figures(record: Mapping[str, Any], name: str) -> Array:
    """(L,) of every layout."""
    return np.array([float(each[name]) for each in record["flights"]])


def _mean(values: Array) -> dict[str, float]:
    low, high = bootstrap_interval(values)
    return {"mean": float(values.mean()), "low": low, "high": high}


def _proportion(successes: Array) -> dict[str, float]:
    """Wilson's interval."""
    from scipy.stats import binomtest

    result = binomtest(int(successes.sum()), len(successes))
    interval = result.proportion_ci(method="wilson")
    return {"mean": float(result.statistic), "low": float(interval.low), "high": float(interval.high)}


def _cells(row: Mapping[str, Any], printed: Mapping[str, list[str]]) -> tuple[str, ...]:
    paper = printed.get(row["rule"], ["", "", ""]) if row["robot"] == "map" else ["", "", ""]
    ours = [_text(row[name]) for name in ("success", "collisions", "cost")]
    beside = [cell for pair in zip(ours, paper, strict=True) for cell in pair]
    star = " *" if _differs(row) else ""
    return (row["rule"], row["robot"], *beside, _text(row["cost_difference"], "+.2f") + star)


def _differs(row: Mapping[str, Any]) -> bool:
    return row["cost_difference"]["low"] > 0 or row["cost_difference"]["high"] < 0


def _text(estimate: dict[str, float], form: str = ".2f") -> str:
    return f"{estimate['mean']:{form}} [{estimate['low']:{form}}, {estimate['high']:{form}}]"


def drawn_tracks(run: Run) -> list[Track]:
    """Return the flights over the layout that is kept for the figure."""
    return [
        Track(
            run.data[record["setting"]]["density"],
            drawn["number"],
            record["rule"],
            record["execution"],
            np.array(drawn["path"]).reshape(-1, 2),
            np.array(drawn["updates"]).reshape(-1, 2),
            tuple(drawn["update_times"]),
            FlightOutcome(**record["flights"][drawn["number"]]),
        )
        for record in run.records
        for drawn in [record["drawn"]]
    ]


REPORTS["table3"].figures.append(
    lambda run, folder: draw_flights(drawn_tracks(run), path=folder / "flights.png")
)
