"""The cost of a schedule or rule."""

from replan.evaluation.agent_runs import SimulatedRobot, learned_returns
from replan.evaluation.decomposition import decompose
from replan.evaluation.exact import Evaluation, evaluate, evaluate_times, regret
from replan.evaluation.optimal_schedule import Optimum, optimum
from replan.evaluation.rollouts import Rollouts, oracle_rollout, rollout, sampled_regret
from replan.evaluation.rule_checks import check_rule

__all__ = [
    "Evaluation",
    "Optimum",
    "Rollouts",
    "SimulatedRobot",
    "check_rule",
    "decompose",
    "evaluate",
    "evaluate_times",
    "learned_returns",
    "optimum",
    "oracle_rollout",
    "regret",
    "rollout",
    "sampled_regret",
]
