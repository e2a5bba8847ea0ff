"""The simulated robot of examples/ros2: its halls, its triggers, and the table that the docs show."""

import csv
import tomllib
from pathlib import Path

import pytest
import simulated_nav2
from hall_robot import SETTING, TRIGGERS, Asking, HallRobot, Timer, drive_mission
from halls import HALLS, draw_hall
from tests.robots.ros2.dds_peer import own_domain

from replan.worlds.settings import parse_setting

TABLES = Path(__file__).parents[2] / "docs" / "tables"


@pytest.mark.parametrize("name", HALLS)
def test_in_every_hall_it_is_as_fast_as_1_hz_with_a_twentieth_of_the_replans(name):
    asking = TRIGGERS["replan, last-moment"]()
    often, ours = [], []
    for seed in range(4):
        hall = draw_hall(name, seed)
        often.append(drive_mission(HallRobot(hall, seed), Timer(1)))
        ours.append(drive_mission(HallRobot(hall, seed), asking))
    assert all(driven.arrived for driven in ours)
    replans = sum(len(driven.replans) for driven in ours)
    assert replans <= sum(len(driven.replans) for driven in often) / 20
    assert sum(driven.seconds for driven in ours) <= 1.1 * sum(driven.seconds for driven in often)
    if name == "nothing changes":
        assert max(len(driven.replans) for driven in ours) <= 1


def test_the_setting_of_the_simulation_knows_nothing_of_what_will_change():
    setting = parse_setting(tomllib.loads(SETTING))
    assert (setting.patches, setting.forecast, setting.drift.profile(9).std()) == ([], None, 0.0)
    assert isinstance(TRIGGERS["replan, last-moment"](), Asking)


def test_a_seed_draws_the_same_hall_again_and_another_seed_another():
    for name in list(HALLS)[:-1]:
        assert draw_hall(name, 3).changes == draw_hall(name, 3).changes != draw_hall(name, 4).changes


def test_the_simulated_robot_decides_over_dds_as_in_one_process(capsys, tmp_path):
    with own_domain() as domain:
        run = ["--missions", "2", "--halls", "closing door", "--dds", "2", "--domain", str(domain)]
        simulated_nav2.main([*run, "--out", str(tmp_path)])
    assert "over DDS: 2 of 2 missions the same" in capsys.readouterr().out
    rows = figures_of_triggers(tmp_path / "nav2.csv")["closing door"]
    assert 0 < rows["replan, last-moment"]["replans"] <= rows["1 Hz, Nav2's default"]["replans"] / 20
    assert (tmp_path / "nav2.md").read_text().count("closing door") == len(rows) == 4


def figures_of_triggers(path: Path) -> dict[str, dict[str, dict[str, float]]]:
    """hall -> trigger -> column -> figure."""
    found: dict[str, dict[str, dict[str, float]]] = {}
    for row in csv.DictReader(path.read_text().splitlines()):
        hall, trigger = row.pop("hall"), row.pop("trigger")
        found.setdefault(hall, {})[trigger] = {name: float(value) for name, value in row.items()}
    return found


def test_the_table_of_triggers_shows_what_the_docs_say():
    found = figures_of_triggers(TABLES / "nav2.csv")
    still = found.pop("nothing changes")["replan, last-moment"]
    assert still["most"] <= 1
    as_fast = 0
    for rows in found.values():
        often, ours = rows["1 Hz, Nav2's default"], rows["replan, last-moment"]
        assert ours["replans"] <= often["replans"] / 20
        assert ours["arrived"] == often["arrived"] == 1
        as_fast += ours["seconds to the goal"] <= 1.03 * often["seconds to the goal"]
    assert len(found) == 6
    assert as_fast >= 5


@pytest.mark.slow
def test_the_table_of_triggers_is_what_the_example_writes(tmp_path):
    simulated_nav2.main(["--missions", "100", "--out", str(tmp_path)])
    for name in ("nav2.md", "nav2.csv"):
        assert (tmp_path / name).read_text() == (TABLES / name).read_text()
