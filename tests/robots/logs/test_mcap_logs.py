"""Robot logs: fields as Foxglove's own library has them, beliefs as the agent has them, and the layout."""

import json
import re
from base64 import b64decode

import foxglove.messages
import numpy as np
import pytest
from tests.robots.ros2.conftest import AWAY, SETTING, hall

from replan import Agent, Lookahead, SimulatedRobot, load_setting, make_mission
from replan.cli import run
from replan.evaluation.agent_runs import run_agent
from replan.robots.logs.mcap_log import FLOAT32, INFO, LAYOUT, TOPICS, WARNING, beliefs, write_mission_log
from replan.robots.ros2.drive_log import DriveLog
from replan.robots.ros2.nav2_scheduler import Nav2Scheduler
from replan.robots.ros2.scheduler_service import SchedulerService
from replan.schedule.fixed import FixedTimes
from replan.schedule.last_moment import LastMoment
from replan.worlds.cell_map import CellMap
from replan.worlds.settings import parse_setting


def read(path):
    """[(seconds, schema, topic, message)] by another library than ours."""
    from mcap.reader import make_reader

    with path.open("rb") as file:
        return [
            (message.log_time / 1e9, schema.name, channel.topic, json.loads(message.data))
            for schema, channel, message in make_reader(file).iter_messages()
        ]


def of_topic(messages, topic):
    return [(seconds, message) for seconds, _, each, message in messages if each == topic]


def values(grid):
    data = np.frombuffer(b64decode(grid["data"]), dtype="<f4")
    return data.reshape(-1, grid["column_count"])


def fields_of(name):
    """The fields of a schema, from the signature of the class in Foxglove's SDK."""
    signature = getattr(foxglove.messages, name).__text_signature__
    return set(re.findall(r"(\w+)=", signature))


def at(grid, pose):
    """Value of the cell of a grid at a pose, for grids that are not turned."""
    corner, place = grid["pose"]["position"], pose["pose"]["position"]
    column = int((place["x"] - corner["x"]) / grid["cell_size"]["x"])
    row = int((place["y"] - corner["y"]) / grid["cell_size"]["y"])
    return values(grid)[row, column]


@pytest.fixture(scope="module")
def ice(tmp_path_factory):
    mission = make_mission(load_setting("thin-ice-medium"), execution="belief")
    trace = run_agent(mission, Lookahead(), seed=2)
    path = tmp_path_factory.mktemp("log") / "run.mcap"
    write_mission_log(path, mission, trace)
    return mission, trace, read(path)


def test_messages_have_the_fields_of_foxgloves_schemas(ice):
    _, _, messages = ice
    known = {name.removeprefix("foxglove.") for name in TOPICS.values() if name.startswith("foxglove.")}
    seen = {schema for _, schema, _, _ in messages}
    assert {f"foxglove.{name}" for name in ("Grid", "PoseInFrame", "PosesInFrame", "Log")} <= seen
    for _, schema, _, message in messages:
        name = schema.removeprefix("foxglove.")
        if name in known:
            assert set(message) <= fields_of(name)
    assert foxglove.messages.PackedElementFieldNumericType.Float32.value == FLOAT32
    assert (foxglove.messages.LogLevel.Info.value, foxglove.messages.LogLevel.Warning.value) == (
        INFO,
        WARNING,
    )


def test_a_run_has_map_poses_belief_and_every_decision(ice):
    mission, trace, messages = ice
    ((_, ground),) = of_topic(messages, "/map")
    assert values(ground).shape == (12, 12)
    goal = {"pose": {"position": {"x": 0.5, "y": 0.5}}}  # first column, last row
    assert at(ground, goal) == 0 and values(ground)[2, :5].tolist() == pytest.approx([0.4] * 3 + [0.6] * 2)
    poses, grids = of_topic(messages, "/robot/pose"), of_topic(messages, "/belief")
    assert len(poses) == len(grids) == mission.horizon
    for (seconds, pose), (_, believed), (_, grid) in zip(
        poses, of_topic(messages, "/robot/believed"), grids, strict=True
    ):
        row, column = divmod(int(trace.states[int(seconds)]), 12)
        assert (pose["pose"]["position"]["x"], pose["pose"]["position"]["y"]) == (column + 0.5, 11.5 - row)
        assert values(grid).sum() == pytest.approx(1) and at(grid, believed) == values(grid).max()
    decisions = of_topic(messages, "/decisions")
    assert [m["step"] for _, m in decisions] == list(range(1, mission.horizon))
    assert tuple(m["step"] for _, m in decisions if m["update"]) == trace.times
    assert len(of_topic(messages, "/log")) == len(trace.times)


