"""Settings: the built-in ones are the paper's, and what is wrong with a file is said in one line."""

from unittest.mock import patch

import numpy as np
import pytest

from replan import InputError, Spending, Trend, check_world, load_setting, make_mission, rover
from replan.worlds.parameters import WORLDS, WorldParameters, register_world
from replan.worlds.settings import (
    PAPER_SETTINGS,
    SPENDING,
    TABLE,
    Setting,
    goal_in_reach,
    list_names,
    parse_setting,
    setting_notes,
    with_spending,
    world_type,
)

GOOD = """
world = "rover"
n = 5
horizon = 12
planning_horizon = 4
budget = 3
[drift]
kind = "piecewise"
slip = 0.03
quiet = 0.001
bursts = [[0.2, 0.4, 0.02]]
"""


@pytest.fixture
def written(tmp_path):
    def write(text: str):
        path = tmp_path / "setting.toml"
        path.write_text(text)
        return path

    return write


@pytest.mark.parametrize(
    ("name", "sizes"),
    [
        ("late-burst", (14, 80, 8, 2)),
        ("two-burst", (12, 50, 7, 4)),
        ("alternating", (12, 50, 7, 4)),
        ("sinusoidal-medium", (12, 50, 7, 3)),
        ("narrow-late", (14, 70, 8, 2)),
        ("sparse-late-60", (12, 60, 7, 4)),
        ("sparse-late-50", (12, 50, 7, 5)),
        ("three-short", (12, 60, 7, 6)),
    ],
)
def test_built_in_settings_have_the_papers_sizes(name, sizes):
    setting = load_setting(name)
    assert (setting.n, setting.horizon, setting.planning_horizon, setting.budget) == sizes
    assert check_world(make_mission(setting).world) == []


def test_the_papers_settings_come_first():
    assert tuple(list_names("settings")[:8]) == PAPER_SETTINGS


def test_a_file_is_read(written):
    mission = make_mission(load_setting(written(GOOD)), execution="belief")
    assert (mission.horizon, mission.spending.limit, mission.robot.planning_horizon) == (12, 3, 4)
    assert mission.robot.execution == "belief"


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (("budget = 3", "budgett = 3"), "unknown key 'budgett'"),
        (("budget = 3", ""), "missing key 'budget'"),
        (("budget = 3", "budget = 3\ncolour = 1"), "unknown key 'colour'"),
        (("quiet = 0.001", "quiet = 0.001\nloud = 1"), "unknown key 'drift.loud'"),
        (("slip = 0.03\n", ""), "missing key 'drift.slip'"),
        (("slip = 0.03", "slip = 1.3"), "'drift.slip' should be less than or equal to 0.6, not 1.3"),
        (("slip = 0.03", "slip = 0.9"), "'drift.slip' should be less than or equal to 0.6, not 0.9"),
        (("quiet = 0.001", "quiet = nan"), "'drift.quiet' should be a finite number, not nan"),
        (("quiet = 0.001", "quiet = inf"), "'drift.quiet' should be a finite number, not inf"),
        (("0.4, 0.02]", "0.4, nan]"), "'drift.bursts.0.2' should be a finite number, not nan"),
        (("n = 5", "n = 200000"), "'n' should be less than or equal to 10000, not 200000"),
        (("horizon = 12", "horizon = 9999999"), "'horizon' should be less than or equal to 1000000"),
        (("slip = 0.03", 'slip = "wet"'), "'drift.slip' should be a valid number"),
        (("n = 5", "n = 5.5"), "'n' should be a valid integer"),
        (("n = 5", "n = true"), "'n' should be a valid integer"),
        (('kind = "piecewise"', 'kind = "jumpy"'), "'drift.kind' must be one of"),
        (('kind = "piecewise"\n', ""), "missing key 'drift.kind'"),
        (('world = "rover"', 'world = "moon"'), "'world' must be one of"),
        (('world = "rover"\n', ""), "missing key 'world'"),
        (("[0.2, 0.4, 0.02]", "[0.4, 0.2, 0.02]"), "a burst must end after it begins"),
        (
            ("[0.2, 0.4, 0.02]", "[0.2, 0.4]"),
            "'drift.bursts' must each be from, to and slope, not [0.2, 0.4]",
        ),
        (("[0.2, 0.4, 0.02]", '"soon"'), "'drift.bursts.0' should be a valid tuple, not 'soon'"),
        (
            ("budget = 3", 'budget = 3\nties = "best"'),
            """'ties' must be "first", "last" or "random(SEED)", not 'best'""",
        ),
        (("budget = 3", f'budget = 3\nties = "random({10**20})"'), "'ties' must have a seed below"),
        (("budget = 3", "budget = 3\nobstacles = [[1]]"), "'obstacles.0' should have at least 2 items"),
        (("budget = 3", "budget = = 3"), "not valid TOML"),
        (("budget = 3", "budget = 0"), "budget must be at least 1"),
        (("budget = 3", "budget = 12"), "budget must lie between 1 and 11"),
        (("horizon = 12", "horizon = 1"), "'horizon' should be greater than or equal to 2"),
        (("budget = 3", "budget = 3\nobstacles = [[9, 9]]"), "lies outside the 5 x 5 grid"),
        (("budget = 3", "budget = 3\nobstacles = [[0, 0]]"), "on the start or the goal"),
        (("budget = 3", "budget = 3\ndrift_bounds = [0.1]"), "drift bounds must be 11 numbers"),
    ],
)
def test_what_is_wrong_is_said_in_one_line(written, change, said):
    with pytest.raises(InputError) as caught:
        make_mission(load_setting(written(GOOD.replace(*change))))
    assert said in str(caught.value) and "\n" not in str(caught.value)
    assert str(caught.value).count(", not ") <= 1


