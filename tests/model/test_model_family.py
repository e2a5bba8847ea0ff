"""A family of models: its members side by side, their means, their distances, and where a kernel lies."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from replan.errors import InputError
from replan.model import GeneralKernel, KernelFamily, ModelFamily, SlipKernel
from replan.worlds.settings import builtin_settings, load_setting, make_mission

GRID = np.linspace(0, 1, 6)


def mixture():
    """Two kernels that lead to different states."""
    ends = np.zeros((2, 3, 1, 3))
    ends[0, :, 0, :2], ends[1, :, 0, 1:] = [0.3, 0.7], [0.6, 0.4]
    family = KernelFamily("a mixture", *(GeneralKernel.from_dense(end) for end in ends))
    return ModelFamily.of_mixture(family, "share", 6)


def patches():
    """Two patches of a grid, each with a slip of its own."""
    cells = np.arange(9)

    def member(first, second):
        return SlipKernel((3, 3), np.select([cells < 3, cells > 5], [first, second], 0.1))

    return ModelFamily("two patches", {"first": GRID, "second": GRID[:4]}, member, linear=True)


def turning():
    """A kernel that is not linear in its parameter."""

    def member(angle):
        return GeneralKernel.from_dense(np.tile([np.cos(angle) ** 2, np.sin(angle) ** 2], (2, 2, 1)))

    return ModelFamily("an angle", {"angle": np.linspace(0, np.pi / 2, 7)}, member)


FAMILIES = [mixture(), patches(), turning()]


@pytest.mark.parametrize("family", FAMILIES, ids=lambda family: family.description)
def test_stacked_members_are_the_members(family):
    successors, probabilities = family.stacked
    assert len(family.points) == np.prod(family.shape) == len(probabilities)
    for point, stacked in zip(family.points, probabilities, strict=True):
        dense = family.member(*point).general().dense()
        assert GeneralKernel(successors, stacked).dense() == pytest.approx(dense, abs=1e-15)


@given(st.sampled_from(FAMILIES), st.integers(0, 2**32 - 1))
def test_the_mean_kernel_is_the_weighted_sum(family, seed):
    weights = np.random.default_rng(seed).dirichlet(np.full(len(family.points), 0.3))
    members = np.stack([family.member(*point).general().dense() for point in family.points])
    mean = family.mean(weights).general().dense()
    assert mean == pytest.approx(np.tensordot(weights, members, axes=1), abs=1e-12)


@pytest.mark.parametrize("family", FAMILIES, ids=lambda family: family.description)
def test_positions_add_up_distances_of_neighbours(family):
    for axis, along in enumerate(family.positions):
        first = np.zeros(len(family.shape), dtype=int)
        for i in range(len(along) - 1):
            here, there = first.copy(), first.copy()
            here[axis], there[axis] = i, i + 1
            one, other = (
                family.member(*family.points[np.ravel_multi_index(p, family.shape)]) for p in (here, there)
            )
            assert along[i + 1] - along[i] == pytest.approx(one.entrywise_distance(other).max())


@given(st.floats(0, 1), st.floats(0, 0.6))
def test_a_kernel_between_members_is_the_mean_of_its_neighbours(first, second):
    family = patches()
    weights = family.locate(family.member(first, second))
    assert weights.sum() == pytest.approx(1) and (weights > 1e-9).sum() <= 4
    assert weights @ family.points == pytest.approx([first, second], abs=1e-9)


def test_each_parameter_changes_the_rows_of_its_own_cells():
    first, second = patches().depends
    assert np.array_equal(first, np.repeat((np.arange(9) < 3)[:, None], 5, axis=1))
    assert np.array_equal(second, np.repeat((np.arange(9) > 5)[:, None], 5, axis=1))


@pytest.mark.parametrize("name", [n for n in builtin_settings() if not n.startswith("nsbridge")])
def test_every_kernel_of_a_built_in_world_is_near_a_model(name):
    world = make_mission(load_setting(name)).world
    models = world.models
    learned = models.depends.any(axis=0)
    cell = max(np.diff(along).max() for along in models.positions)
    for t in range(0, world.horizon, 7):
        near = models.mean(models.locate(world.kernel(t)))
        assert near.entrywise_distance(world.kernel(t))[learned].max() <= cell / 2 + 1e-9


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({}, "one or two parameters"),
        ({"a": GRID, "b": GRID, "c": GRID}, "one or two parameters"),
        ({"a": [0.1]}, "values of a must be"),
        ({"a": [0.2, 0.1]}, "values of a must be"),
    ],
)
def test_a_grid_that_is_none_is_refused(values, message):
    with pytest.raises(InputError, match=message):
        ModelFamily("", values, lambda slip: SlipKernel((2, 2), slip))


def test_values_that_make_no_difference_are_refused():
    still = ModelFamily("", {"nothing": GRID}, lambda value: SlipKernel((2, 2), 0.1))
    with pytest.raises(InputError, match="nothing give the same kernel"):
        still.positions  # noqa: B018
    growing = ModelFamily("", {"rows": [2, 3]}, lambda rows: SlipKernel((int(rows), 2), 0.1))
    with pytest.raises(InputError, match="same states"):
        growing.stacked  # noqa: B018
