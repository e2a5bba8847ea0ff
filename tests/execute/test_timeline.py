"""A rule's schedule without a rollout, and the same decisions from an agent in the loop."""

import numpy as np
import pytest
from tests.execute.loop import Deciding

from replan import Robot, Spending
from replan.errors import InputError
from replan.execute.agent import Agent
from replan.execute.mission import Mission, make_timeline
from replan.model.drift import piecewise
from replan.schedule.drift_threshold import DriftThreshold, SelfTriggered
from replan.schedule.fixed import FixedTimes, Random
from replan.schedule.periodic import Periodic
from replan.schedule.registry import make_rule
from replan.schedule.regret_guided import RegretGuided
from replan.schedule.rule import Decision, Need
from replan.worlds.slip_grid import rover


@pytest.fixture(scope="module")
def mission():
    return Mission(
        rover(4, piecewise(16, slip=0.03, quiet=0.001, bursts=[(0.25, 0.5, 0.03)])),
        Robot(planning_horizon=4),
        Spending.exactly(4),
    )


def by_agent(mission, rule):
    agent = Agent.on(mission, rule, seed=5)
    agent.start(mission.world.start)
    decisions = {}
    while not agent.done:
        decisions[agent.time] = decision = agent.due()
        if decision.update:
            agent.update(mission.world.start)
        agent.act()
    return decisions


@pytest.mark.parametrize(
    "rule",
    [
        RegretGuided("gap", alpha=0.5),
        DriftThreshold(0.05),
        SelfTriggered(0.05),
        Random(),
        Periodic(),
    ],
    ids=lambda rule: rule.name,
)
def test_an_agent_decides_as_the_timeline_says_and_for_the_same_reasons(mission, rule):
    made = make_timeline(mission, rule, seed=5)
    decisions = by_agent(mission, rule)
    assert [t for t, decision in decisions.items() if decision.update] == list(made.times)
    for t, decision in made.decisions[1:]:
        assert decisions[t] == decision


def test_the_first_update_is_given(mission):
    time, decision = make_timeline(mission, FixedTimes([1, 4, 5, 9])).decisions[0]
    assert (time, decision.update) == (1, True)
    assert "first update" in decision.reason


def test_a_budget_that_need_not_be_spent_can_be_left(mission):
    frugal = mission.with_spending(Spending.at_most(4))
    assert make_timeline(frugal, SelfTriggered(9.0)).times == (1,)
    # four quiet steps of 0.0008 and four of 0.024 reach 0.09 at t = 8; what follows does not
    assert make_timeline(frugal, SelfTriggered(0.09)).times == (1, 8)
    assert make_timeline(mission, SelfTriggered(0.09)).times == (1, 8, 14, 15)


def test_what_is_left_is_forced_at_the_end_on_a_rule_that_decides_step_by_step(mission):
    never = Deciding(lambda context: Decision(False, "never"))
    assert make_timeline(mission, never).times == (1, 13, 14, 15)
    assert make_timeline(mission.with_spending(Spending.at_most(4)), never).times == (1,)


def test_a_rule_that_needs_the_states_has_no_timeline(mission):
    class Sees(Periodic):
        needs = frozenset({Need.STATE})

    with pytest.raises(InputError, match="rollout"):
        make_timeline(mission, Sees())


@pytest.mark.parametrize("exact", [True, False])
@pytest.mark.parametrize("rule", [RegretGuided(), SelfTriggered(0.05), Random(), FixedTimes((1, 4, 9))])
def test_without_explanations_the_times_are_the_same(mission, rule, exact):
    mission = mission.with_spending(Spending(4, exact=exact))
    plain = make_timeline(mission, rule, seed=2, explain=False)
    assert plain.times == make_timeline(mission, rule, seed=2).times
    if rule.next_update(mission.context(rule, mission.progress(1, 3), 0), np.array([0])) is not None:
        assert plain.decisions == (), "the rule is not asked"


def test_every_decision_is_kept_and_explained_unless_told_otherwise(mission):
    asked, named = make_timeline(mission, DriftThreshold(0.05)), make_timeline(mission, SelfTriggered(0.05))
    assert [t for t, _ in asked.decisions] == list(range(1, asked.times[-1] + 1))
    assert [t for t, _ in named.decisions] == list(named.times)


@pytest.mark.parametrize("name", ["drift-threshold", "lazy-value", "self-triggered", "random", "periodic"])
def test_decisions_against_an_update_are_kept_only_where_they_are_asked_for(mission, name):
    whole = make_timeline(mission, make_rule(name), seed=1)
    short = make_timeline(mission, make_rule(name), seed=1, only_updates=True)
    assert short.times == whole.times
    assert short.decisions == tuple((t, each) for t, each in whole.decisions if each.update)
