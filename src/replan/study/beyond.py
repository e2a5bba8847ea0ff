"""Past the paper: every rule and look-ahead, both executions, and worlds in which a plan goes stale.

All figures are exact. A rule's hyper-parameters are those with the least exact regret among the paper's
candidates, which can only favour the paper's rules; look-ahead has none.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from replan.evaluation.decomposition import Decomposition, decompose
from replan.evaluation.exact import regret
from replan.evaluation.optimal_schedule import Optimum, optimum
from replan.execute.mission import Mission
from replan.planning.optimal_values import Oracle, oracle
from replan.schedule.registry import make_rule
from replan.schedule.rule import Rule
from replan.skip.propagation import EXECUTIONS, Execution
from replan.study.candidates import candidates, distinct_schedules
from replan.study.paper import METHODS
from replan.study.parts import kept_parts, run_parts
from replan.worlds.settings import builtin_settings, load_setting, make_mission

LOOKAHEADS = {  # each with its parameters
    "lookahead": {},
    "lookahead, grow": {"forecast": "grow"},
    "lookahead, grow known": {"forecast": "grow", "drift": "known"},
}
RULES = (*METHODS, *LOOKAHEADS)


@dataclass(frozen=True)
class Entry:
    """One rule."""

    rule: Rule
    parts: Decomposition

    @property
    def regret(self) -> float:
        """Exact."""
        return self.parts.regret


@dataclass(frozen=True)
class BeyondResult:
    """One setting and execution."""

    setting: str
    execution: Execution
    best: Optimum
    entries: dict[str, Entry]  # by rule


def beyond(
    names: Sequence[str] | None = None, *, workers: int = 2, kept: Path | None = None
) -> Iterator[BeyondResult]:
    """Setting by setting, as they are done; see `run_parts`."""
    return run_parts(beyond_setting, _tasks(names), workers=workers, kept=kept)


def kept_beyond(names: Sequence[str] | None = None, *, kept: Path) -> list[BeyondResult]:
    """What `beyond` has kept."""
    return kept_parts(beyond_setting, _tasks(names), kept=kept)


def _tasks(names: Sequence[str] | None) -> list[tuple[str, Execution]]:
    return [(name, execution) for name in names or builtin_settings() for execution in EXECUTIONS]


def beyond_setting(name: str, execution: Execution) -> BeyondResult:
    """All rules on one setting."""
    mission = make_mission(load_setting(name), execution=execution)
    best = oracle(mission.world)
    entries = {}
    for rule_name in RULES:
        rule = best_candidate(mission, rule_name, best)
        entries[rule_name] = Entry(rule, decompose(mission, rule, best=best))
    return BeyondResult(name, execution, optimum(mission), entries)


def best_candidate(mission: Mission, name: str, best: Oracle) -> Rule:
    """The candidate with the least exact regret."""
    if name in LOOKAHEADS:
        return make_rule("lookahead", **LOOKAHEADS[name])
    rules = candidates(name, mission)
    if len(rules) == 1:
        return rules[0]
    schedules = distinct_schedules(mission, rules)
    return schedules[min(schedules, key=lambda schedule: regret(mission, schedule, best=best))][0]
