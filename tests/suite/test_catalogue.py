"""The suite is frozen: its worlds and reference values follow from family and seed alone."""

from collections import Counter
from itertools import pairwise

import numpy as np
import pytest

from replan import InputError, check_world
from replan.evaluation.optimal_schedule import optimum
from replan.suite import suite_world, suite_worlds
from replan.suite.catalogue import (
    BUILT_IN,
    EXECUTIONS,
    LEAST_RANGE,
    WORLDS_OF_A_FAMILY,
    drawn_row,
    reference_values,
    suite_hash,
)
from replan.suite.families import FAMILIES
from replan.worlds.settings import builtin_settings

FROZEN = "faa53987628d266d0b122498dfbb60dcc901446c5f5e4fc31b937049ebca8556"
WORLDS = [*suite_worlds("tune"), *suite_worlds("test")]


def test_the_suite_is_the_one_that_was_frozen():
    assert suite_hash() == FROZEN


def test_parts_are_disjoint_and_hold_every_family():
    names = [world.name for world in WORLDS]
    assert len(set(names)) == len(names)
    assert {world.family for world in suite_worlds("tune")} == set(FAMILIES)
    assert {world.family for world in suite_worlds("test")} == {*FAMILIES, *BUILT_IN}
    assert len({str(world.data) for world in WORLDS}) == len(WORLDS)
    assert len(suite_worlds("tune")) >= 200


def test_built_in_settings_are_families_of_the_test_part():
    counts = Counter(world.family for world in suite_worlds("test"))
    assert [counts[family] for family in BUILT_IN] == [8, 9, 5]
    assert {w.name for w in suite_worlds("test") if w.family in BUILT_IN} <= set(builtin_settings())


@pytest.mark.parametrize("execution", EXECUTIONS)
def test_every_drawn_world_can_be_scored(execution):
    drawn = [world for world in WORLDS if world.family in FAMILIES]
    assert len(drawn) == sum(sum(families.values()) for families in WORLDS_OF_A_FAMILY.values())
    assert min(world.even[execution] - world.floor[execution] for world in drawn) >= LEAST_RANGE
    assert all(world.scored(execution) for world in drawn)
    assert not suite_world("nsbridge-025").scored(execution)
    assert suite_world("nsbridge-025").score(execution, 0.0) is None


@pytest.mark.parametrize("family", FAMILIES)
def test_a_row_of_the_table_follows_from_family_and_seed(family):
    seed = 1000
    row, world = drawn_row(family, seed), suite_world(f"{family}-{seed}")
    for execution in EXECUTIONS:
        assert world.even[execution] == pytest.approx(row[f"even_{execution}"], abs=1e-8)
        assert world.floor[execution] == pytest.approx(row[f"floor_{execution}"], abs=1e-8)


def test_the_floor_is_that_of_optimum():
    world = suite_world("kernels-1001")
    for execution in EXECUTIONS:
        found = optimum(world.mission(execution))
        assert world.floor[execution] == pytest.approx(found.feedback_regret, abs=1e-8)


@pytest.mark.slow
@pytest.mark.parametrize("world", WORLDS, ids=lambda world: world.name)
def test_reference_values_of_every_world(world):
    for key, value in reference_values(world.data).items():
        what, execution = key.split("_")
        assert getattr(world, what)[execution] == pytest.approx(value, abs=1e-8)


@pytest.mark.parametrize("family", FAMILIES)
def test_worlds_are_valid(family):
    assert check_world(suite_world(f"{family}-3").mission().world) == []


def test_the_score_is_zero_at_even_spacing_and_one_at_the_floor():
    world = suite_worlds("test")[0]
    for execution in EXECUTIONS:
        assert world.score(execution, world.even[execution]) == 0
        assert world.score(execution, world.floor[execution]) == 1


def test_switches_jump_and_walks_do_not_stand_still():
    def slips(name):
        return np.array(suite_world(name).data["drift"]["slip"])

    assert len(set(slips("rover-switches-4"))) == 2
    assert sum(a != b for a, b in pairwise(slips("rover-walks-4"))) > 10


@pytest.mark.parametrize("ask", [lambda: suite_worlds("train"), lambda: suite_world("rover-sines-999")])
def test_unknown_parts_and_worlds_are_refused(ask):
    with pytest.raises(InputError):
        ask()