def test_neither_file_nor_name():
    with pytest.raises(InputError, match="neither a TOML file nor a built-in setting"):
        load_setting("three-bursts")
    with pytest.raises(InputError, match="cannot be read"):
        load_setting("nowhere.toml")


def test_a_world_of_ones_own_from_arrays(written, tmp_path):
    kernel = np.full((3, 2, 3), 1 / 3)
    np.savez(tmp_path / "world.npz", kernels=kernel, rewards=np.zeros((3, 2)))
    text = 'world = "arrays"\nfile = "world.npz"\nhorizon = 9\nplanning_horizon = 3\nbudget = 2\n'
    assert make_mission(load_setting(written(text))).world.states == 3
    kernel[1, 0] = [0.5, 0.5, 0.5]
    np.savez(tmp_path / "world.npz", kernels=kernel, rewards=np.zeros((3, 2)))
    with pytest.raises(InputError, match=r"world\.npz: .* sum to 1\.5, not 1, at t=0, s=1, a=0"):
        make_mission(load_setting(written(text)))


def test_stated_drift_bounds_may_differ_from_the_truth_in_any_world(written, tmp_path):
    rng = np.random.default_rng(0)
    kernels = rng.dirichlet(np.ones(3), size=(6, 3, 2))
    np.savez(tmp_path / "world.npz", kernels=kernels, rewards=np.zeros(3), drift_bounds=np.full(5, 0.01))
    arrays = 'world = "arrays"\nfile = "world.npz"\nplanning_horizon = 3\nbudget = 2\n'
    rover = GOOD.replace("budget = 3", f"budget = 3\ndrift_bounds = {[0.001] * 11}")
    for text, bound in ((arrays, 0.01), (rover, 0.001)):
        world = make_mission(load_setting(written(text))).world
        assert (world.drift_bounds == bound).all()
        assert "above its bound" in str(check_world(world)[0])


@pytest.mark.parametrize(
    ("given", "spent"),
    [
        ({"budget": 7}, {"budget": 7}),
        ({"price": 0.1}, {"price": 0.1}),
        ({"price": 0.1, "budget": 7}, {"price": 0.1, "budget": 7}),
        ({"price": None}, {"budget": 4}),
    ],
)
def test_other_budgets_and_prices_take_the_place_of_a_settings_own(given, spent):
    setting = with_spending(load_setting("two-burst"), **given)
    kept = {key: value for key, value in setting if key in SPENDING and value is not None}
    assert kept == spent


@pytest.mark.parametrize(
    ("wrong", "named"),
    [
        ({"price": -0.1}, "price"),
        ({"budget": 0}, "budget"),
        ({"looks": 3}, "unknown key 'looks'"),
    ],
)
def test_budgets_and_prices_out_of_range_are_refused(wrong, named):
    with pytest.raises(InputError, match=named):
        make_mission(load_setting("two-burst"), **wrong)


def test_a_price_drops_the_budget_of_a_setting():
    assert make_mission(load_setting("two-burst"), price=0.3).spending == Spending.at_price(0.3)


def test_a_mission_takes_the_kind_of_a_forecast():
    setting = load_setting("crosswind-mild")
    assert make_mission(setting, forecast="trend").robot.forecast == Trend()
    with pytest.raises(InputError, match="did you mean"):
        make_mission(setting, forecast="mixtur")  # pyright: ignore[reportArgumentType]


@patch.dict(WORLDS)
def test_a_registered_world_can_be_named_by_settings():
    @register_world("corridor")
    class Other(WorldParameters):
        horizon: int = 9

        def build(self):
            return rover(2, np.full(self.horizon, 0.1))

    assert make_mission(parse_setting({"world": "corridor", "planning_horizon": 4, "budget": 2})).horizon == 9

    @register_world("corridor")
    class Corridor(WorldParameters):
        length: int = 4
        horizon: int = 9

        def build(self):
            return rover(self.length, np.full(self.horizon, 0.1))

    data = {"world": "corridor", "length": 3, "planning_horizon": 4, "budget": 2}
    setting = parse_setting(data)
    assert isinstance(setting, Corridor) and isinstance(setting, Setting)
    assert make_mission(setting).world.states == 9
    with pytest.raises(InputError, match=r"^setting: unknown key 'lenght'$"):
        parse_setting({**data, "lenght": 3})


def notes(**changed):
    data = load_setting("two-burst").model_dump(mode="json", exclude_none=True) | changed
    setting = parse_setting(data)
    return setting_notes(setting, make_mission(setting).world)


