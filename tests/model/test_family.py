"""A family: its members, their means and distances; an exact one holds the mixtures of its ends alone."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from replan.errors import InputError
from replan.model.checks import check_world
from replan.model.family import Family
from replan.model.general_kernel import GeneralKernel
from replan.model.kernel import Kernel
from replan.model.slip import SlipKernel
from replan.worlds.settings import list_names, load_setting, make_mission
from replan.worlds.slip_grid import rover

GRID = np.linspace(0, 1, 6)
WALLS = np.isin(np.arange(9), [4])


def general_family():
    generator = np.random.default_rng(1)
    ends = (GeneralKernel.from_dense(k) for k in generator.dirichlet(np.ones(3), size=(2, 3, 2)))
    return Family.of_mixtures("a mixture", *ends)


def patch_family():
    """Only the first three cells of a grid change their slip."""
    slips = (np.where(np.arange(9) < 3, end, 0.2) for end in (0.1, 0.9))
    return Family.of_mixtures("a patch", *(SlipKernel((3, 3), slip, blocked=WALLS) for slip in slips))


EXACT = [Family.of_one_slip(SlipKernel((3, 3), 0.1)), general_family(), patch_family()]


@given(st.sampled_from(EXACT), st.floats(0, 1))
def test_a_member_is_the_mixture_and_tells_its_parameter(family, parameter):
    member = family.member(parameter)
    assert isinstance(member, Kernel)
    mixed = (1 - parameter) * family.first.general().dense() + parameter * family.last.general().dense()
    assert member.general().dense() == pytest.approx(mixed, abs=1e-12)
    assert family.share_of(member) == pytest.approx(parameter, abs=1e-9)
    assert family.share_of(member.general()) == pytest.approx(parameter, abs=1e-9)


@given(st.sampled_from(EXACT), st.floats(0, 1), st.floats(0, 1))
def test_an_entry_changes_with_the_parameter_by_the_steepness(family, one, other):
    apart = family.member(one).entrywise_distance(family.member(other))
    assert apart == pytest.approx(abs(one - other) * family.steepness, abs=1e-12)


@pytest.mark.parametrize(
    "stranger",
    [
        SlipKernel((3, 3), 0.1, blocked=WALLS),
        SlipKernel((3, 3), 0.1, law=[0.5, 0.5, 0, 0, 0]),
        SlipKernel((3, 3), np.linspace(0.1, 0.2, 9)),
        SlipKernel((2, 2), 0.1),
        general_family().first,
    ],
    ids=["walls", "law", "slip per cell", "size", "no grid"],
)
def test_other_kernels_have_no_parameter(stranger):
    assert Family.of_one_slip(SlipKernel((3, 3), 0.1)).share_of(stranger) is None


def test_the_checker_finds_a_kernel_outside_the_declared_family():
    world = rover(3, [0.1, 0.2, 0.3])
    assert check_world(world) == []
    kernels = [world.kernel(0), SlipKernel((3, 3), 0.2, blocked=WALLS), world.kernel(2)]
    object.__setattr__(world, "kernel", kernels.__getitem__)
    assert [finding.t for finding in check_world(world)] == [1]


def test_ends_of_different_sizes_are_refused():
    with pytest.raises(InputError, match="same states"):
        Family.of_mixtures("", SlipKernel((2, 2), 0.0), SlipKernel((3, 3), 1.0))


def mixture():
    """Two kernels that lead to different states."""
    ends = np.zeros((2, 3, 1, 3))
    ends[0, :, 0, :2], ends[1, :, 0, 1:] = [0.3, 0.7], [0.6, 0.4]
    first, last = (GeneralKernel.from_dense(end) for end in ends)
    return Family.of_mixtures("a mixture", first, last, name="share", values=6)


def patches():
    """Two patches of a grid, each with a slip of its own."""
    cells = np.arange(9)

    def member(first, second):
        return SlipKernel((3, 3), np.select([cells < 3, cells > 5], [first, second], 0.1))

    return Family("two patches", {"first": GRID, "second": GRID[:4]}, member, linear=True)


def turning():
    """A kernel that is not linear in its parameter."""

    def member(angle):
        return GeneralKernel.from_dense(np.tile([np.cos(angle) ** 2, np.sin(angle) ** 2], (2, 2, 1)))

    return Family("an angle", {"angle": np.linspace(0, np.pi / 2, 7)}, member)


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


@pytest.mark.parametrize("name", [n for n in list_names("settings") if not n.startswith("nsbridge")])
def test_every_kernel_of_a_built_in_world_is_near_a_model(name):
    world = make_mission(load_setting(name)).world
    family = world.family
    learned = family.depends.any(axis=0)
    cell = max(np.diff(along).max() for along in family.positions)
    for t in range(0, world.horizon, 7):
        near = family.mean(family.locate(world.kernel(t)))
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
        Family("", values, lambda slip: SlipKernel((2, 2), slip))


def test_values_that_make_no_difference_are_refused():
    still = Family("", {"nothing": GRID}, lambda value: SlipKernel((2, 2), 0.1))
    with pytest.raises(InputError, match="nothing give the same kernel"):
        still.positions  # noqa: B018
    growing = Family("", {"rows": [2, 3]}, lambda rows: SlipKernel((int(rows), 2), 0.1))
    with pytest.raises(InputError, match="same states"):
        growing.stacked  # noqa: B018


def test_a_promise_needs_one_linear_parameter():
    with pytest.raises(InputError, match="exact only with one parameter"):
        Family("", {"angle": GRID}, lambda angle: SlipKernel((2, 2), angle), exact=True)
