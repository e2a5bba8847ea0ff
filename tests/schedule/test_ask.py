"""Whoever asks a rule gets the same answer: at once for all states, or step by step for one."""

from functools import partial

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from replan.errors import InputError
from replan.schedule.drift_threshold import DriftThreshold, SelfTriggered
from replan.schedule.fixed import FixedTimes, Random
from replan.schedule.lazy_value import LazyValue
from replan.schedule.lookahead import Lookahead
from replan.schedule.periodic import Periodic
from replan.schedule.questions import decision_at, draw, forced, named_update, next_updates
from replan.schedule.regret_guided import RegretGuided
from replan.schedule.rule import Decision, Need, Rule
from replan.skip.spending import Spending
from tiny_worlds import tiny_missions


class TakesTurns(Rule):
    """A step for each state in turn, decided for one or for many."""

    needs = frozenset({Need.STATE})

    def decide(self, context):
        return Decision(context.time % 3 == context.state, "its turn")

    def updates(self, context, states):
        return context.time % 3 == states


RULES = (
    TakesTurns(),
    Periodic(),
    RegretGuided("gap+drift", alpha=0.5),
    DriftThreshold(0.7, pace_weight=0.1),
    SelfTriggered(0.7),
    LazyValue(0.2),
    FixedTimes((1, 3)),
    Lookahead(),
)


@given(tiny_missions(max_horizon=7), st.sampled_from(RULES), st.booleans(), st.data())
def test_all_states_at_once_get_the_answers_of_asking_step_by_step(mission, rule, spend_all, data):
    tau = data.draw(st.integers(1, mission.horizon - 1))
    left = data.draw(st.integers(0, min(mission.limit - 1, mission.horizon - 1 - tau)))
    mission = mission if spend_all else mission.with_spending(Spending.at_most(mission.limit))
    progress, states = mission.progress(tau, left), np.arange(mission.world.states)
    chances = next_updates(rule, partial(mission.context, rule, progress), states)
    np.testing.assert_array_equal(chances.sum(axis=1), 1)
    for state in states:
        context = partial(mission.context, rule, progress, int(state))
        named = named_update(rule, context(), int(state), seed=None)
        answers = {t: decision_at(rule, context(t), named).update for t in range(tau + 1, mission.horizon)}
        first = next((t for t, update in answers.items() if update), mission.horizon)
        assert chances[state, first] == 1
        assert first == mission.horizon if left == 0 else tau < first
        if spend_all and left:
            assert first <= mission.horizon - left, "late enough to spend the rest"


DISTRIBUTIONS = {
    "even": [0, 0, 0.25, 0.25, 0.25, 0.25, 0],
    "with none": [0, 0, 0.5, 0, 0.125, 0, 0.375],
    "rare": [0, 0, 0.01, 0.01, 0, 0.01, 0.97],
    "two": [0, 0, 0, 0.3, 0, 0.7, 0],
}


@pytest.mark.parametrize("distribution", DISTRIBUTIONS.values(), ids=DISTRIBUTIONS)
def test_the_draws_of_many_seeds_have_the_distribution_given(distribution):
    distribution = np.array(distribution)
    seeds = 4000
    times = [draw(distribution, seed, after=1, rule=Random()) for seed in range(seeds)]
    counts = np.bincount(times, minlength=len(distribution))
    likely = distribution > 0
    assert not counts[~likely].any()
    expected = seeds * distribution[likely]
    chi_squared = ((counts[likely] - expected) ** 2 / expected).sum()
    assert chi_squared < 16.3, "the 99.9 % point for 3 degrees of freedom"


def test_before_any_update_each_time_from_one_on_and_none_can_be_drawn():
    drawn = [draw(np.array([0, 0.5, 0.25, 0.25]), seed, after=0, rule=Random()) for seed in range(50)]
    assert set(drawn) == {1, 2, 3}


def test_what_is_certain_needs_no_seed():
    assert draw(np.array([0, 0, 0, 1.0, 0]), None, after=1, rule=Random()) == 3
    with pytest.raises(InputError, match="the rule random draws its times: give a seed"):
        draw(np.array([0, 0, 0.5, 0.5, 0]), None, after=1, rule=Random())


