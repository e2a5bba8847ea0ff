"""One measured wind for all cells, from a table or from an airport."""

import re
import tomllib

import numpy as np
import pytest
from tests.learning import learning

from replan import (
    FamilyFilter,
    InputError,
    Lookahead,
    Mission,
    Mixture,
    Observation,
    Periodic,
    Robot,
    Spending,
    check_world,
    evaluate,
    load_setting,
    make_mission,
    optimum,
)
from replan.worlds.settings import parse_setting
from replan.worlds.wind import MeasuredWind
from replan.worlds.wind_table import airport_wind, parse_time, read_wind

TABLE = """time,speed,direction
2020-05-01T00:00,5,270
2020-05-01T01:00,NA,270
2020-05-01T02:00:00Z,5,180
2020-05-01T05:00:00+02:00,0,
2020-05-01T12:00,12,0
"""
SETTING = """
world = "wind"
file = "wind.csv"
start_time = 2020-05-01T00:00:00
rows = 7
columns = 8
goal = [6, 7]
horizon = 10
strongest = 6
planning_horizon = 6
budget = 3
"""


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "wind.csv").write_text(TABLE)
    (tmp_path / "setting.toml").write_text(SETTING)
    return tmp_path


def test_a_table_gives_components_to_the_east_and_north_and_gaps_are_interpolated(folder):
    table = read_wind(folder / "wind.csv")
    begin = parse_time("2020-05-01T00:00Z", "begin")
    found = table.at(begin + 3600 * np.array([0, 1, 2, 3, 12]))
    assert found == pytest.approx(np.array([[5, 0], [2.5, 2.5], [0, 5], [0, 0], [0, -12]]), abs=1e-9)


def test_the_kernels_move_by_wind_and_airspeed(folder):
    world = make_mission(load_setting(folder / "setting.toml")).world
    assert check_world(world) == [] and world.grid == (7, 8) and world.actions == 9
    # After half an hour: 3.75 m/s to the east, 1.25 to the north; heading north with 6 m/s.
    state, per_cell = 3 * 8 + 3, 3600 / 30_000
    row, column = np.divmod(np.arange(56), 8)
    kernel = world.kernel(0).dense()
    assert kernel[state, 8] @ column - 3 == pytest.approx(3.75 * per_cell)
    assert kernel[state, 8] @ row - 3 == pytest.approx(-1.25 * per_cell)
    assert kernel[state, 0] @ row - 3 == pytest.approx(-7.25 * per_cell)
    assert world.reward(0).next_state[[0, 55]] == pytest.approx([-np.hypot(6, 7) / 10, 0])


def test_the_wind_is_a_family_of_two_parameters(folder):
    world = make_mission(load_setting(folder / "setting.toml")).world
    family = world.family
    assert list(family.values) == ["wind to the east", "wind to the north"]
    member = family.member(2.4, -1.2)
    weights = family.locate(member)
    assert weights @ family.points == pytest.approx([2.4, -1.2], abs=0.3)


def test_the_filter_learns_the_wind(folder):
    world = make_mission(load_setting(folder / "setting.toml")).world
    steady, rng = world.family.member(3.6, -3.6), np.random.default_rng(0)
    estimator = learning(FamilyFilter, world.family, np.zeros(149))
    for t in range(1, 150):
        state, action = int(rng.integers(56)), int(rng.integers(9))
        after = int(steady.sample(np.array([state]), np.array([action]), rng.random(1))[0])
        estimator.estimate(Observation(t, after, state, action))
    assert [each.value for each in estimator.parameters()] == pytest.approx([3.6, -3.6], abs=0.8)


def test_rules_and_the_mixture_run_on_it(folder):
    setting = load_setting(folder / "setting.toml")
    mission = make_mission(setting, execution="belief")
    floor = optimum(mission).feedback_regret
    assert floor - 1e-9 <= evaluate(mission, Lookahead()).regret
    expecting = Mission(mission.world, Robot(planning_horizon=6, forecast=Mixture()), Spending.exactly(3))
    assert evaluate(expecting, Periodic()).regret >= 0
    futures = {future.name for future in expecting.update(4).futures}
    assert "wind to the east rises" in futures


def test_an_airport_is_read_from_its_package():
    table = airport_wind("JFK")
    assert len(table.times) > 8_500
    first = parse_time("2013-01-01T06:00Z", "first")
    speeds = np.hypot(*airport_wind("EWR").at(first + 3600.0 * np.arange(8_000)).T)
    assert 4 < speeds.mean() < 6 and speeds.max() < 25  # the reading of 1,048 miles per hour is left out
    at_dawn = airport_wind("EWR").at(np.array([first]))[0]
    assert at_dawn == pytest.approx([10.35702 * 0.44704, 0], abs=1e-9)  # from the west


