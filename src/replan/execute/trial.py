"""One estimate, one plan and one decision of an agent before its mission.

That compiles or loads everything that a mission needs, and finds at construction what cannot work.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from replan.errors import InputError
from replan.estimate.estimator import Observation, validate_kernel, validate_learned
from replan.model.general_kernel import prepare_kernel
from replan.schedule.questions import decision_at, named_update
from replan.schedule.rule import RunningEstimate
from replan.skip.spending import FIRST_UPDATE

if TYPE_CHECKING:
    from replan.execute.agent import Agent
    from replan.skip.acting import Update


def try_out(agent: Agent) -> None:
    """Make one plan, one step and one decision. Raises `InputError` if they fail."""
    mission, rule, nominal = agent.mission, agent.rule, agent.knowledge.nominal
    robot = agent.robot
    prepare_kernel(nominal)
    _try_estimator(agent)
    made = agent._free_update
    estimate = made.propagation.begin(np.array([0]))
    made.propagation.advance(estimate, made.propagation.act(estimate, 0), 0)
    progress, first = mission.beginning(made), 0
    if agent.spending.first_is_forced:
        progress, first = progress.after(replace(made, time=FIRST_UPDATE)), FIRST_UPDATE
    if progress.budget_left == 0:
        return
    context = partial(mission.context, rule, progress, 0)

    def possible(steps: int) -> Update:
        shared = robot.judge is robot.planner
        return _with_other_actions(made if shared else mission.make_update(0, nominal, planner=robot.judge))

    running = RunningEstimate(nominal, possible)
    try:
        named = None if robot.sees else named_update(rule, context(), 0, seed=agent.seed)
        decision_at(rule, context(first + 1, running), named)
    except InputError:
        raise
    except Exception as error:
        raise InputError(f"the rule {rule.name} cannot decide: {type(error).__name__}: {error}") from error


def _with_other_actions(made: Update) -> Update:
    """Return an update whose plan acts otherwise in every state, so that rules weigh it against the first."""
    first, *later = (
        replace(each, policy=(each.policy + 1) % each.kernel.actions, later=())
        for each in (made.plan, *made.plan.later)
    )
    return replace(made, plan=replace(first, later=tuple(later)), cache={})


def _try_estimator(agent: Agent) -> None:
    """Have the estimator learn from one likely step. Its failures wait for the mission."""
    nominal = agent.knowledge.nominal
    (state,) = nominal.most_likely_of(np.array([0]), np.array([0]))
    try:
        made = agent.estimator.estimate(agent.learned, Observation(FIRST_UPDATE, int(state), 0, 0, (0,)))
    except Exception:
        return
    if not isinstance(made, tuple) or len(made) != 2:
        raise InputError(f"estimate must return what was learned and a kernel, not {type(made).__name__}")
    validate_learned(made[0])
    validate_kernel(made[1], like=nominal)
