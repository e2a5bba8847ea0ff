"""How much a schedule or rule costs."""

from replan.evaluate.decompose import Decomposition, Switches, decompose
from replan.evaluate.exact import (
    ALL_STARTS_LIMIT,
    Evaluation,
    Steps,
    all_returns,
    evaluate,
    evaluate_times,
    from_start,
    regret,
)

__all__ = [
    "ALL_STARTS_LIMIT",
    "Decomposition",
    "Evaluation",
    "Steps",
    "Switches",
    "all_returns",
    "decompose",
    "evaluate",
    "evaluate_times",
    "from_start",
    "regret",
]
