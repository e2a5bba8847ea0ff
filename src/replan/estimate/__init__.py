"""Estimators: kernels learned from what updates reveal."""

from replan.estimate.drift_bounded_mle import DriftBoundedMLE, PairEstimate
from replan.estimate.drift_bounds import MISSPECIFICATIONS, OnlineDriftBounds, shifted, too_large, too_small
from replan.estimate.estimator import Estimator, Observation, TrueKernel
from replan.estimate.family_filter import FamilyFilter, ParameterEstimate
from replan.estimate.filling import FILLINGS, Filling
from replan.estimate.from_file import estimate_file
from replan.estimate.observations import Transitions, read_transitions, transitions
from replan.estimate.online import WithOnlineBounds
from replan.estimate.pair import PairSolution, solve_pair
from replan.estimate.slip_mle import EVIDENCE, Evidence, PooledSlip
from replan.estimate.slip_profile import SlipEstimate

__all__ = [
    "EVIDENCE",
    "FILLINGS",
    "MISSPECIFICATIONS",
    "DriftBoundedMLE",
    "Estimator",
    "Evidence",
    "FamilyFilter",
    "Filling",
    "Observation",
    "OnlineDriftBounds",
    "PairEstimate",
    "PairSolution",
    "ParameterEstimate",
    "PooledSlip",
    "SlipEstimate",
    "Transitions",
    "TrueKernel",
    "WithOnlineBounds",
    "estimate_file",
    "read_transitions",
    "shifted",
    "solve_pair",
    "too_large",
    "too_small",
    "transitions",
]
