"""The benchmark: a frozen suite of random worlds, a score that anyone can recompute, and result cards."""

from replan.suite.benchmark import make_card, verify_card
from replan.suite.cards import Card, read_card, reference_cards
from replan.suite.catalogue import SuiteWorld, suite_hash, suite_world, suite_worlds
from replan.suite.score import score_matrix, summarise

__all__ = [
    "Card",
    "SuiteWorld",
    "make_card",
    "read_card",
    "reference_cards",
    "score_matrix",
    "suite_hash",
    "suite_world",
    "suite_worlds",
    "summarise",
    "verify_card",
]
