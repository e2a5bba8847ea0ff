"""A localised robot under Nav2: what it learns at no update, and when its path is no longer good enough."""

import numpy as np
import pytest
from tests.learning import learning
from tests.robots.ros2.conftest import SETTING

from replan.estimate.estimator import Observation
from replan.model.slip import SlipKernel
from replan.robots.planar_transforms import cells_shown
from replan.robots.ros2.drive import restore, save
from replan.robots.ros2.floor import NEAR, FastestWays, KnownFloor, PathInForce
from replan.robots.ros2.nav2_scheduler import Nav2Scheduler
from replan.schedule.last_moment import LastMoment
from replan.worlds.cell_map import CellMap
from replan.worlds.map_file import OccupancyMap
from replan.worlds.settings import parse_setting

PRICED = {key: value for key, value in SETTING.items() if key != "budget"} | {
    "objective": "time",
    "price": 1.0,
}
RIGHT = 0
AISLE = [(0.75, 0.75), (9.25, 0.75)]


def two_aisles():
    """Rows y = 0.5 to 1.0 and 2.5 to 3.0 are free from end to end, and joined at both ends."""
    pixels = np.full((7, 20), 100, dtype=np.int8)
    pixels[1, 1:-1] = pixels[5, 1:-1] = 0
    pixels[1:6, 1] = pixels[1:6, -2] = 0
    return CellMap.cut(OccupancyMap(pixels, 0.5), cell=0.5)


def costmap(column, *, closed, row=0, size=6):
    """A window of the lower aisle from a column on, in which one cell of the aisle may be closed."""
    pixels = np.zeros((3, size), dtype=np.int8)
    pixels[[0, 2]] = 100
    if closed is not None:
        pixels[1, closed - column] = 100
    return OccupancyMap(pixels, 0.5, (column * 0.5, row * 0.5, 0.0))


def driving(path=AISLE, **options):
    robot = Nav2Scheduler(parse_setting(PRICED), LastMoment(), cells=two_aisles(), **options)
    robot.on_pose(path[0])
    robot.on_path(path, 0.0)
    return robot


def seconds_due(robot, closed_at=None, seconds=16):
    """Drive along the aisle, a cell a second, and return the seconds at which a replan is due."""
    found = []
    for second in range(1, seconds):
        column = 1 + second
        robot.on_pose((0.25 + 0.5 * column, 0.75))
        robot.on_costmap(costmap(column, closed=closed_at if closed_at and closed_at < column + 6 else None))
        if robot.ask(float(second)).due:
            found.append(second)
    return found


def test_where_nothing_changes_nothing_is_due():
    assert seconds_due(driving()) == []


def test_a_way_that_is_seen_closed_is_due_at_the_last_moment_and_costs_no_update_before():
    robot = driving()
    assert seconds_due(robot, closed_at=12, seconds=7)[:1] == [6]  # seen from column 7 on: turn back now
    decision = robot.peek(6.0).decision
    assert decision.terms["loss"] > 1.9, "a step forth and one back"
    assert decision.terms["gain"] > 1.0
    assert robot.drive.agent.budget_left == robot.drive.agent.horizon - 1


def test_a_branch_that_lies_ahead_is_not_due_before_the_robot_comes_to_it():
    """From the left end both aisles are near: with the lower one closed the first moves stay the same."""
    robot = driving([(0.75, 1.75), *AISLE])
    robot.on_costmap(costmap(4, closed=6))
    robot.on_pose((0.75, 1.25))
    first = robot.ask(1.0)
    assert first.due, "the way down is the wrong one at once"
    robot = driving([(0.75, 0.75), (0.75, 2.75), (9.25, 2.75), (9.25, 0.75)])
    robot.on_costmap(costmap(4, closed=6))
    assert not robot.ask(1.0).due, "the path takes the other aisle"


def floor_of(drive):
    """The floor as the robot knows it."""
    return drive.floor.kernel(drive.agent.learned)


def test_the_new_path_is_kept_and_the_closed_cell_stays_as_last_seen():
    robot = driving()
    seconds_due(robot, closed_at=12, seconds=7)
    around = [(4.0, 0.75), (0.75, 0.75), (0.75, 2.75), (9.25, 2.75), (9.25, 0.75)]
    robot.on_path(around, 6.2, stamp=1.0)
    for second in range(7, 14):
        column = 14 - second
        robot.on_pose((0.25 + 0.5 * column, 0.75))
        robot.on_costmap(costmap(max(column - 3, 0), closed=None, size=6 if column < 6 else 3))
        assert not robot.ask(float(second)).due
    closed = robot.cells.states_at((12.25 * 0.5, 0.75))
    assert floor_of(robot.drive).blocked[closed]


def test_a_path_that_is_slower_than_the_fastest_way_is_not_due_for_that():
    """A planner may have its reasons; only what has changed since counts."""
    around = [(0.75, 0.75), (0.75, 2.75), (9.25, 2.75), (9.25, 0.75)]
    robot = driving(around)
    for second in range(1, 20):
        place = min(second, 4)
        robot.on_pose((0.75 + 0.5 * max(second - 4, 0), 0.75 + 0.5 * place))
        assert not robot.ask(float(second)).due


def test_slip_is_learned_near_by_from_moves_that_were_not_made_and_forgotten_nowhere_else():
    floor = learning(KnownFloor, SlipKernel((9, 30), 0.05))
    floor.estimator.path = frozenset(range(4 * 30, 5 * 30))
    at = 4 * 30 + 15
    dry = floor.kernel()
    assert floor.estimate(Observation(1, at + 1, at, RIGHT)) is dry, "a move as commanded is no news"
    for t in range(4):
        wet = floor.estimate(Observation(2 + t, at, at, RIGHT))
    slip = wet.slip.reshape(9, 30)
    assert slip[4, 15] > 0.5
    assert slip[4, 15 - NEAR : 16 + NEAR].min() > 0.5
    assert slip[4, 15 + NEAR + 1] == slip[0, 0] == 0.05
    off_path = floor.estimate(Observation(9, 0, 0, RIGHT))
    assert off_path is wet, "off the path nobody knows what was commanded"
    carried = floor.estimate(Observation(10, 3, at, RIGHT))
    assert carried is wet, "no slip explains that"


