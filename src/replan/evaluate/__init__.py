"""How much a schedule or rule costs."""

from replan.evaluate.check_rule import RuleFinding, check_rule, require_valid_rule
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
from replan.evaluate.optimum import Optimum, feedback_regrets, optimum
from replan.evaluate.placement import Placement, placement, pooled, stale_drifts, top_quartile_intervals
from replan.evaluate.rollout import Rollouts, SampledRegret, oracle_rollout, rollout, sampled_regret

__all__ = [
    "ALL_STARTS_LIMIT",
    "Decomposition",
    "Evaluation",
    "Optimum",
    "Placement",
    "Rollouts",
    "RuleFinding",
    "SampledRegret",
    "Steps",
    "Switches",
    "all_returns",
    "check_rule",
    "decompose",
    "evaluate",
    "evaluate_times",
    "feedback_regrets",
    "from_start",
    "optimum",
    "oracle_rollout",
    "placement",
    "pooled",
    "regret",
    "require_valid_rule",
    "rollout",
    "sampled_regret",
    "stale_drifts",
    "top_quartile_intervals",
]
