"""Maximum likelihood under the drift bound, the paper's appendix on the skip-update algorithm.

    maximise   sum over observations of log P_t(next | s, a)
    subject to |P_u(s' | s, a) - P_t(s' | s, a)| <= epsilon_t + ... + epsilon_{u-1}.

It separates over (s, a). A new observation therefore re-solves only its own pair, starting where
the last solution was.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable
from copy import copy
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from numpy.typing import ArrayLike

from replan import _loops
from replan.errors import InputError, require
from replan.estimate.drift_bounds import DriftSums
from replan.estimate.estimator import Learned, Observation
from replan.estimate.observations import Transitions, read_transitions
from replan.estimate.pair import (
    Filling,
    PairSolution,
    check_filling,
    fill_pair,
    later_rows,
    pooled_wanted,
    solve_pair,
)
from replan.model.general_kernel import GeneralKernel, prepare_kernel
from replan.model.kernel import Array, Indices, Kernel

log = logging.getLogger(__name__)
MOST_STATES = 2000  # of a kernel in which every state can follow every other


@dataclass
class _Pair:
    """The observations of one (s, a) and their solution."""

    times: list[int] = field(default_factory=list)
    slots: list[int] = field(default_factory=list)
    solution: PairSolution | None = None
    filled: PairSolution | None = None  # None: new observations since


@dataclass(frozen=True)
class PairEstimate:
    """The estimate of one (s, a) at the times at which it was seen."""

    state: int
    """s."""
    action: int
    """a."""
    times: Indices
    """(n,) distinct times at which the pair was seen."""
    successors: Indices
    """(k,) possible next states."""
    probabilities: Array
    """(n, k) distribution at each time."""
    log_likelihood: float
    """Log-likelihood of the observations."""
    gap: float
    """The optimum of the log-likelihood is at most this much higher."""


class DriftBoundedMLE:
    """The paper's estimator: maximum likelihood of every kernel so far, with drift within the stated bounds.

    Parameters
    ----------
    nominal : Kernel
        Gives the possible successors of each state. By default it also fills what the data leaves open.
    drift_bounds : array_like
        One number for every step, (T-1,) numbers, or (T-1, S, A) with a bound for each state and action.
    filling : {"nominal", "maximum-entropy", "pooled"}
        How kernels are filled without data.
    """

    def __init__(self, nominal: Kernel, drift_bounds: ArrayLike, *, filling: Filling = "nominal") -> None:
        check_filling(filling)
        require(Kernel, nominal=nominal)
        general = nominal.general()
        self.filling: Filling = filling
        self.successors = general.successors
        self.nominal = general.probabilities
        self._real = np.ones(self.successors.shape, dtype=bool)  # padding repeats the successor before it
        self._real[:, 1:] = self.successors[:, 1:] != self.successors[:, :-1]
        self._widths = self._real.sum(axis=1)
        states, actions, _ = self.nominal.shape
        self._drift = DriftSums(drift_bounds, states=states, actions=actions)
        offsets = self.successors - np.arange(len(self.successors))[:, None]
        self._displacements = np.unique(offsets, return_inverse=True)[1].reshape(offsets.shape)
        self._pairs: dict[tuple[int, int], _Pair] = {}
        self._seen: list[tuple[int, int, int, int]] = []
        _loops.load("interior_point")
        prepare_kernel(self.kernel(0))

    def begin(self) -> Learned:
        """Return no transitions."""
        return {"transitions": np.empty((0, 4), dtype=np.int64)}

    def estimate(self, learned: Learned, seen: Observation) -> tuple[Learned, Kernel]:
        """Learn the transition that the update revealed, if it did, and return the kernel of that step.

        A transition to a state that is no successor (the robot was carried away) is logged and ignored.
        What is learned are the transitions and the solutions, from which the next ones start.
        """
        now, t, state, action = (
            self._having(learned),
            seen.time - 1,
            seen.previous_state,
            seen.previous_action,
        )
        if state is not None and action is not None:
            step = Transitions.of_rows([[t, state, action, seen.state]])
            step.check(states=len(self.successors), actions=self.nominal.shape[1])
            if seen.state in self.successors[state]:
                now.learn(step)
            else:
                log.warning("t=%d: s=%d is no successor of s=%d; nothing is learned", t, seen.state, state)
        kernel = now.kernel(max(t, 0))
        return now._arrays(), kernel

    def learn(self, seen: Transitions) -> None:
        """Add transitions, none of them earlier than those before. Solved when an estimate is read."""
        seen.check(states=len(self.successors), actions=self.nominal.shape[1])
        slots = self._slots(seen)
        for t, s, a, following, slot in zip(
            *(part.tolist() for part in (seen.times, seen.states, seen.actions, seen.next_states, slots)),
            strict=True,
        ):
            if self._seen and t < self._seen[-1][0]:
                raise InputError(f"t={t} is earlier than t={self._seen[-1][0]}, which was learned before")
            pair = self._pairs.setdefault((s, a), _Pair())
            pair.times.append(t)
            pair.slots.append(slot)
            pair.filled = None
            self._seen.append((t, s, a, following))

    def kernel(self, time: int) -> GeneralKernel:
        """Return the whole kernel at a time not before the last observation."""
        if self._seen and time < self._seen[-1][0]:
            raise InputError(
                f"t={time} lies before the last observation, t={self._seen[-1][0]}; ask for pairs()"
            )
        wanted = self._wanted()
        if not self._pairs:
            return GeneralKernel(self.successors, wanted)
        probabilities = wanted.copy()
        s, a = (np.array(column) for column in zip(*self._pairs, strict=True))
        rows = np.zeros((len(s), self.nominal.shape[2]))
        for row, (key, pair) in zip(rows, self._pairs.items(), strict=True):
            last = self._solved(key, pair, wanted).probabilities[-1]
            row[: len(last)] = last
        last_times = np.array([pair.times[-1] for pair in self._pairs.values()])
        drift = self._drift.between(last_times, time, s, a)
        probabilities[s, a] = later_rows(rows, drift, wanted[s, a], self._real[s])
        return GeneralKernel(self.successors, probabilities)

    def pairs(self) -> Iterable[PairEstimate]:
        """Yield the estimates of all pairs seen, at the times at which they were."""
        wanted = self._wanted()
        for (s, a), pair in self._pairs.items():
            solution = self._solved((s, a), pair, wanted)
            times, first = np.unique(pair.times, return_index=True)
            yield PairEstimate(
                state=s,
                action=a,
                times=times,
                successors=self.successors[s, : self._widths[s]],
                probabilities=solution.at_observations()[first],
                log_likelihood=solution.log_likelihood,
                gap=solution.gap,
            )

    @property
    def log_likelihood(self) -> float:
        """Log-likelihood of everything learned."""
        return sum(pair.log_likelihood for pair in self.pairs())

    @property
    def gap(self) -> float:
        """Certified bound on the distance of the log-likelihood from its maximum."""
        return sum(pair.gap for pair in self.pairs())

    def _arrays(self) -> Learned:
        """Return the transitions seen and the solutions."""
        arrays = {"transitions": np.array(self._seen, dtype=np.int64).reshape(-1, 4)}
        for (s, a), pair in self._pairs.items():
            if pair.solution is not None and pair.filled is not None:
                optimum, filled = pair.solution, pair.filled
                arrays[f"solution {s} {a}"] = np.concatenate(
                    [optimum.probabilities, optimum.multipliers, filled.probabilities]
                )
                scores = [optimum.log_likelihood, optimum.gap, filled.log_likelihood, filled.gap]
                arrays[f"scores {s} {a}"] = np.array(scores)
                arrays[f"nodes {s} {a}"] = optimum.nodes
        return arrays

    def _having(self, arrays: Learned) -> DriftBoundedMLE:
        """Return a copy of the estimator that has learned what `_arrays` returned."""
        other = copy(self)
        other._pairs, other._seen = {}, []
        other.learn(Transitions.of_rows(arrays["transitions"]))
        for (s, a), pair in other._pairs.items():
            if (rows := arrays.get(f"solution {s} {a}")) is not None:
                n = len(rows) // 3
                optimum, gap, filled, filled_gap = arrays[f"scores {s} {a}"].tolist()
                nodes = arrays[f"nodes {s} {a}"]
                pair.solution = PairSolution(nodes, rows[:n], rows[n : 2 * n + 1], optimum, gap)
                pair.filled = PairSolution(nodes, rows[2 * n + 1 :], rows[n : 2 * n + 1], filled, filled_gap)
        return other

    def _solved(self, key: tuple[int, int], pair: _Pair, wanted: Array) -> PairSolution:
        if pair.filled is None:
            s, a = key
            times, slots = np.array(pair.times), np.array(pair.slots)
            sums = self._drift.up_to(pair.times[-1], s, a)
            width = int(self._widths[s])
            pair.solution = solve_pair(times, slots, sums, width, earlier=pair.solution)
            pair.filled = fill_pair(pair.solution, times, slots, sums, wanted[s, a, :width], self.filling)
        return pair.filled

    def _wanted(self) -> Array:
        """(S, A, k) target of the filling rule, before any data of the pair itself."""
        if self.filling == "maximum-entropy":
            even = self._real / self._widths[:, None]
            return np.repeat(even[:, None, :], self.nominal.shape[1], axis=1)
        if self.filling == "pooled":
            seen = np.array(self._seen, dtype=np.int64).reshape(-1, 4)
            slots = (self.successors[seen[:, 1]] == seen[:, 3:]).argmax(axis=1)
            moved = np.stack([seen[:, 2], self._displacements[seen[:, 1], slots]], axis=1)
            return pooled_wanted(self.nominal, self._displacements, self._real, moved)
        return self.nominal

    def _slots(self, seen: Transitions) -> Indices:
        """(n,) which successor each transition went to."""
        match = self.successors[seen.states] == seen.next_states[:, None]
        impossible = ~match.any(axis=1)
        if impossible.any():
            row = int(impossible.argmax())
            raise InputError(
                f"row {row + 1}: next={seen.next_states[row]} is not a successor of s={seen.states[row]}"
            )
        return match.argmax(axis=1)


def estimate_file(
    path: str | Path,
    *,
    states: int,
    actions: int,
    drift_bound: ArrayLike,
    nominal: Kernel | None = None,
    filling: Filling = "nominal",
) -> dict:
    """Return the log-likelihood, its certified gap, and the estimates of every pair at the times it was seen.

    Without a `nominal` kernel every state may follow every other, and nominal is uniform. Each of `kernels`
    has t, s, a, and the lists `next` and `probabilities` of the successors whose probability is not 0.
    """
    seen = read_transitions(path)
    if not len(seen):
        raise InputError(f"{path}: no observations")
    nominal = uniform_kernel(states, actions) if nominal is None else nominal
    if (nominal.states, nominal.actions) != (states, actions):
        raise InputError(f"the nominal kernel has {nominal.states} states and {nominal.actions} actions")
    estimator = DriftBoundedMLE(nominal, drift_bound, filling=filling)
    try:
        estimator.learn(seen)
    except InputError as error:
        raise InputError(f"{path}: {error}") from None
    kernels = []
    for pair in estimator.pairs():
        for t, row in zip(pair.times.tolist(), pair.probabilities, strict=True):
            kept = row > 1e-9
            following, probabilities = pair.successors[kept].tolist(), row[kept].tolist()
            kernels.append(
                {"t": t, "s": pair.state, "a": pair.action, "next": following, "probabilities": probabilities}
            )
    kernels.sort(key=lambda entry: (entry["t"], entry["s"], entry["a"]))
    return {"log_likelihood": estimator.log_likelihood, "gap": estimator.gap, "kernels": kernels}


def uniform_kernel(states: int, actions: int) -> GeneralKernel:
    """Return the uniform kernel over all states."""
    if states < 1 or actions < 1:
        raise InputError(f"there must be at least one state and one action, not {states} and {actions}")
    if states > MOST_STATES:
        raise InputError(f"for more than {MOST_STATES} states give a nominal kernel with its successors")
    return GeneralKernel(
        np.tile(np.arange(states), (states, 1)), np.full((states, actions, states), 1 / states)
    )
