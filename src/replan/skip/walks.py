"""From a decision, walk until the next one: where robots are k steps later, and what they have gained.

A `Course` is a world, or a future that is expected, with the updates that can be made in it. A walk takes R
robots from a node, which is a decision with an update in force. It has exits, the times at which robots that
are not seen may leave for an update, and times at which they are seen and asked:

    V = max over exits u of
        gained until u + sum over sightings before u of D + unseen mass at u times (U - price)

where D is what a decision is worth to a robot that is seen, and U what an update is. `BlindWalk` has exits
only. `SeenWalk` has none and ends where the robot is asked.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple, Protocol

import numpy as np

from replan import _loops
from replan.model.combination import stack_kernels
from replan.model.kernel import Array, Indices, Kernel, band_results
from replan.model.reward import Reward
from replan.planning.optimal_values import FollowedStep, follow
from replan.planning.ties import TIE_TOLERANCE
from replan.skip.acting import SERIAL_BELOW, BeliefPropagation, MapPropagation, Update, distinct

NONE = np.empty((0, 0, 0))
EQUAL = 1e-12
"""Updates that differ in worth by no more than this are equally good, and the earliest is made."""


@dataclass(frozen=True)
class OverTime:
    """Kernels and rewards of the times begin..T-1 as arrays for compiled loops; equal ones are kept once."""

    successors: Indices = field(repr=False)
    """(K, S, A, k) successors of each action in each distinct kernel."""
    probabilities: Array = field(repr=False)
    """(K, S, A, k) their probabilities."""
    kernel_of: Indices = field(repr=False)
    """(T,) which kernel each time has."""
    state_action: Array = field(repr=False)
    """(M, S, A) rewards of state and action, or (1, 0, 0) where no reward has this part."""
    next_state: Array = field(repr=False)
    """(M, S) rewards of the next state, or (1, 0) where no reward has this part."""
    reward_of: Indices = field(repr=False)
    """(T,) which reward each time has."""

    @property
    def lists(self) -> tuple[np.ndarray, ...]:
        """All arrays, in the order in which loops take them."""
        return (
            *(self.successors, self.probabilities, self.kernel_of),
            *(self.state_action, self.next_state, self.reward_of),
        )


@dataclass(eq=False, kw_only=True)
class Course:
    """A world, or a future that is expected, and the updates that can be made in it."""

    horizon: int
    """T."""
    kernel: Callable[[int], Kernel]
    reward: Callable[[int], Reward]
    update: Callable[[int, Update | None, int], Update]
    """(time, the update in force, steps that it takes) -> the update begun then."""
    begin: int = 0
    """The first time that matters."""
    durations: Sequence[tuple[int, float]] = ((0, 1.0),)
    """(steps, probability) of the time that updates take."""
    compares: bool = False
    """Whether what an update puts in force depends on the update before it."""
    tolerance: float = 0.0
    """Probabilities below this are dropped."""
    losses: Array = field(default_factory=lambda: NONE)
    """(T, S, A) what is counted beside the reward; empty: nothing."""
    _settled: dict[tuple, Indices] = field(default_factory=dict, repr=False)

    @cached_property
    def states(self) -> int:
        """Number of states S."""
        return self.kernel(self.begin).states

    @property
    def by_last(self) -> bool:
        """Whether later updates depend on the one in force: on its estimate, or as its plan acts on."""
        return self.compares or tuple(self.durations) != ((0, 1.0),)

    @cached_property
    def over_time(self) -> OverTime:
        """Kernels and rewards as arrays."""
        times = range(self.begin, self.horizon)
        kernels, kernel_of = distinct([self.kernel(t) for t in times])
        rewards, reward_of = distinct([self.reward(t) for t in times])
        shape = self.states, kernels[0].actions
        before = np.zeros(self.begin, dtype=np.int64)
        return OverTime(
            *stack_kernels(kernels),
            np.concatenate([before, kernel_of]),
            _stacked([each.state_action for each in rewards], shape),
            _stacked([each.next_state for each in rewards], shape[:1]),
            np.concatenate([before, reward_of]),
        )

    @cached_property
    def rests_from(self) -> int:
        """The first time from which on kernel and reward stay as they are."""
        last = self.kernel(self.horizon - 1), self.reward(self.horizon - 1)
        t = self.horizon - 1
        while t > self.begin and self.kernel(t - 1) is last[0] and self.reward(t - 1) is last[1]:
            t -= 1
        return t

    def outcomes(self, time: int, before: Update) -> list[tuple[float, Update]]:
        """Return what an update puts in force, with the probability of each duration."""
        return [(chance, self.update(time, before, steps)) for steps, chance in self.durations]

    def commands(self, update: Update, begin: int, states: Indices) -> Indices:
        """(R, T - begin) actions of robots that saw `states` at `begin`; each is worked out once."""
        steps, key = self.horizon - begin, (update.name, begin)
        if key not in self._settled:
            self._settled[key] = np.full((self.states, steps), -1, dtype=np.int16)
        known = self._settled[key]
        if len(missing := states[known[states, 0] < 0]):
            known[missing] = update.propagation.commands(
                missing, begin=begin, steps=steps, tolerance=self.tolerance
            )
        return known[states].astype(np.int64)


def _stacked(parts: Sequence[Array | None], shape: tuple[int, ...]) -> Array:
    if all(part is None for part in parts):
        return np.zeros((1,) + (0,) * len(shape))
    return np.stack([np.zeros(shape) if part is None else part for part in parts])


@dataclass(frozen=True, eq=False)
class Exits:
    """The times at which an update can follow a node, and what it is worth then."""

    times: np.ndarray
    """(T + 1,) bool."""
    latest: Indices
    """(C,) latest time by updates left that leaves room for the others."""
    worth: Array
    """(T + 1, S, C + 1) U - price; the last column is 1 where it is known."""
    known: np.ndarray
    """(T + 1,) bool, whether it is known for all states."""


class Moves(NamedTuple):
    """What became of robots on a walk."""

    gains: Array
    """(L,) expected reward of each step."""
    losses: Array
    """(L,) what was lost in each step, by `Course.losses`."""
    leaving: dict[int, Array]
    """By time, (S,) mass that leaves for an update."""
    seen: dict[int, Array]
    """By time, (S,) mass that is seen and asked."""


class Walk(Protocol):
    """R robots between a decision and the next one."""

    @property
    def size(self) -> int:
        """Number of probabilities that it holds."""
        ...

    def reach(self, weights: Array, times: np.ndarray, out: Array) -> None:
        """Add where robots with (R,) `weights` are at each of the (T + 1,) bool times to (T + 1, S) `out`."""
        ...

    def going_on(self, ahead: Callable[[int], Array], columns: int) -> Array:
        """(R, C) worth of leaving for no update; `ahead` gives (S, C) what a decision at a time is worth."""
        ...

    def leaving(self, exits: Exits) -> Array:
        """(R, T + 1, C) worth of leaving for an update at each time; -inf where that is impossible."""
        ...

    def best(self, exits: Exits, value: Array, times: Indices) -> None:
        """Raise (R, C) `value` where leaving for an update is better, and put the best time into `times`."""
        ...

    def push(self, mass: Array, chances: Array) -> Moves:
        """Follow (S,) mass in the states seen that leaves with (R, T + 1) chances."""
        ...

    def back_up(self, chances: Array, worth: Array, ahead: Callable[[int], Array]) -> Array:
        """(R,) return of robots that leave for (T + 1, S) `worth`, or get what `ahead` says when asked."""
        ...


@dataclass(eq=False)
class BlindWalk:
    """R robots that see nothing until they leave; k = 0..L steps after they saw `states`."""

    course: Course
    begin: int
    states: Indices
    """(R,)"""
    actions: Indices
    """(R, L) settled actions; for resting plans, those of the plan's own tree."""
    keep: np.ndarray | None = None
    """(L + 1,) bool, the numbers of steps after which it matters where robots are; None: all."""
    tree: tuple[np.ndarray, ...] | None = None
    """The arrays of `distributions` where other walks share them."""

    @cached_property
    def distributions(self) -> tuple[np.ndarray, ...]:
        """(n,) gains of nodes, (R, L + 1) the node after k steps, (n + 1,) offsets, (N,) cells and masses."""
        if self.tree is not None:
            return self.tree
        keep = np.ones(self.actions.shape[1] + 1, dtype=bool) if self.keep is None else self.keep
        over = self.course.over_time

        def push(first: int, last: int) -> tuple[np.ndarray, ...]:
            return _loops.segments.push_rows(
                *over.lists, self.begin, self.states[first:last], self.actions[first:last], keep,
                self.course.tolerance,
            )  # fmt: skip

        bands = band_results(push, len(self.states), serial=self.actions.size < SERIAL_BELOW)
        gained, *lists = zip(*bands, strict=True)
        nodes = np.arange(self.actions.size + len(self.states)).reshape(len(self.states), -1)
        return np.concatenate(gained).ravel(), nodes, *_joined(*lists)

    @property
    def gained(self) -> Array:
        """(R, L + 1) expected reward of the first k steps."""
        gains, nodes, *_ = self.distributions
        return gains[nodes]

    @property
    def size(self) -> int:
        """Number of probabilities that it holds."""
        return len(self.distributions[-1])

    def reach(self, weights: Array, times: np.ndarray, out: Array) -> None:
        """Add where robots with (R,) `weights` are at each of the (T + 1,) bool times to (T + 1, S) `out`."""
        _loops.segments.reach(self.begin, weights, *self.distributions[1:], times, out)

    def going_on(self, ahead: Callable[[int], Array], columns: int) -> Array:
        """(R, C) worth of leaving for no update."""
        gains, nodes, *_ = self.distributions
        return np.repeat(gains[nodes[:, -1]], columns).reshape(-1, columns)

    def leaving(self, exits: Exits) -> Array:
        """(R, T + 1, C) worth of leaving for an update at each time; -inf where that is impossible."""
        rows, columns = len(self.states), len(exits.latest)
        worth = np.full((rows, len(exits.times), columns), -np.inf)
        self._weigh(exits, np.empty((rows, columns)), np.empty((rows, columns), dtype=np.int64), worth)
        return worth

    def best(self, exits: Exits, value: Array, times: Indices) -> None:
        """Raise (R, C) `value` where leaving for an update is better, and put the best time into `times`."""
        self._weigh(exits, value, times, NONE)

    def _weigh(self, exits: Exits, value: Array, times: Indices, worth: Array) -> None:
        _loops.segments.weigh_candidates(
            self.begin, *self.distributions, exits.times, exits.latest, exits.worth, exits.known, value,
            times, EQUAL, worth,
        )  # fmt: skip

    def push(self, mass: Array, chances: Array) -> Moves:
        """Follow (S,) mass in the states seen that leaves with (R, T + 1) chances."""
        begin, end = self.begin, last_chance(chances)
        groups = _loops.segments.merge(self.actions[:, : end - begin], chances[:, begin : end + 1])
        gains, losses, left = _loops.segments.push_groups(
            *self.course.over_time.lists, self.course.losses, begin, self.states, mass[self.states], *groups
        )
        return Moves(gains, losses, {begin + k: left[k] for k in range(1, end + 1 - begin)}, {})

    def back_up(self, chances: Array, worth: Array, ahead: Callable[[int], Array]) -> Array:
        """(R,) return of robots that leave with (R, T + 1) chances for (T + 1, S) `worth`."""
        begin, end = self.begin, last_chance(chances)
        first, *groups = _loops.segments.merge(self.actions[:, : end - begin], chances[:, begin : end + 1])
        values = _loops.segments.back_up_groups(
            *self.course.over_time.lists, begin, *groups, worth[begin : end + 1]
        )
        return values[first, self.states]


