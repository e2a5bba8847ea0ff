"""A regret certificate: from estimates and drift bounds alone, regret is at most this.

It bounds the regret in every world that fits the estimates and bounds, so also in the true one.
docs/certificates.md derives it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal

import numpy as np

from replan.certificates.backward_bounds import joint_regret, optimistic_values, pessimistic_returns
from replan.certificates.boxes import RowBoxes
from replan.certificates.knowledge import Estimate, Known, NoStructure, known_in
from replan.certificates.mission_legs import OnEstimates, find_legs, times_taken, true_estimates
from replan.certificates.mixture_range import MixtureRange
from replan.certificates.parameter_range import ParameterRange
from replan.certificates.slip_range import SlipRange
from replan.errors import InputError
from replan.evaluation.exact import draws_times
from replan.execute.mission import Mission
from replan.model.kernel import Array
from replan.model.tvmdp import TVMDP
from replan.schedule.budget import check_times
from replan.schedule.rule import Need, Rule

MOST_STATES = 1_000  # pairs of states are kept for every step
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
    dynamic: float  # from any start
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
    from_starts: Array = field(default_factory=lambda: np.zeros(0), repr=False)  # (S,)


def certify(
    mission: Mission,
    schedule: Rule | Sequence[int],
    *,
    tightening: Tightening | None = None,
    estimates: Sequence[Estimate] | None = None,
    seed: int = 0,
) -> Certificate:
    """The certificate of update times, after the fact: every update has left its estimate.

    A rule is certified by the times that it takes: where they depend on the states seen or on draws, by those
    of the mission with this seed. `estimates` are those that the robot plans on, of P_0 and of P_{t-1} for
    every update at t, with their radii where they are learned; without it an update reveals the true kernel.
    """
    robot = mission if estimates is None else OnEstimates.of(mission, estimates)
    if isinstance(schedule, Rule):
        times = times_taken(robot, schedule, seed=seed)
    else:
        times = check_times(schedule, budget=mission.required_budget, horizon=mission.horizon)
    known = known_in(mission.world, true_estimates(mission, times) if estimates is None else estimates)
    certificate = certify_times(robot, times, known, tightening=tightening or Tightening())
    many = isinstance(schedule, Rule) and (Need.STATE in schedule.needs or draws_times(robot, schedule))
    return replace(certificate, one_of_many=many)


def certify_times(
    robot: Mission, times: tuple[int, ...], known: Known, *, tightening: Tightening
) -> Certificate:
    """Return the certificate of a robot that updates at these times."""
    world = robot.world
    if world.states > MOST_STATES:
        raise InputError(
            f"a certificate compares all pairs of states: {world.states} are more than {MOST_STATES}"
        )
    legs = find_legs(robot, times)
    uncertain = uncertainty(known, tightening)
    successors = uncertain.rows(0)[0]
    best = optimistic_values(uncertain, world.reward, world.horizon, world.states)
    worst, tables = pessimistic_returns(uncertain, world.reward, legs, successors, world.horizon)
    bound = best[0] + worst
    if tightening.one_kernel:
        bound = joint_regret(
            uncertain, world.reward, legs, successors, world.horizon, best=best, returns=tables
        )
    return Certificate(
        **promised(world, bound.max(axis=0), uncertain.contradiction),
        oracle_at_best=float(best[0][:, world.start].max()),
        robot_at_worst=-float(worst[:, world.start].max()),
        when="after the fact",
        estimates="learned" if known.learned else "true kernel",
        probability=1 - known.delta,
        times=times,
        tightening=tightening,
        assumed=assumptions(known, uncertain),
    )


def promised(world: TVMDP, bound: Array, contradiction: str | None) -> dict[str, Any]:
    """The bound (S,) as fields of a certificate; infinite if the estimates contradict the drift bounds."""
    from_starts = bound if contradiction is None else np.full(world.states, np.inf)
    starts = from_starts if world.start_states is None else from_starts[world.start_states]
    return {
        "value": float(from_starts[world.start]),
        "dynamic": float(starts.max()),
        "from_starts": from_starts,
        "contradiction": contradiction,
    }


def uncertainty(known: Known, tightening: Tightening) -> KernelSet:
    """The set of kernels that is left possible."""
    if tightening.structure is not False:
        try:
            kind = SlipRange if known.family is not None and known.family.is_one_slip else MixtureRange
            return kind(known, both_ends=tightening.both_ends, cells=tightening.slip_cells)
        except NoStructure:
            if tightening.structure:
                raise
    return RowBoxes(known, both_ends=tightening.both_ends)


def assumptions(known: Known, uncertain: KernelSet) -> tuple[str, ...]:
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
