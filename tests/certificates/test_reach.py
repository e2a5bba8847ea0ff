"""A certificate on the states that a robot can reach is that of the whole world."""

from dataclasses import replace
from functools import partial

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.certificates.drifting_worlds import moving_grids, random_times

from replan import Robot, Spending
from replan.certificates.certificate import Tightening, certify
from replan.errors import InputError
from replan.execute.mission import Mission
from replan.model.family import Family
from replan.model.kernel import constant
from replan.model.reward import Reward
from replan.model.sizes import Sizes
from replan.model.slip import SlipKernel
from replan.model.world import World
from replan.worlds.slip_grid import rover

PARTS = ((10**9, 10**9), (0, 10**9), (0, 0))
SLIPS = np.array([0.1, 0.15, 0.3, 0.2, 0.25, 0.4, 0.3])


def one_slip(n, generator):
    """A rover whose stated bounds leave an interval of slips."""
    start, goal = (tuple(int(at) for at in cell) for cell in generator.integers(n, size=(2, 2)))
    world = rover(n, SLIPS, start=start, goal=goal)
    return replace(world, stated_bounds=1.5 * world.drift_bounds)


def one_patch(n, generator):
    """The slip of some cells drifts, most of all in the last one."""
    patch = (generator.uniform(size=n * n) < 0.3) * 0.6
    patch[-1] = 0.9
    grid = partial(SlipKernel, (n, n), blocked=generator.uniform(size=n * n) < 0.1)
    family = Family.of_mixtures("one patch", grid(np.full(n * n, 0.1)), grid(0.1 + patch))
    kernels = [family.member(slip) for slip in SLIPS]
    reward = Reward(next_state=generator.normal(size=n * n))
    world = World(7, lambda t: kernels[t], constant(reward), start=n, grid=(n, n), family=family)
    return replace(world, stated_bounds=1.2 * world.drift_bounds)


def anything(n, generator):
    """Walls, slips and slip law change, and nothing is declared; actions pay too."""
    kernels = moving_grids(generator, 5, (n, n))
    reward = Reward(generator.normal(size=(n * n, 5)), generator.normal(size=n * n))
    start = int(generator.integers(n * n))
    return World(5, lambda t: kernels[t], constant(reward), start=start, grid=(n, n))


def whole_and_part(mission, *given, **options):
    sizes = [Sizes(certified_starts=most, whole_world=whole) for most, whole in PARTS]
    return [certify(replace(mission, sizes=each), *given, **options) for each in sizes]


def assert_equal(whole, *parts):
    for part in parts:
        assert part.value == pytest.approx(whole.value, abs=1e-10)
        assert part.oracle_at_best == pytest.approx(whole.oracle_at_best, abs=1e-10)
        assert part.robot_at_worst == pytest.approx(whole.robot_at_worst, abs=1e-10)
        assert part.assumed == whole.assumed
        assert part.dynamic is None and len(part.from_starts) == 0


@pytest.mark.parametrize("execution", ["map", "belief"])
@pytest.mark.parametrize("make", [one_slip, one_patch, anything])
@given(seed=st.integers(0, 10_000), n=st.integers(12, 16), one_kernel=st.booleans(), both=st.booleans())
@settings(max_examples=4)
def test_it_is_that_of_the_whole_world(make, execution, seed, n, one_kernel, both):
    generator = np.random.default_rng(seed)
    world = make(n, generator)
    mission = Mission(world, Robot(planning_horizon=3, execution=execution), Spending.exactly(2))
    times = random_times(generator, world.horizon, 2)
    assert_equal(*whole_and_part(mission, times, tightening=Tightening(both, one_kernel=one_kernel)))


@pytest.mark.parametrize("n", [18, pytest.param(40, marks=pytest.mark.slow)])
@pytest.mark.parametrize("execution", ["map", "belief"])
@pytest.mark.parametrize("structure", [None, False])
def test_it_is_that_of_the_whole_world_with_updates_around_the_goal(n, structure, execution):
    world = rover(n, SLIPS, start=(9, 9), goal=(11, 10))
    world = replace(world, stated_bounds=1.5 * world.drift_bounds)
    mission = Mission(world, Robot(planning_horizon=4, execution=execution), Spending.exactly(3))
    found = whole_and_part(mission, (1, 3, 5), tightening=Tightening(structure=structure))
    assert_equal(*found)
    assert found[0].value > 0.01


@pytest.mark.parametrize("structure", [None, False])
def test_estimates_that_contradict_each_other_far_away_are_noticed(structure):
    slips = np.full((4, 144), 0.1)
    slips[2:, -1] = 0.5
    kernels = [SlipKernel((12, 12), slip) for slip in slips]
    reward = Reward(next_state=np.arange(144.0))
    world = World(4, lambda t: kernels[t], constant(reward), stated_bounds=np.full(3, 0.01), grid=(12, 12))
    if structure is None:
        world = replace(world, family=Family.of_mixtures("one cell", kernels[0], kernels[-1]))
    found = whole_and_part(
        Mission(world, Robot(planning_horizon=2), Spending.exactly(2)),
        (1, 3),
        tightening=Tightening(structure=structure),
    )
    for each in found:
        assert each.value == np.inf
        assert "the bounds are too small" in each.contradiction


def test_too_many_pairs_are_refused_with_the_number_that_would_fit(monkeypatch):
    monkeypatch.setattr("replan.model.sizes.memory_bytes", lambda: 1e9)
    mission = Mission(
        rover(300, np.full(90, 0.1), start=(150, 150)), Robot(planning_horizon=2), Spending.exactly(1)
    )
    with pytest.raises(InputError, match=r"16381 states, needs about .* states would fit"):
        certify(mission, (1,))
