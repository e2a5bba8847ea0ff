"""The candidates that validation chooses from, for every rule.

`paper` are the sets of the appendix's "Baselines", with our own grids where the paper prints none: alpha, m,
D of the score and the pace weight of drift-threshold. `equal` gives every rule as many candidates as
regret-guided has, `EQUAL_COUNT`, by a fine logarithmic grid of thresholds; best-offset may choose its period
too, and has fewer where fewer schedules of its kind exist. `exact` are the candidates of `paper`, of which
the one with the least exact regret is taken, not the least on the validation seeds. Rules that are not named
here have their own `Rule.candidates` in all. On a mission with prices alone the candidates are those of the
budgets 1, 2, 4, 8, ...
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable
from itertools import chain, pairwise, product
from typing import Literal, get_args

import numpy as np

from replan import DriftThreshold, FixedRate, Mission, RegretGuided, Rule, make_rule
from replan.errors import InputError
from replan.evaluation.exact import schedule_key
from replan.schedule.drift_threshold import PACE_WEIGHTS, SelfTriggered
from replan.schedule.lazy_value import LazyValue, lazy_score
from replan.schedule.periodic import BestOffset, offset_candidates, periodic_times
from replan.schedule.registry import registered_rule
from replan.typing import Array

Search = Literal["paper", "equal", "exact"]

MULTIPLIERS = (0.25, 0.5, 0.75, 1.0, 1.25, 1.5)  # of the base threshold
PERCENTILES = (0, 20, 40, 60, 80, 100)  # of lazy-value's positive scores
FALLBACK_THRESHOLD = 1e-3  # where nothing drifts


def candidates(name: str, mission: Mission, *, search: Search = "paper") -> list[Rule]:
    """Return the rules of that name to choose from, a single one if there is no choice."""
    if search not in get_args(Search):
        raise InputError(f"search must be one of {', '.join(get_args(Search))}, not {search!r}")
    if name not in _CANDIDATES:
        return list(registered_rule(name).candidates()) or [make_rule(name)]
    if mission.spending.limit is not None:
        return _CANDIDATES[name](mission, search)
    most = mission.spending.room(mission.horizon)
    budgets = [2**k for k in range(most.bit_length())]
    spending = [mission.spending.as_budget(budget) for budget in budgets]
    found = (_CANDIDATES[name](mission.with_spending(each), search) for each in spending)
    return list(dict.fromkeys(chain.from_iterable(found)))


EQUAL_COUNT = len(RegretGuided.candidates())  # 911


def drift_thresholds(drift_bounds: Array, budget: int) -> list[float]:
    """The paper's thresholds of accumulated drift, equation (base threshold), ascending and each once."""
    total, horizon = float(drift_bounds.sum()), len(drift_bounds) + 1
    base = total / max(budget - 1, 1)
    found = [multiplier * base for multiplier in MULTIPLIERS]
    found += [float(drift_bounds.max()), 4 * total / horizon]
    return sorted({threshold for threshold in found if threshold > 0}) or [FALLBACK_THRESHOLD]


def lazy_scores(mission: Mission) -> Array:
    """(T-2,) lazy-value's score at the times 2..T-1 under the periodic schedule, before an update there."""
    times = (*periodic_times(mission.horizon, mission.limit), mission.horizon - 1)
    return np.array(
        [
            lazy_score(
                mission.world.kernel(t), mission.update(tau).kernel, mission.update(tau).plan.next_values
            )
            for tau, following in pairwise(times)
            for t in range(tau + 1, following + 1)
        ]
    )


def lazy_thresholds(scores: Array) -> list[float]:
    """Percentiles of the positive scores with their least and greatest, ascending and each once."""
    positive = scores[scores > 0]
    if positive.size == 0:
        return [FALLBACK_THRESHOLD]
    return sorted({float(threshold) for threshold in np.percentile(positive, PERCENTILES)})


def log_thresholds(paper: Iterable[float], low: float, high: float, count: int) -> list[float]:
    """`count` thresholds: the paper's, and the rest on a logarithmic grid from low to high."""
    paper = set(paper)
    size = max(count - len(paper), 2)
    while len(found := paper | {float(x) for x in np.geomspace(low, high, size)}) < count:
        size += 1
    return sorted(found)[:count]


def distinct_schedules(mission: Mission, rules: Iterable[Rule]) -> list[list[Rule]]:
    """The rules in groups that make the same updates, so that each schedule is measured once."""
    alike: dict[Hashable, list[Rule]] = {}
    for rule in rules:
        alike.setdefault(schedule_key(mission, rule), []).append(rule)
    return list(alike.values())


def _best_offset(mission: Mission, search: Search) -> list[Rule]:
    horizon, budget = mission.horizon, mission.limit
    paper: dict[tuple[int, ...], BestOffset] = {
        times: BestOffset(offset) for offset, times in offset_candidates(horizon, budget).items()
    }
    if search != "equal":
        return list(paper.values())
    more: dict[tuple[int, ...], BestOffset] = {}
    for period, offset in product(range(1, horizon - 1), repeat=2):
        rule = BestOffset(offset, period)
        times = rule.times(horizon, budget)
        if times not in paper:
            more.setdefault(times, rule)
    wanted = min(EQUAL_COUNT - len(paper), len(more))
    chosen = np.linspace(0, len(more) - 1, wanted).round().astype(int)
    return [*paper.values(), *(list(more.values())[i] for i in chosen)]


def _drift_threshold(mission: Mission, search: Search) -> list[Rule]:
    bounds = mission.world.drift_bounds
    paper = drift_thresholds(bounds, mission.limit)
    if search != "equal":
        return [DriftThreshold(threshold, weight) for weight, threshold in product(PACE_WEIGHTS, paper)]
    rules: list[Rule] = []
    for index, weight in enumerate(PACE_WEIGHTS):
        count = (EQUAL_COUNT - len(rules)) // (len(PACE_WEIGHTS) - index)
        low, high = _drift_range(bounds)
        rules += [DriftThreshold(x, weight) for x in log_thresholds(paper, low, high + weight, count)]
    return rules


def _self_triggered(mission: Mission, search: Search) -> list[Rule]:
    bounds = mission.world.drift_bounds
    thresholds = drift_thresholds(bounds, mission.limit)
    if search == "equal":
        thresholds = log_thresholds(thresholds, *_drift_range(bounds), EQUAL_COUNT)
    return [SelfTriggered(threshold) for threshold in thresholds]


def _lazy_value(mission: Mission, search: Search) -> list[Rule]:
    scores = lazy_scores(mission)
    thresholds = lazy_thresholds(scores)
    if search == "equal":  # a longer interval than the periodic one drifts further, up to B intervals' worth
        thresholds = log_thresholds(
            thresholds, thresholds[0], thresholds[-1] * (1 + mission.limit), EQUAL_COUNT
        )
    return [LazyValue(threshold) for threshold in thresholds]


def _fixed_rate(mission: Mission, search: Search) -> list[Rule]:
    return [FixedRate(every) for every in range(1, round(mission.horizon / mission.limit) + 3)]


def _drift_range(bounds: Array) -> tuple[float, float]:
    """The least single drift and the whole of it."""
    positive = bounds[bounds > 0]
    if positive.size == 0:
        return FALLBACK_THRESHOLD, 1.0
    return float(positive.min()), float(bounds.sum())


_CANDIDATES: dict[str, Callable[[Mission, Search], list[Rule]]] = {
    "best-offset": _best_offset,
    "drift-threshold": _drift_threshold,
    "self-triggered": _self_triggered,
    "lazy-value": _lazy_value,
    "fixed-rate": _fixed_rate,
}
