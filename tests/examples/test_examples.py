"""Every example runs, and what its text says of its figures is so."""

import ast
import re
import runpy
from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest

from replan import Periodic, SimulatedRobot, Spending, load_setting, make_mission, regret
from replan.robots import CellMap, Closure, KnownFloor, cell_world, cells_shown
from replan.robots.ros2.scheduler_service import load_scheduler

EXAMPLES = Path(__file__).parents[2] / "examples"


def printed(capsys, name: str) -> str:
    runpy.run_path(str(EXAMPLES / f"{name}.py"))["main"]()
    return capsys.readouterr().out


def figures(text: str) -> dict[str, float]:
    """The number with three decimals that ends a line, or follows "regret", by the words before it."""
    found = {}
    for line in text.splitlines():
        if match := re.match(r"\s*(.+?)\s+(?:return\s+-?\d+\.\d+\s+)?(?:regret\s+)?(-?\d+\.\d{3})\b", line):
            found[match[1]] = float(match[2])
    return found


@pytest.mark.parametrize("path", sorted(EXAMPLES.glob("*.py")), ids=lambda path: path.stem)
def test_every_example_has_a_main_and_says_what_it_is(path):
    module = ast.parse(path.read_text())
    assert ast.get_docstring(module)
    assert "main" in {node.name for node in module.body if isinstance(node, ast.FunctionDef)}


def test_robot_loop_looks_as_often_as_it_may_and_says_why(capsys):
    out = printed(capsys, "robot_loop")
    assert re.findall(r"^t= ?(\d+) looked: .*; (?:planned at \d+|the first update)", out, re.M)[0] == "1"
    assert out.count("looked:") == 4
    assert "50 steps" in out
    assert "4 updates" in out


def test_own_rule_is_sound_and_beats_even_spacing_at_its_best(capsys):
    out = printed(capsys, "own_rule")
    assert out.startswith("the checker found 0 faults\n")
    found = figures(out)
    ours = min(value for name, value in found.items() if name.startswith("confidence"))
    assert found["lookahead"] < ours < found["periodic"]


def test_own_world_loads_both_worlds_and_no_rule_beats_the_best(capsys):
    gate, lake = printed(capsys, "own_world").split("thawing lake")
    assert gate.startswith("jamming gate: 3 states, 12 steps, 0 faults found")
    assert lake.startswith(": 16 states, 24 steps, 0 faults found")
    for found in (figures(gate), figures(lake)):
        best = next(value for name, value in found.items() if name.startswith("best with"))
        assert best <= min(found["periodic"], found["lookahead"])
        assert found["lookahead, future given"] < min(found["periodic"], found["lookahead"])
    assert figures(gate)["lookahead"] > figures(gate)["periodic"]


def test_own_map_calls_its_planner_once_at_the_start_and_once_where_a_door_shuts(capsys):
    example = runpy.run_path(str(EXAMPLES / "own_map.py"))
    example["main"](planner_seconds=0.08, step_seconds=0.02)
    open_door, update, arrival, shut_door = capsys.readouterr().out.splitlines()
    assert re.fullmatch(r"there after \d+ steps, 0 updates, 1 calls of the planner", open_door)
    assert ": update: " in update and ": arrival: " in arrival
    assert re.fullmatch(r"there after \d+ steps, 1 updates, 2 calls of the planner", shut_door)


def test_the_planner_of_own_map_finds_shortest_ways_and_its_costmap_shows_what_is_near():
    example = runpy.run_path(str(EXAMPLES / "own_map.py"))
    cells = example["hall"]()
    mission = example["make_mission"](cells, shuts=5)
    goal = int(cells.states_at((14.25, 0.75)))
    actions = example["Planner"](cells, goal, seconds=0)(cells.blocked)
    moves = cells.moves_to(goal)
    beside = mission.world.kernel(0).destinations()[np.arange(cells.states), actions]
    on_the_way = np.isfinite(moves) & (moves > 0)
    assert (moves[beside][on_the_way] == moves[on_the_way] - 1).all()
    robot, floor = SimulatedRobot(mission.world), KnownFloor(mission.world.kernel(0))
    learned = floor.begin()
    door = mission.world.kernel(5).blocked & ~cells.blocked
    for column, seen in ((1, 0), (10, 1), (11, 2)):
        robot.state, robot.time = 5 * cells.shape[1] + column, 5
        learned = floor.see(learned, *cells_shown(example["costmap_at"](mission.world, cells, robot), cells))
        assert learned["blocked"][door].sum() == seen
        assert not (learned["blocked"] & ~cells.blocked & ~door).any()


def test_the_glider_surfaces_better_by_lookahead_on_cells_and_in_the_water(capsys):
    out = printed(capsys, "glider")
    found = dict(re.findall(r"^(\w+) +regret (\d\.\d+)", out, re.M))
    water = [float(each) for each in re.findall(r"(\d\.\d+) \+- \d\.\d+ in the water", out)]
    assert float(found["best"]) <= float(found["lookahead"]) < float(found["even"])
    assert len(water) == 2 and water[1] < water[0]


def page(name: str) -> str:
    return (EXAMPLES.parent / "docs" / f"{name}.md").read_text()


