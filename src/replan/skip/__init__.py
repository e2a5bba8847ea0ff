"""Acting between two updates."""

from replan.skip.propagation import (
    EXECUTIONS,
    BeliefPropagation,
    Execution,
    MapPropagation,
    Propagation,
    SkipStep,
    make_propagation,
    skip_interval,
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
