"""What to do if the estimated kernel held."""

from replan.plan.backward_induction import Oracle, Plan, oracle, oracle_return, plan
from replan.plan.ties import Ties

__all__ = ["Oracle", "Plan", "Ties", "oracle", "oracle_return", "plan"]
