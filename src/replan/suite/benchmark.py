"""The benchmark of one rule: it is checked, tuned if asked, measured by a study, and gets a card."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import MISSING, fields, is_dataclass
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np

from replan import Mission, Rule, check_rule, list_names
from replan.errors import InputError
from replan.evaluation.visits import Follow
from replan.results.run import Run
from replan.schedule.periodic import BestOffset
from replan.schedule.registry import RuleSource, list_parameters
from replan.skip.spending import FIRST_UPDATE
from replan.study.cells import neighbour_files, source_digest
from replan.study.definition import Study, parse_study
from replan.study.versions import versions
from replan.suite.cards import OWN_WORLD, AuthorStatement, Card, Tuning, world_regrets
from replan.suite.catalogue import (
    BLIND,
    EXECUTIONS,
    VERSION,
    SuiteRobot,
    SuiteWorld,
    suite_executions,
    worlds_with_room,
)
from replan.suite.families import FAMILIES, require_weather
from replan.suite.score import Regrets, mean_score, score_matrix
from replan.typing import Execution

Compute = Callable[[Study], Run]
"""Computes a study on some engine."""


def make_card(
    source: RuleSource,
    given: dict[str, Any],
    compute: Compute,
    *,
    tune: bool = False,
    robot: SuiteRobot | None = None,
    executions: Sequence[Execution] = EXECUTIONS,
) -> Card:
    """Return the card of a rule.

    Parameters
    ----------
    given : hyper-parameters that are not the class's defaults
    compute : runs a study and returns its records
    tune : choose one parameter set for all worlds, by its mean score on the tune part
    robot : its forecast, the steps that an update takes, and how it acts meanwhile; left out, the paper's
    executions : the robots on which the rule is measured, if it applies to them
    """
    robot = robot or SuiteRobot()
    require_weather()
    require_one_file(source)
    require_own_name(source)
    if tune and given:
        raise InputError("--tune chooses all parameters: leave --set out")
    rule, tuning = source.make(**given), own_tuning(source)
    executions = applicable(rule, executions)
    if not check_missions(robot, executions):
        raise InputError(f"no drawn world of the suite has room for updates of {robot.latency}")
    require_no_fault(rule, robot, executions)
    if tune:
        rule, tuning = tuned(source, rule, compute, robot, executions)
        require_no_fault(rule, robot, executions)
    chosen = list_parameters(rule)
    regrets = measured(source.name, chosen, tuning, compute, robot, executions)
    return Card(
        name=card_name(rule, tuning, robot),
        rule=shown_name(source),
        source=source.text,
        source_sha256=source_digest(source),
        needs=sorted(rule.needs),
        parameters={} if tuning is not None and tuning.on == OWN_WORLD else chosen,
        forecast=robot.forecast,
        update_steps=robot.update_steps,
        meanwhile=robot.meanwhile,
        worlds=world_regrets(regrets, executions, robot),
        stated_by_author=AuthorStatement(
            tuning=tuning,
            versions=versions(),
            decision_seconds=decision_seconds(rule, robot, executions),
        ),
    ).sealed()


def applicable(rule: Rule, executions: Sequence[Execution]) -> tuple[Execution, ...]:
    """Return those of the executions to which the rule applies. Raises `InputError` if there are none."""
    found: tuple[Execution, ...] = tuple(kind for kind in suite_executions(rule) if kind in executions)
    if not found:
        raise InputError(f"{rule.name} does not apply to execution {' or '.join(executions)}")
    return found


def card_name(rule: Rule, tuning: Tuning | None, robot: SuiteRobot) -> str:
    """Return the name that tables show: the rule, given parameters, and all that is not usual."""
    words = [rule.name] if tuning else [rule.name, *(f"{key}={value}" for key, value in _unusual(rule))]
    tuned = ["tuned"] if tuning and tuning.on != OWN_WORLD else []
    return ", ".join([" ".join(words), *tuned, *robot.unusual()])


def _unusual(rule: Rule) -> Iterator[tuple[str, Any]]:
    """Yield the parameters that are not the class's defaults."""
    defaults = {field.name: field for field in fields(rule)} if is_dataclass(rule) else {}
    for key, value in list_parameters(rule).items():
        factory = defaults[key].default_factory
        if value != (defaults[key].default if factory is MISSING else factory()):
            yield key, value


def shown_name(source: RuleSource) -> str:
    """Return the name of a rule without the folder of its file."""
    place, colon, name = source.name.rpartition(":")
    return f"{Path(place).name}{colon}{name}" if source.in_file else source.name


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


def first_fault(rule: Rule, robot: SuiteRobot, executions: Sequence[Execution]) -> str | None:
    """Return the first fault of a rule on worlds of the suite, None if none shows."""
    try:
        found = check_rule(rule, *check_missions(robot, executions), most=1)
    except InputError as error:
        return str(error)
    return str(found[0]) if found else None


