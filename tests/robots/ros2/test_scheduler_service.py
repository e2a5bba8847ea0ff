"""Answers within time limits: the rule, the planner's own check, and either of them late."""

import threading
from concurrent.futures import Future
from dataclasses import dataclass, field

import pytest
from tests.robots.ros2.conftest import AWAY, TEXT, hall

from replan.errors import InputError
from replan.robots.ros2.nav2_scheduler import Nav2Scheduler
from replan.robots.ros2.scheduler_service import ERROR, OK, WARN, SchedulerService, load_scheduler
from replan.schedule.fixed import FixedTimes

SCHEDULER = """
[scheduler]
rule = "drift-threshold"
parameters = { threshold = 0.3 }
execution = "belief"
"""


@dataclass
class Reply:
    is_valid: bool
    invalid_pose_indices: list = field(default_factory=list)


def settled(reply):
    done = Future()
    done.set_result(reply)
    return done


class Clock:
    now = 0.0

    def __call__(self):
        return self.now


def serving(setting, cells, *, rule=None, **options):
    clock = Clock()
    scheduler = Nav2Scheduler(setting, rule or FixedTimes((1, 10, 20, 30)), cells=cells)
    options = {"decision_limit": 20.0, "planner_limit": 20.0} | options
    service = SchedulerService(scheduler, clock=clock, **options)
    service.on_path(AWAY, 0.0)
    service.settle(20)
    return service, clock


@pytest.mark.parametrize("due", [False, True])
@pytest.mark.parametrize("free", [False, True])
def test_invalid_if_either_says_so(setting, cells, due, free):
    service, clock = serving(setting, cells)
    clock.now = 1.0 if due else 0.5
    answer = service.answer(settled(Reply(free, [] if free else [3, 4])))
    assert answer.valid == (free and not due)
    assert answer.invalid_poses == ([] if free else [3, 4])


def test_a_planners_check_that_does_not_answer_makes_the_path_invalid(setting, cells):
    service, _ = serving(setting, cells, planner_limit=0.05)
    answer = service.answer(Future())
    assert not answer.valid
    assert "did not answer" in answer.reason


def test_without_forwarding_the_rule_alone_decides(setting, cells):
    service, clock = serving(setting, cells)
    assert service.answer().valid
    clock.now = 1.0
    assert not service.answer().valid
    assert service.answer().valid, "said once, and then patience"


@pytest.mark.parametrize("free", [False, True])
def test_after_the_decisions_time_limit_the_planners_answer_alone_counts(setting, cells, free):
    freed = threading.Event()
    service, clock = serving(setting, cells)
    service.decision_limit = 0.05
    service._post(lambda now: freed.wait())
    clock.now = 1.0
    answer = service.answer(settled(Reply(free)))
    assert answer.valid == free
    freed.set()
    service.settle()
    service.decision_limit = 20.0
    assert service.scheduler.drive.asked is None, "a late decision has not been said"
    assert not service.answer(settled(Reply(True))).valid


def test_reports_tell_of_every_change(setting, cells):
    reports = []
    service, clock = serving(setting, cells, publish=reports.append)
    clock.now = 1.0
    service.tick()
    service.settle()
    assert [report.due for report in reports][-1]
    assert reports[-1].level == OK
    assert reports[-1].values["budget_left"] == "4"
    service.answer()
    clock.now = 60.0
    service.tick()
    service.settle()
    assert reports[-1].level == WARN, "asked for a path that has not come"
    count = len(reports)
    service.tick()
    service.settle()
    assert len(reports) == count, "nothing new, nothing said"
    service.trouble = "something else"
    service.tick()
    service.settle()
    assert reports[-1].level == ERROR


def test_a_map_that_cannot_be_used_is_reported_not_raised(setting, cells):
    service, _ = serving(setting, cells)
    service.on_map(hall())
    service.settle(20)
    assert not service.trouble
    service.on_map(None)
    service.settle(20)
    assert "AttributeError" in service.trouble
    assert service.answer().valid


def test_a_restarted_service_goes_on_from_its_folder(setting, cells, tmp_path):
    service, clock = serving(setting, cells, snapshot=tmp_path)
    assert not service.resumed
    clock.now = 1.0
    assert not service.answer().valid
    service.on_path(AWAY, 1.0)
    service.settle(20)
    scheduler = Nav2Scheduler(setting, FixedTimes((1, 10, 20, 30)), cells=cells)
    again = SchedulerService(scheduler, decision_limit=20.0, snapshot=tmp_path, clock=clock)
    assert again.resumed
    assert again.status()[1]["budget_left"] == 3
    clock.now = 9.0
    assert again.answer().valid
    clock.now = 10.0
    assert not again.answer().valid


@pytest.mark.parametrize("limits", [{"decision_limit": 0.0}, {"planner_limit": float("nan")}])
def test_limits_are_positive(setting, cells, limits):
    with pytest.raises(InputError, match="limit"):
        serving(setting, cells, **limits)


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


def test_without_the_section_the_robot_is_localised_and_replans_at_the_last_moment(load):
    scheduler = load(TEXT)
    assert (scheduler.rule.name, scheduler.execution) == ("last-moment", "localised")
    assert load(TEXT, execution="belief").rule.name == "lookahead"


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
