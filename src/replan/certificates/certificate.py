"""A regret certificate: an upper bound on regret that follows from estimates and drift bounds.

It bounds the regret in every world that fits the estimates and bounds, so also in the true one.
docs/certificates.md derives it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal

import numpy as np

from replan.certificates.legs import (
    LegBounds,
    OnEstimates,
    budgeted_times,
    find_legs,
    times_taken,
    true_estimates,
)
from replan.certificates.parameter_range import MixtureRange, ParameterRange, SlipRange
from replan.certificates.premises import KernelEstimate, NoStructure, Premises, premises_in
from replan.certificates.uncertainty import RowBoxes
from replan.errors import require
from replan.evaluation.rollouts import draws_times
from replan.execute.mission import Mission, require_instant, require_world
from replan.model.kernel import Array
from replan.model.reach import Reach
from replan.model.sizes import require_memory, require_pairs
from replan.model.world import World
from replan.schedule.rule import Need, Rule

PLAN_CELLS = 4
When = Literal["after the fact", "in advance"]
KernelSet = RowBoxes | SlipRange | MixtureRange


@dataclass(frozen=True)
class Tightening:
    """Steps that tighten a certificate; each can be switched off."""

    both_ends: bool = True  # bound P_t by the estimates after t too, not only by the last before it
    one_kernel: bool = True  # the same kernel for oracle and robot: regret as one problem
    structure: bool | None = None  # the declared family of kernels; None: where every estimate is a member
    slip_cells: int = (
        4  # the slip moves along a path: intervals its range is cut into; 1: afresh at every step
    )
    plan_cells: int | None = None  # in advance: intervals into which the parameter at an update is divided;
    # None: 1 for one slip, on which plans hardly depend, PLAN_CELLS otherwise


@dataclass(frozen=True)
class Certificate:
    """Regret is at most `value` under the assumptions in `assumed`."""

    value: float  # from the mission's start
    dynamic: float | None  # from any start; None beyond `Sizes.certified_starts`
    oracle_at_best: float  # optimistic return of the oracle from the start
    robot_at_worst: float  # pessimistic return of the robot from the start
    when: When
    estimates: Literal["true kernel", "learned"]
    probability: float  # with which the promise holds: 1, or 1 - delta
    times: tuple[int, ...]  # of the updates; the regret that is bounded is that of updating at these times
    tightening: Tightening
    assumed: tuple[str, ...]
    contradiction: str | None = None  # estimates that the bounds rule out: nothing is promised then
    one_of_many: bool = False  # the times of one mission: in another the rule may take others
    from_starts: Array = field(default_factory=lambda: np.zeros(0), repr=False)
    # (S,) by start; empty beyond `Sizes.certified_starts`


def certify(
    mission: Mission,
    schedule: Rule | Sequence[int],
    *,
    tightening: Tightening | None = None,
    estimates: Sequence[KernelEstimate] | None = None,
    seed: int = 0,
) -> Certificate:
    """Certify update times after the fact, when every update has left its estimate.

    Parameters
    ----------
    mission : Mission
        The mission to certify.
    schedule : Rule or sequence of int
        Update times, or a rule. A rule is certified by the times that it takes; if they depend on the states
        seen or on draws, by those of the mission with this seed.
    tightening : Tightening, optional
        Structure and effort that make the certificate tighter.
    estimates : sequence of KernelEstimate, optional
        Estimates that the robot plans on: of P_0, and of P_{t-1} for every update at t, with their radii if
        they are learned. Without them an update reveals the true kernel.
    seed : int
        Seed of the mission whose times are certified.

    Returns
    -------
    Certificate
        A bound on the regret, with what it assumes.
    """
    require_world(mission)
    require_instant(mission)
    if tightening is not None:
        require(Tightening, tightening=tightening)
    robot = mission if estimates is None else OnEstimates.of(mission, estimates)
    if isinstance(schedule, Rule):
        times = times_taken(robot, schedule, seed=seed)
    else:
        times = budgeted_times(mission, schedule)
    known = premises_in(mission.world, true_estimates(mission, times) if estimates is None else estimates)
    certificate = certify_times(robot, times, known, tightening=tightening or Tightening())
    many = isinstance(schedule, Rule) and (Need.STATE in schedule.needs or draws_times(robot, schedule))
    return replace(certificate, one_of_many=many)


def certify_times(
    robot: Mission, times: tuple[int, ...], known: Premises, *, tightening: Tightening
) -> Certificate:
    """Return the certificate of a robot that updates at these times.

    A large world is bounded on the states that the robot can reach. Its plans are those of the whole, since
    `Mission.cropped` leaves a margin for them; the rest holds by `replan.model.reach`.
    """
    robot, near = _nearby(robot, known)
    world = robot.world
    uncertain = uncertainty(known, tightening, near)
    if world.states <= robot.sizes.certified_starts and near is known:
        nested = Reach.everything(world.states, world.horizon)
    else:
        nested = Reach.from_start([uncertain.successors], world.start, world.horizon)
        cells = max(uncertain.cells(t) for t in range(uncertain.horizon))
        require_pairs(len(nested.states), 2 * cells + 4, "a certificate on what the robot can reach")
        uncertain = uncertain.within(nested)
    bounds = LegBounds(
        uncertain, nested.nested_reward(world.reward), robot.sizes, one_kernel=tightening.one_kernel
    )
    unpaid, regret = bounds.from_start(find_legs(robot, times, nested))
    start = int(nested.inside(np.array(world.start)))
    return Certificate(
        **promised(world, regret.max(axis=0), uncertain.contradiction),
        oracle_at_best=float(bounds.best[0][:, start].max()),
        robot_at_worst=-float(unpaid[:, start].max()),
        when="after the fact",
        estimates="learned" if known.learned else "true kernel",
        probability=1 - known.delta,
        times=times,
        tightening=tightening,
        assumed=assumptions(known, uncertain),
    )


def _nearby(robot: Mission, known: Premises) -> tuple[Mission, Premises]:
    """Return the mission on the window that the robot can reach, and what is known of its rows."""
    within, part = robot.cropped, robot.cropped.world.part
    if part is None or within is robot:
        rows = within.world.states * within.world.actions * known.width
        require_memory(2 * rows * within.horizon, f"a certificate of {within.world.states} states")
        return within, known
    cut = [replace(each, kernel=part.kernel(each.kernel)) for each in known.estimates]
    return within, premises_in(within.world, cut)


def promised(world: World, bound: Array, contradiction: str | None) -> dict[str, Any]:
    """The bound as fields of a certificate; infinite if the estimates contradict the drift bounds.

    It has all states (S,) or only the start (1,).
    """
    bound = bound if contradiction is None else np.full(bound.shape, np.inf)
    whole = len(bound) == world.states
    return {
        "value": float(bound[world.start if whole else 0]),
        "dynamic": world.worst(bound) if whole else None,
        "from_starts": bound if whole else np.zeros(0),
        "contradiction": contradiction,
    }


def uncertainty(known: Premises, tightening: Tightening, near: Premises | None = None) -> KernelSet:
    """The set of kernels that is left possible, with the rows of `near`, known of a part of the world."""
    if tightening.structure is not False:
        try:
            kind = SlipRange if known.family is not None and known.family.is_one_slip else MixtureRange
            return kind(known, both_ends=tightening.both_ends, cells=tightening.slip_cells, near=near)
        except NoStructure:
            if tightening.structure:
                raise
    boxes = RowBoxes(near or known, both_ends=tightening.both_ends)
    if near is not None and near is not known:
        boxes.contradiction = known.contradiction()
    return boxes


def assumptions(known: Premises, uncertain: KernelSet) -> tuple[str, ...]:
    """Return the assumptions of a certificate, in words."""
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
    if isinstance(uncertain, ParameterRange):
        lines.append(uncertain.family.description)
    else:
        lines.append(
            f"a step leads to one of at most {uncertain.successors.shape[1]} states, the same at all times"
        )
    return tuple(lines)
