"""Evaluation on the cells that a robot can reach equals evaluation on the whole grid."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from replan import Mission, Robot, Spending
from replan.evaluation.exact import evaluate, from_start
from replan.evaluation.optimal_schedule import feedback_regrets, optimum
from replan.evaluation.rollouts import rollout
from replan.execute.agent import Agent
from replan.execute.reach import on_reach
from replan.forecast.base import Frozen
from replan.forecast.given import ForecastFault, Given
from replan.forecast.mixture import Mixture
from replan.forecast.trend import Trend
from replan.model.general_kernel import GeneralKernel
from replan.model.reward import Reward
from replan.model.sizes import Sizes
from replan.model.slip import SlipKernel
from replan.model.world import World
from replan.planning.ties import Ties
from replan.schedule.fixed import FixedTimes
from replan.schedule.registry import make_rule
from replan.schedule.rule import Need
from replan.schedule.window import within_window
from replan.worlds.slip_grid import rover

IN_PARTS, WHOLE = Sizes(whole_world=0), Sizes(whole_world=10**9)


def grid_mission(seed, n, *, price=None, ties="first", **robot):
    """A drifting grid, sometimes with walls, with one slip for each cell or a reward of the action."""
    rng = np.random.default_rng(seed)
    horizon, size = int(rng.integers(4, 9)), n * n
    blocked = rng.uniform(size=size) < rng.choice([0.0, 0.2])
    start = int(rng.integers(size))
    blocked[start] = False
    shapes = (horizon, size if rng.uniform() < 0.5 else 1)
    slips, law = rng.uniform(0, 0.6, shapes), rng.dirichlet(np.ones(5))
    kernels = [
        SlipKernel((n, n), slip, law=law, blocked=blocked if blocked.any() else None) for slip in slips
    ]
    rewards = [
        Reward(
            next_state=rng.integers(-2, 3, size).astype(float),
            state_action=rng.normal(size=(size, 5)) if rng.uniform() < 0.3 else None,
        )
        for _ in range(int(rng.integers(1, 3)))
    ]
    world = World(
        horizon, lambda t: kernels[t], lambda t: rewards[t % len(rewards)], start=start, grid=(n, n)
    )
    budget = int(rng.integers(1, min(4, horizon)))
    robot = Robot(planning_horizon=int(rng.integers(1, 4)), ties=Ties(ties), **robot)
    return Mission(world, robot, Spending(budget, exact=price is None, price=price))


def rover_mission(n, slip, budget=3, *, start=(30, 30), goal=None, **robot):
    """A mission of a rover that plans two steps ahead."""
    world = rover(n, slip, start=start, goal=goal)
    return Mission(world, Robot(**{"planning_horizon": 2, **robot}), Spending.exactly(budget))


def cut(mission):
    part = on_reach(mission)
    assert not part.is_whole and part.world.states < mission.world.states
    return part


cases = given(
    seed=st.integers(0, 10_000),
    n=st.integers(26, 50),
    execution=st.sampled_from(["map", "belief"]),
    ties=st.sampled_from(["first", "last"]),
)


@cases
@settings(max_examples=30)
def test_regret_and_the_loss_of_each_step_are_those_of_the_whole_grid(seed, n, execution, ties):
    mission = grid_mission(seed, n, execution=execution, ties=ties)
    for name in ("periodic", "drift-threshold", "lazy-value", "random"):
        whole = evaluate(mission, make_rule(name), all_starts=False)
        part = evaluate(cut(mission), make_rule(name))
        assert part.regret == pytest.approx(whole.regret, abs=1e-10)
        np.testing.assert_allclose(part.steps.loss, whole.steps.loss, rtol=0, atol=1e-10)
        assert part.dynamic_regret is None


@cases
@settings(max_examples=15)
def test_a_forecast_that_moves_is_that_of_the_whole_grid(seed, n, execution, ties):
    mission = grid_mission(seed, n, execution=execution, ties=ties, forecast=Trend())
    rule = make_rule("periodic")
    assert evaluate(cut(mission), rule).regret == pytest.approx(
        evaluate(mission, rule, all_starts=False).regret, abs=1e-10
    )


def given_ahead(mission):
    """The true kernels, late and exaggerated."""
    return Given(mission.world.kernel, ForecastFault(late=1, error=0.3))


def mixture(mission):
    """Weighed models without a family, one of them from outside."""
    return Mixture(given=Given(mission.world.kernel))


@pytest.mark.parametrize("make", [given_ahead, mixture])
@cases
@settings(max_examples=8)
def test_forecasts_that_are_combined_of_slip_kernels_are_those_of_the_whole_grid(
    make, seed, n, execution, ties
):
    mission = grid_mission(seed, n, execution=execution, ties=ties)
    mission = replace(mission, robot=replace(mission.robot, forecast=make(mission)))
    rule = make_rule("periodic")
    whole, part = evaluate(mission, rule, all_starts=False), evaluate(cut(mission), rule)
    assert part.regret == pytest.approx(whole.regret, abs=1e-10)
    np.testing.assert_allclose(part.steps.loss, whole.steps.loss, rtol=0, atol=1e-10)


@pytest.mark.parametrize("n", [12, 20, 30])
@pytest.mark.parametrize("execution", ["map", "belief"])
def test_look_ahead_on_a_mixture_decides_in_a_window_as_on_the_whole_grid(n, execution):
    world = rover(n, [0.05, 0.05, 0.3, 0.5, 0.5, 0.2], start=(0, 0), goal=(2, 2))
    models = None if n < 20 else world.family
    forecast = Mixture(given=Given(world.kernel, ForecastFault(error=0.5)), family=models)
    robot = Robot(planning_horizon=2, execution=execution, forecast=forecast)
    mission = Mission(world, robot, Spending.exactly(3))
    rule = make_rule("lookahead", tolerance=0.0)
    whole = evaluate(mission, rule, all_starts=False)
    part = evaluate(cut(replace(mission, sizes=IN_PARTS)), rule)
    assert part.regret == pytest.approx(whole.regret, abs=1e-10)
    np.testing.assert_allclose(part.steps.update_probability, whole.steps.update_probability, atol=1e-10)


def test_forecasts_of_longer_moves_are_left_whole():
    mission = rover_mission(60, np.linspace(0.1, 0.4, 6))
    leaps = GeneralKernel(np.zeros((3600, 1), dtype=int), np.ones((3600, 5, 1)))
    turned = SlipKernel((30, 120), 0.1)
    for kernels in ([leaps], [mission.world.kernel(0), turned]):
        for forecast in (Given(kernels), Mixture(given=Given(kernels))):
            assert replace(mission, robot=replace(mission.robot, forecast=forecast)).within_reach().is_whole
    for forecast in (Given(mission.world.kernel), Mixture(family=mission.world.family)):
        assert not replace(mission, robot=replace(mission.robot, forecast=forecast)).within_reach().is_whole


@given(seed=st.integers(0, 10_000), n=st.integers(26, 40), priced=st.booleans())
@settings(max_examples=10)
def test_the_optimum_is_that_of_the_whole_grid(seed, n, priced):
    mission = grid_mission(seed, n, price=0.1 if priced else None)
    whole, part = optimum(mission), optimum(cut(mission))
    assert part.fixed_regret == pytest.approx(whole.fixed_regret, abs=1e-9)
    assert part.feedback_regret == pytest.approx(whole.feedback_regret, abs=1e-9)
    if not priced:
        np.testing.assert_allclose(
            feedback_regrets(cut(mission), 2), feedback_regrets(mission, 2), rtol=0, atol=1e-9
        )


class Watching(FixedTimes):
    """Fixed times of a rule that looks at all that it is given."""

    needs = frozenset({Need.STATE, Need.CURRENT_KERNEL})
    watched: list = []  # noqa: RUF012

    def next_update(self, context, states):
        self.watched.append((context.kernel.states, context.plan.policy.size, states.max()))
        return super().next_update(context, states)


def test_rules_see_the_whole_grid():
    mission = rover_mission(40, np.linspace(0.1, 0.4, 6))
    Watching.watched.clear()
    part = cut(mission)
    assert evaluate(part, Watching((1, 2, 4))).regret == pytest.approx(
        evaluate(mission, FixedTimes((1, 2, 4))).regret, abs=1e-12
    )
    assert {each[:2] for each in Watching.watched} == {(1600, 1600)}
    assert max(each[2] for each in Watching.watched) > part.world.states


class Comparing(FixedTimes):
    needs = frozenset({Need.EARLIER_ESTIMATE})


def test_rules_that_compare_see_the_whole_grid_of_the_update_before():
    mission = rover_mission(40, np.linspace(0.1, 0.4, 6))
    part, rule = cut(mission), Comparing((1, 2, 4))
    assert part.context(rule, part.progress(1, 2), part.world.start).earlier is None
    time, kernel = part.context(rule, part.progress(4, 1, 2), part.world.start).earlier
    assert (time, kernel) == (2, mission.update(2).kernel)


@pytest.mark.parametrize("ties", ["first", "last"])
def test_look_ahead_decides_in_a_window_as_on_the_whole_grid(ties):
    slip = np.linspace(0.05, 0.5, 9)
    mission = rover_mission(40, slip, start=(20, 21), goal=(22, 22), ties=Ties(ties))
    rule = make_rule("lookahead", tolerance=0.0)
    for execution in ("map", "belief"):
        mission = replace(mission, robot=replace(mission.robot, execution=execution))
        part = evaluate(cut(replace(mission, sizes=IN_PARTS)), rule)
        whole = evaluate(mission, rule, all_starts=False)
        assert part.regret == pytest.approx(whole.regret, abs=1e-10)


def test_look_ahead_in_a_window_knows_what_is_left_of_the_budget():
    mission = rover_mission(40, np.linspace(0.05, 0.5, 9), 6, start=(20, 21), goal=(22, 22))
    mission = replace(mission, sizes=IN_PARTS)
    rule, state = make_rule("lookahead"), np.array([mission.world.start])
    for left in (5, 1, 3):
        context = mission.context(rule, mission.progress(2, left), mission.world.start)
        part, _ = within_window(context, state)
        assert part.kernel.states < context.kernel.states
        assert part.budget_left == left


def test_rollouts_on_the_window_are_those_on_the_whole_grid():
    mission = rover_mission(40, np.linspace(0.05, 0.5, 9), start=(20, 21), goal=(22, 22))
    for name in ("periodic", "lookahead"):
        whole = rollout(mission, make_rule(name), np.arange(20))
        part = rollout(cut(mission), make_rule(name), np.arange(20))
        np.testing.assert_allclose(part.returns, whole.returns, rtol=0, atol=1e-12)


def test_what_depends_on_the_numbers_of_states_is_left_whole():
    slip = np.linspace(0.1, 0.4, 6)
    mission = rover_mission(60, slip)
    assert rover_mission(60, slip, ties=Ties("random")).within_reach().is_whole
    assert rover_mission(60, np.full(60, 0.1)).within_reach().is_whole
    part = mission.within_reach()
    assert not part.is_whole and part.within_reach() is part


def test_another_budget_on_the_window_is_another_budget_for_rules():
    mission = rover_mission(40, np.linspace(0.1, 0.4, 12), 2)
    part, whole = cut(mission).with_spending(Spending.exactly(5)), mission.with_spending(Spending.exactly(5))
    assert from_start(part, make_rule("periodic"), None)[0] == pytest.approx(
        from_start(whole, make_rule("periodic"), None)[0], abs=1e-12
    )


def test_a_belief_on_a_large_grid_holds_what_can_be_reached_and_acts_as_any_other(tmp_path):
    slip = np.linspace(0.1, 0.5, 12)
    mission = rover_mission(60, slip, goal=(33, 34), planning_horizon=4, execution="belief")
    agents = [Agent.on(mission, FixedTimes((1, 5, 8)), sizes=sizes) for sizes in (IN_PARTS, WHOLE)]
    actions = []
    for agent in agents:
        agent.start(mission.world.start)
        while agent.time < 10:
            if agent.due().update:
                agent.update(mission.world.start + agent.time)
            actions.append(agent.act())
    assert actions[:10] == actions[10:]
    sparse, dense = agents
    np.testing.assert_allclose(sparse.estimate, dense.estimate, atol=1e-15)
    sparse.save(tmp_path / "saved.npz")
    again = Agent.on(mission, FixedTimes((1, 5, 8)), sizes=IN_PARTS)
    again.restore(tmp_path / "saved.npz")
    np.testing.assert_allclose(again.estimate, dense.estimate, atol=1e-15)
    assert again.act() == dense.act()


@pytest.mark.parametrize("execution", ["map", "belief"])
def test_sparse_distributions_on_the_whole_grid_give_the_same_regret(execution):
    world = rover(12, np.linspace(0.05, 0.5, 20), obstacles=[(3, 3), (4, 7)])
    mission = Mission(world, Robot(planning_horizon=5, execution=execution), Spending.exactly(4))
    dense = evaluate(mission, make_rule("periodic"), all_starts=False)
    sparse = evaluate(replace(mission, sizes=IN_PARTS), make_rule("periodic"), all_starts=False)
    np.testing.assert_allclose(sparse.steps.loss, dense.steps.loss, rtol=0, atol=1e-12)
    assert sparse.regret == pytest.approx(dense.regret, abs=1e-12)


def streets(seed, states=90, horizon=7):
    """A general kernel that leads a few states to either side, and moves; actions pay too."""
    rng = np.random.default_rng(seed)
    near = np.arange(states)[:, None] + np.array([-2, -1, 0, 1, 3])
    kernels = [GeneralKernel(near % states, rng.dirichlet(np.ones(5), (states, 3))) for _ in range(horizon)]
    reward = Reward(rng.normal(size=(states, 3)), rng.normal(size=states))
    return World(horizon, kernels.__getitem__, lambda t: reward, start=int(rng.integers(states)))


@pytest.mark.parametrize("execution", ["map", "belief"])
@given(seed=st.integers(0, 10_000), forecast=st.sampled_from(["frozen", "trend", "mixture"]))
@settings(max_examples=10)
def test_on_general_kernels_the_states_that_successors_lead_to_are_enough(execution, seed, forecast):
    made = {"frozen": Frozen(), "trend": Trend(), "mixture": Mixture()}[forecast]
    robot = Robot(planning_horizon=3, execution=execution, forecast=made)
    mission = Mission(streets(seed), robot, Spending.exactly(3), WHOLE)
    part = replace(mission, sizes=IN_PARTS).within_reach()
    assert not part.is_whole and part.world.states <= 5 * 10 + 1
    for name in ("periodic", "lazy-value", "lookahead"):
        found = [evaluate(each, make_rule(name), all_starts=False) for each in (part, mission)]
        assert found[0].regret == pytest.approx(found[1].regret, abs=1e-12)
        np.testing.assert_allclose(found[0].steps.loss, found[1].steps.loss, rtol=0, atol=1e-12)
