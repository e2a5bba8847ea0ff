"""A checker for worlds: it names each fault and its place."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from replan.errors import InputError, require, require_whole
from replan.model.general_kernel import row_faults
from replan.model.kernel import Indices, Kernel
from replan.model.reward import Reward
from replan.model.world import CheckedKernels, World

ROW_TOLERANCE = 1e-8
DRIFT_TOLERANCE = 1e-9


@dataclass(frozen=True)
class Finding:
    """A fault of a world at time t, state s and action a (None: any)."""

    what: str
    """The fault in words."""
    t: int
    """Time."""
    s: int | None = None
    """State; None: any."""
    a: int | None = None
    """Action; None: any."""

    def __str__(self) -> str:
        place = ", ".join(
            f"{name}={value}"
            for name, value in zip("tsa", (self.t, self.s, self.a), strict=True)
            if value is not None
        )
        return f"{self.what} at {place}"


def check_world(world: World, *, most: int = 20) -> list[Finding]:
    """Return the faults of a world: rows that are not distributions, rewards of another size, and so on.

    Parameters
    ----------
    world : World
        The world to check.
    most : int
        Largest number of faults to return.

    Returns
    -------
    list of Finding
        The first faults in the order of time; empty if there are none.
    """
    require(World, world=world)
    require_whole(most=most)
    found: list[Finding] = []
    checked: set[int] = set()
    before: Kernel | None = None
    for t in range(world.horizon):
        try:
            kernel = world.kernel.sized(t) if isinstance(world.kernel, CheckedKernels) else world.kernel(t)
        except InputError as error:  # of another size
            found.append(Finding(str(error), t))
            break
        if id(kernel) not in checked:
            found += _check_kernel(kernel, world, t)
            checked = {id(kernel)}
        found += _check_reward(world.reward(t), world, t)
        if before is not None and before is not kernel and world.stated_bounds is not None and not found:
            found += _check_drift(before, kernel, world.stated_bounds[t - 1], t - 1)
        if len(found) >= most:
            break
        before = kernel
    return found[:most]


def require_valid(world: World) -> World:
    """Return the world, or raise an `InputError` that names its first fault."""
    if found := check_world(world, most=1):
        raise InputError(str(found[0]))
    return world


def _check_kernel(kernel: Kernel, world: World, t: int) -> Iterator[Finding]:
    probabilities = kernel.general().probabilities
    for what, s, a in row_faults(probabilities, least=0.0, tolerance=ROW_TOLERANCE):
        yield Finding(what, t, s, a)
    if world.declared_successors is not None:
        yield from _check_successors(kernel, world.declared_successors, t)
    family = world.family
    if family is not None and family.exact and family.share_of(kernel) is None:
        yield Finding(f"the kernel is outside the declared family ({family.description})", t)


def _check_successors(kernel: Kernel, declared: Indices, t: int) -> Iterator[Finding]:
    general = kernel.general()
    listed = (general.successors[:, :, None] == declared[:, None, :]).any(axis=2)
    for s, a in np.argwhere(((general.probabilities > 0) & ~listed[:, None, :]).any(axis=2)):
        yield Finding("a step leads to a state that is not declared possible", t, int(s), int(a))


def _check_reward(reward: Reward, world: World, t: int) -> Iterator[Finding]:
    for part, shape in (
        (reward.state_action, (world.states, world.actions)),
        (reward.next_state, (world.states,)),
    ):
        if part is None:
            continue
        if part.shape != shape:
            yield Finding(f"reward of the shape {part.shape}, not {shape},", t)
            continue
        for place in np.argwhere(~np.isfinite(part)):
            yield Finding("reward is not a number", t, *(int(index) for index in place))


def _check_drift(before: Kernel, after: Kernel, bound: float, t: int) -> Iterator[Finding]:
    change = before.entrywise_distance(after)
    for s, a in np.argwhere(change > bound + DRIFT_TOLERANCE):
        yield Finding(f"drift {change[s, a]:.6g} above its bound {bound:.6g}", t, int(s), int(a))
