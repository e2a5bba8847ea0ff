"""Estimators: kernels learned from what updates reveal."""

from replan.estimate.drift_bounded_mle import DriftBoundedMLE, PairEstimate
from replan.estimate.drift_bounds import MISSPECIFICATIONS, OnlineDriftBounds, shifted, too_large, too_small
from replan.estimate.estimator import Estimator, Observation
from replan.estimate.filling import FILLINGS, Filling
from replan.estimate.from_file import estimate_file
from replan.estimate.observations import Transitions, read_transitions, transitions
from replan.estimate.pair import PairSolution, solve_pair
from replan.estimate.slip_mle import EVIDENCE, Evidence, PooledSlip
from replan.estimate.slip_profile import SlipEstimate
from replan.estimate.true_kernel import TrueKernel

__all__ = [
    "EVIDENCE",
    "FILLINGS",
    "MISSPECIFICATIONS",
    "DriftBoundedMLE",
    "Estimator",
    "Evidence",
    "Filling",
    "Observation",
    "OnlineDriftBounds",
    "PairEstimate",
    "PairSolution",
    "PooledSlip",
    "SlipEstimate",
    "Transitions",
    "TrueKernel",
    "estimate_file",
    "read_transitions",
    "shifted",
    "solve_pair",
    "too_large",
    "too_small",
    "transitions",
]
