"""`replan ros` over real DDS: a process of its own, asked as Nav2 asks."""

import math
import signal
import time
from contextlib import ExitStack

import pytest
from cyclonedds.qos import Policy, Qos
from tests.robots.ros2.conftest import AWAY, TEXT
from tests.robots.ros2.dds_peer import Robot, own_domain, path_message, running

from replan.robots.ros2 import dds, messages
from replan.robots.ros2.dds import Bus
from replan.robots.ros2.messages import RESPONSES


@pytest.fixture
def setting(tmp_path):
    rows = bytearray(b"\xfe" * 10_000)
    for row in range(20, 100):
        rows[row * 100 + 50] = 0
    (tmp_path / "map.pgm").write_bytes(b"P5 100 100 255\n" + bytes(rows))
    (tmp_path / "map.yaml").write_text("image: map.pgm\nresolution: 0.1\norigin: [0, 0, 0]\nnegate: 0\n")
    path = tmp_path / "setting.toml"
    text = TEXT.replace("speed = 0.5", "speed = 5.0")
    path.write_text(f'file = "map.yaml"\nhorizon = 600{text}[scheduler]\nrule = "periodic"\n')
    return path


@pytest.fixture
def domain():
    with own_domain() as number:
        yield number


@pytest.fixture
def serve(setting, domain):
    """Start `replan ros` and a robot that has discovered it; both end with the test."""
    with ExitStack() as until_the_end:

        def start(*options, nav2="1.3"):
            server = until_the_end.enter_context(running(setting, domain, "--nav2", nav2, *options))
            robot = until_the_end.enter_context(Robot(domain, nav2))
            robot.ready()
            return server, robot

        yield start


@pytest.mark.parametrize(("nav2", "other"), [("1.3", "1.5"), ("1.4", "1.3"), ("1.5", "1.4")])
def test_each_shape_of_the_service_is_answered_and_another_is_refused_aloud(serve, nav2, other):
    server, robot = serve("--planner", "", nav2=nav2)
    first = robot.ask()
    assert first.is_valid
    assert nav2 != "1.5" or first.success
    robot.send_path(AWAY, 1.0)
    robot.until_status(lambda status: status["due"])
    assert not robot.ask().is_valid
    assert robot.ask().is_valid, "said once; then it waits for a path"
    robot.send_path(AWAY, 2.0)
    status = robot.status()
    assert (status["budget"], status["budget_left"]) == (4, 3)
    robot.wait(lambda: {due.data for due in robot.heard["due"]} == {True, False})
    shown = robot.heard["diagnostics"][-1].status[0]
    assert shown.name == "replan"
    assert {value.key for value in shown.values} >= {"reason", "rule", "budget_left"}
    foreign = robot.client("/replan/is_path_valid", "1.3")  # the type of the oldest, the bytes of another
    robot.wait(lambda: foreign._writer.get_matched_subscriptions())
    lost = foreign.call(messages.REQUESTS[other](path=path_message(AWAY)))
    robot.wait(lambda: any(array.status[0].level == 2 for array in robot.heard["diagnostics"]))
    assert f"--nav2 {other}" in robot.heard["diagnostics"][-1].status[0].message
    assert robot.ask().is_valid
    assert not lost.done()
    code, out, err = server.stop()
    assert code == 0
    assert "4 calls answered, 1 refused" in out
    assert f"--nav2 {other}" in err


def test_the_type_hash_of_a_client_counts_even_where_its_bytes_would_fit(serve, monkeypatch):
    other = next(key for key, version in messages.TYPE_HASHES.items() if version == "1.4")
    process, robot = serve("--planner", "")
    marked = Policy.Userdata(f"clientid=1;typehash={other};".encode())
    plain = dds._service_qos
    monkeypatch.setattr(dds, "_service_qos", lambda key: Qos(marked, base=plain(key)))
    hashed = robot.client("/replan/is_path_valid", "1.3")
    robot.wait(lambda: hashed.ready)
    lost = hashed.call(messages.REQUESTS["1.3"](path=path_message(AWAY)))
    robot.wait(lambda: any(array.status[0].level == 2 for array in robot.heard["diagnostics"]))
    assert robot.ask().is_valid
    assert not lost.done()
    assert "1 refused" in process.stop()[1]


