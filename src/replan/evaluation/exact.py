"""Regret without sampling: the visits of a rule, forwards from the start and backwards for all starts.

The loss of a step is Delta_t of the paper's proof; the losses of all steps add up to the regret.
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, field

import numpy as np

from replan.errors import require
from replan.evaluation.visits import Follow, ways_in_world
from replan.execute.mission import Mission, require_world
from replan.model.kernel import Array
from replan.model.sizes import require_memory
from replan.planning.optimal_values import Oracle, oracle
from replan.schedule.fixed import FixedTimes
from replan.schedule.rule import Need, Rule
from replan.skip.spending import Spending


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

    @property
    def priced_regret(self) -> float:
        """Regret plus the price of the updates."""
        return self.oracle_return - self.objective


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
    require_world(mission)
    require(bool, all_starts=all_starts)
    small, mission = mission.world.states <= mission.sizes.all_starts, mission.cropped
    best, start, horizon = oracle_of(mission, best), mission.world.start, mission.horizon
    follow = Follow(mission, rule, ways_in_world(mission, losses=best.losses))
    expected_return, update_loss, skip_loss, updates = 0.0, *np.zeros((3, horizon))
    for visit in follow.visits(np.eye(1, mission.world.states, start)[0]):
        t, first = visit.time, update_loss if visit.updated else skip_loss
        expected_return += float(visit.gains.sum())
        first[t] += visit.losses[0]
        skip_loss[t + 1 : t + len(visit.losses)] += visit.losses[1:]
        updates[t] += visit.mass.sum() if visit.updated else 0.0
    dynamic = mission.world.worst(best.values[0] - follow.returns()) if all_starts and small else None
    steps = Steps(update_loss, skip_loss, updates)
    return Evaluation(float(best.values[0][start]), expected_return, steps, dynamic, mission.spending)


def oracle_of(mission: Mission, best: Oracle | None) -> Oracle:
    """Return the oracle of a mission's world, which may be part of the one that `best` is of."""
    if best is not None:
        require(Oracle, best=best)
        if best.world is mission.world:
            return best
    world = mission.world
    require_memory(
        world.horizon * world.states * (world.actions + 1), "what every action loses at every time"
    )
    return oracle(world)


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
    require_world(mission)
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
    return evaluate(mission, rule, best=best, all_starts=False).regret


def schedule_key(mission: Mission, rule: Rule) -> Hashable:
    """Return a key that is equal for rules that make the same updates in a mission.

    Parameters
    ----------
    mission : Mission
        The mission.
    rule : Rule
        Decides when to update.

    Returns
    -------
    hashable
        The chances of every decision, or the rule itself if it depends on the states seen.
    """
    require_world(mission)
    if Need.STATE in rule.needs:
        return rule
    return tuple((t, books, chances[0].tobytes()) for t, books, chances in Follow(mission, rule).decisions())
