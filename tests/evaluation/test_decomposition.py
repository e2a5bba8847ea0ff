"""The parts add up, their ends are the robot and the oracle, and all eight equal a walk over every path."""

from dataclasses import dataclass, replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from replan import Robot, Spending
from replan.evaluation.decomposition import COMBINATIONS, Switches, decompose, shapley
from replan.evaluation.exact import evaluate
from replan.execute.mission import Mission
from replan.model.array_worlds import from_arrays
from replan.model.drift import piecewise
from replan.planning.ties import Ties
from replan.schedule.fixed import FixedTimes
from replan.schedule.periodic import Periodic
from replan.schedule.registry import make_rule, rule_names
from replan.schedule.rule import Decision, Need, Rule
from replan.worlds.slip_grid import rover

STATES, ACTIONS, HORIZON, BUDGET = 3, 2, 5, 2
EXECUTIONS = ("map", "belief")


@dataclass(frozen=True)
class WaitByState(Rule):
    """The next update comes state + 1 steps after the last."""

    name = "wait-by-state"
    needs = frozenset({Need.STATE})

    def decide(self, context):
        return Decision(context.time - context.last_update > context.state, "")


@dataclass(frozen=True)
class Coin(Rule):
    """The next update is equally likely at every time that the budget allows."""

    name = "coin"

    def decide(self, context):
        raise AssertionError("asked for a decision where probabilities are needed")

    def next_update(self, context, states):
        chances = np.zeros(context.horizon + 1)
        chances[context.last_update + 1 : context.horizon - context.budget_left + 1] = 1
        return np.broadcast_to(chances / chances.sum(), (len(states), len(chances)))


rules = st.sampled_from([FixedTimes((1, 3)), WaitByState(), Coin()])
executions = st.sampled_from(EXECUTIONS)


def random_world(seed):
    """Dense kernels (T, S, A, S) and rewards (T, S, A), without ties."""
    rng = np.random.default_rng(seed)
    return rng.dirichlet(np.full(STATES, 0.6), (HORIZON, STATES, ACTIONS)), rng.normal(
        size=(HORIZON, STATES, ACTIONS)
    )


def mission_in(kernels, rewards, *, planning_horizon, execution):
    world = from_arrays(kernels, rewards, start=1)
    return Mission(
        world, Robot(planning_horizon=planning_horizon, execution=execution), Spending.exactly(BUDGET)
    )


class PathWalker:
    """The definition, word by word: walk every path of true states with one robot at a time."""

    def __init__(self, kernels, rewards, planning_horizon, execution, on, next_law):
        self.kernels, self.rewards, self.reach = kernels, rewards, planning_horizon
        self.execution, self.on, self.next_law = execution, on, next_law

    def q_values(self, made, tau):
        length = HORIZON - made if self.on.know else min(self.reach, HORIZON - made)
        values = np.zeros(STATES)
        for t in range(made + length - 1, made - 1, -1):
            kernel = self.kernels[t if self.on.know else max(tau - 1, 0)]
            q_values = self.rewards[t] + kernel @ values
            values = q_values.max(axis=1)
        return q_values

    def value(self, t, state, tau, estimate, until, left):
        """Expected return from t on; `until` is the next update, `estimate` a state or a distribution."""
        if t == HORIZON:
            return 0.0
        if t == until:
            law = self.next_law(t, state, left - 1)
            seen = state if self.execution == "map" else np.eye(STATES)[state]
            return sum(p * self.walk(t, state, t, seen, nxt, left - 1) for nxt, p in enumerate(law) if p)
        return self.walk(t, state, tau, estimate, until, left)

    def walk(self, t, state, tau, estimate, until, left):
        q_values = self.q_values(t if self.on.replan else tau, tau)
        if self.on.look:
            action = q_values[state].argmax()
        else:
            action = (q_values[estimate] if self.execution == "map" else estimate @ q_values).argmax()
        believed = self.kernels[t if self.on.know else max(tau - 1, 0)]
        ahead = (
            believed[estimate, action].argmax() if self.execution == "map" else estimate @ believed[:, action]
        )
        total = self.rewards[t, state, action]
        for following, p in enumerate(self.kernels[t, state, action]):
            total += p * self.value(t + 1, following, tau, ahead, until, left)
        return total

    def expected_return(self):
        first = 1 if self.execution == "map" else np.eye(STATES)[1]
        return self.walk(0, 1, 0, first, 1, BUDGET)


def law_of(rule):
    """The law of the next update by hand; entry T is none."""

    def law(time, state, left):
        if left == 0:
            return np.eye(HORIZON + 1)[HORIZON]
        latest = HORIZON - left
        if isinstance(rule, FixedTimes):
            return np.eye(HORIZON + 1)[3]
        if isinstance(rule, WaitByState):
            return np.eye(HORIZON + 1)[min(time + state + 1, latest)]
        return np.array([1 / (latest - time) if time < t <= latest else 0 for t in range(HORIZON + 1)])

    return law


@given(rules, executions, st.integers(0, 10_000), st.integers(1, 4))
def test_each_of_the_eight_is_what_walking_every_path_gives(rule, execution, seed, planning_horizon):
    kernels, rewards = random_world(seed)
    mission = mission_in(kernels, rewards, planning_horizon=planning_horizon, execution=execution)
    found = decompose(mission, rule).combinations
    assert set(found) == set(COMBINATIONS)
    for on, value in found.items():
        walker = PathWalker(kernels, rewards, planning_horizon, execution, on, law_of(rule))
        assert value == pytest.approx(walker.expected_return(), abs=1e-9), on


