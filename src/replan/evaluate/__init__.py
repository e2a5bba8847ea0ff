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
from replan.evaluate.rollout import Rollouts, SampledRegret, oracle_rollout, rollout, sampled_regret

__all__ = [
    "ALL_STARTS_LIMIT",
    "Evaluation",
    "Rollouts",
    "SampledRegret",
    "Steps",
    "all_returns",
    "evaluate",
    "evaluate_times",
    "from_start",
    "oracle_rollout",
    "regret",
    "rollout",
    "sampled_regret",
]
