"""From logs of simulated missions with known drift to worlds that other commands take."""

import json

import numpy as np
import pytest
from rosbags.rosbag2 import StoragePlugin, Writer
from rosbags.typesys import Stores, get_typestore
from typer.testing import CliRunner

from replan.cli import app, run
from replan.errors import InputError
from replan.estimate.observations import Transitions
from replan.model.slip import MOVES, SlipKernel
from replan.robots.logs.bags import cell_log, read_bag
from replan.robots.logs.log_drift import drift_between, interval, usual_outcomes, windows
from replan.robots.logs.log_tables import parse_duration, read_log
from replan.worlds.cell_map import CellMap
from replan.worlds.map_file import read_map

SIDE, STEPS = 12, 1500
SLIP = np.linspace(0.05, 0.35, STEPS)
STORE = get_typestore(Stores.ROS2_JAZZY)


def mission(seed, steps=STEPS):
    """t, s, a, next of a robot that drives between random goals on a slippery grid, away from its border."""
    draw = np.random.default_rng(seed)
    state, goal = 65, 66
    for t in range(steps):
        if t % 40 == 0 or state == goal:
            goal = int(draw.integers(2, SIDE - 2) * SIDE + draw.integers(2, SIDE - 2))
        (i, j), (k, m) = divmod(state, SIDE), divmod(goal, SIDE)
        action = 0 if m > j else 1 if m < j else 2 if k > i else 3 if k < i else 4
        kernel = SlipKernel((SIDE, SIDE), SLIP[t])
        following = int(kernel.sample(np.array([state]), np.array([action]), draw.random(1))[0])
        yield t, state, action, following
        state = following


def write_csv(path, seed, *, header="stamp,cell,command,after", step=0.1, steps=STEPS):
    draw = np.random.default_rng(seed)
    lines = [
        f"{1.7e9 + t * step + draw.uniform(0, 0.2) * step:.4f},{s},{a},{following}"
        for t, s, a, following in mission(seed, steps)
    ]
    path.write_text("\n".join([header, *lines]) + "\n")


def summary(*arguments):
    result = CliRunner().invoke(app, ["log", *map(str, arguments), "--json"], catch_exceptions=False)
    return json.loads(result.stdout)


def covered(answer, truth):
    """Whether every window holds the mean of the truth over it, and the bound its fastest change."""
    inside = [
        window["low"] <= truth[window["begin"] : window["end"]].mean() <= window["high"]
        for window in answer["windows"]
    ]
    return all(inside) and answer["drift_bound"] >= np.abs(np.diff(truth)).max() * (
        0.8 if answer["quantity"] == "slip" else 1.0
    )


@pytest.mark.parametrize("seed", range(2))
def test_a_csv_of_real_valued_times_covers_the_truth_and_becomes_a_world(tmp_path, monkeypatch, seed):
    monkeypatch.chdir(tmp_path)
    write_csv(tmp_path / "log.csv", seed)
    answer = summary("log.csv", "--columns", "stamp,cell,command,after", "--step", "100ms")
    assert (answer["transitions"], answer["steps"], answer["runs"], answer["gaps"]) == (STEPS, STEPS, 1, 0)
    assert covered(answer, 0.8 * SLIP)
    assert (tmp_path / "log-world.png").stat().st_size > 1000


