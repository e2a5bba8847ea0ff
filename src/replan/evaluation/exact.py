"""Regret without sampling.

Until the next update everything is a function of the state at the last one, so expected returns follow by
pushing distributions through each skip interval and chaining the intervals: forwards from one start, which
also gives the loss of every step (Delta_t of the paper's proof), or backwards for all starts at once.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field
from functools import cache, partial
from operator import itemgetter

import numpy as np

from replan.errors import require
from replan.evaluation.localised import Chain, losses
from replan.evaluation.visited_steps import (
    RemainingActions,
    UpdateTimes,
    mission_robots,
    require_room,
    visits,
)
from replan.execute.mission import Mission, require_mission
from replan.execute.task import Key, Progress
from replan.model.kernel import Array, Indices
from replan.model.reward import expectation
from replan.planning.backward_induction import Oracle, oracle, require_oracle_memory
from replan.planning.followed import FollowedStep, follow_action
from replan.schedule.fixed import FixedTimes
from replan.schedule.rule import Rule
from replan.schedule.spending import Spending


@dataclass(frozen=True)
class Steps:
    """The expected loss of each time, from the mission's start; the sum of all is the regret."""

    update_loss: Array = field(repr=False)
    """(T,) lost at times that are updates."""
    skip_loss: Array = field(repr=False)
    """(T,) lost at times that are skipped, t = 0 included."""
    update_probability: Array = field(repr=False)
    """(T,) that there is an update at t."""

    @property
    def loss(self) -> Array:
        """(T,) Delta_t."""
        return self.update_loss + self.skip_loss


@dataclass(frozen=True)
class Evaluation:
    """Return and regret of a schedule or rule."""

    oracle_return: float
    expected_return: float
    steps: Steps
    dynamic_regret: float | None
    """The greatest regret over start states; None beyond `Sizes.all_starts` or if it was not asked for."""
    spending: Spending
    """Budget or price of the mission."""

    @property
    def regret(self) -> float:
        """The oracle's expected return minus the rule's, from the start state."""
        return self.oracle_return - self.expected_return

    @property
    def expected_updates(self) -> float:
        """Expected number of updates."""
        return float(self.steps.update_probability.sum())

    @property
    def objective(self) -> float:
        """Expected return minus the price of the updates."""
        return self.expected_return - self.spending.paid(self.expected_updates)


def reach_and_oracle(mission: Mission, best: Oracle | None) -> tuple[Mission, Oracle]:
    """Return the mission on the states that its robot can reach, and the oracle's values there."""
    require_mission(mission)
    if best is not None:
        require(Oracle, best=best)
    within = mission.within_reach()
    if mission.robot.sees:
        return within, best if best is not None and within is mission else oracle(within.world)
    if best is not None and within is mission:
        require_room(within)
        return within, best
    require_room(within, beside=require_oracle_memory(within.world))
    return within, oracle(within.world)


def evaluate(
    mission: Mission, rule: Rule, *, best: Oracle | None = None, all_starts: bool = True
) -> Evaluation:
    """Compute the exact expected return of a rule, its regret, and the loss of each step.

    Parameters
    ----------
    mission : Mission
        The mission to evaluate.
    rule : Rule
        Decides when to update.
    best : Oracle, optional
        The oracle of the mission's world, if it is known already.
    all_starts : bool
        Whether the dynamic regret, the maximum over start states, is computed too.

    Returns
    -------
    Evaluation
        Return, regret, expected updates and the loss of every step.
    """
    require(bool, all_starts=all_starts)
    mission, best = reach_and_oracle(mission, best)
    followed = _followed(mission, rule)
    expected_return, steps = _forwards(followed, best)
    dynamic = None
    small = mission.is_whole and mission.world.states <= mission.sizes.all_starts
    if all_starts and small:
        dynamic = mission.world.worst(best.values[0] - _backwards(followed))
    return Evaluation(
        float(best.values[0][mission.world.start]), expected_return, steps, dynamic, mission.spending
    )


def evaluate_times(mission: Mission, times, *, best: Oracle | None = None) -> Evaluation:
    """Compute the exact value of given update times.

    Parameters
    ----------
    mission : Mission
        The mission to evaluate.
    times : iterable of int
        Update times, in order.
    best : Oracle, optional
        The oracle of the mission's world, if it is known already.

    Returns
    -------
    Evaluation
        Return, regret and the loss of every step.
    """
    require_mission(mission)
    return evaluate(mission, FixedTimes(mission.check_times(times)), best=best)


