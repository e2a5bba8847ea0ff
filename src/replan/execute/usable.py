"""Whether a loop can act on what an estimator, a planner or a sensor gave: checked before it is in force."""

from __future__ import annotations

import operator
from typing import Any

import numpy as np

from replan.errors import InputError
from replan.execute.mission import Update
from replan.model.kernel import Kernel
from replan.planning.backward_induction import Plan
from replan.skip.propagation import Execution, propagation


def usable_number(value: Any, below: int, name: str = "state") -> int:
    """A state, or another number of that name, as a plain int; or an `InputError`."""
    try:
        number = operator.index(value)
    except TypeError:
        number = -1
    if not 0 <= number < below:
        raise InputError(f"{name} must be a whole number from 0 to {below - 1}, not {value!r}")
    return number


def usable_kernel(kernel: Any, *, like: Kernel) -> Kernel:
    """The kernel itself, or an `InputError` if it does not have the states and actions of another."""
    if not isinstance(kernel, Kernel):
        raise InputError(f"the estimator gave {type(kernel).__name__}, not a kernel")
    if (kernel.states, kernel.actions) != (like.states, like.actions):
        raise InputError(
            f"the estimator's kernel has {kernel.states} states and {kernel.actions} actions, "
            f"not {like.states} and {like.actions}"
        )
    return kernel


def usable_update(kernel: Kernel, made: Any, execution: Execution) -> Update:
    """Kernel, plan and propagation with which no later step can fail, or an `InputError`."""
    if not isinstance(made, Plan):
        raise InputError(f"the planner gave {type(made).__name__}, not a plan")
    states, actions = kernel.states, kernel.actions
    if not _all_within(made.policy, states, actions):
        raise InputError(f"the plan's policy is not {states} whole numbers from 0 to {actions - 1}")
    if not _numbers(made.next_values, (states,)):
        raise InputError(f"the plan's next_values are not {states} numbers")
    if execution == "belief" and not _numbers(made.q_values, (states, actions)):
        raise InputError(f"the plan's q_values are not {states} x {actions} numbers")
    return Update(made.time, kernel, made, propagation(execution, made, kernel))


def _all_within(policy: Any, states: int, actions: int) -> bool:
    return (
        isinstance(policy, np.ndarray)
        and policy.shape == (states,)
        and np.issubdtype(policy.dtype, np.integer)
        and bool(((policy >= 0) & (policy < actions)).all())
    )


def _numbers(values: Any, shape: tuple[int, ...]) -> bool:
    return isinstance(values, np.ndarray) and values.shape == shape and not np.isnan(values).any()