def test_where_the_end_is_not_known_a_price_does_not_depend_on_the_most_steps_and_a_budget_does(capsys):
    out = printed(capsys, "unknown_end")
    costs = [tuple(map(float, pair)) for pair in re.findall(r"cost (\d\.\d+) .* cost (\d\.\d+)", out)]
    priced, spread = zip(*costs, strict=True)
    assert max(priced) - min(priced) < 0.005 and spread[0] < spread[1] < spread[2]
    assert max(priced) < min(spread)
    (longest,) = re.findall(r"end after \d+ to (\d+) steps", out)
    assert int(longest) < 36, "every drive ends with a look at the goal"
    assert "".join(out.splitlines(keepends=True)[:3]) in page("open_ends")


def test_robots_that_share_a_planner_fit_into_its_updates_but_ask_together(capsys):
    out = printed(capsys, "shared_planner")
    (together,) = re.findall(r"together (\d+\.\d) of 40", out)
    assert 30 < float(together) <= 40
    at_once, apart = map(int, re.findall(r"at most (\d+) in one step", out))
    assert apart < at_once == 20
    needs = [float(updates) for updates in re.findall(r"(\d\.\d+) updates for each robot", out)]
    assert needs == sorted(needs), "the more the ground changes, the more updates are bought"
    assert out in page("open_ends")


def test_nav2_style_compares_triggers_and_rules_as_its_text_says(capsys):
    rover, ice = map(figures, printed(capsys, "nav2_style").split("thin ice"))
    triggers = [name for name in rover if name.startswith(("fixed rate", "distance", "path expiry"))]
    assert len(triggers) == 4
    assert rover["lookahead"] < min(rover[name] for name in triggers)
    assert rover["lookahead"] == pytest.approx(rover["best possible"], abs=0.005)
    lost_to = [name for name in triggers if ice[name] < ice["lookahead"]]
    assert lost_to == [name for name in triggers if name != "fixed rate, every step"]
    assert ice["lookahead, future given"] < ice["best possible"] + 0.005


def test_the_learner_learns_but_lookahead_needs_no_trials(capsys):
    found = figures(printed(capsys, "learner"))
    learned = [value for name, value in found.items() if name.startswith("learned")]
    assert learned[-1] < 0.75 * learned[0]
    assert found["best possible"] <= found["lookahead"] < min(learned)


def test_crazyflie_flies_two_rules_over_one_layout(capsys):
    out = printed(capsys, "crazyflie")
    assert out.count("updates at 1, ") == 2
    assert "front-loaded: " in out and "updates at 1, 2, 3, 4, 5, 6" in out


@pytest.mark.parametrize("name", ["replan_when_due_1.3.xml", "replan_when_due_1.5.xml"])
def test_the_trees_ask_before_they_plan(name):
    tree = ElementTree.parse(EXAMPLES / "ros2" / name).getroot()
    order = [node.tag for node in tree.iter()]
    asked = "ValidatePath" if "1.5" in name else "IsPathValid"
    assert order.index(asked) < order.index("ComputePathToPose")
    assert ("/replan/is_path_valid" in ElementTree.tostring(tree, encoding="unicode")) == ("1.5" in name)


def test_the_rclpy_node_has_the_parameters_of_its_file():
    source = ast.parse((EXAMPLES / "ros2" / "replan_node.py").read_text())
    defaults = next(
        ast.literal_eval(node.value)
        for node in source.body
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "DEFAULTS"
    )
    text = (EXAMPLES / "ros2" / "replan_params.yaml").read_text()
    assert re.findall(r"^    (\w+):", text, re.M) == list(defaults)


def test_the_robots_setting_runs_on_the_map_beside_it():
    setting = load_setting(EXAMPLES / "ros2" / "robot.toml")
    assert setting.step_seconds == pytest.approx(1.25)
    assert 0 < regret(make_mission(setting), Periodic()) < 10
    assert load_scheduler(EXAMPLES / "ros2" / "robot.toml").cells is not None


def test_a_robot_on_a_large_map_drives_through_its_loop_on_a_smaller_one():
    example = runpy.run_path(str(EXAMPLES / "large_map.py"))
    seconds = example["drive"](example["make_mission"](side=200))
    assert len(seconds["update"]) == 4
    assert len(seconds["step"]) == len(seconds["act"]) == 50


@pytest.mark.parametrize(("shuts", "updates"), [(79, 0), (5, 1)])
def test_a_planner_that_prefers_other_ways_than_the_judge_is_called_for_what_has_changed_alone(
    shuts, updates
):
    example = runpy.run_path(str(EXAMPLES / "own_map.py"))
    walls = np.ones((9, 30), dtype=bool)  # corridors two cells wide: there are many shortest ways
    walls[1:3, 1:29] = walls[6:8, 1:29] = walls[1:8, 12:14] = walls[1:8, 27:29] = False
    cells = CellMap(0.5, walls.shape, walls.reshape(-1))
    mission = example["make_mission"](cells, shuts=shuts)
    door = Closure(corners=(10.0, 0.5, 11.0, 1.5), begin=shuts)
    start, goal = mission.world.start, int(cells.states_at((14.25, 0.75)))
    slip = np.full(80, 0.05)
    world = cell_world(cells, slip, start=start, goal=goal, objective="time", closures=[door])
    mission = replace(mission, world=world, spending=Spending.at_most(3))
    planner = example["Planner"](cells, goal, seconds=0.04)
    agent = example["drive"](mission, cells, planner, step_seconds=0.01)
    assert agent.time < 80, "it arrives"
    assert planner.calls == updates + 1 == 3 - agent.budget_left + 1
