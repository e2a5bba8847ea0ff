"""A link and a file hold all that is on the screen."""

import html
import json
import re
import shlex
from urllib.parse import parse_qsl

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from replan.cli import run
from replan.errors import InputError
from replan.explore import panels
from replan.explore.link import Screen, fit_times, from_query, open_screen, parse_screen, to_query, to_toml
from replan.explore.model import drawn_drift, edit_setting
from replan.skip.spending import Spending
from replan.worlds.settings import list_names, load_setting, make_mission


def drawn_screen() -> Screen:
    points = (0.03, 0.2, 0.11, 0.4)
    setting = edit_setting(load_setting("two-burst"), n=9, budget=3, drift=drawn_drift(points, 50))
    return Screen(setting, (1, 20, 31), "belief", "lookahead", points)


@pytest.mark.parametrize("name", list_names("settings"))
def test_a_link_and_a_file_reproduce_every_built_in_setting(name, tmp_path):
    screen = open_screen(name)
    file = tmp_path / "explored.toml"
    file.write_text(to_toml(screen))
    assert screen.setting == load_setting(name)
    assert from_query(dict(parse_qsl(to_query(screen)))) == screen
    assert open_screen(file) == screen


def test_a_link_and_a_file_keep_a_drawn_profile_the_execution_and_the_rule(tmp_path):
    screen = drawn_screen()
    file = tmp_path / "explored.toml"
    file.write_text(to_toml(screen))
    assert from_query(dict(parse_qsl(to_query(screen)))) == screen
    assert open_screen(file) == screen


def test_other_commands_read_the_saved_file_as_a_setting(tmp_path, capsys):
    file = tmp_path / "explored.toml"
    file.write_text(to_toml(open_screen("two-burst")))
    answers = []
    for source in (str(file), "two-burst"):
        assert run(["regret", source, "--times", "1,17,33,49", "--json"]) == 0
        answers.append(json.loads(capsys.readouterr().out))
    assert answers[0]["regret"] == answers[1]["regret"]


@pytest.mark.parametrize(
    ("query", "line"),
    [
        ({"world": "moon"}, "'world' must be one of"),
        ({"setting": "two-burst"}, "unknown key 'setting'"),
        ({"world": "arrays", "file": "x.npz"}, "from a file"),
        ({"screen.times": "[1,2]"}, "2 update times given, but the budget is 4"),
        ({"screen.times": "[1,2.5,3,4]"}, "'screen.times.1' should be a valid integer, not 2.5"),
        ({"screen.times": "soon"}, "'screen.times' should be a valid list, not 'soon'"),
        (
            {"screen.execution": "guess"},
            "'screen.execution' should be 'map', 'belief' or 'localised', not 'guess'",
        ),
        ({"screen.rule": "dice"}, "'screen.rule' must be one of"),
        ({"screen.rule": "rules.py:Dice"}, "'screen.rule' must be one of"),
        ({"screen.points": "[0.1,7]"}, "'screen.points.1' should be less than or equal to 1, not 7"),
        ({"screen.points": "[0.1]"}, "'screen.points' should have at least 2 items"),
        ({"drift.colour": "red"}, "unknown key 'drift.colour'"),
        ({"colour": "red"}, "unknown key 'colour'"),
        ({"screen.colour": "red"}, "unknown key 'screen.colour'"),
        ({"screen": "3"}, "cannot both be given"),
        ({"budget": "50"}, "budget must lie between 1 and 49"),
        ({"n": "5000"}, "n = 5000 is too large to explore by hand"),
    ],
)
def test_a_bad_link_is_refused_in_one_line(query, line):
    good = dict(parse_qsl(to_query(open_screen("two-burst"))))
    with pytest.raises(InputError) as refused:
        from_query(query if {"world", "setting"} & set(query) else query | good | query)
    assert line in str(refused.value) and "\n" not in str(refused.value)


def test_a_link_as_text_opens_the_same_screen_on_another_machine():
    screen = open_screen("two-burst")
    for address in ("?", "http://127.0.0.1:2718/?"):
        assert open_screen(f"{address}{to_query(screen)}") == screen
    command = re.search(r'id="command">(.*?)</code>', panels.links(screen))
    assert open_screen(shlex.split(html.unescape(command[1]))[-1]) == screen


def test_a_saved_world_from_a_file_names_the_file_without_its_folder(tmp_path):
    mission = make_mission(load_setting("two-burst"))
    kernels = np.stack([mission.world.kernel(t).general().dense() for t in range(3)])
    np.savez(tmp_path / "mine.npz", kernels=kernels, rewards=np.zeros((144, 5)))
    data = {"world": "arrays", "file": str(tmp_path / "mine.npz"), "planning_horizon": 2, "budget": 1}
    screen = parse_screen(data)
    assert 'file = "mine.npz"' in to_toml(screen)
    (tmp_path / "explored.toml").write_text(to_toml(screen))
    assert open_screen(tmp_path / "explored.toml").setting.file == str(tmp_path / "mine.npz")
    assert "mine.npz" in panels.links(screen) and str(tmp_path) not in panels.links(screen)


@given(
    times=st.lists(st.integers(-3, 80), max_size=12),
    horizon=st.integers(2, 60),
    data=st.data(),
)
def test_times_are_made_to_fit_another_budget_and_horizon(times, horizon, data):
    budget = data.draw(st.integers(1, horizon - 1))
    fitted = fit_times(times, budget=budget, horizon=horizon)
    Spending.exactly(budget).check_times(fitted, horizon)
    assert fit_times(fitted, budget=budget, horizon=horizon) == fitted