def test_the_trial_of_the_first_measured_wind():
    world = MeasuredWind(station="JFK", start_time="2013-03-05T06:00").build()
    assert (world.states, world.actions, world.horizon) == (144, 9, 30)
    assert check_world(world) == []


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (('file = "wind.csv"\n', ""), "a wind has either a file or a station"),
        (("wind.csv", "calm.csv"), "calm.csv: cannot be read"),
        (("rows = 7", "rows = 1"), "'rows' should be greater than or equal to 2"),
        (("goal = [6, 7]", "goal = [7, 7]"), "goal [7, 7] is not a cell of the 7 x 8 grid"),
        (("start_time = 2020-05-01T00:00:00", 'start_time = "soon"'), "'soon' is not a date and time"),
        (("2020-05-01T00:00:00", "2020-05-01T06:00:00"), "the wind is known from 2020-05-01T00:00 to"),
        (("rows = 7", "rows = 7\nairspeed = 0"), "'airspeed' should be greater than 0"),
    ],
)
def test_what_is_wrong_with_a_setting_is_one_line(folder, change, said):
    path = folder / "setting.toml"
    path.write_text(SETTING.replace(*change))
    with pytest.raises(InputError, match=re.escape(said)) as caught:
        make_mission(load_setting(path))
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("when,speed,direction\n1,2,3\n", "line 2: no column 'time'"),
        (TABLE + "2020-05-02T00:00,strong,90\n", "line 7: 'strong' and '90' are not a speed"),
        (TABLE + "2020-05-02T00:00,-3,90\n", "line 7: '-3' and '90' are not a speed"),
        (TABLE + "2020-05-02T00:00,300,90\n", "line 7: '300' and '90' are not a speed"),
        (TABLE + "2020-05-02T00:00,3,inf\n", "line 7: '3' and 'inf' are not a speed"),
        (TABLE + "tomorrow,3,90\n", "line 7: 'tomorrow' is not a date"),
        (TABLE + "2020-05-02603:00,3,90\n", "line 7: '2020-05-02603:00' is not a date"),
        (TABLE + "2020-05-02T03:100,3,90\n", "line 7: '2020-05-02T03:100' is not a date"),
        (TABLE + "2020-05-02T00:00,5,5,270\n", "line 7: 4 fields, but 3 columns"),
        (TABLE + "2020-05-02T00:00,5\n", "line 7: 2 fields, but 3 columns"),
        (TABLE + "2020-05-02T00:00,5,1e308\n", "line 7: '5' and '1e308' are not a speed"),
        (TABLE + "2020-05-02T00:00,1_0,90\n", "line 7: '1_0' and '90' are not a speed"),
        (TABLE + "2020-05-01T00:00Z,6,270\n", "line 7: another wind at 2020-05-01T00:00Z than before"),
        (TABLE + '2020-05-02T00:00,5,"90\n', "not a CSV file"),
        ("time,speed,speed,direction\n", "column 'speed' stands twice"),
        ("time,speed,direction\n2020-05-01,1,1\n", "fewer than two rows"),
        ("", "fewer than two rows"),
    ],
)
def test_what_is_wrong_with_a_table_is_one_line(folder, text, said):
    (folder / "wind.csv").write_text(text)
    with pytest.raises(InputError, match=re.escape(said)):
        read_wind(folder / "wind.csv")


def test_bytes_that_are_no_text_are_one_line(folder):
    (folder / "wind.csv").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(InputError, match="not a CSV file"):
        read_wind(folder / "wind.csv")


def test_the_wind_of_another_place_is_the_forecast_of_this_one(folder):
    (folder / "there.csv").write_text(TABLE.replace(",5,", ",9,"))
    text = SETTING + '[forecast]\nkind = "given"\nworld = { file = "there.csv" }\n'
    (folder / "here.toml").write_text(text)
    here = load_setting(folder / "here.toml")
    (folder / "there.toml").write_text(SETTING.replace("wind.csv", "there.csv"))
    there = make_mission(load_setting(folder / "there.toml")).world
    mission = make_mission(here)
    (future,) = mission.update(1).futures
    for t in range(1, mission.horizon):
        assert future.kernel(t).entrywise_distance(there.kernel(t)).max() == 0
    assert future.kernel(1).entrywise_distance(mission.world.kernel(1)).max() > 0.1
    assert str(here.forecast) == f"given, file {folder / 'there.csv'}"
    assert evaluate(mission, Lookahead()).regret > 0


@pytest.mark.parametrize(
    ("forecast", "said"),
    [
        ('kind = "frozen"\nworld = { rows = 7 }', "world, error, late and noise go with given or mixture"),
        ('kind = "given"\nfile = "a.npz"\nworld = { rows = 7 }', "of a file or of a world, not of both"),
        ('kind = "given"\nworld = { station = "JFK" }', "a wind has either a file or a station"),
        ('kind = "given"\nworld = { row = 7 }', "the forecast's world: unknown key 'row'"),
        ('kind = "given"\nworld = { horizon = 9 }', "world, horizon 9: 9 steps, but the world has 10"),
        ('kind = "given"\nworld = { rows = 8 }', "world, rows 8: 64 states and 9 actions, but"),
    ],
)  # fmt: skip
def test_another_world_that_is_no_forecast_is_one_line(folder, forecast, said):
    (folder / "setting.toml").write_text(f"{SETTING}[forecast]\n{forecast}\n")
    with pytest.raises(InputError, match=re.escape(said)) as caught:
        make_mission(load_setting(folder / "setting.toml"))
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("key", "value", "line"),
    [
        ("cell", 1e-300, "'cell' should be at least 1e-09, not 1e-300"),
        ("noise", 1e300, "'noise' should be less than or equal to"),
        (
            "step",
            1e12,
            "the wind is known from 2020-05-01T00:00 to 2020-05-01T12:00, not from .* s after 1970",
        ),
        ("step", 1e-9, "the wind of .* steps before the mission needs about .* of memory"),
    ],
)
def test_lengths_and_times_of_any_size_are_one_line(folder, key, value, line):
    setting = tomllib.loads(SETTING) | {"file": str(folder / "wind.csv"), key: value}
    setting["start_time"] = "2020-05-01T03:00"
    with pytest.raises(InputError, match=line):
        parse_setting(setting).build()
