"""Segments of all plans in a kernel that stays.

Where nothing moves, robots that saw the same state and have taken the same actions since are distributed
alike, whenever their update was. Plans for different numbers of steps mostly agree, so their walks form a
tree of few branches, and belief and world are pushed once.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from replan import _loops
from replan.model.kernel import Array, Indices, band_results
from replan.planning.ties import TIE_TOLERANCE
from replan.skip.propagation import BeliefPropagation, MapPropagation, Propagation
from replan.skip.segments import SERIAL_BELOW, Segments, WorldStack, commands, join_lists


@dataclass(frozen=True, eq=False)
class PlanTree:
    """The segments of robots that saw any state, by the time of their update."""

    plan_of: Mapping[int, int]
    """By time, the index of its plan."""
    horizon: int
    """T."""
    nodes: Indices = field(repr=False)
    """(P, S, L + 1) distribution of each plan and state after k steps."""
    gained: Array = field(repr=False)
    """(n,) expected reward by node."""
    lists: tuple[Indices, Indices, Array] = field(repr=False)
    """Offsets, cells and masses as in `Segments`."""

    def segments(self, time: int) -> Segments:
        """Return the segments of all states from an update at `time`."""
        nodes = self.nodes[self.plan_of[time], :, : self.horizon - time + 1]
        return Segments(np.arange(len(nodes)), self.gained[nodes], nodes, *self.lists)


def plan_tree(
    along: WorldStack, propagations: Mapping[int, Propagation], *, tolerance: float, most: int
) -> PlanTree | None:
    """Return the tree of the propagations after updates at several times, equal objects for equal plans.

    It is None unless kernel and reward stay and robots believe that, or beyond `most` probabilities.
    """
    distinct = list({id(each): each for each in propagations.values()}.values())
    if len(along.successors) > 1 or not along.constant_reward:
        return None
    if not all(_believes(each, along) for each in distinct):
        return None
    first = [min(time for time, each in propagations.items() if each is one) for one in distinct]
    lengths = along.horizon - np.array(first)
    if all(isinstance(each, MapPropagation) for each in distinct):
        choices = _actions(distinct, first, lengths, along.states), np.empty((0, 0))
        preference = np.zeros((len(distinct), 1), dtype=np.int64)
    else:
        tables = [each.tables for each in distinct if isinstance(each, BeliefPropagation)]
        values = np.concatenate([each.q_values[0] for each in tables], axis=1)
        choices = np.empty((0, 0, 0), dtype=np.int64), values
        preference = np.concatenate([each.preference for each in tables])

    def walk(first: int, last: int) -> tuple[Array, ...]:
        return _loops.plan_tree.walk(
            first, last, along.successors[0], along.probabilities[0], along.state_action[0],
            along.next_state[0], *choices, preference, lengths, TIE_TOLERANCE, tolerance, most,
        )  # fmt: skip

    bands = band_results(walk, along.states, serial=along.states * lengths.sum() < SERIAL_BELOW)
    nodes, gained, *lists = zip(*bands, strict=True)
    if not all(each.size for each in nodes):
        return None
    before = np.cumsum([0, *(len(each) for each in gained)])
    joined = np.concatenate([each + more for each, more in zip(nodes, before, strict=False)], axis=1)
    index = {time: _place(each, distinct) for time, each in propagations.items()}
    return PlanTree(index, along.horizon, joined, np.concatenate(gained), join_lists(*lists))


def _believes(propagation: Propagation, along: WorldStack) -> bool:
    """Return whether robots follow one plan, and believe the kernel that there is."""
    if isinstance(propagation, MapPropagation):
        return len(propagation.policy) == 1
    if not isinstance(propagation, BeliefPropagation) or propagation.plan.later or propagation.is_sparse:
        return False
    tables = propagation.tables
    lists = (tables.successors, along.successors), (tables.probabilities, along.probabilities)
    return all(one is other or np.array_equal(one, other) for one, other in lists)


def _place(one: Propagation, distinct: list[Propagation]) -> int:
    return next(i for i, other in enumerate(distinct) if other is one)


def _actions(propagations: list[Propagation], begins: list[int], lengths: Indices, states: int) -> Indices:
    """(P, S, L) actions of robots that act on the likeliest state."""
    found = np.zeros((len(propagations), states, lengths.max()), dtype=np.int64)
    for row, one, begin, steps in zip(found, propagations, begins, lengths, strict=True):
        row[:, :steps] = commands(one, np.arange(states), begin=begin, steps=steps, tolerance=0.0)
    return found
