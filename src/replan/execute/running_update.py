"""An update that takes time, on a robot: from the look until its plan is in force (convention 15).

The work is done in the background, or at once if the agent has no time limit; then its plan is held back
until it is due. The arrival is at the declared number of steps, or later if the work is not done by then.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal, get_args

import numpy as np

from replan.errors import InputError
from replan.estimate.estimator import Observation, validate_kernel, validate_number
from replan.execute.deadline import BackgroundWork
from replan.execute.identity import kernel_arrays, kernel_from
from replan.execute.progress import Learned, Update
from replan.model.kernel import Array, Indices, Kernel

Arrival = Literal["declared", "done", "told"]
"""When a plan comes in force: after the declared steps, when its work is done, or when `arrive` says so."""
Late = Literal["take", "drop"]
"""A plan that comes too late is taken at once, its first steps skipped, or dropped."""


@dataclass(frozen=True, eq=False)
class BegunUpdate:
    """All that the work of an update depends on, so that a restored agent can do it again."""

    time: int
    """Time of the look."""
    state: int
    """The state seen."""
    belief: Array | None
    """(S,) probabilities that were given in place of the state."""
    seen: Observation | None
    """The observation that the estimator learns from; None if `kernel` is known already."""
    kernel: Kernel | None
    """The running estimate of a robot that learns at every step; None if the estimator is asked."""
    learned: Learned | None = field(repr=False)
    """Arrays of the estimator before; None if it was not at rest, and the update cannot be saved."""
    steps: int | None
    """Steps until the arrival; None: the work itself takes the time."""


@dataclass(eq=False)
class RunningUpdate:
    """Work that was begun, and what has been told of it since."""

    begun: BegunUpdate
    job: BackgroundWork
    """Makes {steps: update}, a plan for each time at which it may arrive."""
    policy: Indices | None = None
    """(S,) actions that take the place of the plan's."""
    told: bool = False
    """Whether the arrival was told."""

    def arrival(self, time: int, arrival: Arrival, durations: tuple[int, ...]) -> int | None:
        """Return the number of steps whose plan arrives now; None if none does yet."""
        elapsed, steps = time - self.begun.time, self.begun.steps
        if not self.job.done:
            return None
        if arrival != "declared":
            return durations[0] if arrival == "done" or self.told else None
        if steps is not None:
            return steps if elapsed >= steps else None
        if elapsed > durations[-1]:
            return durations[-1]
        return elapsed if elapsed in durations else None

    def arrived(self, made: Update, time: int) -> Update:
        """Return the update with its true number of steps."""
        elapsed = time - self.begun.time
        return made if made.steps == elapsed else replace(made, steps=elapsed)

    def estimate(self, update: Update, commanded: list[int], *, belief: bool) -> object:
        """Return the estimate of a blind robot: from the look, by the new kernels, through its actions."""
        propagation, begun = update.propagation, self.begun
        estimate = propagation.begin(np.array([begun.state]))
        if belief and begun.belief is not None:
            seen = begun.belief[None, :]
            estimate = replace(estimate, arriving=seen) if update.steps else seen
        for time, action in enumerate(commanded, start=begun.time):
            estimate = propagation.advance(estimate, np.array([action]), time)
        return estimate

    def fields(self) -> dict[str, Any]:
        """Return plain values from which the update can begin again, beside `arrays`."""
        begun = self.begun
        seen = None if begun.seen is None else vars(begun.seen)
        plain = {"time": begun.time, "state": begun.state, "steps": begun.steps}
        return {**plain, "told": self.told, "seen": seen}

    def arrays(self) -> dict[str, np.ndarray]:
        """Return arrays from which the update can begin again."""
        begun = self.begun
        arrays = {f"learned_{name}": array for name, array in (begun.learned or {}).items()}
        if begun.kernel is not None:
            arrays |= {f"kernel_{name}": array for name, array in kernel_arrays(begun.kernel).items()}
        given = {"belief": begun.belief, "policy": self.policy}
        return arrays | {name: np.asarray(array) for name, array in given.items() if array is not None}


def begun_from(
    fields: Mapping[str, Any], arrays: Mapping[str, np.ndarray], *, like: Kernel, horizon: int
) -> BegunUpdate:
    """Return what `RunningUpdate.fields` and `RunningUpdate.arrays` were made from, validated."""
    kernel, seen, steps = None, fields["seen"], fields["steps"]
    if seen is not None:
        seen = Observation(**{**seen, "commanded": tuple(seen["commanded"])})
    else:
        kernel = validate_kernel(kernel_from(without_prefix("kernel_", arrays)), like=like)
    return BegunUpdate(
        time=validate_number(fields["time"], horizon, "time of an update"),
        state=validate_number(fields["state"], like.states),
        belief=arrays.get("belief"),
        seen=seen,
        kernel=kernel,
        learned=without_prefix("learned_", arrays),
        steps=None if steps is None else validate_number(steps, horizon, "steps of an update"),
    )


def without_prefix(prefix: str, entries: Mapping[str, Any]) -> dict[str, Any]:
    """Return the entries whose names begin with a prefix, named without it."""
    return {name.removeprefix(prefix): each for name, each in entries.items() if name.startswith(prefix)}


def check_arrival(arrival: object, late: object) -> None:
    """Raise `InputError` if there is no such arrival, or treatment of late plans."""
    if arrival not in get_args(Arrival):
        raise InputError(f'arrival must be "declared", "done" or "told", not {arrival!r}')
    if late not in get_args(Late):
        raise InputError(f'late must be "take" or "drop", not {late!r}')
