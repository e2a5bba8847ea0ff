"""What the agent learns at an update."""

from replan.estimate.estimator import Estimator, Observation
from replan.estimate.true_kernel import TrueKernel

__all__ = ["Estimator", "Observation", "TrueKernel"]