@given(rules, executions, st.integers(0, 10_000), st.integers(1, 6))
def test_the_ends_are_the_robot_and_the_oracle_and_the_parts_add_up(rule, execution, seed, planning_horizon):
    mission = mission_in(*random_world(seed), planning_horizon=planning_horizon, execution=execution)
    parts, exact = decompose(mission, rule), evaluate(mission, rule)
    assert parts.combinations[Switches(False, False, False)] == pytest.approx(exact.expected_return, abs=1e-9)
    assert parts.combinations[Switches(True, True, True)] == pytest.approx(exact.oracle_return, abs=1e-9)
    assert parts.regret == pytest.approx(exact.regret, abs=1e-9)
    assert parts.state + parts.plan + parts.model == pytest.approx(parts.regret, abs=1e-9)


@pytest.mark.parametrize("ties", [Ties("first"), Ties("last"), Ties("random", 3)], ids=str)
@pytest.mark.parametrize("execution", EXECUTIONS)
def test_on_a_grid_full_of_ties_the_ends_still_are_the_robot_and_the_oracle(execution, ties):
    slip = piecewise(20, slip=0.03, quiet=0.001, bursts=[(0.3, 0.7, 0.04)])
    mission = Mission(
        rover(5, slip), Robot(planning_horizon=6, execution=execution, ties=ties), Spending.exactly(3)
    )
    parts, exact = decompose(mission, Periodic()), evaluate(mission, Periodic())
    assert parts.combinations[Switches(False, False, False)] == pytest.approx(exact.expected_return, abs=1e-9)
    assert parts.combinations[Switches(True, True, True)] == pytest.approx(exact.oracle_return, abs=1e-9)


def test_a_robot_that_updates_at_every_step_of_a_world_at_rest_has_nothing_to_gain():
    kernels, rewards = random_world(7)
    world = from_arrays(np.repeat(kernels[:1], HORIZON, axis=0), np.repeat(rewards[:1], HORIZON, axis=0))
    parts = decompose(
        Mission(world, Robot(planning_horizon=HORIZON), Spending.exactly(HORIZON - 1)), Periodic()
    )
    assert [parts.state, parts.plan, parts.model, parts.regret] == pytest.approx([0, 0, 0, 0], abs=1e-12)
    assert replace(parts, regret=0.0).shares == {"state": 0, "plan": 0, "model": 0}


def test_on_two_burst_almost_all_of_the_regret_is_the_state_not_being_seen():
    slip = piecewise(50, slip=0.03, quiet=0.001, bursts=[(0.20, 0.34, 0.018), (0.62, 0.82, 0.018)])
    parts = decompose(Mission(rover(12, slip), Robot(planning_horizon=7), Spending.exactly(4)), Periodic())
    assert parts.regret == pytest.approx(0.7715, abs=1e-4)
    assert parts.shares["state"] > 0.95
    never_replans = parts.combinations[Switches(True, True, True)] - parts.combinations[Switches(look=True)]
    assert never_replans == pytest.approx(0.0012, abs=1e-4)


def test_shapley_values_by_hand():
    # Looking is worth 2 alone; replanning and knowing are worth 6 only together.
    returns = {on: 2.0 * on.look + 6.0 * (on.replan and on.know) for on in COMBINATIONS}
    assert shapley(returns) == pytest.approx([2, 3, 3])


def test_a_dummy_switch_gets_nothing_and_equals_share_alike():
    returns = {on: float(on.look or on.know) for on in COMBINATIONS}
    assert shapley(returns) == pytest.approx([0.5, 0, 0.5])


@pytest.mark.parametrize("execution", EXECUTIONS)
@pytest.mark.parametrize("name", [name for name in rule_names() if name != "lookahead"])
def test_every_rule_by_name_can_be_decomposed(name, execution):
    slip = piecewise(12, slip=0.03, quiet=0.001, bursts=[(0.3, 0.7, 0.04)])
    execution = "localised" if name in ("last-moment", "gain") else execution
    mission = Mission(rover(4, slip), Robot(planning_horizon=5, execution=execution), Spending.exactly(3))
    parts, exact = decompose(mission, make_rule(name)), evaluate(mission, make_rule(name))
    assert parts.state + parts.plan + parts.model == pytest.approx(exact.regret, abs=1e-9)


@pytest.mark.parametrize("kind", ["first", "last", "random"])
@pytest.mark.parametrize("execution", EXECUTIONS)
def test_to_look_changes_nothing_for_a_robot_that_updates_at_every_step(execution, kind):
    kernels, rewards = random_world(0)
    rewards[:-1] = 0.0  # all actions are tied, and each leads elsewhere
    world = from_arrays(kernels, rewards, start=1)
    ties = Ties(kind, seed=2)
    mission = Mission(
        world, Robot(planning_horizon=1, execution=execution, ties=ties), Spending.exactly(HORIZON - 1)
    )
    found = decompose(mission, Periodic()).combinations
    assert found[Switches(look=True)] == pytest.approx(found[Switches()], abs=1e-12)
