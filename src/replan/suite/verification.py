"""Verification of a card: what it states is compared with what this machine computes."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

from replan.errors import InputError
from replan.evaluation.rule_checks import check_rule
from replan.study.cells import source_digest
from replan.study.rule_source import RuleSource, find_rule
from replan.suite.benchmark import Compute, check_missions, measured, set_values
from replan.suite.cards import TOLERANCE, Card, expected_entries
from replan.suite.catalogue import VERSION, suite_hash


def verify_card(
    card: Card, compute: Compute, *, rule: str | None = None, run_source: bool = False
) -> list[str]:
    """Return what is wrong with a card, one line each; an empty list where it holds.

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
    """Yield where the rule of this machine differs from the card."""
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
