"""Verification of cards: everything on a card is compared with what this machine computes from its rule.

Name, needs and parameters must be those of the rule, the rule's source that of the card, and the regrets are
recomputed. The rest, `Card.stated_by_author`, is not.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from hashlib import sha256
from pathlib import Path
from tempfile import TemporaryDirectory

from replan import Rule, find_rule
from replan.errors import InputError
from replan.results.measure import canonical
from replan.schedule.registry import RuleSource, list_parameters
from replan.study.cells import source_digest
from replan.suite.benchmark import (
    Compute,
    card_name,
    first_fault,
    measured,
    own_tuning,
    require_own_name,
    set_values,
)
from replan.suite.cards import OWN_WORLD, TOLERANCE, Card, Tuning, expected_entries
from replan.suite.catalogue import (
    FIRST_VERSION,
    VERSIONS,
    SuiteRobot,
    suite_executions,
    suite_hash,
    suite_world,
)
from replan.suite.families import require_weather


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
    if findings := [*incomparable(card), *_untrue_source(card)]:
        return findings
    if card.suite.version != FIRST_VERSION:
        require_weather()
    with _source(card, rule=rule, run_source=run_source) as source:
        if findings := list(_unbound(card, source)):
            return findings
        findings = list(_recomputed(card, source, compute))
    if not findings and card.hash != card.content_hash():
        findings = ["the card was changed after it was made: its hash does not fit"]
    return findings


def incomparable(card: Card) -> Iterator[str]:
    """Yield why a card is not a whole and possible card of a version of the suite."""
    version = card.suite.version
    if version not in VERSIONS or card.suite.hash != suite_hash(version):
        has = ", ".join(f"{name} {suite_hash(name)[:12]}" for name in VERSIONS)
        yield f"the card is of suite {version} {card.suite.hash[:12]}, this replan has {has}"
        return
    listed = [(world.name, world.execution) for world in card.worlds]
    expected = expected_entries(version, card.executions, card.robot)
    if lacking := [entry for entry in expected if entry not in set(listed)]:
        yield f"the card lacks {lacking[0][0]}, {lacking[0][1]}, and {len(lacking) - 1} more"
    elif len(listed) != len(expected) or not listed:
        yield "the card lists worlds that are not in the test part, or one twice, or none"
    elif card.robot == SuiteRobot():
        yield from _below_the_floor(card)


def _below_the_floor(card: Card) -> Iterator[str]:
    """Yield the first regret below the least that any rule of the paper's robot can have."""
    for (name, execution), regret in card.regrets.items():
        floor = suite_world(name).floor[execution]
        if regret < floor - TOLERANCE:
            yield f"{name}, {execution}: the card says {regret:.8f}, no rule has less than {floor:.8f}"
            return


def _untrue_source(card: Card) -> Iterator[str]:
    """Yield what is wrong with the source on a card, before any of it runs."""
    if card.source is None:
        if ":" in card.rule or card.source_sha256 is not None:
            yield f"the card lacks the source of {card.rule}, which does not come with replan"
    elif ":" not in card.rule:
        yield f"the card holds a source, but names {card.rule} and not file.py:Class or package.module:Class"
    elif (found := sha256(card.source.encode()).hexdigest()) != card.source_sha256:
        yield f"the source that the card holds is not that of its hash: {found[:12]}, not {_short(card)}"


@contextmanager
def _source(card: Card, *, rule: str | None, run_source: bool) -> Iterator[RuleSource]:
    """Yield the card's rule, from this machine or from the card."""
    if card.source is None:
        yield find_rule(rule or card.rule)
    elif rule is not None:
        yield find_rule(rule)
    elif not run_source:
        raise InputError(
            f"{card.rule} does not come with replan: give --rule file.py:Class, or --run-source to run the "
            "card's own"
        )
    else:
        with TemporaryDirectory() as folder:
            file = Path(folder) / "card_rule.py"
            file.write_text(card.source, encoding="utf-8")
            yield find_rule(f"{file}:{card.rule.rpartition(':')[2]}")


def _unbound(card: Card, source: RuleSource) -> Iterator[str]:
    """Yield statements of a card that are not those of the rule; nothing is computed yet."""
    if source_digest(source) != card.source_sha256:
        found = source_digest(source)
        found = "no source" if found is None else found[:12]
        yield f"the source of {source.name} is not the card's: {found}, not {_short(card)}"
        return
    if source.name.rpartition(":")[2] != card.rule.rpartition(":")[2]:
        yield f"the card is of {card.rule}, not of {source.name}"
        return
    require_own_name(source)
    tuning, own = card.stated_by_author.tuning, own_tuning(source)
    if card.own_world != (own is not None):
        yield f"{card.rule} is tuned on " + ("each world" if own else "no world of its own, as the card says")
        return
    rule = source.make(**set_values(card.parameters))
    if sorted(rule.needs) != card.needs:
        needs = ", ".join(sorted(rule.needs)) or "nothing"
        yield f"the rule needs {needs}, the card says {', '.join(card.needs) or 'nothing'}"
    stated, used = canonical(card.parameters), canonical({} if own else list_parameters(rule))
    if stated != used:
        yield f"the card lists the parameters {stated}, the rule has {used}"
    elif fault := _untrue_tuning(tuning, rule):
        yield fault
    for kind in set(card.executions) - set(suite_executions(rule)):
        yield f"{rule.name} does not apply to execution {kind}, which the card has"
    if (name := card_name(rule, tuning, card.robot)) != card.name:
        yield f"the card is named {card.name!r}, its rule and parameters {name!r}"


def _untrue_tuning(tuning: Tuning | None, rule: Rule) -> str | None:
    """Return what the candidates of a rule contradict in the statement of its tuning, if anything."""
    if tuning is None or tuning.on == OWN_WORLD:
        return None
    candidates = [canonical(list_parameters(each)) for each in rule.candidates()]
    if len(candidates) != tuning.candidates:
        return f"the rule has {len(candidates)} candidates, the card says {tuning.candidates}"
    if canonical(list_parameters(rule)) not in candidates:
        return (
            "the parameters of the card are not among the rule's candidates, of which it says they are tuned"
        )
    return None


def _recomputed(card: Card, source: RuleSource, compute: Compute) -> Iterator[str]:
    """Yield the differences between what the rule does on this machine and the card."""
    if fault := first_fault(source.make(**set_values(card.parameters)), card.robot, card.executions):
        yield f"check_rule: {fault}"
        return
    tuning = card.stated_by_author.tuning
    robot = card.robot, card.executions
    found = measured(source.name, card.parameters, tuning, compute, *robot, version=card.suite.version)
    wrong = [key for key, regret in card.regrets.items() if not abs(found[key] - regret) <= TOLERANCE]
    for name, execution in wrong[:1]:
        stated, computed = card.regrets[name, execution], found[name, execution]
        more = f"; {len(wrong) - 1} more worlds differ" if len(wrong) > 1 else ""
        yield f"{name}, {execution}: the card says {stated:.8f}, recomputed {computed:.8f}{more}"


def _short(card: Card) -> str:
    return "no source" if card.source_sha256 is None else card.source_sha256[:12]
