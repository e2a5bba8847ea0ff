"""Regret where the agent has to learn its kernel: the estimate depends on what it saw, so it is sampled.

Each seed is one mission with an estimator of its own. Numbers are drawn as in `replan.evaluation.rollouts`, so
estimators, rules and the oracle are compared on paired rollouts.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike

from replan.estimate.estimator import Estimator, Observation
from replan.execute.mission import Mission, Update
from replan.model.kernel import Array
from replan.model.streams import uniforms
from replan.planning.backward_induction import plan
from replan.schedule.budget import FIRST_UPDATE, next_update
from replan.schedule.rule import Rule, draws
from replan.skip.propagation import propagation

MakeEstimator = Callable[[Mission], Estimator]


def learned_returns(
    mission: Mission,
    rule: Rule,
    make_estimator: MakeEstimator,
    seeds: ArrayLike,
    *,
    drift_bounds: Array | None = None,
) -> Array:
    """(N,) returns of missions on estimated kernels; `drift_bounds` are told to the rule."""
    seeds = np.atleast_1d(np.asarray(seeds, dtype=np.int64))
    bounds = mission.world.drift_bounds if drift_bounds is None else drift_bounds
    numbers = uniforms(seeds[:, None], np.arange(mission.horizon)[None, :])
    return np.array(
        [
            _mission(
                mission,
                rule.with_seed(int(seed)) if draws(rule) else rule,
                make_estimator(mission),
                row,
                bounds,
            )
            for seed, row in zip(seeds, numbers, strict=True)
        ]
    )


def _mission(mission: Mission, rule: Rule, estimator: Estimator, numbers: Array, bounds: Array) -> float:
    """The return of one mission, interval by interval."""
    world, horizon = mission.world, mission.horizon
    state, previous, total = world.start, None, 0.0
    commanded: list[int] = []
    time, left, following = 0, mission.budget, FIRST_UPDATE
    kernel, update = world.kernel(0), None
    while time < horizon:
        if time > 0:
            last = commanded[-1] if commanded else None
            kernel = estimator.estimate(Observation(time, state, previous, last, tuple(commanded)))
            commanded, left = [], left - 1
        made = plan(
            kernel,
            world.reward,
            time=time,
            horizon=min(mission.planning_horizon, horizon - time),
            ties=mission.ties,
        )
        how = propagation(mission.execution, made, kernel)
        if time > 0:
            earlier, update = update, Update(time, kernel, made, how)
            contexts = mission.context_at(
                rule,
                last_update=time,
                budget_left=left,
                state=state,
                update=update,
                earlier=earlier,
                drift_bounds=bounds,
            )
            following = next_update(rule, contexts, exact=mission.exact_budget, explain=False)[0]
        estimate = how.begin(np.array([state]))
        for t in range(time, following):
            actions = how.act(estimate)
            estimate = how.advance(estimate, actions)
            before = np.array([state])
            after = world.kernel(t).sample(before, actions, numbers[t : t + 1])
            total += float(world.reward(t).realised(before, actions, after)[0])
            previous, state = state, int(after[0])
            commanded.append(int(actions[0]))
        time = following
    return total
