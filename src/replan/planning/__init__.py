"""Planning if the estimate holds, and the optimum if everything is known."""

from replan.planning.backward_induction import Plan, plan
from replan.planning.optimal_values import Oracle, oracle, oracle_return
from replan.planning.ties import Ties

__all__ = ["Oracle", "Plan", "Ties", "oracle", "oracle_return", "plan"]
