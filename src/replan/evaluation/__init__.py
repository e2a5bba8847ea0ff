"""How much a schedule or rule costs."""

from replan.evaluation.rule_checks import RuleFinding, check_rule, require_valid_rule
from replan.evaluation.decomposition import Decomposition, Switches, decompose
from replan.evaluation.exact import (
    ALL_STARTS_LIMIT,
    Evaluation,
    Steps,
    all_returns,
    evaluate,
    evaluate_times,
    from_start,
    regret,
)
from replan.evaluation.optimal_schedule import Optimum, feedback_regrets, optimum
from replan.evaluation.placement import Placement, placement, pooled, stale_drifts, top_quartile_intervals
from replan.evaluation.rollouts import Rollouts, SampledRegret, oracle_rollout, rollout, sampled_regret

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