def test_an_ordinary_setting_has_none():
    assert notes() == []


@pytest.mark.parametrize(
    ("drift", "first"),
    [
        ({"kind": "linear", "slip": 0.1, "rate": 0.02}, 26),
        ({"kind": "sinusoidal", "slip": 0.1, "amplitude": 0.3, "period": 20.0}, 12),
        ({"kind": "piecewise", "slip": 0.1, "quiet": 0.0, "bursts": [[0.2, 0.9, 0.05]]}, 21),
    ],
)
def test_clipped_drift_is_named_with_its_first_step(drift, first):
    (note,) = notes(drift=drift)
    assert "0.6" in note and f"t = {first}" in note


@pytest.mark.parametrize("drift", [{"kind": "linear", "slip": 0.0, "rate": 0.0}])
def test_slip_that_stays_at_a_limit_by_itself_is_not_clipped(drift):
    assert notes(drift=drift) == []


def test_a_goal_out_of_reach_is_named():
    (note,) = notes(n=40, horizon=30)
    assert "goal" in note and "30 steps" in note


def test_reach_counts_steps_and_walls():
    """The far corner of a 4 x 4 grid is 6 moves away."""
    assert goal_in_reach(rover(4, np.full(6, 0.1)))
    assert not goal_in_reach(rover(4, np.full(5, 0.1)))
    assert not goal_in_reach(rover(4, np.full(50, 0.1), obstacles=[(3, 2), (2, 3), (2, 2)]))


HUGE, LONG_AGO = 10**30, -(10**30)
ICE = {"world": "thin-ice", "horizon": 8, "planning_horizon": 3, "budget": 2}
LAKES = ICE | {"world": "crosswind"}


@pytest.mark.parametrize(
    ("data", "line"),
    [
        (ICE | {"ice": {"melt_begin": HUGE}}, "'ice.melt_begin' must not hold a whole number beyond"),
        (ICE | {"ice": {"swept": 2**63}}, "'ice.swept' must not hold a whole number beyond"),
        (LAKES | {"wind": {"turn_begin": LONG_AGO}}, "'wind.turn_begin' must not hold a whole number"),
        (LAKES | {"wind": {"lakes": 10**4, "lake_length": 10**4}}, "a world of 5 x 100010001 cells needs"),
        (
            LAKES | {"wind": {"lake_height": 10**6}},
            "'wind.lake_height' should be less than or equal to 10000",
        ),
        (
            LAKES | {"wind": {"hazard_cost": 1e308}},
            "'wind.hazard_cost' should be less than or equal to 1000000",
        ),
        (ICE | {"ice": {"fall_cost": 1e308}}, "'ice.fall_cost' should be less than or equal to 1000000"),
        (LAKES | {"planning_horizon": HUGE}, "'planning_horizon' must not hold a whole number beyond"),
        (ICE | {"world": "random-kernels", "knots": [0, HUGE]}, "'knots' must not hold a whole number"),
    ],
)
def test_numbers_that_arrays_do_not_hold_are_refused_by_key(data, line):
    with pytest.raises(InputError, match=line):
        parse_setting(data).build()


OWN = """
from replan import rover


def small():
    return rover(2, [0.1] * 9)


def broken():
    return rover(2, [1 / 0] * 9)


def nothing():
    return 3
"""


def own_setting(folder, world):
    (folder / "own.py").write_text(OWN)
    path = folder / "own.toml"
    path.write_text(f'world = "{world}"\nplanning_horizon = 4\nbudget = 2\n')
    return path


def test_a_world_is_what_a_function_in_a_file_beside_the_setting_returns(tmp_path):
    setting = load_setting(own_setting(tmp_path, "own.py:small"))
    mission = make_mission(setting)
    assert (mission.world.states, mission.horizon) == (4, 9)
    assert setting.files() == [tmp_path / "own.py"]
    again = parse_setting(setting.model_dump(mode="json", exclude_none=True))
    assert make_mission(again).world.states == 4


@pytest.mark.parametrize(
    ("world", "line"),
    [
        ("own.py:smal", "own.py has no function 'smal': did you mean small?"),
        ("own.py:broken", "own.py:broken: ZeroDivisionError: division by zero"),
        ("own.py:nothing", "own.py:nothing must be a World, not 3"),
        ("other.py:small", "other.py: no such file"),
        ("no_such_module:small", "no_such_module: ModuleNotFoundError: No module named 'no_such_module'"),
        ("ownworld", "'world' must be one of arrays, crosswind"),
        ("ownworld", "or file.py:function, not 'ownworld'"),
    ],
)
def test_a_world_of_the_users_that_cannot_be_made_is_one_line(tmp_path, world, line):
    with pytest.raises(InputError) as refused:
        load_setting(own_setting(tmp_path, world)).build()
    assert line in str(refused.value) and "\n" not in str(refused.value)


def test_every_world_of_the_table_is_registered_by_its_name():
    for name in TABLE:
        kind = world_type(name)
        assert WORLDS[name] is kind