def regret(mission: Mission, rule: Rule, *, best: Oracle | None = None) -> float:
    """Compute the exact regret from the start state.

    Parameters
    ----------
    mission : Mission
        The mission to evaluate.
    rule : Rule
        Decides when to update.
    best : Oracle, optional
        The oracle of the mission's world, if it is known already.

    Returns
    -------
    float
        The oracle's expected return minus the rule's.
    """
    mission, best = reach_and_oracle(mission, best)
    return float(best.values[0][mission.world.start]) - from_start(mission, rule, None)[0]


def priced_regret(mission: Mission, rule: Rule, *, best: Oracle | None = None) -> float:
    """Return the exact regret from the start state plus the price of the updates."""
    mission, best = reach_and_oracle(mission, best)
    expected_return, steps = from_start(mission, rule, None)
    paid = mission.spending.paid(float(steps.update_probability.sum()))
    return float(best.values[0][mission.world.start]) - expected_return + paid


def from_start(mission: Mission, rule: Rule, best: Oracle | None) -> tuple[float, Steps]:
    """Return the expected return from the start state and, given the oracle, the loss of every step."""
    if best is None:
        return _forwards(_followed(mission.within_reach(), rule), None)
    mission, best = reach_and_oracle(mission, best)
    return _forwards(_followed(mission, rule), best)


def all_returns(mission: Mission, rule: Rule) -> Array:
    """(S,) expected return from every start state."""
    return _backwards(_followed(mission, rule))


def _followed(mission: Mission, rule: Rule) -> UpdateTimes | Chain:
    """Return how robots go on: from update to update, or step by step where they see their states."""
    return Chain(mission, rule) if mission.robot.sees else UpdateTimes(mission, rule)


def _forwards(update_times: UpdateTimes | Chain, best: Oracle | None) -> tuple[float, Steps]:
    """Follow the start's distribution from update to update."""
    if isinstance(update_times, Chain):
        total, *tables = losses(update_times, best)
        return total, Steps(*tables)
    total = 0.0
    update_loss, skip_loss, updates = np.zeros((3, update_times.mission.horizon))
    for progress, step, still in visits(update_times, partial(mission_robots, update_times.mission)):
        total += float(still @ step.reward)
        updated = step.time == progress.last_update and step.time > 0
        if updated:
            updates[step.time] += still.sum()
        if best is not None:
            lost = expectation(step.before, step.actions, best.loss(step.time))
            (update_loss if updated else skip_loss)[step.time] += float(still @ lost)
    return total, Steps(update_loss, skip_loss, updates)


def _backwards(update_times: UpdateTimes | Chain) -> Array:
    """(S,) expected return from every start state, update by update backwards."""
    if isinstance(update_times, Chain):
        return update_times.all_returns()
    mission, rule = update_times.mission, update_times.rule
    everyone = np.arange(mission.world.states)
    nodes = reachable_updates(update_times, everyone)
    values: dict[Key, Array] = {}

    @cache
    def step(time: int, action: int) -> FollowedStep:
        return follow_action(mission.world.kernel(time), mission.world.reward(time), action)

    for key, (progress, chances) in sorted(nodes.items(), key=itemgetter(0), reverse=True):
        robots = RemainingActions.of(mission, progress, everyone, chances)

        def updated(time: int, before: Progress = progress) -> Array:
            outcomes = mission.outcomes(before, time)
            return np.sum([share * values[after.key(rule)] for share, after in outcomes], axis=0)

        values[key] = robots.values(updated, step)
    return values[mission.beginning().key(rule)]


def reachable_updates(update_times: UpdateTimes, states: Indices) -> dict[Key, tuple[Progress, Array]]:
    """Return the progress of every update that can happen, and (S, T + 1) chances of the next one."""
    mission, rule = update_times.mission, update_times.rule
    nodes: dict[Key, tuple[Progress, Array]] = {}
    waiting: dict[int, dict[Key, Progress]] = defaultdict(dict)
    first = mission.beginning()
    waiting[first.last_update][first.key(rule)] = first
    for time in range(mission.horizon):  # those of one time together, since they share work
        for key, progress in waiting.pop(time, {}).items():
            chances = update_times(progress, states)
            nodes[key] = progress, chances
            for t in np.flatnonzero(chances[:, : mission.horizon].any(axis=0)):
                for _, following in mission.outcomes(progress, int(t)):
                    waiting[int(t)].setdefault(following.key(rule), following)
    return nodes
