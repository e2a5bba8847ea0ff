"""Study `rats`: the bridge of RATS (Lecarpentier and Rachelson, NeurIPS 2019), also with few updates.

The published planners see the state, know P_t itself and plan anew at every step, by a search tree of `DEPTH`
steps that counts the reward of a terminal cell once more where it is reached above the last level. The one on
a snapshot assumes that P_t stays. The one on the future knows P_t, P_{t+1}, ... and when the episode ends.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from replan import World
from replan.evaluation.rollouts import HALF_INTERVAL
from replan.planning.optimal_values import oracle_return
from replan.report.reports import table_of
from replan.results.pivot import Pivot, pivot
from replan.results.run import Run
from replan.results.table import Table
from replan.typing import Indices
from replan.worlds.ns_bridge import PAYS, NSBridge

DEPTH, DISCOUNT = 4, 0.9
ROUNDING = 12
"""Decimals of a value; equal ones go to the first action."""
SETTINGS = {
    "nsbridge-0": 0.0,
    "nsbridge-025": 0.25,
    "nsbridge-05": 0.5,
    "nsbridge-075": 0.75,
    "nsbridge-1": 1.0,
}
"""epsilon by setting."""
PUBLISHED = {
    "future": ((0.468, 0.021), (-0.034, 0.026), (-0.077, 0.018), (0.345, 0.016), (0.657, 0.006)),
    "snapshot": ((0.476, 0.021), (0.001, 0.026), (-0.463, 0.023), (-0.602, 0.019), (-0.780, 0.011)),
}
"""Mean and standard error of 1,008 episodes in each setting, by what the planner plans on."""
RATS = (-0.026, -0.357, -0.032, 0.353, 0.666)
"""Published mean of RATS itself in each setting."""


@dataclass(frozen=True)
class PublishedMean:
    """A published mean of one planner beside its exact value."""

    setting: str
    planner: str
    mean: float
    standard_error: float
    exact: float

    @property
    def standard_errors_apart(self) -> float:
        """Distance between mean and exact value, in standard errors."""
        return abs(self.mean - self.exact) / self.standard_error


def comparisons() -> Iterator[PublishedMean]:
    """Yield the ten published cells: five settings, planned on the future and on a snapshot."""
    for index, (setting, epsilon) in enumerate(SETTINGS.items()):
        world = NSBridge(epsilon=epsilon).build()
        for planner, cells in PUBLISHED.items():
            exact = planner_return(world, future=planner == "future")
            yield PublishedMean(setting, planner, *cells[index], exact)


def best_return(setting: str) -> float:
    """Return the expected return of the best policy that sees the state at every step."""
    world = NSBridge(epsilon=SETTINGS[setting]).build()
    return float(oracle_return(world)[world.start])


def planner_return(world: World, *, future: bool) -> float:
    """Return the exact expected return of a published planner on the bridge."""
    values, rows = np.zeros(world.states), np.arange(world.states)
    for time in reversed(range(world.horizon)):
        actions = planner_policy(world, time, future=future)
        values = world.reward(time).q_values(world.kernel(time), values)[rows, actions]
    return float(values[world.start])


def planner_policy(world: World, time: int, *, future: bool) -> Indices:
    """(S,) action that a published planner takes at `time`."""
    values = np.zeros(world.states)
    q_values = np.zeros((world.states, world.actions))
    for depth in reversed(range(DEPTH)):
        if future and time + depth >= world.horizon:
            values = PAYS
            continue
        q_values = world.kernel(time + depth if future else time).expect(PAYS + DISCOUNT * values)
        values = np.where(PAYS != 0, PAYS, q_values.max(axis=1))
    return q_values.round(ROUNDING).argmax(axis=1)


def published_table() -> Table:
    """Return the published mean with its interval beside the exact value of each planner."""
    cells = {(cell.setting, cell.planner): cell for cell in comparisons()}
    rows = []
    for (setting, epsilon), mean in zip(SETTINGS.items(), RATS, strict=True):
        row = [f"{epsilon:g}"]
        for planner in ("future", "snapshot"):
            cell = cells[setting, planner]
            row += [f"{cell.mean:.3f} ± {HALF_INTERVAL * cell.standard_error:.3f}", f"{cell.exact:z.3f}"]
        rows.append((*row, f"{mean:.3f}", f"{best_return(setting):z.3f}"))
    within = sum(cell.standard_errors_apart < HALF_INTERVAL for cell in cells.values())
    return Table(
        title="The bridge of RATS: published returns and exact ones",
        columns=(
            "epsilon",
            "plans on the future, published",
            "exact",
            "plans on a snapshot, published",
            "exact",
            "RATS, published",
            "optimum",
        ),
        rows=rows,
        notes=(
            "Published: mean of 1,008 episodes ± half its 95 % interval (Lecarpentier and Rachelson, 2019). "
            f"{within} of {len(cells)} exact values lie in the published intervals. "
            "These planners see the state and plan anew at every step.",
        ),
    )


def budget_table(run: Run) -> Table:
    """Return the exact regret of every rule by budget; rules that agree in all budgets share a row."""
    settings = {name: setting.model_dump() for name, setting in run.settings.items()}
    found = pivot(
        run.records,
        [lambda record: settings[record["setting"]]["epsilon"], "execution", "rule"],
        lambda record: settings[record["setting"]]["budget"],
        "exact_regret",
    )
    budgets = sorted(found.columns)
    return Table(
        title="The bridge of RATS with few updates: exact regret by rule and budget",
        columns=("epsilon", "", "rule", *(f"B = {budget}" for budget in budgets)),
        labels=3,
        rows=list(_merged(found, budgets)),
        notes=(
            f"Ties: {run.ties}. Hyper-parameters are chosen on validation seeds. "
            "all rules: the best possible too.",
        ),
    )


def _merged(found: Pivot, budgets: Sequence[int]) -> Iterator[tuple[str, ...]]:
    """Yield the rows, with rules of equal figures in one."""
    for epsilon, execution in dict.fromkeys(row[:2] for row in found.rows):
        rows: dict[tuple[str, ...], list[str]] = {}
        for row in found.rows:
            if row[:2] == (epsilon, execution):
                rows.setdefault(tuple(f"{found[row, budget]:z.3f}" for budget in budgets), []).append(row[2])
        labels = (f"{epsilon:g}", execution)
        for figures, rules in rows.items():
            yield *labels, "all rules" if len(rows) == 1 else ", ".join(rules), *figures
            labels = ("", "")


@table_of("rats", "rats")
def rats_tables(run: Run) -> list[Table]:
    """Return the published planners and the budgets."""
    return [published_table(), budget_table(run)]
