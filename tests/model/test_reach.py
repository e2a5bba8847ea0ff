"""The states that steps can lead to, what is restricted to them, and missions on them."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from replan import Mission, Robot, Spending, World, evaluate, make_rule, optimum, rollout
from replan.evaluation.optimal_schedule import feedback_regrets
from replan.forecast.base import Frozen
from replan.forecast.given import ForecastFault, Given
from replan.forecast.mixture import Mixture
from replan.forecast.trend import Trend
from replan.model.general_kernel import GeneralKernel
from replan.model.reach import Reach, Window
from replan.model.reward import Reward
from replan.model.sizes import Sizes
from replan.model.slip import SlipKernel
from replan.planning.ties import Ties
from replan.worlds.slip_grid import rover

IN_PARTS, WHOLE = Sizes(whole_world=0), Sizes(whole_world=10**9)
FORECASTS = {
    "frozen": lambda world: Frozen(),
    "trend": lambda world: Trend(),
    "given": lambda world: Given(world.kernel, ForecastFault(late=1, error=0.3)),
    "mixture": lambda world: Mixture(given=Given(world.kernel)),
}
"""What is known of the future, for a world."""


def grid_mission(seed, n, *, spending=None, forecast="frozen", **robot):
    """A drifting grid, sometimes with walls, with one slip for each cell or a reward of the action."""
    rng = np.random.default_rng(seed)
    horizon, size = int(rng.integers(4, 9)), n * n
    blocked = rng.uniform(size=size) < rng.choice([0.0, 0.2])
    start = int(rng.integers(size))
    blocked[start] = False
    slips = rng.uniform(0, 0.6, (horizon, size if rng.uniform() < 0.5 else 1))
    walls, law = blocked if blocked.any() else None, rng.dirichlet(np.ones(5))
    kernels = [SlipKernel((n, n), slip, law=law, blocked=walls) for slip in slips]
    rewards = [
        Reward(
            next_state=rng.integers(-2, 3, size).astype(float),
            state_action=rng.normal(size=(size, 5)) if rng.uniform() < 0.3 else None,
        )
        for _ in range(int(rng.integers(1, 3)))
    ]
    reward = lambda t: rewards[t % len(rewards)]  # noqa: E731
    world = World(horizon, kernels.__getitem__, reward, start=start, grid=(n, n))
    robot = Robot(planning_horizon=int(rng.integers(1, 4)), forecast=FORECASTS[forecast](world), **robot)
    return Mission(world, robot, spending or Spending.exactly(int(rng.integers(1, min(4, horizon)))), WHOLE)


def street_mission(seed, states=90, horizon=7, forecast="frozen", **robot):
    """A general kernel that leads a few states to either side, and moves; actions pay too."""
    rng = np.random.default_rng(seed)
    near = np.arange(states)[:, None] + np.array([-2, -1, 0, 1, 3])
    kernels = [GeneralKernel(near % states, rng.dirichlet(np.ones(5), (states, 3))) for _ in range(horizon)]
    reward = Reward(rng.normal(size=(states, 3)), rng.normal(size=states))
    world = World(horizon, kernels.__getitem__, lambda t: reward, start=int(rng.integers(states)))
    robot = Robot(planning_horizon=3, forecast=FORECASTS[forecast](world), **robot)
    return Mission(world, robot, Spending.exactly(3), WHOLE)


def rover_mission(n, slip, *, start=(30, 30), goal=None, **robot):
    """A mission of a rover that plans two steps ahead."""
    world = rover(n, slip, start=start, goal=goal)
    return Mission(world, Robot(**{"planning_horizon": 2, **robot}), Spending.exactly(3), WHOLE)


def cut(mission):
    """The mission on the states in reach, which are fewer."""
    part = replace(mission, sizes=IN_PARTS).cropped
    assert mission.cropped is mission and part.world.part is not None
    assert part.world.states < mission.world.states
    return part


def assert_alike(part, whole, names):
    """Rules lose the same at every step, and update with the same probability."""
    for name in names:
        rule = make_rule(name, **({"tolerance": 0.0} if name == "lookahead" else {}))
        found = [evaluate(each, rule, all_starts=False) for each in (part, whole)]
        assert found[0].regret == pytest.approx(found[1].regret, abs=1e-9)
        for what in ("loss", "update_probability"):
            ours, theirs = (getattr(each.steps, what) for each in found)
            np.testing.assert_allclose(ours, theirs, rtol=0, atol=1e-9)


def test_states_come_in_the_order_in_which_steps_lead_to_them():
    nested = Reach.from_start([SlipKernel((50, 50), 0.1).destinations()], 25 * 50 + 25, 3)
    assert nested.counts == (1, 5, 13, 25)
    rows, columns = np.divmod(nested.states, 50)
    assert (np.diff(abs(rows - 25) + abs(columns - 25)) >= 0).all()


def test_the_states_of_several_kernels_are_those_that_any_of_them_leads_to():
    right, left = (np.arange(30)[:, None] + [0, step] for step in (1, -2))
    reach = Reach.from_start([right % 30, left % 30], 10, 2).in_order()
    np.testing.assert_array_equal(reach.states, [6, 8, 9, 10, 11, 12])
    np.testing.assert_array_equal(reach.inside(reach.states), np.arange(6))
    np.testing.assert_array_equal(reach.outside(np.arange(6)), reach.states)


def test_a_kernel_on_a_part_is_that_of_the_whole_but_for_steps_that_leave_it():
    rng = np.random.default_rng(0)
    kernel = GeneralKernel.from_dense(rng.dirichlet(np.ones(6), (6, 2)))
    reach = Reach(6, np.array([1, 3, 4]))
    dense, whole = reach.kernel(kernel).dense(), kernel.dense()[[1, 3, 4]]
    for row in range(3):
        inside = np.delete([1, 3, 4], row)
        np.testing.assert_allclose(np.delete(dense[row], row, axis=1), whole[row][:, inside])
        np.testing.assert_allclose(dense[row][:, row], 1 - whole[row][:, inside].sum(axis=1))
    assert reach.kernel(kernel) is reach.kernel(kernel)


def test_a_window_keeps_a_slip_kernel_and_cuts_as_any_part_does():
    slip = np.linspace(0.1, 0.9, 30)
    window = Window.around((5, 6), np.array([8]), 1)
    part = window.kernel(SlipKernel((5, 6), slip))
    assert isinstance(part, SlipKernel) and part.shape == (3, 3)
    np.testing.assert_array_equal(part.slip, slip[window.states])
    np.testing.assert_array_equal(window.inside(window.states), np.arange(9))
    reward = Reward(next_state=slip)
    np.testing.assert_array_equal(window.reward(reward).next_state, slip[window.states])


EXECUTIONS = st.sampled_from(["map", "belief", "localised"])
TIES = st.sampled_from(["first", "last"])


@pytest.mark.parametrize("forecast", FORECASTS)
@given(seed=st.integers(0, 10_000), n=st.integers(26, 50), execution=EXECUTIONS, ties=TIES)
@settings(max_examples=10)
def test_on_a_grid_the_cells_in_reach_are_enough(forecast, seed, n, execution, ties):
    mission = grid_mission(seed, n, forecast=forecast, execution=execution, ties=Ties(ties))
    names = ("periodic", "drift-threshold", "lazy-value", "random")
    assert_alike(cut(mission), mission, names if forecast == "frozen" else names[:1])


@pytest.mark.parametrize("forecast", FORECASTS)
@given(seed=st.integers(0, 10_000), execution=EXECUTIONS)
@settings(max_examples=5)
def test_on_general_kernels_the_states_that_successors_lead_to_are_enough(forecast, seed, execution):
    mission = street_mission(seed, execution=execution, forecast=forecast)
    part = cut(mission)
    assert part.world.states <= 5 * 10 + 1
    assert_alike(part, mission, ("periodic", "lazy-value", "lookahead"))


@pytest.mark.parametrize("n", [12, 20, 30])
@pytest.mark.parametrize("execution", ["map", "belief"])
def test_look_ahead_on_a_mixture_decides_as_on_the_whole_grid(n, execution):
    world = rover(n, [0.05, 0.05, 0.3, 0.5, 0.5, 0.2], start=(0, 0), goal=(2, 2))
    models = None if n < 20 else world.family
    forecast = Mixture(given=Given(world.kernel, ForecastFault(error=0.5)), family=models)
    robot = Robot(planning_horizon=2, execution=execution, forecast=forecast)
    mission = Mission(world, robot, Spending.exactly(3), WHOLE)
    assert_alike(cut(mission), mission, ("lookahead",))


@pytest.mark.parametrize("ties", ["first", "last"])
@pytest.mark.parametrize("execution", ["map", "belief"])
def test_look_ahead_decides_as_on_the_whole_grid_and_robots_fly_alike(execution, ties):
    options = {"start": (20, 21), "goal": (22, 22), "execution": execution, "ties": Ties(ties)}
    mission = rover_mission(40, np.linspace(0.05, 0.5, 9), **options)
    part = cut(mission)
    assert_alike(part, mission, ("lookahead",))
    for name in ("periodic", "lookahead"):
        whole, near = (rollout(each, make_rule(name), np.arange(20)) for each in (mission, part))
        np.testing.assert_allclose(near.returns, whole.returns, rtol=0, atol=1e-12)


@given(seed=st.integers(0, 10_000), n=st.integers(26, 40), priced=st.booleans(), execution=EXECUTIONS)
@settings(max_examples=10)
def test_the_optimum_is_that_of_the_whole_grid(seed, n, priced, execution):
    spending = Spending.at_price(0.1, limit=2) if priced else None
    mission = grid_mission(seed, n, spending=spending, execution=execution)
    whole, part = optimum(mission), optimum(cut(mission))
    assert part.fixed_regret == pytest.approx(whole.fixed_regret, abs=1e-9)
    assert part.feedback_regret == pytest.approx(whole.feedback_regret, abs=1e-9)
    if not priced:
        near, all_cells = (feedback_regrets(each, 2) for each in (cut(mission), mission))
        np.testing.assert_allclose(near, all_cells, rtol=0, atol=1e-9)


@pytest.mark.parametrize("execution", ["map", "belief"])
def test_sparse_distributions_on_the_whole_grid_give_the_same_regret(execution):
    world = rover(12, np.linspace(0.05, 0.5, 20), obstacles=[(3, 3), (4, 7)])
    dense = Mission(world, Robot(planning_horizon=5, execution=execution), Spending.exactly(4), WHOLE)
    sparse = replace(dense, sizes=IN_PARTS)
    assert sparse.cropped is sparse
    assert_alike(sparse, dense, ("periodic",))


def test_what_depends_on_the_numbers_of_states_or_reaches_far_is_left_whole():
    slip = np.linspace(0.1, 0.4, 6)
    mission = replace(rover_mission(60, slip), sizes=IN_PARTS)
    assert replace(mission, robot=replace(mission.robot, ties=Ties("random"))).cropped.world.part is None
    assert replace(rover_mission(60, np.full(60, 0.1)), sizes=IN_PARTS).cropped.world.part is None
    assert mission.cropped.cropped is mission.cropped

    def part(forecast):
        return replace(mission, robot=replace(mission.robot, forecast=forecast)).cropped.world.part

    leaps = GeneralKernel(np.zeros((3600, 1), dtype=int), np.ones((3600, 5, 1)))
    for kernels in ([leaps], [mission.world.kernel(0), SlipKernel((30, 120), 0.1)]):
        for forecast in (Given(kernels), Mixture(given=Given(kernels))):
            assert part(forecast) is None
    for forecast in (Given(mission.world.kernel), Mixture(family=mission.world.family)):
        assert part(forecast) is not None
