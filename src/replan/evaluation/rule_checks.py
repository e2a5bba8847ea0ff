"""A checker for rules: they spend the budget, repeat themselves and use only what they declare.

An agent runs through the mission, and each question that it asks the rule is kept with the answer. The same
questions are then put in the opposite order, to several states at once as exact evaluation does, in worlds
that are the same up to that time and differ after it, and in one that differs in all that the rule is not
told. Whole evaluations are compared in other futures too.
"""

from __future__ import annotations

import inspect
import math
import warnings
from collections.abc import Callable, Iterator, Set
from dataclasses import dataclass, replace
from functools import cache, partial
from types import MemberDescriptorType
from typing import Any

import numpy as np

from replan.errors import InputError, require_whole
from replan.evaluation.agent_runs import run_agent
from replan.evaluation.exact import evaluate
from replan.execute.mission import Mission, require_world
from replan.execute.robot import Robot
from replan.model.drift import piecewise
from replan.model.general_kernel import GeneralKernel
from replan.model.kernel import Array, Indices, Kernel, constant
from replan.model.reward import Reward
from replan.model.slip import SlipKernel
from replan.model.world import World
from replan.schedule.questions import ContextAt, decision_at, decisions_at
from replan.schedule.rule import Context, Decision, Need, Rule, require_instance
from replan.skip.spending import Spending

MakeRule = Callable[[Mission], Rule]

SEVERAL = 3
"""States that a rule which needs the state is asked for at once."""
SMALL = 400
"""States up to which whole evaluations are compared too."""
OTHER_BOUND = 0.37
"""Drift bound of other worlds."""
SAME = 1e-9
"""Greatest difference of two probabilities that are the same."""


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
    recorder = _Recorder(made, seed)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of the agent: a rule that fails is a finding
        run_agent(mission, recorder, seed=seed)
    if found := list(_check_answers(make, mission, recorder.answers, seed)):
        yield from found
    elif mission.world.states <= SMALL:
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


@dataclass(frozen=True)
class _Question:
    """One thing asked of a rule in a run."""

    method: str
    """`next_update` or `decide`."""
    time: int
    times: tuple[int, ...]
    """The updates before it."""
    state: int
    seed: int
    """Seed of the run, by which updates take as long as they did."""

    def context_at(self, rule: Rule, mission: Mission) -> ContextAt:
        """Return the function from state and time to the context of this question on a mission."""
        progress = mission.beginning()
        for t in self.times:
            progress = mission.after(progress, t, seed=self.seed)
        return partial(mission.context, rule, progress)

    def ask(self, rule: Rule, mission: Mission) -> Any:
        """Return the answer of a rule, as plain data that can be compared."""
        context_at = self.context_at(rule, mission)
        if self.method == "next_update":
            return _plain(rule.next_update(context_at(self.state, None), np.array([self.state])))
        return _plain(rule.decide(context_at(self.state, self.time)))


class _Recorder(Rule):
    """Answers as another rule, and keeps each question with its answer."""

    def __init__(self, rule: Rule, seed: int) -> None:
        self.rule, self.name, self.needs = rule, rule.name, rule.needs
        self.exact_budget, self.weighs_the_state = rule.exact_budget, rule.weighs_the_state
        self.seed, self.times = seed, ()
        self.answers: dict[_Question, Any] = {}

    def next_update(self, context: Context, states: Indices) -> Indices | Array | None:
        return self._keep("next_update", context, self.rule.next_update(context, states))

    def decide(self, context: Context) -> Decision:
        return self._keep("decide", context, self.rule.decide(context))

    def _keep(self, method: str, context: Context, answer: Any) -> Any:
        last = (context.last_update,) if context.last_update else ()
        self.times = tuple(dict.fromkeys(self.times + last))
        state = context.given.get(Need.STATE, 0)
        self.answers[_Question(method, context.time, self.times, state, self.seed)] = _plain(answer)
        return answer


def _plain(answer: Any) -> Any:
    """Return an answer as data that can be compared: all of a decision but its reason, None for NaN."""
    if not isinstance(answer, Decision):
        return None if answer is None else np.asarray(answer).tolist()
    numbers = {"score": answer.score, "threshold": answer.threshold, **answer.terms}
    known = {name: None if x is None or math.isnan(x) else x for name, x in numbers.items()}
    return answer.update, known


def _check_answers(
    make: MakeRule, mission: Mission, answers: dict[_Question, Any], seed: int
) -> Iterator[RuleFinding]:
    """Check the answers of a run, each by itself and against those to the same question asked otherwise."""
    rule, rng = make(mission), np.random.default_rng(seed)
    for question, answer in answers.items():
        named = answer[0] if question.method == "next_update" and answer else None
        if isinstance(named, int) and not question.time < named <= mission.horizon:
            what = f"names the time {named}, not one of {question.time + 1} to {mission.horizon}"
            yield RuleFinding(what, question.time)
    for question in reversed(answers):
        if question.ask(rule, mission) != answers[question]:
            yield RuleFinding("answers differently when it is asked again", question.time)
        yield from _check_several(rule, mission, question, rng)
    for question, answer in answers.items():
        for what, changed, asked in _otherwise(mission, question, rule.needs, rng):
            if asked.ask(make(changed), changed) != answer:
                yield RuleFinding(what, question.time)
                break


