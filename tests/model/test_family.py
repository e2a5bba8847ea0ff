"""A family of kernels contains the mixtures of its two ends and nothing else."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from replan.errors import InputError
from replan.model import GeneralKernel, KernelFamily, SlipKernel, check_world
from replan.model.kernel import Kernel
from replan.worlds.slip_grid import rover

WALLS = np.isin(np.arange(9), [4])


def general_family():
    generator = np.random.default_rng(1)
    ends = (GeneralKernel.from_dense(k) for k in generator.dirichlet(np.ones(3), size=(2, 3, 2)))
    return KernelFamily("a mixture", *ends)


def patch_family():
    """Only the first three cells of a grid change their slip."""
    slips = (np.where(np.arange(9) < 3, end, 0.2) for end in (0.1, 0.9))
    return KernelFamily("a patch", *(SlipKernel((3, 3), slip, blocked=WALLS) for slip in slips))


FAMILIES = [KernelFamily.of_one_slip(SlipKernel((3, 3), 0.1)), general_family(), patch_family()]


@given(st.sampled_from(FAMILIES), st.floats(0, 1))
def test_a_member_is_the_mixture_and_tells_its_parameter(family, parameter):
    member = family.kernel(parameter)
    assert isinstance(member, Kernel)
    mixed = (1 - parameter) * family.first.general().dense() + parameter * family.last.general().dense()
    assert member.general().dense() == pytest.approx(mixed, abs=1e-12)
    assert family.parameter_of(member) == pytest.approx(parameter, abs=1e-9)
    assert family.parameter_of(member.general()) == pytest.approx(parameter, abs=1e-9)


@given(st.sampled_from(FAMILIES), st.floats(0, 1), st.floats(0, 1))
def test_an_entry_changes_with_the_parameter_by_the_steepness(family, one, other):
    apart = family.kernel(one).entrywise_distance(family.kernel(other))
    assert apart == pytest.approx(abs(one - other) * family.steepness(), abs=1e-12)


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
    assert KernelFamily.of_one_slip(SlipKernel((3, 3), 0.1)).parameter_of(stranger) is None


def test_the_checker_finds_a_kernel_outside_the_declared_family():
    world = rover(3, [0.1, 0.2, 0.3])
    assert check_world(world) == []
    kernels = [world.kernel(0), SlipKernel((3, 3), 0.2, blocked=WALLS), world.kernel(2)]
    object.__setattr__(world, "kernel", kernels.__getitem__)
    assert [finding.t for finding in check_world(world)] == [1]


def test_ends_of_different_sizes_are_refused():
    with pytest.raises(InputError, match="same states"):
        KernelFamily("", SlipKernel((2, 2), 0.0), SlipKernel((3, 3), 1.0))
