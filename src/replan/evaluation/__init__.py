"""The cost of a schedule or rule."""

from replan.evaluation.agent_runs import AgentRun, learned_returns, run_agent
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
from replan.evaluation.placement import (
    Placement,
    measure_placement,
    pooled,
    stale_drifts,
    top_quartile_intervals,
)
from replan.evaluation.rollouts import Rollouts, SampledRegret, oracle_rollout, rollout, sampled_regret
from replan.evaluation.rule_checks import RuleFinding, check_rule, require_valid_rule
from replan.evaluation.scale import RegretScale, regret_scale

__all__ = [
    "ALL_STARTS_LIMIT",
    "AgentRun",
    "Decomposition",
    "Evaluation",
    "Optimum",
    "Placement",
    "RegretScale",
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
    "learned_returns",
    "measure_placement",
    "optimum",
    "oracle_rollout",
    "pooled",
    "regret",
    "regret_scale",
    "require_valid_rule",
    "rollout",
    "run_agent",
    "sampled_regret",
    "stale_drifts",
    "top_quartile_intervals",
]
