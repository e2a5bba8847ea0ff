"""Confidence radii of learned estimates, simultaneous over all entries and all numbers of observations.

For a pair (s, a) seen n times, at u_1..u_n, the frequencies of its successors differ from the average of
P_{u_1}..P_{u_n} by more than sqrt(log(2 S A k N / delta) / (2 n)) in some entry with probability at most
delta / (S A N) (Hoeffding and Azuma; k successors, at most N observations of a pair, n itself being random).
P_u differs from that average by at most the average drift from u to u_i. A pair never seen has radius 1.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from replan.certificates.knowledge import Estimate, possible_successors
from replan.errors import InputError
from replan.estimate.observations import Transitions
from replan.model.general_kernel import GeneralKernel
from replan.model.kernel import Array, Kernel
from replan.model.world import World


def learned_estimates(
    transitions: Transitions, world: World, times: Sequence[int], *, delta: float
) -> list[Estimate]:
    """Estimates of P_0 and of P_{t-1} for every update at t, each from the transitions made before it.

    Pairs never seen get P_0, with radius 1. All radii hold together with probability 1 - `delta`.
    """
    transitions.check(states=world.states, actions=world.actions)
    if len(transitions) and transitions.times.max() >= world.horizon:
        raise InputError(f"a transition at t={transitions.times.max()} is after the horizon {world.horizon}")
    kernels = sorted({0, *(t - 1 for t in times)})
    return [
        learned_estimate(
            _before(transitions, time + 1),
            world.kernel(0),
            time=time,
            drift_bounds=world.drift_bounds,
            delta=delta / len(kernels),
            most=max(len(transitions), 1),
            possible=world.declared_successors,
        )
        for time in kernels
    ]


def _before(transitions: Transitions, time: int) -> Transitions:
    seen = transitions.times < time
    columns = (transitions.times, transitions.states, transitions.actions, transitions.next_states)
    return Transitions(*(column[seen] for column in columns))


def learned_estimate(
    transitions: Transitions,
    nominal: Kernel,
    *,
    time: int,
    drift_bounds: Array,
    delta: float,
    most: int,
    possible: ArrayLike | None = None,
) -> Estimate:
    """The frequencies as an estimate of P_time, `nominal` for a pair never seen, with simultaneous radii.

    `most` is the largest number of observations of one pair that could have been made, however many were.
    """
    if not 0 < delta < 1:
        raise InputError(f"delta must lie between 0 and 1, not {delta}")
    states, actions = nominal.states, nominal.actions
    width = possible_successors(nominal, possible)[0].shape[1]
    counts = np.zeros((states, actions, states))
    drift = np.zeros((states, actions))
    np.add.at(counts, (transitions.states, transitions.actions, transitions.next_states), 1.0)
    reach = np.concatenate([[0.0], np.cumsum(drift_bounds)])
    np.add.at(
        drift, (transitions.states, transitions.actions), np.abs(reach[transitions.times] - reach[time])
    )
    seen = counts.sum(axis=2)
    if seen.max(initial=0) > most:
        raise InputError(
            f"a pair was observed {int(seen.max())} times, more than the {most} declared possible"
        )
    times_seen = np.maximum(seen, 1)
    radius = (
        np.sqrt(np.log(2 * states * actions * width * most / delta) / (2 * times_seen)) + drift / times_seen
    )
    dense = np.where(seen[:, :, None] > 0, counts / times_seen[:, :, None], nominal.general().dense())
    return Estimate(
        time, GeneralKernel.from_dense(dense), np.where(seen > 0, np.minimum(radius, 1.0), 1.0), delta
    )