@pytest.mark.parametrize("execution", ["map", "belief", "localised"])
def test_beliefs_are_those_of_the_agent(execution):
    mission = make_mission(load_setting("nsbridge-05"), execution=execution)
    rule = LastMoment() if execution == "localised" else Lookahead()
    agent, robot = Agent.on(mission, rule), SimulatedRobot(mission.world, seed=5)
    found = list(beliefs(mission, run_agent(mission, rule, seed=5)))
    agent.start(robot.look())
    for t in range(mission.horizon):
        sight = (robot.look(),) if mission.robot.sees else ()
        if agent.due(*sight).update:
            agent.update(robot.look())
        known = agent.estimate if execution != "map" else np.eye(mission.world.states)[agent.estimate]
        np.testing.assert_allclose(found[t], known, atol=1e-12)
        robot.do(agent.act(*sight))
    assert len(found) == mission.horizon


def test_schedule_writes_a_log(tmp_path, capsys):
    path = tmp_path / "run.mcap"
    assert run(["schedule", "nsbridge-05", "--rule", "lookahead", "--out", str(path)]) == 0
    assert "foxglove_layout.json" in capsys.readouterr().out
    assert of_topic(read(path), "/decisions")


@pytest.mark.parametrize("execution", ["localised", "belief"])
def test_a_nav2_robot_writes_the_same_topics(execution, tmp_path):
    class Clock:
        now = 100.0

        def __call__(self):
            return self.now

    clock, cells = Clock(), CellMap.cut(hall(), cell=0.5)
    rule = FixedTimes((1, 3, 20, 30))
    scheduler = Nav2Scheduler(parse_setting(SETTING), rule, cells=cells, execution=execution)
    log = DriveLog(tmp_path / "drive.mcap", scheduler, clock)
    service = SchedulerService(
        scheduler, clock=clock, publish=log.record, decision_limit=20.0, planner_limit=20.0
    )
    service.on_pose(AWAY[0])
    service.on_path(AWAY, 0.0)
    for clock.now in (100.1, 101.1, 102.1):
        service.tick()
        service.settle(20)
    log.close()
    messages = read(tmp_path / "drive.mcap")
    assert {schema for _, schema, topic, _ in messages if TOPICS[topic] != schema} == set()
    ((_, ground),) = of_topic(messages, "/map")
    assert values(ground).sum() == scheduler.drive.cells.blocked.sum() > 0
    ((_, path),) = of_topic(messages, "/path")
    assert [(p["position"]["x"], p["position"]["y"]) for p in path["poses"]] == AWAY
    assert of_topic(messages, "/robot/pose")[0][1]["pose"]["position"]["x"] == AWAY[0][0]
    due = [m["step"] for _, m in of_topic(messages, "/decisions") if m["update"]]
    assert due and due[0] == 1
    assert bool(of_topic(messages, "/belief")) == (execution == "belief")


def test_the_layout_shows_every_topic_in_panels_that_it_defines():
    layout = json.loads(LAYOUT.read_text())

    def panels(part):
        return [part] if isinstance(part, str) else [*panels(part["first"]), *panels(part["second"])]

    assert sorted(panels(layout["layout"])) == sorted(layout["configById"])
    types = {name.partition("!")[0] for name in layout["configById"]}
    assert types == {
        "3D",
        "Plot",
        "RawMessages",
        "RosOut",
        "StateTransitions",
    }  # as Foxglove names its panels
    drawn = layout["configById"]["3D!replan"]["topics"].values()
    assert all(("arrowScale" in topic) == (topic.get("type") == "arrow") for topic in drawn)
    shown = set(re.findall(r'"(/[a-z/]+)[".]', json.dumps(layout["configById"])))
    assert shown == set(TOPICS)