def require_no_fault(rule: Rule, robot: SuiteRobot, executions: Sequence[Execution]) -> None:
    """Raise `InputError` that names the first fault of a rule, if the check finds one."""
    if fault := first_fault(rule, robot, executions):
        raise InputError(f"{rule.name}: {fault}")


def require_one_file(source: RuleSource) -> None:
    """Refuse a rule that imports files beside its own, which a card does not hold."""
    if beside := neighbour_files(source):
        raise InputError(
            f"{source.name} imports {beside[0].name} beside it; a card holds one file: join them"
        )


def require_own_name(source: RuleSource) -> None:
    """Refuse a rule of the user's own that takes the name of one that comes with replan."""
    if source.text is not None and source.kind.name in list_names("rules"):
        raise InputError(f"{source.name}: a rule named {source.kind.name} comes with replan: rename it")


def own_tuning(source: RuleSource) -> Tuning | None:
    """Return the tuning of a rule that has no meaning without tuning on the world itself."""
    return Tuning(on=OWN_WORLD) if source.kind is BestOffset else None


def tuned(
    source: RuleSource, rule: Rule, compute: Compute, robot: SuiteRobot, executions: Sequence[Execution]
) -> tuple[Rule, Tuning]:
    """Return the candidate with the best mean score on the tune part; the first among equal ones."""
    candidates = rule.candidates()
    if not candidates:
        raise InputError(f"{source.name} has no candidates to choose from: define the method `candidates`")
    worlds = worlds_with_room("tune", robot)
    axis = {"set": set_values(list_parameters(rule)), "tune": False}
    found = _by_entry(
        compute(_study(source.name, worlds, axis, robot, executions, measure="candidates")),
        "candidate_regrets",
    )
    scores = [
        mean_score(score_matrix(worlds, {key: regrets[i] for key, regrets in found.items()}, executions))
        for i in range(len(candidates))
    ]
    best = int(np.argmax(scores))
    return candidates[best], Tuning(on="tune", candidates=len(candidates), mean_score=round(scores[best], 6))


def measured(
    rule: str,
    chosen: dict[str, Any],
    tuning: Tuning | None,
    compute: Compute,
    robot: SuiteRobot,
    executions: Sequence[Execution],
    version: str = VERSION,
) -> Regrets:
    """Return the exact regrets of a rule on the test part of a version of the suite."""
    own = tuning is not None and tuning.on == OWN_WORLD
    axis = {"tune": True} if own else {"set": set_values(chosen), "tune": False}
    study = _study(rule, worlds_with_room("test", robot, version), axis, robot, executions, measure="exact")
    return _by_entry(compute(study), "exact_regret")


def set_values(chosen: dict[str, Any]) -> dict[str, Any]:
    """Return parameters as study files give them."""
    return {
        key: "none" if value is None else list(value) if isinstance(value, tuple) else value
        for key, value in chosen.items()
    }


def decision_seconds(rule: Rule, robot: SuiteRobot, executions: Sequence[Execution]) -> float:
    """Return the median time of a decision, compiled beforehand.

    A blind robot's rule names the update after the first one, that of a localised robot answers for one step.
    """
    blind: tuple[Execution, ...] = tuple(kind for kind in BLIND if kind in executions)

    def seconds(mission: Mission) -> float:
        start, middle = np.array([mission.world.start]), mission.horizon // 2
        free = mission.robot.sees
        progress = mission.beginning() if free else mission.progress(FIRST_UPDATE, mission.limit - 1)
        _ = mission.knowledge.drift, mission.forecast  # computed once for a mission
        began = time.perf_counter()
        follow = Follow(mission, rule)
        follow.chances_now(middle, progress, start) if free else follow.next_chances(progress, start)
        return time.perf_counter() - began

    for mission in check_missions(robot, blind or executions):
        seconds(mission)
    return round(median(seconds(mission) for mission in check_missions(robot, blind or executions)), 6)


def _study(
    rule: str,
    worlds: Sequence[SuiteWorld],
    axis: dict[str, Any],
    robot: SuiteRobot,
    executions: Sequence[Execution],
    *,
    measure: str,
) -> Study:
    """Return the study of a rule on worlds of the suite."""
    return parse_study(
        {
            "name": f"benchmark-{worlds[0].part}",
            "settings": [{"base": dict(world.data), "name": world.name} for world in worlds],
            "rules": [{"rule": rule, **axis}],
            "executions": list(executions),
            **robot.axes(),
            "measure": [measure],
            "decisions": False,
        },
        where=f"benchmark of {rule}",
    )


def _by_entry(run: Run, column: str) -> dict[tuple[str, Any], Any]:
    """Return a column of the records by world and execution."""
    return {(record["setting"], record["execution"]): record[column] for record in run.records}
