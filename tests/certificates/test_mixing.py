"""Overlap of policies against the definition, written out."""

from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.certificates.drifting_worlds import general_cases

from replan.certificates.mixing import (
    Chains,
    diameter,
    held_hitting_times,
    overlap,
    overlap_profile,
)
from replan.model.general_kernel import GeneralKernel
from replan.model.kernel import constant
from replan.model.reward import Reward
from replan.model.world import World
from replan.planning.optimal_values import oracle


def by_paths(world, policies, t, m, s, end):
    """The m-step probability as a sum over all paths."""
    total = 0.0
    for middle in product(range(world.states), repeat=m - 1):
        path = (s, *middle, end)
        chance = 1.0
        for k in range(m):
            step = min(t + k, world.horizon - 1)
            chance *= world.kernel(step).dense()[path[k], policies[step][path[k]], path[k + 1]]
        total += chance
    return total


@settings(max_examples=25)
@given(general_cases(), st.integers(1, 3), st.integers(0, 2), st.integers(0, 2**16))
def test_overlap_is_that_of_the_definition(case, m, t, seed):
    world = case.mission.world
    generator = np.random.default_rng(seed)
    first, second = generator.integers(0, 2, (2, world.horizon + 3, world.states))
    states = range(world.states)
    expected = min(
        sum(
            min(by_paths(world, first, t, m, i, end), by_paths(world, second, t, m, j, end)) for end in states
        )
        for i in states
        for j in states
    )

    def held(policies):
        return lambda k: policies[min(k, world.horizon - 1)]

    chains = Chains(world)

    def coefficient(time):
        return overlap(*(chains.matrix(time, m, held(each)) for each in (first, second)))

    assert coefficient(t) == pytest.approx(expected)
    profile = overlap_profile(chains, held(first), held(second), longest=m)
    every = [coefficient(time) for time in range(world.horizon)]
    assert profile[m] == pytest.approx(min(every))


def corridor(length, success):
    """Left or right along a line; a move succeeds with that probability."""
    dense = np.zeros((length, 2, length))
    for s in range(length):
        for a, to in enumerate((max(s - 1, 0), min(s + 1, length - 1))):
            dense[s, a, to] += success
            dense[s, a, s] += 1 - success
    return GeneralKernel.from_dense(dense)


def test_a_corridor_takes_its_length_over_the_chance_of_a_step():
    world = World(5, constant(corridor(4, 0.5)), constant(Reward(next_state=np.array([0.0, 0, 0, 1]))))
    assert diameter(oracle(world)) == pytest.approx(3 / 0.5)


def test_a_target_that_moves_ahead_of_the_robot_takes_longer():
    around = np.zeros((3, 1, 3))
    around[[0, 1, 2], 0, [1, 2, 0]] = 1  # one step round a ring of three, always
    last = np.zeros((3, 1))
    last[1] = 1
    rewards = [np.zeros((3, 1)), np.zeros((3, 1)), last]
    kernel = constant(GeneralKernel.from_dense(around))
    best = oracle(World(3, kernel, lambda t: Reward(state_action=rewards[t])))
    assert best.values[:3].argmax(axis=1).tolist() == [2, 0, 1]
    # From 0 at t = 0: at 1 when 0 is wanted, then at 2, 0 and 1 when 1 is wanted.
    assert diameter(best) == pytest.approx(4)


def test_the_last_kernel_is_held_after_the_horizon():
    slow, fast = corridor(4, 0.5), corridor(4, 1.0)
    at_the_end = Reward(state_action=np.array([[0.0] * 2, [0] * 2, [0] * 2, [1] * 2]))
    world = World(2, lambda t: (slow, fast)[t], constant(at_the_end))
    # One slow step from the far end, then 3 or 2 fast ones.
    assert diameter(oracle(world)) == pytest.approx(1 + 0.5 * 3 + 0.5 * 2)


def test_a_state_that_cannot_reach_the_best_one_makes_it_infinite():
    trap = np.zeros((3, 1, 3))
    trap[0, 0] = [0, 0.5, 0.5]
    trap[1, 0, 1] = trap[2, 0, 2] = 1
    world = World(
        3, constant(GeneralKernel.from_dense(trap)), constant(Reward(next_state=np.array([0.0, 0, 1])))
    )
    assert diameter(oracle(world)) == np.inf


def test_hitting_times_are_those_of_the_best_fixed_policy():
    generator = np.random.default_rng(3)
    for _ in range(20):
        dense = generator.dirichlet(np.ones(3), size=(3, 2))
        kernel = GeneralKernel.from_dense(dense)
        best = np.full(3, np.inf)
        for policy in product(range(2), repeat=3):
            rows = dense[np.arange(3), policy].copy()
            rows[:, 2] = 0.0  # the target ends the walk
            best = np.minimum(best, np.linalg.solve(np.eye(3) - rows, np.ones(3)))
        assert held_hitting_times(kernel, 2) == pytest.approx(best)
