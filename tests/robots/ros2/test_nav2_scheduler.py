"""Missions, updates and questions of a scheduler, on a clock that the tests move."""

import json

import numpy as np
import pytest
from tests.robots.ros2.conftest import AWAY, SETTING

from replan.errors import InputError
from replan.robots.ros2.drive import restore, save
from replan.robots.ros2.nav2_scheduler import Nav2Scheduler
from replan.schedule.fixed import FixedTimes
from replan.schedule.lookahead import Lookahead
from replan.schedule.periodic import Periodic
from replan.worlds.settings import parse_setting

MOVES = 16 + 15 + 16
T = 71  # 1.5 times as many


def scheduler(setting, cells, rule=None, **options):
    options = {"execution": "map"} | options
    return Nav2Scheduler(setting, rule or FixedTimes((1, 10, 20, 30)), cells=cells, **options)


def driving(*arguments, **options):
    """A scheduler that was given its first path at 0 s."""
    robot = scheduler(*arguments, **options)
    robot.on_path(AWAY, 0.0)
    return robot


def test_a_mission_begins_with_the_first_path_and_lasts_half_as_long_again(setting, cells):
    robot = scheduler(setting, cells)
    assert not robot.ask(0.0).due
    robot.on_path(AWAY, 100.0)
    assert robot.drive is not None
    assert robot.drive.moves == MOVES
    assert robot.drive.agent.horizon == T
    assert robot.peek(100.0 + T - 0.5).decision is not None
    over = robot.peek(100.0 + T)
    assert (over.due, robot.drive) == (False, None)
    assert str(T) in over.reason


def test_a_stated_horizon_counts(cells):
    robot = driving(parse_setting(SETTING | {"horizon": 33}), cells)
    assert robot.drive.agent.horizon == 33


def test_updates_are_due_at_the_rules_times_and_stay_due_until_a_path_comes(setting, cells):
    robot = driving(setting, cells)
    assert not robot.ask(0.9).due
    assert robot.ask(1.0).due
    robot.on_path(AWAY, 1.2, stamp=1.0)
    assert robot.drive.agent.budget_left == 3
    assert [t for t in np.arange(1.3, 10.0, 0.5) if robot.ask(t).due] == []
    assert robot.peek(14.0).due, "nobody asked at step 10, and the update is due all the same"
    assert robot.ask(14.0).due
    robot.on_path(AWAY, 14.5, stamp=2.0)
    assert robot.drive.agent.budget_left == 2
    assert not robot.peek(15.0).due


def test_no_new_path_within_patience_counts_nothing_and_is_said_again(setting, cells):
    robot = driving(setting, cells, patience=3.0)
    said = [t for t in np.arange(1.0, 9.0, 0.5) if robot.ask(t).due]
    assert said == [1.0, 4.0, 7.0]
    assert robot.drive.agent.budget_left == 4


def test_a_path_counts_whoever_asked_for_it(setting, cells):
    robot = driving(setting, cells, Periodic())
    robot.on_path(AWAY, 1.0, stamp=1.0)
    robot.on_path(AWAY, 5.0, stamp=5.0)
    assert robot.drive.agent.budget_left == 2
    assert robot.drive.paths == 3


def test_a_path_sent_again_is_no_update(setting, cells):
    robot = scheduler(setting, cells)
    robot.on_path(AWAY, 0.0, stamp=7.0)
    robot.on_path(AWAY, 3.0, stamp=7.0)
    assert robot.drive.agent.budget_left == 4
    assert robot.drive.paths == 1


def test_paths_beyond_the_budget_are_counted_and_ask_for_nothing(setting, cells):
    robot = driving(setting, cells)
    for t in range(1, 8):
        robot.on_path(AWAY, float(t), stamp=float(t))
    assert robot.drive.agent.budget_left == 0
    assert robot.drive.beyond_budget == 3
    assert not any(robot.ask(t).due for t in range(8, 60))


def test_the_plan_in_force_is_the_path(setting, cells):
    robot = driving(setting, cells)
    robot.on_pose(AWAY[0])
    robot.on_path(AWAY, 1.0, stamp=1.0)
    for t in range(1, 20):
        robot.peek(float(t))
    believed = robot.drive.agent.estimate
    assert believed == cells.states_along(AWAY)[18]


def test_a_pose_with_covariance_is_a_look_at_a_distribution(setting, cells):
    robot = driving(setting, cells, execution="belief")
    robot.on_pose((1.25, 2.25), [[0.3, 0.0], [0.0, 0.3]])
    robot.on_path(AWAY, 1.0, stamp=1.0)
    assert robot.drive.agent.estimate == pytest.approx(cells.distribution_at((1.25, 2.25), np.eye(2) * 0.3))
    assert 0 < robot.drive.agent.estimate.max() < 1


def test_a_mission_ends_at_the_goal_and_another_goal_begins_another(setting, cells):
    robot = driving(setting, cells)
    robot.on_pose((8.6, 1.3))
    assert robot.peek(5.0).reason == "the goal is reached"
    assert robot.drive is None
    robot.on_path([(8.75, 1.25), (8.75, 1.4)], 6.0)
    assert robot.drive is None, "a path within the goal's cell is no mission"
    robot.on_path([(8.75, 1.25), (8.75, 9.25)], 7.0)
    assert robot.drive.goal == cells.states_at((8.75, 9.25))
    robot.on_path([(8.75, 3.25), (5.75, 3.25)], 8.0)
    assert robot.drive.goal == cells.states_at((5.75, 3.25))
    assert robot.drive.began == 8.0


def test_a_path_through_cells_that_the_map_calls_blocked_frees_them(setting, cells):
    robot = scheduler(setting, cells)
    robot.on_path([(1.25, 1.25), (8.75, 1.25)], 0.0)
    assert robot.drive is not None
    assert not robot.drive.cells.blocked[robot.drive.way].any()
    assert cells.blocked[robot.drive.way].any()


