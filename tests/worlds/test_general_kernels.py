"""Random kernels: drawn from a seed alone, in force at their times, and straight in between."""

import numpy as np
import pytest

from replan import InputError, check_world
from replan.worlds.general_kernels import Arrays, RandomKernels
from replan.worlds.settings import parse_setting


def test_the_same_parameters_make_the_same_world_and_another_seed_another():
    one, same, other = RandomKernels(seed=3), RandomKernels(seed=3), RandomKernels(seed=4)
    assert check_world(one.build()) == []
    assert (
        one.build().kernel(9).general().probabilities == same.build().kernel(9).general().probabilities
    ).all()
    assert (one.build().reward(0).next_state == same.build().reward(0).next_state).all()
    assert (one.build().reward(0).next_state != other.build().reward(0).next_state).any()


def test_kernels_stand_still_outside_of_the_knots_and_move_straight_between_them():
    world = RandomKernels(states=8, knots=[4, 10], horizon=20).build()
    assert world.kernel(0) is world.kernel(4) and world.kernel(10) is world.kernel(19)
    first, middle, last = (world.kernel(t).probabilities for t in (4, 7, 10))
    assert np.allclose(middle, (first + last) / 2)
    steps = world.drift_bounds
    assert steps[:4].max() == 0 and steps[10:].max() == 0 and np.ptp(steps[4:10]) < 1e-12 < steps[4]


def test_a_state_has_the_successors_that_were_asked_for():
    world = RandomKernels(states=5, successors=3).build()
    assert all(len(set(row)) == 3 for row in world.declared_successors)
    assert RandomKernels(states=3, successors=9).build().declared_successors.shape == (3, 3)


def test_knots_must_ascend():
    data = {"world": "random-kernels", "planning_horizon": 4, "budget": 2}
    assert parse_setting(data).knots == [0, 20]
    with pytest.raises(InputError, match="knots"):
        parse_setting({**data, "knots": [5, 5]})


def test_a_file_declares_a_family_of_mixtures(tmp_path):
    ends = np.random.default_rng(0).dirichlet(np.ones(3), size=(2, 3, 2))
    share = np.linspace(0, 1, 6)[:, None, None, None]
    arrays = {"kernels": (1 - share) * ends[0] + share * ends[1], "rewards": np.zeros(3)}
    path = tmp_path / "mixed.npz"
    np.savez(path, **arrays, family=ends)
    world = Arrays(file=str(path)).build()
    assert world.family.exact and check_world(world) == []
    assert world.family.member(0.4).dense() == pytest.approx(arrays["kernels"][2])
    np.savez(path, **arrays, family=ends[::-1] / 2 + 0.5 * np.eye(3)[:, None])
    with pytest.raises(InputError, match=r"mixed\.npz: .*famil"):
        Arrays(file=str(path)).build()
    np.savez(path, **arrays, family=ends[0])
    with pytest.raises(InputError, match="'family' must be two kernels"):
        Arrays(file=str(path)).build()
