"""The actions of blind robots from an update on, for many states seen.

Nothing is seen until the next update, so all of them are settled by the state at the update.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from replan import _loops
from replan.model.combination import stack_kernels
from replan.model.kernel import Array, Indices, Kernel, band_results
from replan.planning.ties import TIE_TOLERANCE
from replan.skip.latency import DelayedPropagation
from replan.skip.propagation import BeliefPropagation, Propagation
from replan.skip.segments import SERIAL_BELOW


def commands(
    propagation: Propagation, states: Indices, *, begin: int, steps: int, tolerance: float
) -> Indices:
    """(R, steps) the actions of robots that saw `states` at `begin`, and nothing since."""
    if isinstance(propagation, DelayedPropagation):
        meanwhile = min(propagation.arrival - begin, steps)
        given = commands(propagation.old, states, begin=begin, steps=meanwhile, tolerance=tolerance)
        if meanwhile == steps:
            return given
        return commands_through(
            propagation.new, propagation.kernels_before, states, given, begin=begin, steps=steps,
            tolerance=tolerance,
        )  # fmt: skip
    given = np.empty((len(states), 0), dtype=np.int64)
    return commands_through(propagation, (), states, given, begin=begin, steps=steps, tolerance=tolerance)


def commands_through(
    propagation: Propagation,
    kernels: Sequence[Kernel],
    states: Indices,
    given: Indices,
    *,
    begin: int,
    steps: int,
    tolerance: float,
) -> Indices:
    """(R, steps) actions of robots that take the (R, d) `given` ones first, and then act by a propagation.

    `kernels` (d,) are those with which the estimate is propagated through the given actions.
    """
    ahead = given.shape[1]
    if ahead >= steps:
        return given[:, :steps]
    if isinstance(propagation, BeliefPropagation):
        return _belief_commands(propagation, kernels, states, given, begin, steps, tolerance)
    estimate = propagation.begin(states)
    actions = np.empty((len(states), steps), dtype=np.int64)
    actions[:, :ahead] = given
    for k in range(ahead):
        estimate = kernels[k].most_likely_of(estimate, given[:, k])
    for k in range(ahead, steps):
        actions[:, k] = propagation.act(estimate, begin + k)
        estimate = propagation.advance(estimate, actions[:, k], begin + k)
    return actions


def _belief_commands(
    propagation: BeliefPropagation,
    kernels: Sequence[Kernel],
    states: Indices,
    given: Indices,
    begin: int,
    steps: int,
    tolerance: float,
) -> Indices:
    tables, ahead = propagation.tables, given.shape[1]
    rows = np.clip(np.arange(begin, begin + steps) - propagation.plan.time, 0, len(tables.q_values) - 1)
    successors, probabilities, before, of_row = _stacked(propagation, kernels[:ahead])
    kernel_of, given = np.concatenate([before, of_row[rows[ahead:]]]), np.ascontiguousarray(given)

    def choose(first: int, last: int) -> Indices:
        return _loops.segments.belief_commands(
            successors, probabilities, kernel_of, tables.q_values, tables.preference, rows, TIE_TOLERANCE,
            tolerance, states[first:last], given[first:last],
        )  # fmt: skip

    return np.concatenate(band_results(choose, len(states), serial=len(states) * steps < SERIAL_BELOW))


def _stacked(
    propagation: BeliefPropagation, before: Sequence[Kernel]
) -> tuple[Indices, Array, Indices, Indices]:
    """Return kernels (K, S, k), (K, S, A, k), (d,) those of the steps before the plan, (L,) of its rows."""
    tables, plan = propagation.tables, propagation.plan
    if all(kernel is propagation.kernel_at(plan.time) for kernel in before):
        first = np.full(len(before), tables.kernel_of[0])
        return tables.successors, tables.probabilities, first, tables.kernel_of
    kernels: list[Kernel] = []
    kernel_of = []
    for kernel in (*before, *(propagation.kernel_at(each.time) for each in (plan, *plan.later))):
        if not kernels or kernel is not kernels[-1]:
            kernels.append(kernel)
        kernel_of.append(len(kernels) - 1)
    of_all = np.array(kernel_of)
    return *stack_kernels(kernels), of_all[: len(before)], of_all[len(before) :]
