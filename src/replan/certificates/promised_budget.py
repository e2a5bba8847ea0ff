"""The smallest budget found, and its update times, that certify in advance that regret is at most an amount.

Only P_0 and the drift bounds are used. Times are searched among fixed schedules: for each budget, a shortest
path through update times by what each interval may give away, weighed by where a robot is expected to be; and
the periodic schedule. Before a budget is called insufficient, its times are moved one after another as long
as that helps. Whatever is proposed is certified whole, so the promise does not rest on the search.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache, cached_property
from numbers import Real

import numpy as np

from replan.certificates.behaviour import Possible, possible_behaviour
from replan.certificates.certificate import Certificate, Tightening, uncertainty
from replan.certificates.in_advance import ADVANCE, Ahead, worst_leg
from replan.certificates.premises import KernelEstimate, premises_in
from replan.certificates.uncertainty import Uncertainty, losses
from replan.errors import InputError
from replan.execute.mission import Mission, require_instant, require_mission
from replan.model.kernel import Array
from replan.schedule.periodic import periodic_times
from replan.schedule.spending import FIRST_UPDATE

PATIENCE = 4  # budgets in a row that certify no less than a smaller one end the search
NO_GAIN = 1e-6
WITHIN_REACH = 2.0  # a certificate that exceeds the amount by this factor is not mended by moving times
NEARBY = 3  # free steps on either side to which an update time is moved
Times = tuple[int, ...]


@dataclass(frozen=True)
class Promise:
    """A budget and its update times, whose regret is at most `certificate.value`."""

    amount: float  # that was asked for
    budget: int
    times: Times
    certificate: Certificate
    tried: dict[int, float]  # budget -> the least certificate found for it


def promise(
    mission: Mission,
    amount: float,
    *,
    tightening: Tightening = ADVANCE,
    progress: Callable[[int, float], None] = lambda budget, value: None,
) -> Promise:
    """Find the smallest budget whose certificate in advance is at most an amount.

    Parameters
    ----------
    mission : Mission
        The mission; its own budget is not used.
    amount : float
        Regret that must not be exceeded.
    tightening : Tightening
        Structure and effort that make certificates tighter.
    progress : callable
        Called with each budget that is tried and the least certificate found for it.

    Returns
    -------
    Promise
        The smallest budget found, its times and its certificate.

    Raises
    ------
    InputError
        If no budget is found, or `amount` is not a number of at least 0.
    """
    require_mission(mission)
    require_instant(mission)
    if not (isinstance(amount, Real) and amount >= 0):
        raise InputError(f"what is promised must be a number and not negative, as regret is: not {amount!r}")
    search = _Search(mission, amount, tightening, progress)
    budget = search.first_enough()
    while budget > 1 and search.enough(budget - 1, moving=True):
        budget -= 1
    times = search.best[budget]
    return Promise(amount, budget, times, search.certificate(times), search.tried())


class _Search:
    """The best update times found so far for each budget."""

    def __init__(
        self,
        mission: Mission,
        amount: float,
        tightening: Tightening,
        progress: Callable[[int, float], None],
    ) -> None:
        self.mission, self.amount, self.tightening, self.progress = mission, amount, tightening, progress
        self.best: dict[int, Times] = {}
        self.ahead = Ahead(mission, (FIRST_UPDATE,), tightening)
        self.certificate = cache(self.ahead.certificate)
        self._keep((FIRST_UPDATE,))

    def first_enough(self) -> int:
        """Return the smallest budget whose proposed times suffice.

        More updates can certify less, since their plans are not known in advance: the search ends when
        `PATIENCE` budgets in a row were no better than a smaller one.
        """
        least = 1
        for budget in range(1, self.mission.horizon):
            if self.enough(budget):
                return budget
            if self.value(self.best[budget]) < self.value(self.best[least]) - NO_GAIN:
                least = budget
            elif budget - least >= PATIENCE:
                break
        near = self.value(self.best[least]) <= WITHIN_REACH * self.amount
        if near and self.enough(least, moving=True):
            return least
        raise InputError(self._refusal(least))

    def _refusal(self, least: int) -> str:
        certified, most = self.certificate(self.best[least]), max(self.best)
        verb = "updates certify" if least > 1 else "update certifies"
        more = f", no budget up to {most} certifies less" if most > least else ""
        return (
            f"no budget was found that certifies regret of at most {self.amount:g}: {least} {verb} "
            f"{certified.value:.4g}{more}. From P_0 and the drift bounds the best return may be "
            f"{certified.oracle_at_best:.4g} and the robot's {certified.robot_at_worst:.4g}: "
            f"{self.ahead.uncertain.width}"
        )

    def enough(self, budget: int, *, moving: bool = False) -> bool:
        """Return whether the times proposed for a budget certify the amount, moved ones tried if asked."""
        if budget not in self.best:
            options = sorted({self._proposed[budget], periodic_times(self.mission.horizon, budget)})
            self._keep(min(options, key=self.value))
        if moving and self.value(self.best[budget]) > self.amount:
            self._keep(self._moved(self.best[budget]))
        return self.value(self.best[budget]) <= self.amount

    def value(self, times: Times) -> float:
        """Return the certificate of update times."""
        return self.certificate(times).value

    def tried(self) -> dict[int, float]:
        """Return the least certificate found for each budget."""
        return {budget: self.value(times) for budget, times in sorted(self.best.items())}

    @cached_property
    def _proposed(self) -> dict[int, Times]:
        return _proposals(self.mission, self.tightening)

    def _keep(self, times: Times) -> None:
        if self.best.get(len(times)) != times:
            self.best[len(times)] = times
            self.progress(len(times), self.value(times))

    def _moved(self, times: Times) -> Times:
        """Move each time to its best free step nearby until nothing improves or the amount is certified."""
        before = None
        while times != before:
            before = times
            for place in range(1, len(times)):
                times = min([times, *_moves(times, place, self.mission.horizon)], key=self.value)
                if self.value(times) <= self.amount:
                    return times
        return times


def _moves(times: Times, place: int, horizon: int) -> list[Times]:
    """Return the schedules in which the update at that place is made at a free step nearby."""
    free = [t for t in range(FIRST_UPDATE, horizon) if t not in times]
    sooner = [t for t in free if t < times[place]][-NEARBY:]
    later = [t for t in free if t > times[place]][:NEARBY]
    others = (*times[:place], *times[place + 1 :])
    return [tuple(sorted((*others, t))) for t in (*sooner, *later)]


def _proposals(mission: Mission, tightening: Tightening) -> dict[int, Times]:
    """Return for each budget the update times whose intervals have the least sum of bounds."""
    horizon = mission.horizon
    given = interval_losses(mission, tightening)
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


def interval_losses(mission: Mission, tightening: Tightening) -> Array:
    """(T, T + 1) bounds on the loss of the steps from tau to t, weighed by where the first plan leads."""
    world, horizon = mission.world, mission.horizon
    first = mission.update(FIRST_UPDATE)
    uncertain = uncertainty(premises_in(world, [KernelEstimate(0, first.kernel)]), tightening)
    given_away = losses(uncertain, world.reward)
    may = _first_behaviour(uncertain, mission)
    occupied = np.zeros((horizon, world.states))
    occupied[0, world.start] = 1.0
    for t in range(horizon - 1):
        moved = first.kernel.push(np.diag(occupied[t]), first.plan.policy)
        occupied[t + 1] = moved.sum(axis=0)
    given = np.full((horizon, horizon + 1), np.inf)
    nothing = np.zeros(world.states)
    for end in range(2, horizon + 1):
        tables = worst_leg(
            uncertain, may, FIRST_UPDATE, end, nothing, cost=lambda t: given_away[t][0], everywhere=True
        )
        for tau, table in zip(range(end - 1, FIRST_UPDATE - 1, -1), tables, strict=True):
            given[tau, end] = occupied[tau] @ np.diagonal(table)
    return given


def _first_behaviour(uncertain: Uncertainty, mission: Mission) -> Possible:
    """Return the distributions that the plan on P_0 leads to."""
    may = possible_behaviour(mission, uncertain, FIRST_UPDATE)
    chosen = np.zeros(may.actions.shape, dtype=bool)
    chosen[np.arange(len(chosen)), mission.update(FIRST_UPDATE).plan.policy] = True
    return replace(may, actions=chosen)
