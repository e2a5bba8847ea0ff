"""The check of a rule before it is scored. A user's own rule is checked in a process that does nothing else.

There the rule has been asked nothing before, and an audit hook tells whether its code looks at the stack or
among the objects of the process, where it would find the world.
"""

from __future__ import annotations

import inspect
import json
import logging
import subprocess
import sys
import sysconfig
from collections.abc import Callable, Sequence
from dataclasses import asdict
from pathlib import Path
from tempfile import TemporaryDirectory
from types import FrameType
from typing import Any

import replan
from replan.errors import InputError
from replan.evaluation.rule_checks import check_rule
from replan.execute.mission import Mission
from replan.skip.propagation import Execution
from replan.study.rule_source import RuleSource, find_rule
from replan.suite.catalogue import SuiteRobot, worlds_with_room
from replan.suite.families import FAMILIES

START = (
    "import sys; sys.path[:] = sys.argv[3:]; from replan.suite.fresh_check import main; main(*sys.argv[1:3])"
)
LOOKS_AROUND = {
    "sys._getframe",
    "sys._current_frames",
    "gc.get_objects",
    "gc.get_referrers",
    "gc.get_referents",
    "sys.settrace",
    "sys.setprofile",
}
"""Audit events of code that looks for the frames or objects of others."""
FRAMES = {"tb_frame", "gi_frame", "cr_frame", "ag_frame"}
"""Attributes that hold frames; reading one is the audit event `object.__getattr__`."""
MAKES_CODE = {"compile", "code.__new__"}
"""Audit events of code that is given the name of a file, the second argument; it may be that of a library."""
STDLIB = Path(inspect.__file__).parent
PASSED_ON = {str(STDLIB / f"{name}.py") for name in ("inspect", "traceback", "bdb", "pdb", "trace")}
"""Files whose functions look at the stack for their caller."""


def check_missions(robot: SuiteRobot, executions: Sequence[Execution]) -> list[Mission]:
    """Return the smallest world of each drawn family of the test part, with the executions in turn.

    Worlds in which the robot's updates have no room are left out.
    """
    missions, possible = [], worlds_with_room("test", robot)
    for index, family in enumerate(FAMILIES):
        found = (world for world in possible if world.family == family)
        if worlds := [world.mission(executions[index % len(executions)], robot) for world in found]:
            missions.append(min(worlds, key=lambda mission: mission.world.states * mission.horizon))
    return missions


def first_fault(
    source: RuleSource, parameters: dict[str, Any], robot: SuiteRobot, executions: Sequence[Execution]
) -> str | None:
    """Return the first fault of a rule, None if none shows. Parameters are as study files give them."""
    if source.text is None:
        found = check_rule(source.make(**parameters), *check_missions(robot, executions), most=1)
        return str(found[0]) if found else None
    text = source.text if source.in_file else None
    request = {
        "rule": source.name,
        "text": text,
        "parameters": parameters,
        "robot": asdict(robot),
        "executions": executions,
    }
    with TemporaryDirectory() as folder:
        asked, answered = Path(folder) / "request.json", Path(folder) / "answer.json"
        asked.write_text(json.dumps(request), encoding="utf-8")
        done = subprocess.run(
            [sys.executable, "-c", START, str(asked), str(answered), *sys.path],
            capture_output=True,
            text=True,
            errors="replace",
            check=False,
        )
        if done.returncode == 0 and answered.is_file():
            return json.loads(answered.read_text(encoding="utf-8"))
    said = done.stderr.strip().splitlines()[-1:]
    return ": ".join([f"its check ended without an answer, with exit status {done.returncode}", *said])


def main(asked: str, answered: str) -> None:
    """Check the rule of a request file and write its first fault, or null."""
    request = json.loads(Path(asked).read_text(encoding="utf-8"))
    missions = check_missions(SuiteRobot(**request["robot"]), request["executions"])
    seen: list[str] = []
    place = request["rule"].rpartition(":")[0]
    sys.addaudithook(_watch(seen, place if place.endswith(".py") else place.replace(".", "/")))
    try:
        rule = find_rule(request["rule"], text=request["text"]).make(**request["parameters"])
        found = [str(finding) for finding in check_rule(rule, *missions, most=1)]
    except InputError as error:
        found = [str(error)]
    Path(answered).write_text(json.dumps(next(iter([*seen, *found]), None)), encoding="utf-8")


def _looks_for_its_caller(frame: FrameType) -> bool:
    """Return whether the function of a frame looks at the stack for whoever called it."""
    return frame.f_code.co_filename in PASSED_ON or frame.f_code is logging.currentframe.__code__


def _watch(seen: list[str], place: str) -> Callable[[str, tuple[Any, ...]], None]:
    """Return an audit hook that notes and stops such looks of code outside of libraries, or of the rule's.

    So it does with code that takes the name of a library.
    """
    paths = sysconfig.get_paths()
    libraries = (*{paths["stdlib"], paths["platstdlib"], paths["purelib"], paths["platlib"]}, "<frozen ")
    libraries = (*libraries, str(Path(replan.__file__).parent))
    busy = False

    def is_its_own(file: str) -> bool:
        return not file.startswith(libraries) or place in file

    def hook(event: str, arguments: tuple[Any, ...]) -> None:
        nonlocal busy
        reads_frame = event == "object.__getattr__" and arguments[1] in FRAMES
        disguised = event in MAKES_CODE and str(arguments[1]).startswith(libraries)
        if busy or not (reads_frame or disguised or event in LOOKS_AROUND):
            return
        busy = True
        frame: FrameType | None = sys._getframe(1)
        while frame is not None and _looks_for_its_caller(frame):
            frame = frame.f_back
        file = "<frozen " if frame is None else frame.f_code.co_filename
        busy = False
        if is_its_own(file):
            looks = f"looks at the program that asks it ({arguments[1] if reads_frame else event})"
            seen.append("gives its code the name of a library" if disguised else looks)
            raise InputError(seen[-1])

    return hook