def last_chance(chances: Array) -> int:
    """Return the last time that has a chance in any row of (R, T + 1)."""
    return int(np.flatnonzero(chances.any(axis=0))[-1])


def _joined(offsets, cells, masses) -> tuple[Indices, Indices, Array]:
    """Return the offsets, cells and masses of several bands as those of one."""
    if len(offsets) == 1:
        return offsets[0], cells[0], masses[0]
    ends = np.cumsum([0, *(band[-1] for band in offsets)])
    joined = [band[:-1] + end for band, end in zip(offsets, ends, strict=False)]
    return np.concatenate([*joined, ends[-1:]]), np.concatenate(cells), np.concatenate(masses)


def resting_walks(course: Course, updates: Mapping[int, Update]) -> dict[int, BlindWalk]:
    """Return, by time of update, the walks of robots in all states, in a course that rests by then.

    Where nothing moves, robots that saw the same state and have taken the same actions since are distributed
    alike, whenever their update was. Plans of different lengths mostly agree, so that their walks form a tree
    of few branches.
    """
    if not updates:
        return {}
    over, horizon, everyone = course.over_time, course.horizon, np.arange(course.states)
    plans: dict[bytes, tuple[int, Update]] = {}
    place = {}
    for time, update in sorted(updates.items()):
        by = update.propagation
        says = by.policy if isinstance(by, MapPropagation) else update.plan.q_values
        place[time] = plans.setdefault(says.tobytes(), (len(plans), update))[0]
    acting: list[Any] = [update.propagation for _, update in plans.values()]
    lengths = np.array([horizon - update.time for _, update in plans.values()])
    if isinstance(acting[0], BeliefPropagation):
        tables = [each.tables for each in acting]
        actions, q_values = (
            np.empty((0, 0, 0), np.int64),
            np.concatenate([t.q_values[0] for t in tables], axis=1),
        )
        preference = np.concatenate([each.preference for each in tables])
    else:
        actions, q_values = _actions_at_rest(acting, int(lengths.max())), np.empty((0, 0))
        preference = np.zeros((len(acting), 1), dtype=np.int64)
    kernel, reward = over.kernel_of[-1], over.reward_of[-1]

    def walk(first: int, last: int) -> tuple[np.ndarray, ...]:
        return _loops.segments.walk(
            first, last, over.successors[kernel], over.probabilities[kernel],
            over.state_action[min(reward, len(over.state_action) - 1)],
            over.next_state[min(reward, len(over.next_state) - 1)],
            actions, q_values, preference, lengths, TIE_TOLERANCE, course.tolerance,
        )  # fmt: skip

    bands = band_results(walk, course.states, serial=course.states * lengths.sum() < SERIAL_BELOW)
    nodes, gained, *lists = zip(*bands, strict=True)
    before = np.cumsum([0, *(len(each) for each in gained)])
    joined = np.concatenate([each + more for each, more in zip(nodes, before, strict=False)], axis=1)
    gains, lists = np.concatenate(gained), _joined(*lists)
    trees = {t: (gains, joined[p, :, : horizon - t + 1], *lists) for t, p in place.items()}
    return {t: BlindWalk(course, t, everyone, everyone[:, None], tree=tree) for t, tree in trees.items()}


