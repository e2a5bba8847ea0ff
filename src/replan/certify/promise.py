"""The smallest budget, and its update times, that certify in advance that regret is at most a given amount.

Only P_0 and the drift bounds are used. Times are searched among fixed schedules: for each budget, a shortest
path through update times by what each interval may give away, weighed by where a robot is expected to be; and
the periodic schedule. Whatever is proposed is then certified whole, so the promise does not rest on the
search.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from replan.certify.ahead import ADVANCE, Possible, certify_ahead, possible_behaviour, worst_ahead
from replan.certify.certificate import Certificate, uncertainty
from replan.certify.knowledge import Estimate, Known
from replan.certify.uncertainty import Uncertainty, losses
from replan.errors import InputError
from replan.execute.mission import Mission
from replan.model.kernel import Array
from replan.schedule.budget import FIRST_UPDATE
from replan.schedule.periodic import periodic_times


@dataclass(frozen=True)
class Promise:
    """With this budget and these update times, regret is at most `certificate.value`."""

    amount: float  # that was asked for
    budget: int
    times: tuple[int, ...]
    certificate: Certificate
    tried: dict[int, float]  # budget -> the least certificate found for it


def promise(mission: Mission, amount: float) -> Promise:
    """The smallest budget found whose certificate in advance is at most `amount`, whatever the mission's."""
    horizon = mission.horizon
    proposed = _proposals(mission)
    tried: dict[int, float] = {}
    best: dict[int, tuple[tuple[int, ...], Certificate]] = {}

    def enough(budget: int) -> bool:
        if budget not in tried:
            candidates = {proposed[budget], periodic_times(horizon, budget)}
            answers = [(t, certify_ahead(replace(mission, budget=budget), t)) for t in sorted(candidates)]
            best[budget] = min(answers, key=lambda answer: answer[1].value)
            tried[budget] = best[budget][1].value
        return tried[budget] <= amount

    low, high = 1, 1
    while not enough(high):
        if high == horizon - 1:
            least = min(tried, key=tried.__getitem__)
            raise InputError(
                f"no budget was found that certifies regret of at most {amount:g}: "
                f"{least} updates certify {tried[least]:.4g}"
            )
        low, high = high + 1, min(2 * high, horizon - 1)
    while low < high:
        middle = (low + high) // 2
        low, high = (low, middle) if enough(middle) else (middle + 1, high)
    return Promise(amount, low, *best[low], dict(sorted(tried.items())))


def _proposals(mission: Mission) -> dict[int, tuple[int, ...]]:
    """For each budget the update times whose intervals give away least in sum."""
    horizon = mission.horizon
    given = interval_losses(mission)
    cost = np.full((horizon, horizon + 1), np.inf)  # of the rest, from an update at tau with b more to come
    choice = np.zeros((horizon, horizon + 1), dtype=int)
    cost[:, 0] = given[:horizon, horizon]
    for more in range(1, horizon):
        for tau in range(FIRST_UPDATE, horizon - more):
            later = np.arange(tau + 1, horizon - more + 1)
            total = given[tau, later] + cost[later, more - 1]
            choice[tau, more] = later[total.argmin()]
            cost[tau, more] = total.min()
    proposals = {}
    for budget in range(1, horizon):
        times = [FIRST_UPDATE]
        for more in range(budget - 1, 0, -1):
            times.append(int(choice[times[-1], more]))
        proposals[budget] = tuple(times)
    return proposals


def interval_losses(mission: Mission) -> Array:
    """(T, T + 1) what the steps from tau to t may give away, weighed by where the first plan leads."""
    world, horizon = mission.world, mission.horizon
    first = mission.update(FIRST_UPDATE)
    known = Known((Estimate(0, first.kernel),), world.drift_bounds, world.declared_successors)
    uncertain = uncertainty(known, ADVANCE)
    given_away = losses(uncertain, world.reward, horizon, world.states)
    behaviour = _first_behaviour(uncertain, mission)
    occupied = np.zeros((horizon, world.states))
    occupied[0, world.start] = 1.0
    for t in range(horizon - 1):
        moved = first.kernel.push(np.diag(occupied[t]), first.plan.policy)
        occupied[t + 1] = moved.sum(axis=0)
    given = np.full((horizon, horizon + 1), np.inf)
    for end in range(2, horizon + 1):
        _, tables = worst_ahead(
            uncertain,
            (FIRST_UPDATE,),
            {FIRST_UPDATE: behaviour},
            end,
            cost=lambda t: given_away[t][0],
            everywhere=True,
        )
        for tau in range(FIRST_UPDATE, end):
            given[tau, end] = occupied[tau] @ np.diagonal(tables[tau - FIRST_UPDATE])
    return given


def _first_behaviour(uncertain: Uncertainty, mission: Mission) -> Possible:
    """What the plan on P_0 does, which is known."""
    may = possible_behaviour(mission, uncertain, FIRST_UPDATE)
    chosen = np.zeros(may.actions.shape, dtype=bool)
    chosen[np.arange(len(chosen)), mission.update(FIRST_UPDATE).plan.policy] = True
    return replace(may, actions=chosen)