def test_the_planners_own_check_is_asked_and_its_no_is_passed_on(setting, domain):
    seen, found = [], []

    def check(call):
        seen.append(messages.REQUESTS["1.3"].deserialize(call.data))
        reply(call, RESPONSES["1.3"](is_valid=not found, invalid_pose_indices=found))

    with Robot(domain) as robot:
        reply = robot.bus.serve("/is_path_valid", messages.REQUESTS["1.3"], RESPONSES["1.3"], check)
        with running(setting, domain, "--planner-limit", 20):
            robot.ready()
            for _ in range(10):  # until the two have discovered each other
                if not seen:
                    robot.ask()
            free = robot.ask(poses=4)
            found.append(1)
            blocked = robot.ask(poses=2)
    assert (free.is_valid, free.invalid_pose_indices) == (True, [])
    assert (blocked.is_valid, blocked.invalid_pose_indices) == (False, [1])
    assert [len(request.path.poses) for request in seen[-2:]] == [4, 2]


def test_a_thousand_calls_and_none_is_lost(serve):
    server, robot = serve("--planner", "")
    request = messages.REQUESTS["1.3"](path=path_message(AWAY))
    pending = []
    for _ in range(1000):
        pending.append(robot.validity.call(request))
        if len(pending) % 20 == 0:
            robot.wait(pending[-1].done)
    robot.wait(lambda: all(call.done() for call in pending))
    assert all(call.result().is_valid for call in pending)
    _, out, _ = server.stop()
    assert "1000 calls" in out


def test_without_an_answer_of_the_planner_the_path_is_invalid_and_who_leaves_meanwhile_harms_nobody(
    serve, domain
):
    server, robot = serve("--planner-limit", 0.5)  # every call waits for a planner
    for _ in range(3):
        with Robot(domain) as leaving:
            leaving.ready()
            leaving.validity.call(messages.REQUESTS["1.3"](path=path_message(AWAY)))
    assert not robot.ask().is_valid
    assert server.process.poll() is None


@pytest.mark.parametrize("how", [signal.SIGTERM, signal.SIGKILL])
def test_killed_and_restarted_it_goes_on_with_its_mission_and_its_clients(serve, tmp_path, how):
    server, robot = serve("--planner", "", "--snapshot", tmp_path / "state")
    robot.send_path(AWAY, 1.0)
    robot.until_status(lambda status: status["due"])
    robot.send_path(AWAY, 2.0)
    assert robot.status()["budget_left"] == 3
    server.stop(how)
    server.start()
    end = time.monotonic() + 30
    while True:  # calls to the dead server are lost; one to the new server is answered
        assert time.monotonic() < end
        pending = robot.validity.call(messages.REQUESTS["1.3"](path=path_message(AWAY)))
        robot.bus.spin(0.2)
        robot.bus.spin(0.2)
        if pending.done():
            break
    status = robot.until_status(lambda status: status["mission"])
    assert status["budget_left"] == 3


def test_a_late_joiner_gets_the_map_and_the_last_decision(setting, domain):
    setting.write_text(setting.read_text().replace('file = "map.yaml"\n', ""))
    info = messages.MapMetaData(resolution=0.1, width=100, height=100)
    with Robot(domain) as robot:
        publish = robot.bus.publisher("/map", messages.OccupancyGrid, latched=True)
        publish(messages.OccupancyGrid(info=info, data=[0] * 10_000))
        with running(setting, domain, "--map-topic", "/map", "--planner", ""):
            robot.ready()
            robot.send_path(AWAY, 1.0)
            robot.until_status(lambda status: status["due"])
            with Robot(domain) as late:
                late.wait(lambda: late.heard["due"])
                assert late.heard["due"][-1].data


