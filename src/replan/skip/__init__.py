"""Acting between two updates."""

from replan.skip.interval import SkipStep, skip_interval
from replan.skip.propagation import (
    EXECUTIONS,
    BeliefPropagation,
    Execution,
    MapPropagation,
    Propagation,
    make_propagation,
)

__all__ = [
    "EXECUTIONS",
    "BeliefPropagation",
    "Execution",
    "MapPropagation",
    "Propagation",
    "SkipStep",
    "make_propagation",
    "skip_interval",
]
