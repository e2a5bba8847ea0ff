"""Checks of states, kernels and plans before a control loop acts on them."""

from __future__ import annotations

import operator
from math import isfinite
from typing import Any

import numpy as np

from replan.errors import InputError
from replan.model.kernel import Array, GeneralKernel, Kernel
from replan.model.slip import SlipKernel
from replan.model.window import LARGE
from replan.planning.backward_induction import Plan
from replan.skip.propagation import Execution

ROW_TOLERANCE = 1e-6
"""By which the probabilities of an estimated row may miss 1."""


def validate_number(value: Any, below: int, name: str = "state") -> int:
    """Return a whole number from 0 to below - 1 as a plain int, or raise `InputError`."""
    try:
        number = -1 if isinstance(value, (bool, np.bool_)) else operator.index(value)
    except TypeError:
        number = -1
    if not 0 <= number < below:
        raise InputError(f"{name} must be a whole number from 0 to {below - 1}, not {value!r}")
    return number


def validate_look(look: Any, states: int) -> tuple[int, Array | None]:
    """Return a state, or the mode of (S,) probabilities and these as an array; else raise `InputError`."""
    if np.ndim(look) == 0:
        return validate_number(look, states), None
    try:
        belief = np.array(look, dtype=float)
    except (TypeError, ValueError):
        belief = np.empty(0)
    if belief.shape != (states,) or not ((belief >= 0).all() and abs(belief.sum() - 1) <= ROW_TOLERANCE):
        raise InputError(f"a look is a state, or {states} probabilities that add up to 1")
    belief /= belief.sum()
    return int(belief.argmax()), belief


def validate_kernel(kernel: Any, *, like: Kernel, origin: str = "estimator") -> Kernel:
    """Return the kernel, or raise `InputError` if it is none or has other states and actions than another."""
    if not isinstance(kernel, (SlipKernel, GeneralKernel, Kernel)):  # the protocol last: it takes long
        raise InputError(f"the {origin} returned {type(kernel).__name__}, not a kernel")
    if (kernel.states, kernel.actions) != (like.states, like.actions):
        raise InputError(
            f"the kernel of the {origin} has {kernel.states} states and {kernel.actions} actions, "
            f"not {like.states} and {like.actions}"
        )
    if isinstance(kernel, SlipKernel):
        return kernel  # its constructor has checked it
    if isinstance(kernel, GeneralKernel):
        rows, least = kernel.probabilities.sum(axis=2), kernel.probabilities.min()
    else:
        rows, least = kernel.expect(np.ones(kernel.states)), 0.0
    if not (least >= -ROW_TOLERANCE and (np.abs(rows - 1.0) <= ROW_TOLERANCE).all()):
        raise InputError(f"the rows of the kernel of the {origin} are not probabilities")
    return kernel


def validate_update(kernel: Kernel, made: Any, *, time: int, execution: Execution) -> None:
    """Raise `InputError` unless every later step can act on the plan."""
    if not isinstance(made, Plan):
        raise InputError(f"the planner returned {type(made).__name__}, not a plan")
    states, actions = kernel.states, kernel.actions
    if made.time != time:
        raise InputError(f"the plan is made for time {made.time}, not {time}")
    if not _actions_within(made.policy, states, actions):
        raise InputError(f"the plan's policy is not {states} whole numbers from 0 to {actions - 1}")
    if not _finite(made.next_values, (states,)):
        raise InputError(f"the plan's next_values are not {states} finite numbers")
    if execution == "belief" and not _finite_q_values(made, states, actions):
        raise InputError(f"the plan's q_values are not {states} x {actions} finite numbers")


def _actions_within(policy: Any, states: int, actions: int) -> bool:
    return (
        isinstance(policy, np.ndarray)
        and policy.shape == (states,)
        and np.issubdtype(policy.dtype, np.integer)
        and int(policy.min()) >= 0
        and int(policy.max()) < actions
    )


def _finite_q_values(plan: Plan, states: int, actions: int) -> bool:
    """Return whether a belief can act on the plan; on a large grid the reward is looked at in their place."""
    if states <= LARGE or not isinstance(plan.kernel, SlipKernel):
        return _finite(plan.q_values, (states, actions))
    parts = ((plan.reward.next_state, (states,)), (plan.reward.state_action, (states, actions)))
    return plan.kernel.states == states and all(part is None or _finite(part, size) for part, size in parts)


def _finite(values: Any, shape: tuple[int, ...]) -> bool:
    if not isinstance(values, np.ndarray) or values.shape != shape:
        return False
    with np.errstate(invalid="ignore"):
        total = values.sum()  # finite only if they are
    return isfinite(total) or bool(np.isfinite(values).all())