def test_a_clock_that_goes_back_ends_the_mission(setting, cells):
    robot = scheduler(setting, cells)
    robot.on_path(AWAY, 50.0)
    assert robot.ask(49.0).reason == "the clock went back"
    assert robot.drive is None


@pytest.mark.parametrize("path", [[], [(50.0, 50.0), (60.0, 60.0)], [(1.25, 1.25)]])
def test_paths_that_lead_nowhere_begin_nothing(setting, cells, path):
    robot = scheduler(setting, cells)
    robot.on_path(path, 0.0)
    assert robot.drive is None


def test_without_a_map_nothing_begins_and_the_reason_says_so(setting):
    robot = scheduler(setting, None)
    assert "map" in robot.on_path(AWAY, 0.0).reason


def test_a_short_path_has_no_more_updates_than_steps(setting, cells):
    robot = scheduler(setting, cells, Periodic())
    robot.on_path([(1.25, 1.25), (1.25, 1.75)], 0.0)
    assert robot.drive.agent.horizon == 2
    assert robot.drive.agent.spending.limit == 1


def test_rules_that_look_ahead_work_too(setting, cells):
    robot = driving(setting, cells, Lookahead())
    for t in np.arange(0.0, float(T), 0.5):
        if robot.ask(t).due:
            robot.on_path(AWAY, t + 0.1, stamp=t)
    assert robot.drive.agent.budget_left == 0
    json.dumps(robot.status(T - 1.0), default=float)


def run(robot, times, *, folder=None, renew=None):
    """Answers at the times; with a folder, saved and restored into a new scheduler after each."""
    answers = []
    for t in times:
        answers.append(robot.ask(t).due)
        if answers[-1]:
            robot.on_path(AWAY, t + 0.1, stamp=t)
        if folder is not None:
            save(robot.drive, folder)
            robot = renew()
            assert restore(robot, folder)
    return answers


@pytest.mark.parametrize("rule", [FixedTimes((1, 10, 20, 30)), Lookahead(), Periodic()])
def test_a_scheduler_restored_in_mid_mission_answers_as_if_it_had_never_stopped(
    setting, cells, tmp_path, rule
):
    times = np.arange(0.0, 40.0, 3.7)
    expected = run(driving(setting, cells, rule), times)
    again = driving(setting, cells, rule)
    restored = run(again, times, folder=tmp_path, renew=lambda: scheduler(setting, None, rule))
    assert restored == expected
    assert any(expected)
    assert len(list(tmp_path.iterdir())) == 1


def test_patience_survives_a_restart(setting, cells, tmp_path):
    robot = driving(setting, cells, patience=3.0)
    assert robot.ask(1.0).due
    save(robot.drive, tmp_path)
    later = scheduler(setting, cells, patience=3.0)
    restore(later, tmp_path)
    assert [t for t in (2.0, 3.5, 4.0) if later.ask(t).due] == [4.0]


def test_a_save_that_is_of_no_use_is_one_line(setting, cells, tmp_path):
    robot = scheduler(setting, cells)
    assert not restore(robot, tmp_path)
    save(robot.drive, tmp_path)
    assert not restore(robot, tmp_path)
    robot.on_path(AWAY, 0.0)
    save(robot.drive, tmp_path)
    with pytest.raises(InputError) as refusal:
        restore(scheduler(setting, cells, Periodic()), tmp_path)
    assert "\n" not in str(refusal.value)
    robot.drive.agent.save(tmp_path / "drive.npz", attached={"map": [0.5, [3, 3], [0, 0, 0], 0.0]})
    with pytest.raises(InputError, match="not a saved mission"):
        restore(scheduler(setting, cells), tmp_path)
    (tmp_path / "drive.npz").write_bytes(b"PK half of a file")
    with pytest.raises(InputError, match="not a saved agent"):
        restore(scheduler(setting, cells), tmp_path)
    save(None, tmp_path)
    assert not restore(robot, tmp_path)


def test_a_price_takes_the_place_of_the_budget(cells, tmp_path):
    priced = {key: value for key, value in SETTING.items() if key != "budget"} | {"planning_horizon": 20}
    asked = {}
    for price in (0.001, 100.0):
        robot = driving(parse_setting(priced | {"price": price}), cells, Lookahead())
        assert robot.drive.agent.spending.limit is None
        asked[price] = [t for t in range(1, 20) if robot.ask(float(t)).due]
        save(robot.drive, tmp_path)
        again = scheduler(parse_setting(priced | {"price": price}), cells, Lookahead())
        assert restore(again, tmp_path)
        assert again.status(19.5) == robot.status(19.5)
    assert asked[0.001]
    assert not asked[100.0]


def test_a_rule_that_cannot_decide_is_refused_before_the_first_path(setting, cells):
    with pytest.raises(InputError, match="instance"):
        scheduler(setting, cells, Lookahead)


@pytest.mark.parametrize("forecast", ["trend", "given", "mixture"])
def test_a_forecast_of_the_setting_is_taken_into_the_mission(cells, tmp_path, forecast):
    expecting = parse_setting(SETTING | {"forecast": forecast, "horizon": 25, "planning_horizon": 4})
    robot = driving(expecting, cells, Lookahead())
    assert robot.ask(1.0).due
    robot.on_path(AWAY, 1.2, stamp=1.0)
    assert robot.drive.agent.robot.forecast.moves
    assert not robot.peek(1.5).due
    save(robot.drive, tmp_path)
    again = scheduler(expecting, cells, Lookahead())
    assert restore(again, tmp_path)
    assert again.status(12.0) == robot.status(12.0)