def test_floor_that_was_felt_to_be_wet_is_gone_around():
    robot = driving()
    for second in range(1, 9):
        robot.on_pose((2.75, 0.75))  # it does not get on; to go back would be as wet
        assert not robot.ask(float(second)).due
    assert floor_of(robot.drive).slip.max() > 0.5
    robot.on_pose((0.75, 0.75))  # somebody carries it back
    assert robot.ask(9.0).due


@pytest.mark.parametrize("second", [3, 6])
def test_a_restored_robot_knows_what_it_has_seen_and_felt(tmp_path, second):
    robot = driving()
    seconds_due(robot, closed_at=12, seconds=second + 1)
    save(robot.drive, tmp_path)
    again = Nav2Scheduler(parse_setting(PRICED), LastMoment(), cells=two_aisles())
    assert restore(again, tmp_path)
    learned = robot.drive.agent.learned
    assert again.drive.agent.learned.keys() == learned.keys()
    for name, array in again.drive.agent.learned.items():
        assert np.array_equal(array, learned[name])

    robot.on_pose((0.25 + 0.5 * (second + 2), 0.75))
    again.on_pose((0.25 + 0.5 * (second + 2), 0.75))
    assert again.status(second + 1.0) == robot.status(second + 1.0)


def test_a_robot_without_a_pose_goes_on():
    robot = Nav2Scheduler(parse_setting(PRICED), LastMoment(), cells=two_aisles())
    robot.on_path(AISLE, 0.0)
    assert not any(robot.ask(float(second)).due for second in range(1, 10))
    robot.on_pose((50.0, 50.0))
    assert not robot.ask(11.0).due


def test_cells_are_blocked_by_obstacles_in_them_and_on_the_way_by_obstacles_on_the_path():
    cells = CellMap(0.5, (4, 4), np.zeros(16, dtype=bool))
    pixels = np.full((10, 10), -1, dtype=np.int8)
    pixels[:, :5] = 0
    pixels[0, 0] = pixels[5, 3] = 100  # corners of the cells at (0, 0) and (0.5, 1.0) m
    shown = OccupancyMap(pixels, 0.2)
    way = cells.states_at([(0.25, 0.25), (0.75, 0.25)])
    path = np.array([(0.25, 0.25), (0.75, 0.25)])
    states, blocked = cells_shown(shown, cells, path, way)
    found = dict(zip(states.tolist(), blocked.tolist(), strict=True))
    assert set(found) == set(
        cells.states_at([(x, y) for x in (0.25, 0.75) for y in (0.25, 0.75, 1.25, 1.75)])
    )
    assert not found[int(cells.states_at((0.25, 0.25)))], "the path passes the obstacle"
    assert found[int(cells.states_at((0.75, 1.25)))]
    states, blocked = cells_shown(shown, cells, np.array([(0.1, 0.1)]), way)
    assert blocked[states == way[0]].all(), "the obstacle lies on the path"


def test_fastest_ways_are_those_of_a_search_by_hand():
    rng = np.random.default_rng(1)
    for _ in range(20):
        blocked = rng.random(30) < 0.25
        blocked[[0, 29]] = False
        kernel = SlipKernel((5, 6), rng.choice([0.0, 0.5, 0.8], 30), blocked=blocked)
        ways, times = FastestWays.on(kernel, 29), np.full(30, np.inf)
        times[29] = 0.0
        for _ in range(60):
            ahead = times[kernel.destinations()[:, :4]].min(axis=1) + 1 / (1 - kernel.slip)
            times = np.where(np.arange(30) == 29, 0.0, np.minimum(times, ahead))
        free = ~blocked
        assert ways.times[free] == pytest.approx(times[free])
        if np.isfinite(times[0]):
            way = ways.way_from(0)
            assert (way[0], way[-1]) == (0, 29)
            assert ways.times_along(np.array(way))[0] == pytest.approx(times[0])
            assert PathInForce.found_on(CellMap(0.5, (5, 6), blocked), np.array(way), ways).slowness == (
                pytest.approx(1.0)
            )


def test_the_time_until_a_path_comes_is_measured_and_known_to_the_next_mission(tmp_path):
    robot = driving()
    assert robot.drive.agent.mission.latency.longest == 0
    for asked, came in ((3.0, 5.1), (8.0, 9.9), (11.0, 17.0)):
        robot.drive.asked = asked
        robot.on_path(AISLE, came, stamp=came)
        assert robot.drive.agent.plan.policy is not None and not robot.drive.agent.updating
    assert robot.lead == round(2.1 / robot.setting.step_seconds) > 0
    robot.on_pose(AISLE[1])
    robot.on_path([*AISLE[::-1]], 20.0, stamp=20.0)
    assert robot.drive.agent.mission.latency.longest == robot.lead == robot.status(20.0)["steps_until_a_path"]
    save(robot.drive, tmp_path)
    other = Nav2Scheduler(parse_setting(PRICED), LastMoment(), cells=two_aisles())
    assert restore(other, tmp_path) and other.drive.lead == robot.lead


def test_a_path_that_nobody_asked_for_says_nothing_about_time():
    robot = driving()
    robot.on_path(AISLE, 4.0, stamp=4.0)
    assert robot.waits == [] and robot.drive.paths == 2
