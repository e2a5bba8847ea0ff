"""Tables of study `beyond`: exact regret of every rule, its ratio to the best, and its causes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from replan.report.tables import Table, least_in_bold
from replan.study.cells import BEST_POSSIBLE
from replan.study.paper import METHODS, TABLE_1
from replan.study.records import Record, Run


@dataclass(frozen=True)
class Group:
    """All rules on one setting and execution."""

    setting: str
    execution: str
    best: Record  # the best possible
    rules: dict[str, Record]

    @property
    def names(self) -> tuple[str, str]:
        """The labels of its row; the setting stands once."""
        return (self.setting if self.execution == "map" else "", self.execution)

    def ratio(self, regret: float) -> float:
        """Return how many times the regret of the best feedback schedule."""
        return regret / max(self.best["exact_regret"], 1e-12)


def groups(run: Run) -> list[Group]:
    """Return the records by setting and execution."""
    found: dict[tuple[str, str], dict[str, Record]] = {}
    for record in run.records:
        found.setdefault((record["setting"], record["execution"]), {})[record["rule"]] = record
    return [Group(*key, rules.pop(BEST_POSSIBLE), rules) for key, rules in found.items()]


def regret_table(run: Run) -> Table:
    """Return exact regret of every rule beside the best that exists, and its ratio to that."""
    found = groups(run)
    return Table(
        title="Past the paper: exact regret of every rule, and the best that exists",
        columns=("setting", "", "paper's Adapt", *_heads(found), "best fixed", "best feedback"),
        labels=2,
        rows=[row for group in found for row in (_regrets(group), _ratios(group))],
        notes=(
            "Ties: first. Hyper-parameters of the paper's rules: those with the least exact regret among its "
            "candidates. lookahead has none. The robot expects that nothing moves (forecast frozen). Bold: "
            "least of the row's rules. "
            "x best: how many times the best feedback schedule's.",
        ),
    )


def _heads(found: Sequence[Group]) -> list[str]:
    return [METHODS.get(name, name) for name in found[0].rules]


def _regrets(group: Group) -> tuple[Any, ...]:
    printed = TABLE_1.get(group.setting, {}).get("regret-guided") if group.execution == "map" else None
    return (
        *group.names,
        "" if printed is None else f"{printed:.2f}",
        *least_in_bold([record["exact_regret"] for record in group.rules.values()]),
        f"{group.best['optimum']['fixed_regret']:.3f}",
        f"{group.best['exact_regret']:.3f}",
    )


def _ratios(group: Group) -> tuple[str, ...]:
    regrets = [record["exact_regret"] for record in group.rules.values()]
    regrets.append(group.best["optimum"]["fixed_regret"])
    return ("", "x best", "", *(f"{group.ratio(each):.2f}" for each in regrets), "")


def causes_table(run: Run) -> Table:
    """Return the causes of every rule's regret."""
    found = groups(run)
    return Table(
        title="What regret is made of: the state not seen, the stale plan, the wrong model",
        columns=("setting", "", *_heads(found)),
        labels=2,
        rows=[(*group.names, *map(_shares, group.rules.values())) for group in found],
        notes=(
            "Shapley shares of the exact regret in per cent, state / plan / model; see "
            "replan.evaluation.decomposition for the three switches.",
        ),
    )


def _shares(record: Record) -> str:
    whole, causes = record["exact_regret"], record["decomposition"]
    shares = [causes[name] / whole if whole > 0 else 0.0 for name in ("state", "plan", "model")]
    return " / ".join(f"{100 * share:.0f}" for share in shares)
