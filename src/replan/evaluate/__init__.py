"""How much a schedule or rule costs."""

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
    "Evaluation",
    "Steps",
    "all_returns",
    "evaluate",
    "evaluate_times",
    "from_start",
    "regret",
]
