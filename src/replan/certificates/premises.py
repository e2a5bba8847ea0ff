"""Inputs of a certificate: the estimates of the updates, the drift bounds, and the possible successors.

Never the true kernels, except those that an update reveals (P-hat_{tau-1} = P_{tau-1} in the paper's
simulator). Learned estimates have confidence radii, simultaneous over all entries and all numbers of
observations: for a pair (s, a) seen n times, at u_1..u_n, the frequencies of its successors differ from the
average of P_{u_1}..P_{u_n} by more than sqrt(log(2 S A k N / delta) / (2 n)) in some entry with probability
at most delta / (S A N) (Hoeffding and Azuma; k successors, at most N observations of a pair, n itself being
random). P_u differs from that average by at most the average drift from u to u_i. A pair never seen has
radius 1.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise

import numpy as np
from numpy.typing import ArrayLike

from replan.errors import InputError
from replan.estimate.observations import Transitions
from replan.model.family import Family
from replan.model.general_kernel import GeneralKernel, successor_lists
from replan.model.kernel import Array, Indices, Kernel
from replan.model.slip import SlipKernel
from replan.model.world import World

CONTRADICTION_TOLERANCE = 1e-9  # by which estimates may differ more than the bounds allow


class NoStructure(InputError):
    """The kernels cannot be taken for members of a declared family."""


@dataclass(frozen=True)
class KernelEstimate:
    """An estimate of P_time, and how far off its entries may be."""

    time: int  # u: the kernel that is estimated is P_u
    kernel: Kernel = field(repr=False)
    radius: Array | None = field(default=None, repr=False)  # (S, A) entrywise; None: it is the true kernel
    delta: float = 0.0  # probability that some entry is farther off than its radius

    def __post_init__(self) -> None:
        if self.radius is None and self.delta != 0:
            raise InputError(
                f"an estimate without a radius is the true kernel: its delta is 0, not {self.delta}"
            )
        if self.radius is not None and not 0 < self.delta < 1:
            raise InputError(
                "an estimate with a radius needs delta, the probability that the radius is too small, "
                f"between 0 and 1, not {self.delta}"
            )


@dataclass(frozen=True)
class Premises:
    """Estimates, drift bounds and possible successors; all that is promised follows from them."""

    estimates: tuple[KernelEstimate, ...]
    drift_bounds: Array = field(repr=False)  # (T-1,) epsilon_t
    declared_successors: Indices | None = field(default=None, repr=False)  # (S, k); None: by the estimate
    family: Family | None = None  # used if it is declared to be exact

    @property
    def learned(self) -> bool:
        """Whether any estimate is not the true kernel itself."""
        return any(estimate.radius is not None for estimate in self.estimates)

    @property
    def delta(self) -> float:
        """The probability, at most, that some radius is too small."""
        return sum(estimate.delta for estimate in self.estimates)

    def drift(self, u: int, t: int) -> float:
        """The most that an entry can change between P_u and P_t."""
        return float(self.drift_bounds[min(u, t) : max(u, t)].sum())

    def about(self, t: int, *, both_ends: bool) -> Sequence[KernelEstimate]:
        """The estimates that bound P_t: all, or only the last one made when t came."""
        if both_ends:
            return self.estimates
        return [e for e in self.estimates if e.time < t or e.time == 0][-1:]

    def successors(self) -> tuple[Indices, Array]:
        """(S, k) where a step can lead at any time, and (S, k) 1 for an entry, 0 for padding."""
        return possible_successors(self.estimates[0].kernel, self.declared_successors)

    @property
    def width(self) -> int:
        """The number of states to which a step may lead from one state."""
        if self.declared_successors is not None:
            return self.declared_successors.shape[1]
        first = self.estimates[0].kernel
        return first.actions if isinstance(first, SlipKernel) else first.states

    def contradiction(self) -> str | None:
        """Return the first two estimates that differ more than the drift bounds allow, in words.

        True kernels one after another suffice: a kernel between two of them, weighed by the drift to either,
        is then within drift of both, and so, step by step, of all others.
        """
        for before, after in pairwise(self.estimates):
            apart = float(before.kernel.entrywise_distance(after.kernel).max())
            excess = apart - self.drift(before.time, after.time)
            if excess > CONTRADICTION_TOLERANCE:
                return (
                    f"the estimates of P_{before.time} and P_{after.time} differ by {excess:.3g} more than "
                    "the drift bounds allow: the bounds are too small"
                )
        return None

    @property
    def required_family(self) -> Family:
        """The family; raises `NoStructure` if there is none, or it is not exact."""
        if self.family is None or not self.family.exact:
            raise NoStructure("the structure cannot be used: the world declares no family of kernels")
        return self.family

    def parameters(self) -> dict[int, float]:
        """The parameter of every estimate, by its time; raises `NoStructure` if one has none."""
        family, parameters = self.required_family, dict[int, float]()
        for estimate in self.estimates:
            parameter = family.share_of(estimate.kernel)
            if parameter is None:
                raise NoStructure(
                    f"the structure cannot be used: the estimate of P_{estimate.time} is not in the family"
                )
            parameters[estimate.time] = parameter
        return parameters


def premises_in(world: World, estimates: Sequence[KernelEstimate]) -> Premises:
    """Return the estimates in order, with the drift bounds, successors and family that the world declares."""
    in_order = tuple(sorted(estimates, key=lambda estimate: estimate.time))
    for before, after in pairwise(in_order):
        if before.time == after.time:
            raise InputError(f"there are two estimates of P_{after.time}")
    declared = world.declared_successors
    if declared is None and isinstance(grid := world.kernel(0), SlipKernel):
        declared = cells_around(grid)  # for estimates that are no grid of moves themselves
    known = Premises(in_order, world.drift_bounds, declared, world.family)
    if known.delta >= 1:
        raise InputError(f"the estimates' deltas add up to {known.delta:g}: nothing can be promised")
    return known


def possible_successors(kernel: Kernel, declared: ArrayLike | None = None) -> tuple[Indices, Array]:
    """(S, k) where a step can lead at any time, and (S, k) 1 for an entry, 0 for padding.

    It has to be declared, since drift may open ways that an estimate has not seen. Without a declaration it
    is the cells around on a grid of moves, blocked ones included; otherwise every state.
    """
    if declared is None:
        if isinstance(kernel, SlipKernel):
            declared = cells_around(kernel)
        else:
            declared = np.tile(np.arange(kernel.states), (kernel.states, 1))
    lists = successor_lists(declared, kernel.states)
    entries = np.ones(lists.shape)
    entries[:, 1:] = lists[:, 1:] != lists[:, :-1]
    return lists, entries


def cells_around(kernel: SlipKernel) -> Indices:
    """(S, A) the cells that moves lead to if none is blocked."""
    return SlipKernel(kernel.shape, 0.0).destinations()


def spread(kernel: Kernel, successors: Indices, entries: Array) -> Array:
    """(S, A, k) the kernel's probabilities over the possible successors."""
    general = kernel.general()
    same = (successors[:, :, None] == general.successors[:, None, :]) * entries[:, :, None]
    probabilities = np.einsum("ski,sai->sak", same, general.probabilities)
    missing = 1 - probabilities.sum(axis=2)
    if (missing > 1e-9).any():
        s, a = np.argwhere(missing > 1e-9)[0]
        raise InputError(f"the estimate leads from s={s}, a={a} to a state that is not declared possible")
    return probabilities


def learned_estimates(
    transitions: Transitions, world: World, times: Sequence[int], *, delta: float
) -> list[KernelEstimate]:
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
) -> KernelEstimate:
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
    return KernelEstimate(
        time, GeneralKernel.from_dense(dense), np.where(seen > 0, np.minimum(radius, 1.0), 1.0), delta
    )