@pytest.mark.parametrize("source", ["pose", pytest.param("tf", marks=pytest.mark.slow), "odometry"])
def test_the_robots_pose_ends_the_mission_from_any_source(serve, source):
    _, robot = serve("--planner", "", "--pose-from", source)
    robot.send_path(AWAY, 1.0)
    send = SOURCES[source](robot.bus)

    def at_goal(status):
        send()
        return status["reason"] == "the goal is reached"

    robot.until_status(at_goal)


def _pose(bus):
    send = bus.publisher("/amcl_pose", messages.PoseWithCovarianceStamped)
    pose = messages.PoseWithCovariance(messages.Pose(messages.Point(8.75, 1.25)))
    return lambda: send(messages.PoseWithCovarianceStamped(messages.Header(frame_id="map"), pose))


def _transforms(bus):
    """A map frame turned by 90 degrees against odometry: (1.25, -8.75) there is (8.75, 1.25) on the map."""
    fixed, moving = (
        bus.publisher("/tf_static", messages.TFMessage, latched=True),
        bus.publisher("/tf", messages.TFMessage),
    )
    turn = messages.Quaternion(z=math.sin(math.pi / 4), w=math.cos(math.pi / 4))
    to_map = messages.Transform(rotation=turn)
    there = messages.Transform(messages.Vector3(1.25, -8.75))

    def send():
        fixed(
            messages.TFMessage([messages.TransformStamped(messages.Header(frame_id="map"), "odom", to_map)])
        )
        moving(
            messages.TFMessage(
                [messages.TransformStamped(messages.Header(frame_id="odom"), "base_link", there)]
            )
        )

    return send


def _odometry(bus):
    send, transforms = bus.publisher("/odom", messages.Odometry), _transforms(bus)
    pose = messages.PoseWithCovariance(messages.Pose(messages.Point(1.25, -8.75)))

    def both():
        transforms()
        send(messages.Odometry(messages.Header(frame_id="odom"), "base_link", pose))

    return both


SOURCES = {"pose": _pose, "tf": _transforms, "odometry": _odometry}


@pytest.mark.parametrize(
    ("distro", "size"), [pytest.param("humble", 24, marks=pytest.mark.slow), ("jazzy", 16)]
)
def test_it_shows_as_a_node_if_asked_to(setting, domain, distro, size):
    participant = messages.message_type("rmw_dds_common/msg/ParticipantEntitiesInfo", distro)
    bus, heard = Bus(domain, localhost=True), []
    bus._reader("ros_discovery_info", participant, dds._topic_qos(latched=True), heard.append)
    with running(setting, domain, "--planner", "", "--node-name", "replan", "--distro", distro) as server:
        end = time.monotonic() + 30
        while not heard and time.monotonic() < end:
            bus.spin(0.05)
        node = heard[0].node_entities_info_seq[0]
        assert (node.node_namespace, node.node_name) == ("/", "replan")
        assert len(node.reader_gid_seq) >= 5
        assert all(len(gid.data) == size for gid in [heard[0].gid, *node.writer_gid_seq])
        server.stop()
    bus.close()


@pytest.mark.slow
def test_a_minute_of_poses_at_100_hz_takes_no_memory(serve):
    server, robot = serve("--planner", "")
    robot.send_path(AWAY, 1.0)
    pose = messages.PoseWithCovariance(messages.Pose(messages.Point(2.0, 2.0)))
    message = messages.PoseWithCovarianceStamped(messages.Header(frame_id="map"), pose)
    used = []
    begin = time.monotonic()
    for tick in range(6000):
        robot.pose(message)
        robot.bus.spin(0.001)
        time.sleep(max(0.0, begin + tick * 0.01 - time.monotonic()))
        if tick % 1000 == 999:
            used.append(server.memory())
    assert max(used[1:]) - used[1] < 4_000_000, used