def _actions_at_rest(acting: Sequence[MapPropagation], steps: int) -> Indices:
    """(P, S, steps) actions of robots that act on the likeliest state, by plans that stay."""
    policies = np.stack([each.policy[0] for each in acting])
    ahead = np.stack([each.following[0] for each in acting])
    at = base = np.arange(policies.size).reshape(policies.shape)
    ahead = (ahead + base - base % policies.shape[1]).ravel()
    out = np.empty((*base.shape, steps), dtype=np.int64)
    for k in range(steps):
        out[:, :, k] = policies.ravel()[at]
        at = ahead[at]
    return out


@dataclass(eq=False)
class SeenWalk:
    """Robots in all states that follow a policy until they are asked."""

    begin: int
    steps: Sequence[FollowedStep]
    losses: Sequence[Array]
    """(S,) lost in each step; empty: not counted."""

    @property
    def end(self) -> int:
        """The time at which they are asked, or T."""
        return self.begin + len(self.steps)

    @property
    def size(self) -> int:
        """Number of probabilities that only this walk holds."""
        return 0

    def reach(self, weights: Array, times: np.ndarray, out: Array) -> None:
        """Add nothing: there are no exits."""

    def leaving(self, exits: Exits) -> Array:
        """(S, T + 1, C) worth of exits that there are not."""
        return np.full((len(exits.worth[0]), len(exits.times), len(exits.latest)), -np.inf)

    def best(self, exits: Exits, value: Array, times: Indices) -> None:
        """Leave everything as it is: there are no exits."""

    def going_on(self, ahead: Callable[[int], Array], columns: int) -> Array:
        """(S, C) worth, given what a decision at a time is worth."""
        values = ahead(self.end)
        for step in reversed(self.steps):
            values = step.backup(values)
        return values

    def push(self, mass: Array, chances: Array) -> Moves:
        """Follow (S,) mass until it is asked."""
        gains, losses = np.zeros((2, len(self.steps)))
        for k, step in enumerate(self.steps):
            gains[k] = mass @ step.reward
            losses[k] = mass @ self.losses[k] if self.losses else 0.0
            mass = step.push(mass)
        return Moves(gains, losses, {}, {self.end: mass})

    def back_up(self, chances: Array, worth: Array, ahead: Callable[[int], Array]) -> Array:
        """(S,) return, given (S,) what they get when they are asked."""
        values = ahead(self.end)
        for step in reversed(self.steps):
            values = step.backup(values)
        return values


@dataclass(eq=False)
class FollowedSteps:
    """The steps of a course under policies, each worked out once."""

    course: Course
    _known: dict[tuple[int, bytes], tuple[FollowedStep, Array]] = field(default_factory=dict, repr=False)

    def __call__(self, time: int, policy: Indices) -> tuple[FollowedStep, Array]:
        """Return the step at a time under (S,) actions, and (S,) what is lost in it."""
        key, course = (time, policy.tobytes()), self.course
        if key not in self._known:
            everyone = np.arange(len(policy))
            losses = course.losses[time, everyone, policy] if course.losses.size else np.empty(0)
            self._known[key] = follow(course.kernel(time), course.reward(time), policy), losses
        return self._known[key]
