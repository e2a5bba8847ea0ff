"""The best updates: one dynamic programme over decisions, in the world or in what a robot expects.

With V the worth of a node (a decision that is taken), U that of an update and D that of a decision still to
be taken, all by state and by updates left:

    D(t, n) = max(V(t, n), U(t, n) - price)
    U(t, n) = sum over what an update at t puts in force of p V(t, new)
    V(t, n) = max over exits u of
              gained until u + sightings before u of D + unseen mass at u times (U(u, n) - price)

A limit on updates is a column, an exact budget is -inf for what is left over, and a price can differ from
step to step. Nodes are listed forwards in time and solved backwards. In the world this is the floor under
every rule; in a forecast it is look-ahead. Where an update tells which of several futures has come, each has
its own V and the mean is taken at the root; where it never does, the mean is inside the maximum.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import ArrayLike

from replan import _loops
from replan.model.kernel import Array, Indices
from replan.skip.acting import Update
from replan.skip.walks import EQUAL, Exits, Walk
from replan.skip.ways import Ways

ENTRIES_KEPT = 30_000_000
"""Probabilities that a programme keeps from listing nodes until it solves them; 12 bytes each."""
ROWS_AT_ONCE = 512
"""Robots whose walks are held at once, unless they stand in all states."""

Walks = list[Walk]
NOTHING = np.empty((0, 0))


@dataclass(eq=False)
class Node:
    """A decision: what is in force after it, and in which states it may be taken."""

    updates: tuple[Update, ...]
    """In force, one for each future."""
    asked: bool
    """Whether the decision is still to be taken."""
    columns: int
    """Numbers of updates left with which it can be followed by one."""
    most: Array
    """(S,) probability, at most, of seeing a state here."""
    walks: list[tuple[Indices, Walks]] = field(default_factory=list)
    """Walks of some states, kept from when nodes were listed."""
    value: Array = field(default_factory=lambda: NOTHING)
    """(S, C) V by updates left; 0 in states that are not seen here."""
    decided: Array = field(default_factory=lambda: NOTHING)
    """(S, C) D by updates left, where it is asked."""
    next_times: Indices = field(default_factory=lambda: NOTHING)
    """(S, C) best next update (T: none), where that was wanted."""


class Programme:
    """V of every node in one future, or in several that the robot is never told apart.

    Parameters
    ----------
    futures : sequence of (weight, Ways)
        What can come.
    limit : int, optional
        The most updates that can be made; None: no limit, and V has a single column.
    exact : bool
        Whether all of them must be made.
    prices : array_like
        Price of an update, or of one at each of T times.
    spacing : int
        Steps between updates that an exact budget reckons with.
    stride : int
        Later updates are weighed at every so many times only, and interpolated in between.
    with_times : bool
        Whether best next updates are kept for every node.
    """

    def __init__(
        self,
        futures: Sequence[tuple[float, Ways]],
        *,
        limit: int | None,
        exact: bool = False,
        prices: ArrayLike = 0.0,
        spacing: int = 1,
        stride: int = 1,
        with_times: bool = False,
    ) -> None:
        total = sum(weight for weight, _ in futures)
        self.weights, self.ways = [weight / total for weight, _ in futures], [ways for _, ways in futures]
        self.lead, self.course = self.ways[0], self.ways[0].course
        self.horizon, self.states = self.course.horizon, self.course.states
        self.prices = np.broadcast_to(np.asarray(prices, dtype=float), self.horizon)
        self.exact, self.spacing, self.stride, self.with_times = exact, spacing, stride, with_times
        self.spent = 0 if limit is None else 1  # columns that an update takes off
        self.columns = 1 if limit is None else limit
        self.nodes: dict[int, dict[Hashable, Node]] = defaultdict(dict)
        self.leads: dict[int, dict[Hashable, list[tuple[float, Node]]]] = defaultdict(dict)
        """By time and group, what an update then puts in force."""
        self._entries = 0

    def solve(
        self,
        time: int,
        roots: Sequence[Sequence[Update]],
        states: Indices | None = None,
        *,
        asked: bool = False,
    ) -> Programme:
        """Solve all nodes that follow on `time`.

        Robots see one of `states` then (None: any state). One of the `roots`, each with an update for every
        future, is in force; with `asked` they have yet to decide.
        """
        self.time, self.whole = time, states is None
        self.start = np.arange(self.states) if states is None else np.asarray(states, dtype=np.int64)
        most = np.bincount(self.start, minlength=self.states).astype(float)
        self._place_exits(time, roots[0][0])
        self.roots = [Node(tuple(updates), asked, self.columns, most) for updates in roots]
        self.nodes[time] = {self.lead.behaviour(root.updates[0], time): root for root in self.roots}
        shape = self.horizon + 1, self.states, self.columns + 1
        self._shared = np.zeros(shape), np.full(self.horizon + 1, self.whole)
        self._opened: set[Hashable] = set()
        for t in range(time, self.horizon):
            here = list(self.nodes[t].values())
            for node in here:  # it grows, while decisions to be taken add what they may put in force
                self._open(t, node, here)
                if not self.whole:
                    self._spread(t, node)
        for t in range(self.horizon - 1, time - 1, -1):
            self._solve_at(t)
        self._fill_in()
        return self

    def _place_exits(self, time: int, update: Update) -> None:
        """Choose the times at which updates are weighed, and the latest by updates left."""
        stride, horizon = self.stride, self.horizon
        times = [u for u in self.lead.exits(time, update) if (u - self.course.begin - 1) % stride == 0]
        self.times, self.latest = np.zeros(horizon + 1, dtype=bool), np.full(self.columns, horizon - 1)
        self.times[times] = True
        if self.exact and times:
            between = -(-self.spacing // stride) * stride
            last = max((u for u in times if u <= horizon - self.spacing), default=times[0])
            self.latest = last - between * np.arange(self.columns)
        self.root_times = self.times

    # Forwards: the nodes that there are.

    def _group(self, update: Update) -> Hashable:
        """Return what later updates depend on: nothing, or the update in force."""
        return update.name if self.course.by_last else None

    def _open(self, t: int, node: Node, here: list[Node]) -> None:
        """List the nodes that follow on one."""
        update = node.updates[0]
        if (group := self._group(update)) not in self._opened:
            self._opened.add(group)
            for u in self.lead.exits(t, update):
                if self.times[u]:
                    self._lead(u, group, node)
        if node.asked:
            here += [new for new in self._lead(t, group, node) if all(new is not each for each in here)]
        for v in self.lead.asked(t, update):
            key = self.lead.behaviour(update, v)
            if key not in self.nodes[v]:
                self.nodes[v][key] = Node(node.updates, True, self.columns, np.zeros(self.states))

    def _lead(self, u: int, group: Hashable, node: Node) -> list[Node]:
        """Return the nodes that an update at u leads to, from any node of a group."""
        if group not in self.leads[u]:
            pairs = zip(self.ways, node.updates, strict=True)
            in_each = [ways.course.outcomes(u, update) for ways, update in pairs]
            self.leads[u][group] = []
            for outcome in zip(*in_each, strict=True):
                updates = tuple(update for _, update in outcome)
                made = Node(updates, False, self.columns - self.spent, np.zeros(self.states))
                made = self.nodes[u].setdefault(self.lead.behaviour(updates[0], u), made)
                self.leads[u][group].append((outcome[0][0], made))
        return [made for _, made in self.leads[u][group]]

    def _spread(self, t: int, node: Node) -> None:
        """Push the probability of what is seen at a node on to the nodes that its exits lead to."""
        states = self._seen(node)
        if not node.columns or not len(states):
            return
        spread = np.zeros((len(self.ways), self.horizon + 1, self.states))
        for rows in self._blocks(states):
            walks = self._walks(t, node, rows)
            for walk, out in zip(walks, spread, strict=True):
                walk.reach(node.most[rows], self.times, out)
                self._entries += walk.size
            if self._entries <= ENTRIES_KEPT:
                node.walks.append((rows, walks))
        most, group = spread.max(axis=0), self._group(node.updates[0])
        for u in self.lead.exits(t, node.updates[0]):
            for _, led in self.leads[u].get(group, ()):
                np.maximum(led.most, most[u], out=led.most)

    def _seen(self, node: Node) -> Indices:
        """Return the states that are seen at a node."""
        return self.start if self.whole else np.flatnonzero(node.most > self.course.tolerance)

    def _blocks(self, states: Indices) -> list[Indices]:
        at_once = max(len(states), 1) if self.whole else ROWS_AT_ONCE
        return [states[i : i + at_once] for i in range(0, len(states), at_once)]

    def _walks(self, t: int, node: Node, states: Indices) -> Walks:
        """Return the walks of robots in `states`, one in each future."""
        keep = (self.root_times if node in self.roots else self.times)[t:].copy()
        if self.spacing == 1:
            keep[max(self.latest.max(initial=0) - t + 1, 0) :] = False
        keep &= node.columns > 0
        pairs = zip(self.ways, node.updates, strict=True)
        return [ways.walk(t, update, states, keep) for ways, update in pairs]

    # Backwards: what they are worth.

    def _solve_at(self, t: int) -> None:
        """Find V, U and D of the nodes at a time."""
        for node in self.nodes[t].values():
            if node.asked or node not in self.roots:
                self._weigh(t, node)
        if None in self.leads[t]:
            self._shared[0][t], self._shared[1][t] = self._update(t, None)
        for node in self.nodes[t].values():
            if node.asked:
                node.decided = node.value.copy()
                update = self.updated(t, node)[:, :-1]
                np.maximum(update, node.decided[:, self.spent :], out=node.decided[:, self.spent :])

    def _update(self, t: int, group: Hashable) -> tuple[Array, bool]:
        """(S, C + 1) U less the price, its last column 1 where it is known; and whether it is everywhere."""
        out, led = np.zeros((self.states, self.columns + 1)), self.leads[t][group]
        for chance, node in led:
            out[:, :-1] += chance * node.value[:, : self.columns]
        out[:, :-1] -= self.prices[t]
        seen = self._seen(led[-1][1])
        out[seen, -1] = 1.0
        return out, len(seen) == self.states

    def updated(self, t: int, node: Node) -> Array:
        """(S, C + 1) U less the price of an update at t after a node, as in `Exits.worth`."""
        return self._update(t, node.updates[0].name)[0] if self.course.by_last else self._shared[0][t]

    def updated_after(self, update: Update, time: int) -> Array:
        """(S, C + 1) U less the price of an update at a time, with an update of this programme in force."""
        node = self.nodes[time].get(self.lead.behaviour(update, time))
        return self.updated(time, node or Node((update,), False, 0, NOTHING))

    def exits(self, t: int, node: Node) -> Exits | None:
        """Return the times at which an update can follow a node, and its worth; None if there is none."""
        after = self.lead.exits(t, node.updates[0])
        times = (self.root_times if node in self.roots else self.times).copy()
        times[: after.start if len(after) else self.horizon] = False
        if not node.columns or not times.any():
            return None
        latest = np.maximum(self.latest, times.argmax()) if self.spacing > 1 else self.latest
        worth, known = self._shared
        if self.course.by_last:
            worth, known = np.zeros_like(worth), known.copy()
            for u in np.flatnonzero(times).tolist():
                if (group := node.updates[0].name) in self.leads[u]:
                    worth[u], known[u] = self._update(u, group)
            self._interpolate(worth, known)
        return Exits(times, latest[: node.columns], worth, known)

    def _weigh(self, t: int, node: Node) -> None:
        """Find V of a node, and the best next update (T: none)."""
        shape = self.states, node.columns + self.spent
        node.value, node.next_times = np.zeros(shape), np.full(shape if self.with_times else 0, self.horizon)
        kept, states = sum(len(rows) for rows, _ in node.walks), self._seen(node)
        exits = self.exits(t, node)
        for rows, walks in (*node.walks, *((rows, None) for rows in self._blocks(states[kept:]))):
            walks = walks or self._walks(t, node, rows)
            value = self._going_on(node, walks)
            times = np.full((len(rows), node.columns), self.horizon)
            if self.exact:
                value[:, 1:] = -np.inf
            if exits is not None:
                later = np.ascontiguousarray(value[:, self.spent :])
                if len(walks) == 1:
                    walks[0].best(exits, later, times)
                else:
                    worth = self._mean([walk.leaving(exits) for walk in walks])
                    worth[:, self.horizon] = later
                    later, times = worth.max(axis=1), first_best(worth)
                value[:, self.spent :] = later
            node.value[rows] = value
            if self.with_times:
                node.next_times[rows, self.spent :] = times
        node.walks = []

    def _going_on(self, node: Node, walks: Walks) -> Array:
        """(R, C) worth of leaving for no update."""
        columns = node.columns + self.spent

        def ahead(time: int) -> Array:
            if time == self.horizon:
                return np.zeros((self.states, columns))
            return self.nodes[time][self.lead.behaviour(node.updates[0], time)].decided[:, :columns]

        return self._mean([walk.going_on(ahead, columns) for walk in walks])

    def _mean(self, parts: Sequence[Array]) -> Array:
        if len(parts) == 1:
            return parts[0]
        return np.sum([weight * part for weight, part in zip(self.weights, parts, strict=True)], axis=0)

    def _fill_in(self) -> None:
        """Interpolate U between the times that were weighed: the next update can be at the others, too."""
        self._interpolate(*self._shared)
        if self.stride > 1 and self.times.any():
            self.root_times = self.times.copy()
            self.root_times[self.times.argmax() : np.flatnonzero(self.times)[-1]] = True

    def _interpolate(self, worth: Array, known: np.ndarray) -> None:
        weighed = np.flatnonzero(self.times)
        if self.stride > 1 and len(weighed):
            _loops.segments.fill_in(int(weighed[0]), int(weighed[-1]), self.stride, worth)
            known[:] = self.whole

    def root_value(self, root: Node) -> Array:
        """(R, C) V of a root in the states where robots begin."""
        self._weigh(self.time, root)
        return root.value[self.start]

    def candidates(self) -> Array:
        """(R, T + 1, C) worth of each next update at the only root (T: none), with as many left."""
        (root,), shape = self.roots, (len(self.start), self.horizon + 1, self.columns)
        walks, exits = self._walks(self.time, root, self.start), self.exits(self.time, root)
        worth = np.full(shape, -np.inf)
        if exits is not None:
            worth = self._mean([walk.leaving(exits) for walk in walks])
        if not self.exact:
            worth[:, self.horizon] = self._going_on(root, walks)[:, self.spent :]
        return worth


def first_best(worth: Array) -> Indices:
    """(R, C) the first time at which (R, T + 1, C) `worth` is as good as the best; T only if nothing is."""
    best, none = worth.max(axis=1), worth[:, -1]
    first = (worth >= best[:, None] - EQUAL).argmax(axis=1)
    return np.where(none >= best - EQUAL, worth.shape[1] - 1, first)


class Best:
    """The best updates in several futures, by the weights that they have.

    With `told`, an update shows which of them has come, and each has a programme of its own. Other options
    are those of `Programme`.
    """

    def __init__(self, futures: Sequence[tuple[float, Ways]], *, told: bool, **options) -> None:
        parts = [[future] for future in futures] if told else [list(futures)]
        self.weights = [sum(weight for weight, _ in part) for part in parts]
        self.programmes = [Programme(part, **options) for part in parts]

    def solve(
        self, time: int, updates: Sequence[Update], states: Indices | None = None, *, asked: bool = False
    ) -> Best:
        """Solve each programme from `time` on, with one of the `updates` in force in each future."""
        waiting = list(updates)
        for programme in self.programmes:
            programme.solve(time, [[waiting.pop(0) for _ in programme.ways]], states, asked=asked)
        return self

    def candidates(self) -> Array:
        """(M, R, T + 1, C) worth of each next update at the root (T: none), weighed, in each programme."""
        parts = zip(self.weights, self.programmes, strict=True)
        return np.stack([weight * part.candidates() for weight, part in parts])

    def gains(self, time: int, states: Indices, left: int) -> Array:
        """(R,) what an update now gains over the best without, of robots that see their state."""
        total = np.zeros(len(states))
        for weight, part in zip(self.weights, self.programmes, strict=True):
            node = part.nodes[time][part.lead.behaviour(part.roots[0].updates[0], time)]
            updated = part.updated(time, node)
            total += weight * (updated[states, left - part.spent] - node.value[states, left])
        return total
