"""The floor under every rule: the best update times that exist, with all kernels known.

`feedback` may choose each next update by the state just seen: the dynamic programme of
`replan.schedule.update_programme` in the world itself. `fixed` times are chosen in advance, by branch and
bound under the feedback values: no fixed schedule does better from an update on than the best feedback one.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np

from replan.errors import InputError
from replan.evaluation.compared_programme import ComparedProgramme
from replan.evaluation.exact import from_start
from replan.evaluation.localised import SeeingAfter, best_programme
from replan.execute.mission import Mission, require_instant, require_mission
from replan.model.kernel import Array, Indices
from replan.planning.backward_induction import oracle_return
from replan.schedule.candidate_table import Problem
from replan.schedule.rule import Context, Decision, Need, Rule
from replan.schedule.spending import FIRST_UPDATE, Spending
from replan.schedule.update_programme import Programme, solve
from replan.skip.propagation import skip_interval
from replan.skip.segments import stack_world

TOLERANCE = 1e-12  # probabilities below this are dropped; on two-burst that moves regret by 2e-10


@dataclass(frozen=True)
class Optimum:
    """The best that any schedule or rule can do with the mission's budget or price, from its start state.

    With a price the objective is maximised; regrets stay without it.
    """

    oracle_return: float
    """Expected return of the oracle."""
    fixed_times: tuple[int, ...]
    """Best update times that are fixed in advance."""
    fixed_regret: float
    """Expected regret of the fixed times."""
    fixed_proved: bool
    """Whether no fixed times do better; False: `fixed_times` are the best that was found."""
    feedback_regret: float
    """Expected regret of the best schedule that depends on the states seen."""
    feedback_updates: float
    """Expected number of its updates."""
    spending: Spending
    """Budget or price of the mission."""

    @property
    def fixed_objective(self) -> float:
        """Expected return of the fixed times minus the price of their updates."""
        return self._objective(self.fixed_regret, len(self.fixed_times))

    @property
    def feedback_objective(self) -> float:
        """Expected return of the feedback schedule minus the price of its updates."""
        return self._objective(self.feedback_regret, self.feedback_updates)

    def _objective(self, regret: float, updates: float) -> float:
        return self.oracle_return - regret - self.spending.paid(updates)

    @property
    def fixed_label(self) -> str:
        """`optimal`, or `best found` if the search gave up the proof."""
        return "optimal" if self.fixed_proved else "best found"


def optimum(mission: Mission) -> Optimum:
    """Find the best fixed and the best feedback schedule.

    Parameters
    ----------
    mission : Mission
        The mission; its budget or price is that of the schedules.

    Returns
    -------
    Optimum
        The least regret of any rule, and the best fixed update times.

    Raises
    ------
    InputError
        If the mission is no `Mission`, learns its estimates, is too large for its forecast, or has returns
        that are not finite.
    """
    require_mission(mission)
    if mission.robot.sees:
        return _seeing_optimum(mission.with_spending(mission.spending.unforced()).within_reach())
    require_instant(mission, "the optimum is computed")
    mission = mission.within_reach()
    best, paid = _finite_return(mission), mission.spending.paid
    times, gained, arrival = _opening(mission)
    programme_after = _programmes(mission, np.flatnonzero(arrival))
    programme = programme_after(times)
    value = gained + float(arrival[programme.states] @ programme.best[:, -1])
    updates = float(mission.limit)
    if programme.later is not None:
        rule = BestFeedback(programme, mission)
        updates = from_start(mission, rule, None)[1].update_probability.sum()
    search = _FixedSearch(mission, programme_after, mission.sizes.schedules)
    search.extend(times, gained, arrival)
    return Optimum(
        best,
        search.times,
        best - search.value - paid(len(search.times)),
        search.proved,
        best - value - paid(updates),
        float(updates),
        mission.spending,
    )


def _seeing_optimum(mission: Mission) -> Optimum:
    """Return the optimum of a localised robot, which has to make no update."""
    best, start, programme = _finite_return(mission), mission.world.start, best_programme(mission)
    paid, updates = mission.spending.paid, float(programme.counts[start, -1])
    search = _FixedSearch(mission, partial(SeeingAfter, programme), mission.sizes.schedules)
    search.extend((), 0.0, np.eye(1, mission.world.states, start)[0])
    return Optimum(
        best,
        search.times,
        best - search.value - paid(len(search.times)),
        search.proved,
        best - float(programme.values[start, -1]) - paid(updates),
        updates,
        mission.spending,
    )


def _finite_return(mission: Mission) -> float:
    """Return the oracle's expected return. Raises `InputError` if it is not finite."""
    best = float(oracle_return(mission.world)[mission.world.start])
    if not np.isfinite(best):
        raise InputError(f"the optimum needs finite rewards: the best return from the start is {best}")
    return best


def has_optimum(mission: Mission) -> bool:
    """Return whether `optimum` can be computed: with every forecast but those that compare two updates.

    With these it cannot if updates have a price, or the world is large.
    """
    if not mission.task.latency.instant:
        return False
    if not mission.robot.forecast.compares:
        return True
    return mission.spending.price is None and mission.sizes.keeps_pairs(mission.world.states, mission.horizon)


def _programmes(mission: Mission, states: Indices) -> Callable[[tuple[int, ...]], Programme]:
    """Return a function from update times so far to the programme of the best way on from the last one."""
    if mission.robot.forecast.compares:
        compared = ComparedProgramme(mission)
        return lambda times: compared.after(*(0, *times)[-2:])
    programme = feedback(mission, states, with_later=not mission.spending.exact)
    return lambda times: programme


