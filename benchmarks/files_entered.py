"""The files of src in which a function is entered during one evaluation, and while an agent flies.

`python -m benchmarks.files_entered` prints the lists, for two-burst and three rules. Imports and a first run
are done before. The goals are a dozen files for `evaluate` and eight for `due`, `update` and `act` at the
first update; the rest of a mission adds those of the rule. Compiled functions count by the file they are
written in.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable
from pathlib import Path

import replan
from replan import Agent, Lookahead, Mission, Periodic, RegretGuided, evaluate, load_setting, make_mission
from replan.schedule.rule import Rule

SRC = Path(replan.__file__).parent
RULES = (Periodic(), RegretGuided(), Lookahead())


def files_entered(run: Callable[[], object]) -> list[str]:
    """The files of src in which a function is entered while `run` runs, in the order of the first entry."""
    found: dict[str, None] = {}

    def note(frame, event, _):
        if event == "call" and frame.f_code.co_name != "<module>":
            found[frame.f_code.co_filename] = None

    threading.setprofile(note)
    sys.setprofile(note)
    try:
        run()
    finally:
        sys.setprofile(None)
        threading.setprofile(None)
    inside = (Path(name) for name in found)
    return [path.relative_to(SRC).as_posix() for path in inside if path.is_relative_to(SRC)]


def during_evaluate(rule: Rule) -> list[str]:
    evaluate(fresh_mission(), rule)
    mission = fresh_mission()
    return files_entered(lambda: evaluate(mission, rule))


def during_first_update(rule: Rule) -> list[str]:
    agent = started_agent(rule)
    agent.act()
    return files_entered(lambda: step(agent))


def during_mission(rule: Rule) -> list[str]:
    agent = started_agent(rule)
    return files_entered(lambda: [step(agent) for _ in range(agent.horizon)])


def started_agent(rule: Rule) -> Agent:
    """An agent at t = 0, in a process that has seen one fly before."""
    before = Agent.on(fresh_mission(), rule)
    before.start(0)
    for _ in range(before.horizon):
        step(before)
    agent = Agent.on(fresh_mission(), rule)
    agent.start(0)
    return agent


def step(agent: Agent) -> None:
    if agent.due().update:
        agent.update(0)
    agent.act()


def fresh_mission() -> Mission:
    return make_mission(load_setting("two-burst"))


def main() -> None:
    for rule in RULES:
        for what, during in (
            ("evaluate (goal 12)", during_evaluate),
            ("due, update and act at the first update (goal 8)", during_first_update),
            ("due, update and act of a whole mission", during_mission),
        ):
            files = during(rule)
            print(f"{rule.name}, {what}: {len(files)} files\n  " + "\n  ".join(files))


if __name__ == "__main__":
    main()
