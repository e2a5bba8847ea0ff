"""The behaviours of examples/behaviour_tree.py decide as the agent's own loop does."""

import runpy

import py_trees
import pytest
from py_trees.common import Status

from doc_pages import ROOT
from replan import Agent, Lookahead, SimulatedRobot, load_setting, make_mission
from replan.evaluation.agent_runs import run_agent
from replan.schedule.last_moment import LastMoment


@pytest.fixture(scope="module")
def example():
    return runpy.run_path(str(ROOT / "examples" / "behaviour_tree.py"))


@pytest.mark.parametrize(("execution", "rule"), [("localised", LastMoment()), ("map", Lookahead())])
def test_a_tree_updates_when_the_loop_does(example, execution, rule):
    mission = make_mission(load_setting("nsbridge-05"), execution=execution)
    agent, robot = Agent.on(mission, rule, seed=3), SimulatedRobot(mission.world, seed=3)
    agent.start(robot.look())
    tree = example["make_tree"](agent, robot)
    for tick in range(1, mission.horizon + 1):
        tree.tick_once()
        assert tree.status is (Status.SUCCESS if tick == mission.horizon else Status.RUNNING)
    expected = run_agent(mission, rule, seed=3)
    assert tuple(event.time for event in agent.log if event.what == "update") == expected.times
    assert robot.total_reward == expected.total_reward


def test_a_refused_update_is_a_failure_that_says_why(example):
    mission = make_mission(load_setting("nsbridge-05"))
    agent, robot = Agent.on(mission, Lookahead()), SimulatedRobot(mission.world)
    agent.start(robot.look())
    due, mark = (example[name](agent, robot.look) for name in ("ReplanDue", "MarkReplanned"))
    due.tick_once()
    mark.tick_once()
    assert (due.status, mark.status) == (Status.FAILURE, Status.FAILURE)
    assert due.feedback_message and mark.feedback_message == agent.log[-1].why
    assert isinstance(due, py_trees.behaviour.Behaviour)


def test_the_example_prints_its_one_replan(example, capsys):
    example["main"]()
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith("t = 8: replanned") and lines[-1] == "40 steps, 1 of 4 updates spent"
