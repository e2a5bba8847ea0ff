"""A regret certificate: from estimates and drift bounds alone, regret is at most this.

It is the answer for every world that fits what is known, so it holds for the true one, whatever that is.
docs/certificates.md derives it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from replan.certify.bound import joint_regret, optimistic_values, pessimistic_returns
from replan.certify.boxes import RowBoxes
from replan.certify.course import Leg, legs
from replan.certify.knowledge import Estimate, Known, possible_successors
from replan.certify.structure import SlipRange, has_one_slip
from replan.errors import InputError
from replan.execute.mission import Mission
from replan.model.kernel import Array
from replan.schedule.budget import check_times
from replan.schedule.fixed import FixedTimes
from replan.schedule.rule import Rule

MOST_STATES = 1_000  # pairs of states are kept for every step
When = Literal["after the fact", "in advance"]


@dataclass(frozen=True)
class Tightening:
    """What the certificate makes use of; each can be switched off."""

    both_ends: bool = True  # bound P_t by the estimates after t too, not only by the last before it
    one_kernel: bool = True  # the same kernel for oracle and robot: regret as one problem
    one_slip: bool | None = None  # one slip for the whole grid; None: where every estimate is such a kernel
    slip_cells: int = (
        4  # the slip moves along a path: intervals its range is cut into; 1: afresh at every step
    )


@dataclass(frozen=True)
class Certificate:
    """Regret is at most `value`, if what is assumed holds."""

    value: float  # from the mission's start
    dynamic: float  # from any start
    oracle_at_best: float  # optimistic return of the oracle from the start
    robot_at_worst: float  # pessimistic return of the robot from the start
    when: When
    estimates: Literal["true kernel", "learned"]
    probability: float  # with which the promise holds: 1, or 1 - delta
    tightening: Tightening
    assumed: tuple[str, ...]
    contradiction: str | None = None  # estimates that the bounds rule out: nothing is promised then
    from_starts: Array = field(default_factory=lambda: np.zeros(0), repr=False)  # (S,)


def certify(
    mission: Mission,
    schedule: Rule | Sequence[int],
    *,
    tightening: Tightening | None = None,
    possible: ArrayLike | None = None,
    estimates: Sequence[Estimate] | None = None,
    delta: float = 0.0,
) -> Certificate:
    """The certificate of a rule or of update times, after the fact: every update has left its estimate.

    For a rule whose times depend on the state, these are the estimates of all updates that it can reach.
    `possible` (S, k) declares where steps can lead. `estimates` are those of the updates with their radii,
    where they are learned; without it an update reveals the true kernel of the step before.
    """
    rule = (
        schedule
        if isinstance(schedule, Rule)
        else FixedTimes(check_times(schedule, budget=mission.budget, horizon=mission.horizon))
    )
    course = legs(mission, rule)
    if estimates is None:
        estimates = [Estimate(max(leg.time - 1, 0), mission.update(leg.time).kernel) for leg in course]
    known = Known(_one_per_time(estimates), mission.world.drift_bounds, delta)
    return certificate(mission, course, known, tightening=tightening or Tightening(), possible=possible)


def certificate(
    mission: Mission,
    course: Sequence[Leg],
    known: Known,
    *,
    tightening: Tightening,
    possible: ArrayLike | None = None,
) -> Certificate:
    """The certificate of a course from what is known."""
    world = mission.world
    if world.states > MOST_STATES:
        raise InputError(
            f"a certificate compares all pairs of states: {world.states} are more than {MOST_STATES}"
        )
    uncertain = uncertainty(known, tightening, possible)
    successors = possible_successors(known.estimates[0].kernel, possible)[0]
    best = optimistic_values(uncertain, world.reward, world.horizon, world.states)
    worst, tables = pessimistic_returns(uncertain, world.reward, course, successors, world.horizon)
    first = (0, mission.budget)
    bound = best[0] + worst[first]
    if tightening.one_kernel:
        bound = joint_regret(
            uncertain, world.reward, course, successors, world.horizon, best=best, returns=tables
        )[first]
    from_starts = bound.max(axis=0) if uncertain.contradiction is None else np.full(world.states, np.inf)
    starts = from_starts if world.start_states is None else from_starts[world.start_states]
    return Certificate(
        value=float(from_starts[world.start]),
        dynamic=float(starts.max()),
        oracle_at_best=float(best[0][:, world.start].max()),
        robot_at_worst=-float(worst[first][:, world.start].max()),
        when="after the fact",
        estimates="learned" if known.learned else "true kernel",
        probability=1 - known.delta if known.learned else 1.0,
        tightening=tightening,
        assumed=assumptions(known, uncertain),
        contradiction=uncertain.contradiction,
        from_starts=from_starts,
    )


def uncertainty(
    known: Known, tightening: Tightening, possible: ArrayLike | None = None
) -> RowBoxes | SlipRange:
    """The set of kernels that is left possible."""
    can = all(has_one_slip(estimate.kernel) for estimate in known.estimates)
    if tightening.one_slip and not can:
        raise InputError("one_slip: not every estimate is a grid with one slip")
    if tightening.one_slip or (tightening.one_slip is None and can):
        return SlipRange(known, both_ends=tightening.both_ends, cells=tightening.slip_cells)
    return RowBoxes(known, possible=possible, both_ends=tightening.both_ends)


def _one_per_time(estimates: Sequence[Estimate]) -> tuple[Estimate, ...]:
    return tuple({e.time: e for e in sorted(estimates, key=lambda e: e.time)}.values())


def assumptions(known: Known, uncertain: RowBoxes | SlipRange) -> tuple[str, ...]:
    """What has to hold for the promise to hold, in words."""
    times = ", ".join(str(e.time) for e in known.estimates)
    bounds = known.drift_bounds
    lines = [
        f"no entry of the kernel changes by more than the drift bounds, {bounds.sum():.6g} in all, "
        f"{bounds.max():.6g} at most in one step"
    ]
    if known.learned:
        lines.append(
            f"the estimates at t = {times} are within their radii, with probability {1 - known.delta:g}"
        )
    else:
        lines.append(f"the estimates at t = {times} are the true kernels")
    if isinstance(uncertain, SlipRange):
        lines.append("the kernel is one slip for the whole grid, with a known law")
    else:
        lines.append(f"a step leads to one of at most {uncertain.successors.shape[1]} declared states")
    return tuple(lines)