def feedback(
    mission: Mission,
    states: Indices,
    *,
    with_later: bool = False,
) -> Programme:
    """Return the best feedback schedule from the first choice on, made in one of `states`."""
    require_instant(mission, "the optimum is computed")
    if mission.robot.forecast.compares:
        return ComparedProgramme(mission).after(0, FIRST_UPDATE)
    world, begin = mission.world, len(_forced(mission))
    along = stack_world(world.kernel, world.reward, first=begin, horizon=mission.horizon)

    problem = Problem(
        along,
        lambda time: mission.update(time).propagation,
        mission.spending.exact,
        tolerance=TOLERANCE,
        price=mission.spending.price or 0.0,
        sizes=mission.sizes,
    )
    limit = mission.spending.limit
    left = None if limit is None else limit - begin
    return solve(problem, begin, states, left, with_later=with_later)


def best_feedback(mission: Mission) -> BestFeedback:
    """Return the best feedback schedule of updates as a rule."""
    _, _, arrival = _opening(mission)
    return BestFeedback(feedback(mission, np.flatnonzero(arrival), with_later=True), mission)


def feedback_value(mission: Mission) -> float:
    """Return the objective of the best feedback schedule from the start."""
    mission = mission.within_reach()
    if mission.robot.sees:
        return float(best_programme(mission).values[mission.world.start, -1])
    _, gained, arrival = _opening(mission)
    programme = feedback(mission, np.flatnonzero(arrival))
    return gained + float(arrival[programme.states] @ programme.best[:, -1])


def feedback_regrets(mission: Mission, largest: int) -> Array:
    """(B,) regret of the best feedback schedule for each budget from 1 to `largest`, by one programme."""
    mission = mission.within_reach()
    mission = mission.with_spending(mission.spending.as_budget(largest))
    best = float(oracle_return(mission.world)[mission.world.start])
    if mission.robot.sees:
        return best - best_programme(mission).values[mission.world.start, 1:]
    _, gained, arrival = _opening(mission)
    programme = feedback(mission, np.flatnonzero(arrival))
    return best - gained - arrival[programme.states] @ programme.best


def _forced(mission: Mission) -> tuple[int, ...]:
    """Return the update times that are not chosen: the first, unless it has a price."""
    return (FIRST_UPDATE,) if mission.spending.first_is_forced else ()


def _opening(mission: Mission) -> tuple[tuple[int, ...], float, Array]:
    """Return the times that are not chosen, the expected reward until then, and (S,) where the robot is."""
    world, propagation = mission.world, mission.update(0).propagation
    start, times = np.array([world.start]), _forced(mission)
    if not times:
        return times, 0.0, np.eye(1, world.states, world.start)[0]
    (step,) = skip_interval(world.kernel, world.reward, propagation, start, begin=0, end=FIRST_UPDATE)
    return times, float(step.reward[0]), step.after[0]


@dataclass(frozen=True, eq=False)
class BestFeedback(Rule):
    """The best feedback schedule as a rule."""

    programme: Programme
    """The solution, with later updates where there are any."""
    mission: Mission
    """The mission that it was solved for."""

    needs = frozenset({Need.STATE})

    def next_update(self, context: Context, states: Indices) -> Indices:
        """(R,) the best next update times."""
        states = self.mission.unseen(states)
        if context.last_update == self.programme.table.begin:
            return self.programme.next_times[np.searchsorted(self.programme.states, states), -1]
        assert self.programme.later is not None
        column = min(context.budget_left, self.programme.later.shape[2] - 1)
        return self.programme.later[context.last_update, states, column]

    def decide(self, context: Context) -> Decision:
        """Compare the time with the best one."""
        due = context.time >= self.next_update(context, np.array([context.state]))[0]
        return Decision(bool(due), "the best next update")


class _FixedSearch:
    """Depth first over fixed schedules, the most promising time first, cut where feedback cannot win."""

    def __init__(
        self,
        mission: Mission,
        programme_after: Callable[[tuple[int, ...]], Programme | SeeingAfter],
        nodes: int,
    ) -> None:
        self.mission, self.programme_after, self.nodes = mission, programme_after, nodes
        self.spend_all, self.price = mission.spending.exact, mission.spending.price or 0.0
        self.times: tuple[int, ...] = ()
        self.value = -np.inf
        self.proved = True

    def extend(self, times: tuple[int, ...], gained: float, mass: Array) -> None:
        """Continue a schedule that has gained so much by its last update, where it sees (S,) `mass`."""
        horizon, last, left = self.mission.horizon, times[-1] if times else 0, self.mission.limit - len(times)
        self.nodes -= 1
        programme = self.programme_after(times)
        more, spread = programme.onward(last, mass)
        if left == 0 or not self.spend_all:
            self._offer(times, gained + float(more[-1]))
        if left == 0:
            return
        candidates = np.arange(last + 1, horizon - left + 1 if self.spend_all else horizon)
        gains = gained + more - self.price
        bounds = gains[candidates - last] + _worth(programme, spread, candidates, left - 1)
        for i in np.argsort(-bounds, kind="stable"):
            if bounds[i] <= self.value + 1e-12:
                return
            if self.nodes <= 0 and self.times:
                self.proved = False
                return
            u = int(candidates[i])
            if left == 1 and self.spend_all:
                self._offer((*times, u), float(bounds[i]))
            else:
                self.extend((*times, u), float(gains[u - last]), spread[u])

    def _offer(self, times: tuple[int, ...], value: float) -> None:
        if value > self.value:
            self.times, self.value = times, value


def _worth(programme: Programme | SeeingAfter, spread: Array, times: Indices, left: int) -> Array:
    """(U,) what the best feedback schedule makes of the mass that it sees at each of the times."""
    values = programme.values[times]
    worth = np.einsum("us,us->u", spread[times], values[:, :, min(left, values.shape[2] - 2)])
    return worth / np.einsum("us,us->u", spread[times], values[:, :, -1])
