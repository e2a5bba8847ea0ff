"""The scheduler that a setting file describes."""

import pytest
from tests.robots.ros2.conftest import TEXT

from replan.errors import InputError
from replan.robots.ros2.scheduler_file import load_scheduler

SCHEDULER = """
[scheduler]
rule = "drift-threshold"
parameters = { threshold = 0.3 }
execution = "belief"
"""


@pytest.fixture
def load(tmp_path):
    def make(text=TEXT + SCHEDULER, **given):
        (tmp_path / "robot.toml").write_text(text)
        return load_scheduler(tmp_path / "robot.toml", read_map=False, **given)

    return make


def test_rule_and_execution_are_those_of_the_file(load):
    scheduler = load()
    assert (scheduler.rule.name, scheduler.rule.threshold) == ("drift-threshold", 0.3)
    assert (scheduler.execution, scheduler.cells) == ("belief", None)


def test_what_is_given_takes_precedence(load):
    assert load(rule="periodic").rule.name == "periodic"
    assert load(rule="").rule.name == "drift-threshold"
    assert load(parameters={"threshold": 0.7}).rule.threshold == 0.7
    assert load(execution="map").execution == "map"


def test_without_the_section_it_looks_ahead_from_the_likeliest_cell(load):
    scheduler = load(TEXT)
    assert (scheduler.rule.name, scheduler.execution) == ("lookahead", "map")


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("parameters", "parameter", "unknown key 'scheduler.parameter'"),
        ('"belief"', '"guess"', "execution must be"),
        ("threshold = 0.3", "thresh = 0.3", "thresh"),
        ('rule = "drift-threshold"', 'rule = "never"', "never"),
        ('world = "map"\ncell = 0.5\nspeed = 0.5', 'world = "rover"\nn = 5\nhorizon = 9', "needs world"),
    ],
)
def test_what_cannot_be_used_is_one_line(load, old, new, said):
    with pytest.raises(InputError, match=said) as refusal:
        load((TEXT + SCHEDULER).replace(old, new))
    assert "\n" not in str(refusal.value)
