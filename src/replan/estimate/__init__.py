"""Estimators: kernels learned from what updates reveal."""

from replan.estimate.drift_bounded_mle import DriftBoundedMLE, PairEstimate, estimate_file
from replan.estimate.drift_bounds import (
    MISSPECIFICATIONS,
    OnlineDriftBounds,
    WithOnlineBounds,
    shifted,
    too_large,
    too_small,
)
from replan.estimate.estimator import Estimator, Observation, TrueKernel
from replan.estimate.family_filter import FamilyFilter, ParameterEstimate
from replan.estimate.observations import Transitions, read_transitions, transitions
from replan.estimate.pair import FILLINGS, Filling, PairSolution, solve_pair
from replan.estimate.slip_evidence import SlipEstimate
from replan.estimate.slip_mle import EVIDENCE_KINDS, EvidenceKind, PooledSlip

__all__ = [
    "EVIDENCE_KINDS",
    "FILLINGS",
    "MISSPECIFICATIONS",
    "DriftBoundedMLE",
    "Estimator",
    "EvidenceKind",
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