def test_regret_takes_the_world_of_a_csv(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write_csv(tmp_path / "log.csv", 0, header="t,s,a,next", steps=60)
    summary("log.csv")
    assert run(["regret", "log-world.toml", "--rule", "periodic"]) == 0


def test_the_summary_is_ten_lines_whatever_the_length(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write_csv(tmp_path / "log.csv", 0, header="t,s,a,next", steps=400)
    shown = CliRunner().invoke(app, ["log", "log.csv"], catch_exceptions=False).stdout
    assert len(shown.splitlines()) <= 10


def test_states_and_actions_alone_are_resampled_to_steps(tmp_path):
    rows = ["t,s,a"]
    for t in range(40):  # four samples a step of 1 s; the state changes with each step
        rows += [f"{t + k / 4},{t % 5},1" for k in range(4)]
    (tmp_path / "log.csv").write_text("\n".join(rows))
    log = read_log(tmp_path / "log.csv", step=1.0)
    assert len(log.seen) == 39
    assert (log.seen.next_states == (log.seen.states + 1) % 5).all()


def test_gaps_and_several_runs_are_told_apart(tmp_path):
    first = [f"{t * 0.5},{t % 4},0" for t in range(20)]
    later = [f"{30 + t * 0.5},{t % 4},0" for t in range(20)]
    again = [f"{t * 0.5},{t % 4},0" for t in range(20)]
    (tmp_path / "log.csv").write_text("\n".join(["t,s,a", *first, *later, *again]))
    log = read_log(tmp_path / "log.csv", step=0.5)
    assert (log.runs, log.gaps) == (2, 1)
    assert len(log.seen) == 19 * 3, "no transition across the gap or into another run"
    assert log.seen.times.max() == 60 + 18


@pytest.mark.parametrize(("text", "seconds"), [("0.1s", 0.1), ("100ms", 0.1), ("2", 2.0), ("1 min", 60.0)])
def test_durations(text, seconds):
    assert parse_duration(text) == pytest.approx(seconds)


@pytest.mark.parametrize("text", ["", "fast", "-1s", "0", "1 parsec", "nan"])
def test_what_is_no_duration(text):
    with pytest.raises(InputError, match="a step is a time"):
        parse_duration(text)


def test_intervals_of_shares_hold_as_often_as_they_say():
    draw = np.random.default_rng(0)
    for p in (0.05, 0.3):
        held = [low <= p <= high for low, high in (interval(int(h), 60) for h in draw.binomial(60, p, 2000))]
        assert np.mean(held) >= 0.94


def test_windows_of_a_steady_world_do_not_exclude_that_nothing_drifts():
    draw = np.random.default_rng(1)
    excluded = 0
    for _ in range(50):
        times = np.sort(draw.integers(0, 500, 400))
        excluded += drift_between(windows(times, draw.random(400) < 0.2, last=500)).low > 0
    assert excluded <= 5


def test_the_usual_outcome_is_that_of_the_pair_where_pairs_repeat():
    rows = [(t, 0, 0, 1 if t % 4 else 2) for t in range(40)]
    usual = usual_outcomes(Transitions.of_rows(rows), states=3, actions=1)
    assert usual.by == "state and action"
    assert usual.unusual.mean() == 0.25
    assert usual.destination.tolist() == [[1], [-1], [-1]]


def write_map(folder):
    pixels = np.full((120, 120), 254, dtype=np.uint8)
    (folder / "map.pgm").write_bytes(b"P5 120 120 255\n" + pixels.tobytes())
    (folder / "map.yaml").write_text("image: map.pgm\nresolution: 0.05\norigin: [-2, 1, 0]\nnegate: 0\n")
    return folder / "map.yaml"


def pose_message(x, y, yaw, seconds):
    types = STORE.types
    stamp = types["builtin_interfaces/msg/Time"](int(seconds), round(seconds % 1 * 1e9))
    header = types["std_msgs/msg/Header"](stamp, "map")
    turn = types["geometry_msgs/msg/Quaternion"](0.0, 0.0, float(np.sin(yaw / 2)), float(np.cos(yaw / 2)))
    pose = types["geometry_msgs/msg/Pose"](types["geometry_msgs/msg/Point"](x, y, 0.0), turn)
    with_covariance = types["geometry_msgs/msg/PoseWithCovariance"](pose, np.zeros(36))
    return types["geometry_msgs/msg/PoseWithCovarianceStamped"](header, with_covariance)


def twist(speed):
    vector = STORE.types["geometry_msgs/msg/Vector3"]
    return STORE.types["geometry_msgs/msg/Twist"](vector(speed, 0.0, 0.0), vector(0.0, 0.0, 0.0))


def write_bag(path, cells, rows, *, step=1.0, plugin=StoragePlugin.SQLITE3, start=1000.0):
    """Ten poses a step, half of it turning on the spot and half driving to the next cell's centre."""
    pose_type, twist_type = "geometry_msgs/msg/PoseWithCovarianceStamped", "geometry_msgs/msg/Twist"
    with Writer(path, version=9, storage_plugin=plugin) as writer:
        poses = writer.add_connection("/amcl_pose", pose_type, typestore=STORE)
        commands = writer.add_connection("/cmd_vel", twist_type, typestore=STORE)
        for t, state, action, following in rows:
            here, there = cells.positions_of([state, following])
            yaw = float(np.arctan2(-MOVES[action][0], MOVES[action][1]))
            for k in range(10):
                now = start + (t + k / 10) * step
                x, y = here + (there - here) * max(0.0, (k - 5) / 5)
                nanoseconds = round(now * 1e9)
                command = twist(0.0 if action == 4 else cells.cell / step)
                writer.write(poses, nanoseconds, STORE.serialize_cdr(pose_message(x, y, yaw, now), pose_type))
                writer.write(commands, nanoseconds + 1, STORE.serialize_cdr(command, twist_type))


@pytest.fixture
def cells(tmp_path):
    return CellMap.cut(read_map(write_map(tmp_path)), cell=0.5)


@pytest.mark.parametrize("plugin", [StoragePlugin.SQLITE3, StoragePlugin.MCAP])
def test_a_bag_covers_the_truth_and_becomes_a_world(tmp_path, cells, monkeypatch, plugin):
    monkeypatch.chdir(tmp_path)
    steps = 300
    rows = list(mission(3, steps))
    write_bag(tmp_path / "drive", cells, rows, plugin=plugin)
    answer = summary("drive", "--map", "map.yaml", "--out", "drive-world")
    assert answer["step"] == pytest.approx(1.0)
    assert (answer["runs"], answer["gaps"], answer["jumps"]) == (1, 0, 0)
    assert abs(answer["transitions"] - steps) <= 2
    assert covered(answer, SLIP[:steps])
    assert run(["regret", "drive-world.toml", "--rule", "periodic"]) == 0


def test_the_transitions_of_a_bag_are_those_of_the_mission(tmp_path, cells):
    rows = list(mission(5, 60))
    write_bag(tmp_path / "drive", cells, rows)
    log = cell_log(read_bag(tmp_path / "drive"), cells)
    seen = np.column_stack([log.seen.times, log.seen.states, log.seen.actions, log.seen.next_states])
    assert seen.tolist() == [list(row) for row in rows[: len(seen)]]
    assert len(seen) >= 58


def test_a_kidnapping_a_gap_and_a_clock_reset_are_told_apart(tmp_path, cells):
    recording_rows = list(mission(7, 40))
    write_bag(tmp_path / "drive", cells, recording_rows)
    found = read_bag(tmp_path / "drive")
    poses, times = found.poses.copy(), found.times.copy()
    poses[200:, 0] += 2.0 * np.where(poses[200:, 0] > 1, -1, 1)  # carried 2 m away in a tenth of a second
    jumped = cell_log(type(found)(times, poses, found.command_times, found.commands), cells)
    assert (jumped.jumps >= 1, jumped.gaps, jumped.runs) == (True, 0, 1)
    late = times.copy()
    late[200:] += 30.0
    paused = cell_log(type(found)(late, found.poses, found.command_times, found.commands), cells)
    assert (paused.jumps, paused.gaps, paused.runs) == (0, 1, 1)
    reset, reset_commands = times.copy(), found.command_times.copy()
    reset[200:] -= 15.0
    reset_commands[200:] -= 15.0
    again = cell_log(type(found)(reset, found.poses, reset_commands, found.commands), cells)
    assert (again.jumps, again.gaps, again.runs) == (0, 0, 2)


def _foreign(path):
    path.write_bytes(b"\x89PNG\r\n\x1a\n" + bytes(100))


def _empty(path):
    path.write_bytes(b"")


def _cut(path):
    _foreign(path)
    path.write_bytes(path.read_bytes()[:7])


@pytest.mark.parametrize("name", ["log.csv", "drive.db3", "drive.mcap"])
@pytest.mark.parametrize("damage", [_foreign, _empty, _cut])
def test_foreign_cut_and_empty_files_are_one_line(tmp_path, capfd, monkeypatch, name, damage):
    monkeypatch.chdir(tmp_path)
    write_map(tmp_path)
    damage(tmp_path / name)
    assert run(["log", name, "--map", "map.yaml"]) == 2
    assert len(capfd.readouterr().err.splitlines()) == 1


def test_a_truncated_bag_is_one_line(tmp_path, cells, capfd, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write_bag(tmp_path / "drive", cells, list(mission(5, 20)))
    data = next((tmp_path / "drive").glob("*.db3"))
    data.write_bytes(data.read_bytes()[:3000])
    assert run(["log", "drive", "--map", "map.yaml"]) == 2
    assert len(capfd.readouterr().err.splitlines()) == 1


@pytest.mark.parametrize(
    "arguments",
    [
        ["missing.csv"],
        ["log.csv", "--columns", "a,b"],
        ["log.csv", "--columns", "when,s,a,next"],
        ["log.csv", "--step", "soon"],
        ["log.csv", "--goal", "900"],
        ["log.csv", "--drift-bound", "2"],
    ],
)
def test_wrong_options_are_one_line(tmp_path, capfd, monkeypatch, arguments):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "log.csv").write_text("t,s,a,next\n0,0,0,1\n1,1,0,0\n")
    assert run(["log", *arguments]) == 2
    assert len(capfd.readouterr().err.splitlines()) == 1
