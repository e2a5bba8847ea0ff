"""Overlap of policies against the definition, written out."""

from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.certificates.drifting_worlds import general_cases

from replan.certificates.mixing import Chains, overlap_coefficient, overlap_profile


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

    assert overlap_coefficient(world, held(first), held(second), t=t, m=m) == pytest.approx(expected)
    profile = overlap_profile(Chains(world), held(first), held(second), longest=m)
    every = [overlap_coefficient(world, held(first), held(second), t=u, m=m) for u in range(world.horizon)]
    assert profile[m] == pytest.approx(min(every))
