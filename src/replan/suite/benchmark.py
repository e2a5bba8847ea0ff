"""The benchmark of one rule: it is checked, tuned if asked, measured by a study, and gets a card.

Verification compares what a card states with what this machine computes.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from replan.errors import InputError
from replan.evaluation.rule_checks import check_rule, require_valid_rule
from replan.evaluation.visited_steps import UpdateTimes
from replan.execute.mission import Mission
from replan.results.run import Run
from replan.schedule.best_offset import BestOffset
from replan.schedule.rule import Rule
from replan.schedule.spending import FIRST_UPDATE
from replan.study.cells import neighbour_files, source_digest
from replan.study.definition import Study, parse_study
from replan.study.protocol import parameters
from replan.study.rule_source import RuleSource, find_rule
from replan.study.versions import versions
from replan.suite.cards import OWN_WORLD, TOLERANCE, Card, Tuning, expected_entries, world_regrets
from replan.suite.catalogue import EXECUTIONS, VERSION, Part, suite_hash, suite_worlds
from replan.suite.families import FAMILIES
from replan.suite.score import Regrets, mean_score, score_matrix
from replan.worlds.forecasts import ForecastKind

Compute = Callable[[Study], Run]
"""Computes a study on some engine."""


def make_card(
    source: RuleSource,
    given: dict[str, Any],
    compute: Compute,
    *,
    tune: bool = False,
    forecast: ForecastKind = "frozen",
) -> Card:
    """Return the card of a rule.

    Parameters
    ----------
    given : hyper-parameters that are not the class's defaults
    compute : runs a study and returns its records
    tune : choose one parameter set for all worlds, by its mean score on the tune part
    forecast : what the robot expects of the steps ahead
    """
    require_one_file(source)
    if tune and given:
        raise InputError("--tune chooses all parameters: leave --set out")
    rule = source.make(**given)
    missions = check_missions(forecast)
    require_valid_rule(rule, *missions)
    tuning = own_tuning(source)
    if tune:
        rule, tuning = tuned(source, rule, compute, forecast)
    chosen = parameters(rule)
    regrets = measured(source.name, chosen, tuning, compute, forecast)
    return Card(
        name=card_name(rule, given, tune, forecast),
        rule=source.name,
        source=source.text,
        source_sha256=source_digest(source),
        needs=sorted(rule.needs),
        parameters={} if tuning is not None and tuning.on == OWN_WORLD else chosen,
        tuning=tuning,
        forecast=forecast,
        worlds=world_regrets(regrets),
        versions=versions(),
        decision_seconds=decision_seconds(rule, missions),
    ).sealed()


def card_name(rule: Rule, given: dict[str, Any], tune: bool, forecast: ForecastKind) -> str:
    """Return the name that tables show: the rule, the given parameters, and all that is not usual."""
    words = " ".join([rule.name, *(f"{key}={value}" for key, value in given.items())])
    return ", ".join([words, *(["tuned"] if tune else []), *([forecast] if forecast != "frozen" else [])])


def check_missions(forecast: ForecastKind) -> list[Mission]:
    """Return the smallest world of each drawn family of the test part, with alternating executions."""
    missions = []
    for index, family in enumerate(FAMILIES):
        found = (world for world in suite_worlds("test") if world.family == family)
        worlds = [world.mission(EXECUTIONS[index % len(EXECUTIONS)], forecast) for world in found]
        missions.append(min(worlds, key=lambda mission: mission.world.states * mission.horizon))
    return missions


def require_one_file(source: RuleSource) -> None:
    """Refuse a rule that imports files beside its own, which a card does not hold."""
    if beside := neighbour_files(source):
        raise InputError(
            f"{source.name} imports {beside[0].name} beside it; a card holds one file: join them"
        )


def own_tuning(source: RuleSource) -> Tuning | None:
    """Return the tuning of a rule that has no meaning without tuning on the world itself."""
    return Tuning(on=OWN_WORLD) if source.kind is BestOffset else None


def tuned(source: RuleSource, rule: Rule, compute: Compute, forecast: ForecastKind) -> tuple[Rule, Tuning]:
    """Return the candidate with the best mean score on the tune part; the first among equal ones."""
    candidates = rule.candidates()
    if not candidates:
        raise InputError(f"{source.name} has no candidates to choose from: define the method `candidates`")
    worlds = suite_worlds("tune")
    axis = {"set": set_values(parameters(rule)), "tune": False}
    found = _by_entry(
        compute(_study(source.name, "tune", axis, forecast, measure="candidates")), "candidate_regrets"
    )
    scores = [
        mean_score(score_matrix(worlds, {key: regrets[i] for key, regrets in found.items()}))
        for i in range(len(candidates))
    ]
    best = int(np.argmax(scores))
    return candidates[best], Tuning(on="tune", candidates=len(candidates), mean_score=round(scores[best], 6))


def measured(
    rule: str, chosen: dict[str, Any], tuning: Tuning | None, compute: Compute, forecast: ForecastKind
) -> Regrets:
    """Return the exact regrets of a rule on the test part."""
    own = tuning is not None and tuning.on == OWN_WORLD
    axis = {"tune": True} if own else {"set": set_values(chosen), "tune": False}
    return _by_entry(compute(_study(rule, "test", axis, forecast, measure="exact")), "exact_regret")


def set_values(chosen: dict[str, Any]) -> dict[str, Any]:
    """Return parameters as study files give them."""
    return {
        key: "none" if value is None else list(value) if isinstance(value, tuple) else value
        for key, value in chosen.items()
    }


def decision_seconds(rule: Rule, missions: Sequence[Mission]) -> float:
    """Return the median time in which the rule names the update after the first one."""
    seconds = []
    for mission in missions:
        progress, start = mission.progress(FIRST_UPDATE, mission.limit - 1), np.array([mission.world.start])
        began = time.perf_counter()
        UpdateTimes(mission, rule)(progress, start)
        seconds.append(time.perf_counter() - began)
    return round(median(seconds), 6)


def verify_card(
    card: Card, compute: Compute, *, rule: str | None = None, run_source: bool = False
) -> list[str]:
    """Return what is wrong with a card, one line each; an empty list if it holds.

    Parameters
    ----------
    compute : runs a study and returns its records
    rule : where the card's rule is found on this machine, for one that does not come with replan
    run_source : run the source text that the card holds
    """
    if findings := list(incomparable(card)):
        return findings
    findings = _computed(card, compute, rule=rule, run_source=run_source)
    if not findings and card.hash != card.content_hash():
        findings = ["the card was changed after it was made: its hash does not fit"]
    return findings


def _computed(card: Card, compute: Compute, *, rule: str | None, run_source: bool) -> list[str]:
    """Return the differences from what the rule does here."""
    if card.source is None or rule is not None:
        return list(_recomputed(card, find_rule(rule or card.rule), compute))
    if not run_source:
        raise InputError(
            f"{card.rule} does not come with replan: give --rule file.py:Class, or --run-source to run the "
            "card's own"
        )
    with TemporaryDirectory() as folder:
        file = Path(folder) / "card_rule.py"
        file.write_text(card.source, encoding="utf-8")
        return list(_recomputed(card, find_rule(f"{file}:{card.rule.rpartition(':')[2]}"), compute))


def incomparable(card: Card) -> Iterator[str]:
    """Yield why a card cannot be recomputed as a whole."""
    if (card.suite.version, card.suite.hash) != (VERSION, suite_hash()):
        yield (
            f"the card is of suite {card.suite.version} {card.suite.hash[:12]}, "
            f"this replan has {VERSION} {suite_hash()[:12]}"
        )
        return
    listed = [(world.name, world.execution) for world in card.worlds]
    if lacking := [entry for entry in expected_entries() if entry not in set(listed)]:
        yield f"the card lacks {lacking[0][0]}, {lacking[0][1]}, and {len(lacking) - 1} more"
    elif len(listed) != len(list(expected_entries())):
        yield "the card lists worlds that are not in the test part, or one twice"


def _recomputed(card: Card, source: RuleSource, compute: Compute) -> Iterator[str]:
    """Yield the differences between the rule of this machine and the card."""
    if source_digest(source) != card.source_sha256:
        found, stated = _short(source_digest(source)), _short(card.source_sha256)
        yield f"the source of {source.name} is not the card's: {found}, not {stated}"
        return
    rule = source.make(**set_values(card.parameters))
    if sorted(rule.needs) != card.needs:
        needs = ", ".join(sorted(rule.needs)) or "nothing"
        yield f"the rule needs {needs}, the card says {', '.join(card.needs) or 'nothing'}"
    yield from (
        f"check_rule: {finding}" for finding in check_rule(rule, *check_missions(card.forecast), most=1)
    )
    found = measured(source.name, card.parameters, card.tuning, compute, card.forecast)
    wrong = [key for key, regret in card.regrets.items() if not abs(found[key] - regret) <= TOLERANCE]
    for name, execution in wrong[:1]:
        stated, computed = card.regrets[name, execution], found[name, execution]
        more = f"; {len(wrong) - 1} more worlds differ" if len(wrong) > 1 else ""
        yield f"{name}, {execution}: the card says {stated:.8f}, recomputed {computed:.8f}{more}"


def _short(digest: str | None) -> str:
    return "no source" if digest is None else digest[:12]


def _study(rule: str, part: Part, axis: dict[str, Any], forecast: ForecastKind, *, measure: str) -> Study:
    """Return the study of a rule on a part of the suite, under both executions."""
    return parse_study(
        {
            "name": f"benchmark-{part}",
            "settings": [{"base": dict(world.data), "name": world.name} for world in suite_worlds(part)],
            "rules": [{"rule": rule, **axis}],
            "executions": list(EXECUTIONS),
            "forecasts": [forecast],
            "measure": [measure],
            "decisions": False,
        },
        where=f"benchmark of {rule}",
    )


def _by_entry(run: Run, column: str) -> dict[tuple[str, Any], Any]:
    """Return a column of the records by world and execution."""
    return {(record["setting"], record["execution"]): record[column] for record in run.records}
