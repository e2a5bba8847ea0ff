"""The floor under every rule: the best update times that exist, with all kernels known.

`feedback` may choose each next update by the state just seen: the dynamic programme of
`replan.schedule.update_programme` in the world itself. `fixed` times are chosen in advance, by branch and
bound under the feedback values: no fixed schedule does better from an update on than the best feedback one.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from replan.errors import InputError
from replan.evaluation.exact import from_start, regret
from replan.evaluation.localised import SeeingAfter, best_programme
from replan.evaluation.programmes import BestOnward, ComparedProgramme, FixedSearch, LateFloor
from replan.execute.mission import Mission, require_instant, require_mission
from replan.model.kernel import Array, Indices
from replan.planning.backward_induction import oracle_return
from replan.schedule.candidate_table import Problem
from replan.schedule.fixed import FixedTimes
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
    require_optimum(mission)
    if mission.robot.sees:
        mission = mission.with_spending(mission.spending.unforced())
    mission = mission.within_reach()
    best, paid = _finite_return(mission), mission.spending.paid
    value, updates, programme_after = _feedback_optimum(mission)
    if len(mission.robot.durations) > 1:
        times, proved = _suited_times(mission), False
        fixed = regret(mission, FixedTimes(times))
    else:
        search = FixedSearch(mission, programme_after, mission.sizes.schedules)
        search.extend(*_opening(mission))
        times, proved = search.times, search.proved
        fixed = best - search.value - paid(len(times))
    return Optimum(best, times, fixed, proved, best - value - paid(updates), updates, mission.spending)


def _feedback_optimum(mission: Mission) -> tuple[float, float, Callable[[tuple[int, ...]], BestOnward]]:
    """Return the objective of the best feedback schedule, its expected updates, and the best way on."""
    if mission.robot.sees:
        programme, start = best_programme(mission), mission.world.start
        best = programme.values[start, -1], programme.counts[start, -1]
        return float(best[0]), float(best[1]), partial(SeeingAfter, programme)
    if not mission.task.latency.instant:
        floor = _late_floor(mission)
        return float(floor.objectives[-1]), floor.updates, floor.after
    times, gained, arrival = _opening(mission)
    programme_after = _programmes(mission, np.flatnonzero(arrival))
    programme = programme_after(times)
    value = gained + float(arrival[programme.states] @ programme.best[:, -1])
    updates = float(mission.limit)
    if programme.later is not None:
        rule = BestFeedback(programme, mission)
        updates = float(from_start(mission, rule, None)[1].update_probability.sum())
    return value, updates, programme_after


def _suited_times(mission: Mission) -> tuple[int, ...]:
    """Return the best fixed times of updates that take the mean of the drawn steps, if it is below T."""
    mean = round(sum(steps * probability for steps, probability in mission.robot.durations))
    mean = min(mean, mission.horizon - 1)
    robot = replace(mission.robot, update_steps=mean)
    return optimum(replace(mission, robot=robot)).fixed_times


def _finite_return(mission: Mission) -> float:
    """Return the oracle's expected return. Raises `InputError` if it is not finite."""
    best = float(oracle_return(mission.world)[mission.world.start])
    if not np.isfinite(best):
        raise InputError(f"the optimum needs finite rewards: the best return from the start is {best}")
    return best


def require_optimum(mission: Mission) -> None:
    """Raise `InputError` if updates take time and the optimum is not computed for that."""
    if has_optimum(mission) or mission.task.latency.instant:
        return
    raise InputError(
        "the optimum of updates that take time is not computed for the forecast "
        f"{mission.robot.forecast.name} on {mission.world.states} states"
    )


def _late_floor(mission: Mission) -> LateFloor:
    """Return the floor of a blind robot whose updates take time. Raises `InputError` as `require_optimum`."""
    require_optimum(mission)
    return LateFloor(mission)


def has_optimum(mission: Mission) -> bool:
    """Return whether `optimum` can be computed: with every forecast but those that compare two updates.

    With these it cannot if updates have a price or, for a blind robot, take time, or the world is large.
    """
    if not mission.task.latency.instant and not mission.robot.sees:
        states = mission.within_reach().world.states
        return not mission.robot.forecast.compares and mission.sizes.keeps_pairs(states, mission.horizon)
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
    require_instant(mission, "this programme is solved")
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
    if not mission.task.latency.instant:
        return float(_late_floor(mission).objectives[-1])
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
    if not mission.task.latency.instant:
        return best - _late_floor(mission).objectives
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
    if not times or mission.robot.sees:
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
