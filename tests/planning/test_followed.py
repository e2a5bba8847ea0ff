"""Following a policy on a slip grid, against the same kernel as lists of successors."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from replan.model.kernel import constant
from replan.model.reward import Reward
from replan.model.slip import ACTIONS, SlipKernel
from replan.planning.optimal_values import follow, policy_values


def a_grid(seed, *, walls, everywhere):
    rng = np.random.default_rng(seed)
    rows, columns = rng.integers(1, 6, size=2)
    cells = rows * columns
    slip = rng.random() if everywhere else rng.random(cells)
    blocked = rng.random(cells) < 0.2 if walls else None
    kernel = SlipKernel((rows, columns), slip, law=rng.dirichlet(np.ones(len(ACTIONS))), blocked=blocked)
    policies = rng.integers(len(ACTIONS), size=(2, cells))
    return kernel, Reward(rng.normal(size=(cells, len(ACTIONS))), rng.normal(size=cells)), policies


@given(st.integers(0, 2**16), st.booleans(), st.booleans())
def test_slip_in_closed_form_is_followed_as_its_lists_are(seed, walls, everywhere):
    kernel, reward, policies = a_grid(seed, walls=walls, everywhere=everywhere)
    lists, rng = kernel.general(), np.random.default_rng(seed)
    closed, listed = follow(kernel, reward, policies[0]), follow(lists, reward, policies[0])
    mass = rng.dirichlet(np.ones(kernel.states))
    assert closed.push(mass) == pytest.approx(listed.push(mass), abs=1e-12)
    assert closed.reward == pytest.approx(listed.reward, abs=1e-12)
    switch = int(rng.integers(0, 9))
    values = [
        policy_values(
            constant(each), constant(reward), lambda t: policies[0 if t < switch else 1], begin=2, end=7
        )
        for each in (kernel, lists)
    ]
    assert values[0] == pytest.approx(values[1], abs=1e-12)