class Never(Rule):
    def decide(self, context):
        return Decision(False, "never")


@pytest.mark.parametrize(
    ("time", "left", "must"), [(8, 2, False), (9, 2, True), (10, 1, True), (9, 1, False)]
)
def test_an_update_is_forced_when_as_many_are_left_as_steps(context, time, left, must):
    at = context(time=time, budget_left=left)  # T = 11
    steps = "1 step" if left == 1 else f"{left} steps"
    reason = f"budget forces an update: {left} left, {steps} to go" if must else "never"
    assert decision_at(Never(), at, None) == Decision(must, reason)
    free = context(time=time, budget_left=left, exact=False)
    assert decision_at(Never(), free, None) == Decision(False, "never")


def test_nothing_is_decided_without_a_budget(context):
    spent = decision_at(Periodic(), context(time=10, budget_left=0), None)
    assert spent == Decision(False, "the budget is spent")
    assert named_update(FixedTimes((1, 5)), context(budget_left=0, exact=False), 0, seed=None) == 11


@pytest.mark.parametrize("rule", [FixedTimes((1, 5)), Random()])
@pytest.mark.parametrize("exact", [True, False])
def test_after_an_update_at_the_last_time_there_is_none(context, rule, exact):
    at = context(time=10, last_update=10, budget_left=1, exact=exact)  # T = 11
    assert named_update(rule, at, 0, seed=None) == 11


class Names(Rule):
    answer: object = None

    def decide(self, context):
        return Decision(False, "no reason")

    def next_update(self, context, states):
        return self.answer


def test_a_named_time_is_kept_within_the_budget_and_explained(context):
    rule, at, free = Names(), context(time=2), context(time=2, exact=False)  # T = 11, tau = 2, two left
    for named, kept, if_free in ((0, 3, 3), (3, 3, 3), (9, 9, 9), (10, 9, 10), (11, 9, 11), (99, 9, 11)):
        rule.answer = np.array([named])
        assert named_update(rule, at, 0, seed=None) == kept
        assert named_update(rule, free, 0, seed=None) == if_free
    on_time = decision_at(rule, context(time=9), 9)
    assert on_time == Decision(True, f"planned at 2: {forced(2, 2)}")
    before, after = (decision_at(rule, context(time=t), 9) for t in (8, 10))
    assert (before.update, after.update) == (False, True), "a missed update is still due"
    assert before.reason == after.reason == "planned at 2 for 9"


@pytest.mark.parametrize("answer", [np.array([3.0]), np.array([3, 4]), np.ones((1, 11)), np.array(3)])
def test_what_is_neither_times_nor_probabilities_is_refused(context, answer):
    rule = Names()
    rule.answer = answer
    with pytest.raises(InputError, match="neither times nor probabilities"):
        named_update(rule, context(time=2), 0, seed=0)


HORIZON = 11
PAST, LATE, NONE, LOSSY, NEGATIVE = np.zeros((5, 1, HORIZON + 1))
PAST[0, 2] = LATE[0, HORIZON - 1] = NONE[0, HORIZON] = 1.0
LOSSY[0, 5] = 0.8
NEGATIVE[0, 4:7] = 0.6, -0.2, 0.6


@pytest.mark.parametrize(
    ("answer", "fault"),
    [
        (PAST, "must lie in 3 to"),
        (LATE, "must lie in 3 to"),
        (NONE, "must lie in 3 to"),
        (LOSSY, r"sum 0\.8"),
        (NEGATIVE, r"least -0\.2"),
        (LOSSY * np.nan, "no distribution"),
    ],
)
def test_probabilities_that_are_none_or_break_the_budget_are_refused(context, answer, fault):
    rule = Names()
    rule.answer = answer
    with pytest.raises(InputError, match=fault):
        named_update(rule, context(time=2, budget_left=3), 0, seed=0)


def test_without_a_duty_to_spend_probabilities_may_be_those_of_no_update(context):
    rule = Names()
    rule.answer = NONE
    assert named_update(rule, context(time=2, exact=False), 0, seed=0) == HORIZON
