"""At construction an agent asks its rule what the mission will ask first, and refuses what cannot answer."""

from dataclasses import replace

import numpy as np
import pytest
from tests.tiny_worlds import random_world

from replan import Agent, GeneralKernel, InputError, Mission, Reward, Robot, Spending, World, constant
from replan.execute.robot import plan_by_induction
from replan.schedule.rule import Decision, Need, Rule


class Asked(Rule):
    """Notes what it is asked; names a time where it has one."""

    needs = frozenset({Need.STATE})

    def __init__(self, named=None):
        self.asked, self.named = [], named

    def next_update(self, context, states):
        assert states.tolist() == [context.state] == [0]
        self._note("name", context)
        return None if self.named is None else np.array([self.named])

    def decide(self, context):
        self._note("decide", context)
        return Decision(False, "never")

    def _note(self, what, context):
        self.asked.append((what, context.last_update, context.time, context.budget_left))


class Curious(Asked):
    needs = frozenset({Need.STATE, Need.CURRENT_KERNEL})


def mission(horizon=9, *, budget: int | None = 3, price: float | None = None, **robot) -> Mission:
    world = random_world(np.random.default_rng(0), states=3, actions=2, horizon=horizon)
    return Mission(
        world, Robot(planning_horizon=2, **robot), Spending(budget, exact=price is None, price=price)
    )


def asked_at_construction(mission: Mission, named=None) -> list[tuple]:
    rule = Asked(named)
    Agent.on(mission, rule)
    return rule.asked


def test_a_rule_is_asked_what_follows_the_first_update():
    assert asked_at_construction(mission()) == [("name", 1, 1, 2), ("decide", 1, 2, 2)]
    at_most = mission().with_spending(Spending.at_most(4))
    assert asked_at_construction(at_most) == [("name", 1, 1, 3), ("decide", 1, 2, 3)]


def test_where_the_first_update_has_a_price_it_is_asked_from_the_start():
    found = asked_at_construction(mission(price=0.1))
    assert found == [("name", 0, 0, 3), ("decide", 0, 1, 3)]
    unlimited = asked_at_construction(mission(budget=None, price=0.1))
    assert unlimited == [("name", 0, 0, 8), ("decide", 0, 1, 8)]


def test_it_decides_at_the_time_that_it_names_alone():
    assert [what for what, *_ in asked_at_construction(mission(), named=5)] == ["name"]
    assert [what for what, *_ in asked_at_construction(mission(), named=2)] == ["name", "decide"]


def test_where_no_decision_follows_none_is_asked_for():
    assert asked_at_construction(mission(budget=1)) == []
    Agent.on(mission(horizon=2, budget=1), Curious())
    assert len(asked_at_construction(mission(horizon=3, budget=2))) == 2
    assert len(asked_at_construction(mission(horizon=2, budget=1, price=0.1))) == 2


def test_the_plan_of_the_first_step_is_made():
    planned = []

    def planner(kernel, reward, time, horizon, ties):
        planned.append(time)
        return plan_by_induction(kernel, reward, time, horizon, ties)

    Agent.on(mission(planner=planner), Asked())
    assert planned == [0]


@pytest.mark.parametrize("execution", ["map", "belief"])
def test_a_world_of_one_state_is_tried_out_too(execution):
    kernel = GeneralKernel.from_dense(np.ones((1, 2, 1)))
    world = World(5, constant(kernel), constant(Reward(next_state=np.zeros(1))))
    Agent.on(Mission(world, Robot(planning_horizon=2, execution=execution), Spending.exactly(2)), Asked())


def test_what_a_rule_needs_must_be_there():
    class Needy(Asked):
        name = "needy"
        needs = frozenset({Need.STATE, Need.CURRENT_KERNEL, Need.BUDGET})

    agent = Agent.on(mission(), Needy())
    known, robot = agent.knowledge, agent.robot
    with pytest.raises(InputError, match="the rule needy needs current_kernel"):
        Agent(replace(known, current_kernel=None), robot, mission().spending, Needy())
    with pytest.raises(InputError, match="the rule needy needs a budget"):
        Agent.on(mission(budget=None, price=0.1), Needy())
