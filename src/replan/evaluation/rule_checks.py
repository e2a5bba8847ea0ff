"""A checker for rules: they spend the budget, repeat themselves and use only what they declare.

The rule is run through missions and asked as a robot and as exact evaluation ask it. Every question is then
asked again in another order, from other states, in worlds that are the same up to that time and differ after
it, and in one that differs in all that the rule is not told; whole evaluations are compared in the same way.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cache, partial
from itertools import pairwise
from types import MemberDescriptorType

import numpy as np

from replan.errors import InputError, require_whole
from replan.evaluation.agent_runs import AgentRun, run_agent
from replan.evaluation.exact import evaluate
from replan.evaluation.rule_questions import (
    Question,
    RuleAnswer,
    answer,
    last_told,
    other_futures,
    other_untold,
    run_through,
)
from replan.evaluation.visits import Follow
from replan.execute.mission import Mission, require_world
from replan.execute.robot import Robot
from replan.model.drift import piecewise
from replan.model.kernel import Array, constant
from replan.model.reward import Reward
from replan.model.slip import SlipKernel
from replan.model.streams import RULE, uniforms
from replan.model.world import World
from replan.schedule.questions import chances_now, draw
from replan.schedule.rule import Need, Rule, require_instance
from replan.skip.acting import Execution
from replan.skip.spending import FIRST_UPDATE, Spending

MakeRule = Callable[[Mission], Rule]

SMALL = 400
"""States up to which whole evaluations are compared too."""
CUTS = 2 / 3, 1 / 3
"""Shares of the horizon after which the other worlds of whole evaluations differ, by `other_futures`."""
SAME = 1e-9
"""Greatest difference of two probabilities that are the same."""
AGAIN = "answers differently when it is asked again"


@dataclass(frozen=True)
class RuleFinding:
    """One thing wrong with a rule, and at which time it showed."""

    what: str
    time: int | None = None

    def __str__(self) -> str:
        return self.what if self.time is None else f"{self.what} at t={self.time}"


def check_rule(rule: Rule | MakeRule, *missions: Mission, seed: int = 0, most: int = 20) -> list[RuleFinding]:
    """Check that a rule spends its budget, repeats itself and uses only what it declares.

    Parameters
    ----------
    rule : Rule or callable
        The rule. Give a function of the mission for a rule that is made from one: it is then made anew in
        every changed world.
    *missions : Mission
        Missions to run it on; two small grids if none is given.
    seed : int
        Seed of the draws.
    most : int
        Number of faults to return at most.

    Returns
    -------
    list of RuleFinding
        The first faults; an empty list if none is found.
    """
    require_whole(seed=seed, most=most)
    for mission in missions:
        require_world(mission)
    if isinstance(rule, type) and issubclass(rule, Rule):
        require_instance(rule)
    if not isinstance(rule, Rule) and not callable(rule):
        raise InputError(f"rule must be a Rule or a function that makes one, not {rule!r}")
    found: list[RuleFinding] = []
    for mission in missions or _grids(rule):
        try:
            found += _check(rule, mission, seed)
        except InputError as error:
            found.append(RuleFinding(str(error)))
        except Exception as error:  # whatever a user's rule raises is a finding
            found.append(RuleFinding(f"raised {type(error).__name__}: {error}"))
        if len(found) >= most:
            break
    return list(dict.fromkeys(found))[:most]


def _check(rule: Rule | MakeRule, mission: Mission, seed: int) -> Iterator[RuleFinding]:
    def make(mission: Mission) -> Rule:
        return rule if isinstance(rule, Rule) else rule(mission)

    made = make(mission)
    if not isinstance(made, Rule):
        yield RuleFinding("is no rule: it does not derive from replan.Rule")
        return
    if fault := _fault_of_needs(made):
        yield RuleFinding(fault)
        return
    needs = made.needs
    first_run = list(run_through(made, mission, seed))
    if found := list(_check_answers(make, mission, [question for question, _ in first_run], seed)):
        yield from found
        return
    for (question, said), (_, now) in zip(first_run, run_through(made, mission, seed), strict=False):
        if now != said:
            yield RuleFinding(AGAIN, question.time)
            return
    yield from _check_robot(made, mission, seed)
    if mission.world.states <= SMALL:
        yield from _check_evaluations(make, mission)
    if made.needs != needs:
        yield RuleFinding("changes its needs while it is asked")


def _fault_of_needs(rule: Rule) -> str | None:
    """Return what is wrong with the needs of a rule, if anything: they must not depend on who asks."""
    stated = inspect.getattr_static(rule, "needs")
    stated = rule.needs if isinstance(stated, MemberDescriptorType) else stated
    if type(stated) is not frozenset or type(rule).__getattribute__ is not object.__getattribute__:
        return "needs must be a plain frozenset of the class, or set in __post_init__: it is computed"
    strange = [need for need in rule.needs if type(need) not in (str, Need) or need not in list(Need)]
    return f"needs {strange[0]!r}, not one of {', '.join(Need)}" if strange else None


def _check_answers(
    make: MakeRule, mission: Mission, questions: list[Question], seed: int
) -> Iterator[RuleFinding]:
    """Check each answer by itself, asked again, asked elsewhere, and asked where another future follows."""
    rule = make(mission)
    answers = {question: answer(rule, mission, question) for question in questions}
    for question, found in answers.items():
        yield from _check_form(found, mission, question)
    again = {question: answer(rule, mission, question) for question in reversed(answers)}
    for question, found in again.items():
        if found != answers[question]:
            yield RuleFinding(AGAIN, question.time)
        elif found.together and found.together != found.each:
            several = "several states at once" if len(question.states) > 1 else "exact evaluation"
            yield RuleFinding(f"answers differently for {several} than for one robot", question.time)
    if Need.STATE not in rule.needs:
        rng = np.random.default_rng(seed)
        for question in answers:
            elsewhere = replace(question, states=(int(rng.integers(mission.world.states)),))
            if answer(rule, mission, elsewhere) != answers[question]:
                yield RuleFinding("depends on the state seen but does not declare it", question.time)
    keep_bounds = Need.DRIFT_AHEAD in rule.needs
    untold = cache(lambda last: other_untold(mission, last, rule.needs))
    for question, found in answers.items():
        for change, changed in other_futures(mission, question.time, keep_bounds=keep_bounds):
            if answer(make(changed), changed, question) != found:
                yield RuleFinding(f"looks ahead: decides differently where {change}", question.time)
                break
        else:
            change, changed = untold(last_told(question, rule.needs))
            if answer(make(changed), changed, question) != found:
                what = f"uses what it does not declare: decides differently where {change}"
                yield RuleFinding(what, question.time)


def _check_form(found: RuleAnswer, mission: Mission, question: Question) -> Iterator[RuleFinding]:
    """Check that named times lie within the budget; decisions and probabilities are checked when asked."""
    if not question.at_update or found.alone is None:
        return
    named, tau = np.asarray(found.alone), question.last_update
    if named.ndim == 2:
        return
    if named.shape != (1,) or not np.issubdtype(named.dtype, np.integer):
        yield RuleFinding(f"names the time {found.alone!r}, not a whole number for each state", tau)
    elif not tau < named[0] <= mission.horizon:
        yield RuleFinding(f"names the time {named[0]}, not one of {tau + 1} to {mission.horizon}", tau)


def _check_robot(rule: Rule, mission: Mission, seed: int) -> Iterator[RuleFinding]:
    """Compare the updates of an agent with those that exact evaluation counts with from the same states."""
    run = run_agent(mission, rule, seed=seed)
    if mission.robot.sees:
        yield from _check_seeing_robot(rule, mission, run, seed)
        return
    follow, progress = Follow(mission, rule), mission.beginning()
    for last, following in pairwise((0, *run.times, mission.horizon)):
        (chances,) = follow.next_chances(progress, run.states[last : last + 1])
        expected = draw(chances, seed, after=last, rule=rule)
        if expected != following:
            yield RuleFinding(
                f"answers a robot differently than exact evaluation: after the update at {last} "
                f"the robot's next is at {following}, and not at {expected}"
            )
            return
        if following < mission.horizon:
            progress = mission.after(progress, following, seed=seed)


def _check_seeing_robot(rule: Rule, mission: Mission, run: AgentRun, seed: int) -> Iterator[RuleFinding]:
    """Compare the updates of a localised agent with what exact evaluation expects in the same states."""
    progress = mission.beginning()
    for t in range(FIRST_UPDATE, mission.horizon):
        context_at = partial(mission.context, rule, progress)
        (chance,) = chances_now(rule, context_at, run.states[t : t + 1], time=t)
        if (uniforms(seed, t, RULE) < chance) != (t in run.times):
            yield RuleFinding("answers a robot differently than exact evaluation", t)
            return
        if t in run.times:
            progress = mission.after(progress, t, seed=seed)


def _check_evaluations(make: MakeRule, mission: Mission) -> Iterator[RuleFinding]:
    """Compare whole evaluations, in worlds that differ from some time on and then in the same world again."""

    def probability(mission: Mission) -> Array:
        return evaluate(mission, make(mission), all_starts=False).steps.update_probability

    stated, keep_bounds = probability(mission), Need.DRIFT_AHEAD in make(mission).needs
    for number, share in enumerate(CUTS):
        until = round(share * mission.horizon)
        change, changed = list(other_futures(mission, until, keep_bounds=keep_bounds))[number]
        differs = abs(probability(changed) - stated)[: until + 1] > SAME
        if differs.any():
            what = f"looks ahead: is evaluated differently where {change}, from t={until} on"
            yield RuleFinding(what, int(differs.argmax()))
    if (abs(probability(mission) - stated) > SAME).any():
        yield RuleFinding("is evaluated differently the second time: it remembers what it was asked before")


def _grids(rule: Rule | MakeRule) -> list[Mission]:
    """Two small grids, one with a burst in the middle and one with a burst at the end.

    Their robots are localised if the rule is for such robots.
    """
    missions = []
    sees = isinstance(rule, Rule) and Need.RUNNING_ESTIMATE in rule.needs
    execution: Execution = "localised" if sees else "map"
    for horizon, budget, burst in ((14, 3, (0.3, 0.6, 0.03)), (12, 5, (0.7, 1.0, 0.05))):
        slip = piecewise(horizon, slip=0.05, quiet=0.004, bursts=[burst])
        distance = np.add.outer(np.arange(4), np.arange(4))[::-1, ::-1].reshape(-1)
        world = World(
            horizon=horizon,
            kernel=lambda t, slip=slip: SlipKernel((4, 4), slip[t]),
            reward=constant(Reward(next_state=-distance / 6)),
        )
        robot = Robot(planning_horizon=4, execution=execution)
        missions.append(Mission(world, robot, Spending.exactly(budget)))
    return missions