def _check_several(
    rule: Rule, mission: Mission, question: _Question, rng: np.random.Generator
) -> Iterator[RuleFinding]:
    """Check that several states asked for at once, as exact evaluation does, are answered as each of them."""
    context_at, several = question.context_at(rule, mission), Need.STATE in rule.needs
    others = rng.choice(mission.world.states, SEVERAL - 1) if several else []
    states = np.array([question.state, *others], dtype=np.int64)
    if question.method == "decide":
        each = [decision_at(rule, context_at(int(s), question.time), None).update for s in states]
        together = decisions_at(rule, context_at, states, question.time).tolist()
    else:
        each = [_plain(rule.next_update(context_at(int(s), None), np.array([s]))) for s in states]
        each = None if each[0] is None else [row for (row,) in each]
        together = _plain(rule.next_update(context_at(question.state, None), states))
    if together != each:
        who = "several states at once" if several else "exact evaluation"
        yield RuleFinding(f"answers differently for {who} than for one robot", question.time)


def _otherwise(
    mission: Mission, question: _Question, needs: Set[Need], rng: np.random.Generator
) -> Iterator[tuple[str, Mission, _Question]]:
    """Yield a mission and a question that must be answered alike, and what is wrong if they are not."""
    world, bounds = mission.world, mission.world.drift_bounds
    if Need.STATE not in needs:
        elsewhere = replace(question, state=int(rng.integers(world.states)))
        yield "depends on the state seen but does not declare it", mission, elsewhere
    for change, changed in _other_futures(mission, question.time, needs):
        yield f"looks ahead: decides differently where {change}", changed, question
    last = question.time if Need.RUNNING_ESTIMATE in needs else max(question.times, default=0)
    told = question.time if Need.CURRENT_KERNEL in needs else max(last - 1, 0)  # an update reveals P_{tau-1}
    change = "kernels that it was not told of differ"
    if not (mission.forecast.moves or needs & {Need.DRIFT_SO_FAR, Need.DRIFT_AHEAD}):
        change, bounds = "kernels and drift bounds that it was not told of differ", OTHER_BOUND - bounds / 3
    untold = replace(mission, world=replace(world, kernel=_blurred_after(world, told), stated_bounds=bounds))
    yield f"uses what it does not declare: decides differently where {change}", untold, question


def _other_futures(mission: Mission, time: int, needs: Set[Need]) -> Iterator[tuple[str, Mission]]:
    """Yield the mission in worlds that are the same up to P_time and its past drift."""
    world, bounds = mission.world, mission.world.drift_bounds
    for change, kernel, drift in (
        ("the world stands still afterwards", lambda t: world.kernel(min(t, time)), 0.0),
        ("another world follows", _blurred_after(world, time), OTHER_BOUND),
    ):
        stated = np.where(np.arange(len(bounds)) >= time, drift, bounds)
        stated = bounds if Need.DRIFT_AHEAD in needs else stated
        yield change, replace(mission, world=replace(world, kernel=kernel, stated_bounds=stated))


def _blurred_after(world: World, time: int) -> Callable[[int], Kernel]:
    """t -> the kernel, after `time` with the same mean row for all actions."""

    @cache
    def blurred(t: int) -> Kernel:
        if t <= time:
            return world.kernel(t)
        general = world.kernel(t).general()
        share = general.probabilities.mean(axis=1, keepdims=True)
        return GeneralKernel(general.successors, np.repeat(share, general.actions, axis=1))

    return blurred


def _check_evaluations(make: MakeRule, mission: Mission) -> Iterator[RuleFinding]:
    """Compare whole evaluations in worlds that differ in the second half."""

    def probability(mission: Mission) -> Array:
        return evaluate(mission, make(mission), all_starts=False).steps.update_probability

    stated, half = probability(mission), mission.horizon // 2
    for change, changed in _other_futures(mission, half, make(mission).needs):
        differs = abs(probability(changed) - stated)[: half + 1] > SAME
        if differs.any():
            what = f"looks ahead: is evaluated differently where {change}, from t={half} on"
            yield RuleFinding(what, int(differs.argmax()))


def _grids(rule: Rule | MakeRule) -> list[Mission]:
    """Return two small grids, with a burst in the middle and with one at the end.

    Their robots are localised if the rule is for such robots.
    """
    sees = isinstance(rule, Rule) and Need.RUNNING_ESTIMATE in rule.needs
    robot = Robot(planning_horizon=4, execution="localised" if sees else "map")
    missions = []
    for horizon, budget, burst in ((14, 3, (0.3, 0.6, 0.03)), (12, 5, (0.7, 1.0, 0.05))):
        slip = piecewise(horizon, slip=0.05, quiet=0.004, bursts=[burst])
        distance = np.add.outer(np.arange(4), np.arange(4))[::-1, ::-1].reshape(-1)
        world = World(
            horizon=horizon,
            kernel=lambda t, slip=slip: SlipKernel((4, 4), slip[t]),
            reward=constant(Reward(next_state=-distance / 6)),
        )
        missions.append(Mission(world, robot, Spending.exactly(budget)))
    return missions
