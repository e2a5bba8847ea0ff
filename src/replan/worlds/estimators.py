"""Estimators by name."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial

import numpy as np

from replan.errors import InputError
from replan.estimate.drift_bounded_mle import DriftBoundedMLE
from replan.estimate.drift_bounds import OnlineDriftBounds, WithOnlineBounds
from replan.estimate.estimator import Estimator, Nearby, Tracked, TrueKernel
from replan.estimate.family_filter import FamilyFilter
from replan.estimate.slip_mle import PooledSlip
from replan.execute.mission import Mission
from replan.model.slip import SlipKernel

TRUE_KERNEL, TRACKED = "true-kernel", "tracked"
EXACT_ESTIMATORS = TRUE_KERNEL, TRACKED
"""Their estimates depend only on the time, so that exact values exist."""


def usual_estimator(execution: str) -> str:
    """Return the estimator of a robot for which none is named."""
    return TRACKED if execution == "localised" else TRUE_KERNEL


def _true_kernel(mission: Mission) -> Estimator:
    """The true kernel of the step before the update, as in the paper's simulator."""
    return TrueKernel(mission.world)


def _tracked(mission: Mission) -> Estimator:
    """The true kernel of the step before, at every step: for localised robots."""
    return Tracked(mission.world)


def _nearby(radius: int) -> Callable[[Mission], Estimator]:
    def nearby(mission: Mission) -> Estimator:
        return Nearby(mission.world, radius)

    cells = f"{radius} cell{'s' * (radius != 1)}"
    nearby.__doc__ = f"As tracked within {cells} of a localised robot, elsewhere as last seen."
    return nearby


def _drift_bounded_mle(mission: Mission) -> Estimator:
    """Maximum likelihood of every kernel so far, with drift within the stated bounds."""
    return DriftBoundedMLE(mission.world.kernel(0), mission.world.drift_bounds)


def _drift_bounded_mle_local(mission: Mission) -> Estimator:
    """As drift-bounded-mle, with a drift bound for each state and action."""
    return DriftBoundedMLE(mission.world.kernel(0), mission.world.local_drift_bounds)


def _drift_bounded_mle_online(mission: Mission) -> Estimator:
    """As drift-bounded-mle, with bounds found online from the slip of each skip interval."""
    kernel = _slip_kernel(mission, "drift-bounded-mle-online")
    online = partial(OnlineDriftBounds, kernel, mission.horizon)
    return WithOnlineBounds(partial(DriftBoundedMLE, kernel), online)


def _slip_transitions(mission: Mission) -> Estimator:
    """One slip for all cells, from the last transition before each update."""
    return _pooled_slip(mission, "transitions")


def _slip_intervals(mission: Mission) -> Estimator:
    """One slip for all cells, from where the robot was found after each skip interval."""
    return _pooled_slip(mission, "intervals")


def _model_family(mission: Mission) -> Estimator:
    """The parameters of the declared family and their movement, from whole skip intervals."""
    world = mission.world
    if world.family is None:
        raise InputError("model-family needs a world that declares a family")
    return FamilyFilter(world.family, world.local_drift_bounds, start=world.kernel(0))


ESTIMATORS: dict[str, Callable[[Mission], Estimator]] = {
    TRUE_KERNEL: _true_kernel,
    TRACKED: _tracked,
    **{f"nearby-{radius}": _nearby(radius) for radius in (0, 1, 2, 3, 5)},
    "drift-bounded-mle": _drift_bounded_mle,
    "drift-bounded-mle-local": _drift_bounded_mle_local,
    "drift-bounded-mle-online": _drift_bounded_mle_online,
    "slip-transitions": _slip_transitions,
    "slip-intervals": _slip_intervals,
    "model-family": _model_family,
}


FOR_LOCALISED = frozenset(name for name in ESTIMATORS if name == TRACKED or name.startswith("nearby-"))
"""Estimators that blind robots cannot have."""


def with_estimator(mission: Mission, name: str) -> Mission:
    """Return the mission with one of `EXACT_ESTIMATORS`; a blind robot has the true kernel anyway."""
    if name == usual_estimator(mission.robot.execution):
        return mission
    return replace(mission, robot=replace(mission.robot, estimator=ESTIMATORS[name](mission)))


def check_estimator(name: str) -> str:
    """The name itself, or an `InputError`."""
    if name not in ESTIMATORS:
        raise InputError(f"unknown estimator {name!r} (there are {', '.join(ESTIMATORS)})")
    return name


def applies(name: str, mission: Mission) -> bool:
    """Whether the estimator's assumption holds: pooled slip needs one known law of where a slip goes."""
    if name == "model-family":
        return mission.world.family is not None
    if not (name.startswith("slip-") or name.endswith("-online")):
        return True
    kernels = [mission.world.kernel(t) for t in range(mission.horizon)]
    first = kernels[0]
    return isinstance(first, SlipKernel) and all(
        isinstance(kernel, SlipKernel) and kernel.same_moves(first) and np.array_equal(kernel.law, first.law)
        for kernel in kernels
    )


def _pooled_slip(mission: Mission, evidence) -> PooledSlip:
    kernel = _slip_kernel(mission, f"slip-{evidence}")
    return PooledSlip(kernel, mission.world.drift_bounds, evidence=evidence, terrain=_terrain(mission))


def _slip_kernel(mission: Mission, name: str) -> SlipKernel:
    kernel = mission.world.kernel(0)
    if not isinstance(kernel, SlipKernel) or not applies(name, mission):
        raise InputError(f"{name} needs a grid on which a slip always goes the same ways")
    return kernel


def _terrain(mission: Mission) -> np.ndarray | None:
    """(S,) cells whose slip is the same at all times are one class; None where all are."""
    kernels = [mission.world.kernel(t) for t in range(mission.horizon)]
    slips = np.stack([k.slip for k in kernels])  # pyright: ignore[reportAttributeAccessIssue]
    if slips.shape[1] == 1:
        return None
    return np.unique(slips.round(12), axis=1, return_inverse=True)[1].reshape(-1)
