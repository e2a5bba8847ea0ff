"""Planning if the estimate holds, and the optimum if everything is known."""

from replan.planning.backward_induction import Oracle, Plan, oracle, oracle_return, plan
from replan.planning.ties import Ties

__all__ = ["Oracle", "Plan", "Ties", "oracle", "oracle_return", "plan"]
