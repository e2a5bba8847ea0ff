"""The files of src in which a function is entered during one evaluation, and while an agent flies.

`python -m benchmarks.files_entered` prints the lists for two-burst, with `last-moment` for a robot that sees
its state, and how often control passes from one file to another. Imports and a first run are done before.
Compiled functions count by the file they are written in.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import replan
from replan import (
    Agent,
    Lookahead,
    Mission,
    Periodic,
    RegretGuided,
    evaluate,
    load_setting,
    make_mission,
)
from replan.schedule.last_moment import LastMoment
from replan.schedule.rule import Rule

SRC = str(Path(replan.__file__).parent) + "/"
RULES = (Periodic(), RegretGuided(), Lookahead(), LastMoment())


@dataclass(frozen=True)
class Entered:
    """What a piece of work went through."""

    files: list[str]
    """Files of src in which a function is entered, in the order of the first entry."""
    passes: int
    """Number of calls from a function of one of these files to one of another."""


def entered(run: Callable[[], object]) -> Entered:
    """Run something and note what is entered."""
    found: dict[str, None] = {}
    passes = 0

    def note(frame, event, _):
        nonlocal passes
        name = frame.f_code.co_filename
        if event != "call" or not name.startswith(SRC) or frame.f_code.co_name == "<module>":
            return
        found[name] = None
        caller = frame.f_back
        while caller is not None and not caller.f_code.co_filename.startswith(SRC):
            caller = caller.f_back
        passes += caller is not None and caller.f_code.co_filename != name

    threading.setprofile(note)
    sys.setprofile(note)
    try:
        run()
    finally:
        sys.setprofile(None)
        threading.setprofile(None)
    return Entered([name.removeprefix(SRC) for name in found], passes)


def during_evaluate(rule: Rule) -> Entered:
    evaluate(fresh_mission(rule), rule)
    mission = fresh_mission(rule)
    return entered(lambda: evaluate(mission, rule))


def by_an_agent(rule: Rule) -> dict[str, Entered]:
    """What calls of an agent go through at its first update, and when the rule is asked for the next one."""
    agent = started_agent(rule)
    act(agent)
    due(agent)
    return {
        "update at 1": entered(lambda: agent.update(0)),
        "act at 1": entered(lambda: act(agent)),
        "due at 2": entered(lambda: due(agent)),
    }


def during_mission(rule: Rule) -> Entered:
    agent = started_agent(rule)
    return entered(lambda: fly(agent))


def due(agent: Agent) -> bool:
    return agent.due(*seen(agent.rule)).update


def act(agent: Agent) -> None:
    agent.act(*seen(agent.rule))


def fly(agent: Agent) -> None:
    while not agent.done:
        if due(agent):
            agent.update(0)
        act(agent)


def started_agent(rule: Rule) -> Agent:
    """An agent at t = 0, in a process that has seen one fly before."""
    before, agent = (Agent.on(fresh_mission(rule), rule) for _ in range(2))
    before.start(0)
    fly(before)
    agent.start(0)
    return agent


def seen(rule: Rule) -> tuple[int, ...]:
    """What a robot tells at every step: its state, where it sees that."""
    return (0,) if rule == LastMoment() else ()


def fresh_mission(rule: Rule) -> Mission:
    return make_mission(load_setting("two-burst"), execution="localised" if seen(rule) else "map")


def main() -> None:
    for rule in RULES:
        work = (
            {"evaluate": during_evaluate(rule)}
            | by_an_agent(rule)
            | {"a whole mission": during_mission(rule)}
        )
        for what, found in work.items():
            print(f"{rule.name}, {what}: {len(found.files)} files, {found.passes} passes from file to file")
            print("  " + "\n  ".join(found.files))


if __name__ == "__main__":
    main()
