"""Worlds from plain arrays and from .npz files."""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from dataclasses import replace
from math import isfinite
from pathlib import Path
from zipfile import BadZipFile

import numpy as np
from numpy.typing import ArrayLike

from replan.errors import InputError, read_array, require_whole
from replan.model.checks import require_valid
from replan.model.family import Family
from replan.model.general_kernel import GeneralKernel
from replan.model.kernel import Kernel, constant
from replan.model.reward import Reward
from replan.model.sizes import require_memory
from replan.model.world import World, check_drift_bounds

NPZ_ARRAYS = {"kernels", "successors", "probabilities", "rewards", "next_state_rewards", "start"}
NPZ_ARRAYS |= {"drift_bounds", "possible_successors", "family"}
GREATEST_RETURN = 1e300  # beyond this, sums of rewards are not numbers any more
UNREADABLE = (OSError, EOFError, TypeError, ValueError, KeyError, RuntimeError, BadZipFile, zlib.error)


def from_arrays(
    kernels: ArrayLike | Sequence,
    rewards: ArrayLike | Sequence[Reward],
    *,
    horizon: int | None = None,
    start: int = 0,
    stated_bounds: ArrayLike | None = None,
    declared_successors: ArrayLike | None = None,
    family: Family | None = None,
) -> World:
    """Return the world of plain arrays.

    Parameters
    ----------
    kernels : array or list
        (S, A, S) for one kernel, (T, S, A, S) for one per step; or a list of A sparse (S, S) matrices, or a
        list of T such lists.
    rewards : array or list
        (S,) of the next state, (S, A) of state and action, or T of either; or a list of one or T `Reward`,
        which is needed if (T, S) could also be (S, A).
    horizon : int, optional
        T; needed if there is one kernel.
    start : int
        The state at t = 0.
    stated_bounds : array of shape (T-1,), optional
        Drift bounds, taken as stated; None: the true drift.
    declared_successors : array of shape (S, k), optional
        States to which steps can lead at any time.
    family : Family, optional
        Family to which all kernels belong.

    Returns
    -------
    World
        The checked world.

    Raises
    ------
    InputError
        If shapes do not fit together, a row is not a distribution, or a step leads to a state that is not
        declared possible.

    Examples
    --------
    >>> import numpy as np
    >>> world = from_arrays(np.full((3, 2, 3), 1 / 3), np.arange(3.0), horizon=5)
    >>> world.states, world.actions
    (3, 2)
    """
    steps = _kernels(kernels)
    horizon = horizon if horizon is not None else len(steps)
    require_whole(horizon=horizon)
    if horizon < 2:
        raise InputError("a single kernel needs a horizon of at least 2")
    if len(steps) not in (1, horizon):
        raise InputError(f"{len(steps)} kernels do not fit a horizon of {horizon}: give 1 or {horizon}")
    parts = _rewards(rewards, steps[0].states, steps[0].actions, horizon)
    if len(parts) not in (1, horizon):
        raise InputError(f"{len(parts)} rewards do not fit a horizon of {horizon}: give 1 or {horizon}")
    _check_range(parts, horizon)
    bounds = None if stated_bounds is None else check_drift_bounds(stated_bounds, horizon)
    lists = None if declared_successors is None else np.asarray(declared_successors)
    world = World(
        horizon, _indexed(steps), _indexed(parts), start, bounds, declared_successors=lists, family=family
    )
    require_valid(replace(world, stated_bounds=None))
    return world


def load_npz(path: str | Path, *, horizon: int | None = None) -> World:
    """Return the world of an .npz file.

    Its arrays are `kernels` as in `from_arrays`, or `successors` (S, k) with `probabilities` (S, A, k) or
    (T, S, A, k); `rewards` as in `from_arrays`, or `next_state_rewards` (S,) or (T, S); and if wanted
    `start`, `drift_bounds`, `possible_successors` (S, k), the states to which steps can lead at any time (by
    default `successors`), and `family` (2, S, A, S), two kernels of which all others are mixtures.

    Parameters
    ----------
    path : str or Path
        The file.
    horizon : int, optional
        T; needed if the file holds one kernel.

    Returns
    -------
    World
        The checked world.

    Raises
    ------
    InputError
        If the file cannot be read or its arrays make no world. The message names the file.
    """
    try:
        return _from_named_arrays(_read_npz(path), horizon)
    except InputError as error:
        raise InputError(f"{path}: {error}") from None


def _read_npz(path: str | Path) -> dict[str, np.ndarray]:
    try:
        file = np.load(path, allow_pickle=False)
        if not isinstance(file, np.lib.npyio.NpzFile):
            raise InputError("not a readable .npz file (it holds a single array)")
        with file:
            members = file.zip.infolist() if file.zip else []
            require_memory(sum(member.file_size for member in members) / 4, "the file")
            return dict(file)
    except InputError:
        raise
    except UNREADABLE as error:  # encrypted or oddly compressed members are RuntimeErrors
        reason = "it is of another kind" if "pickle" in str(error) else error
        raise InputError(f"not a readable .npz file ({reason})") from None


def _from_named_arrays(arrays: dict[str, np.ndarray], horizon: int | None) -> World:
    if unknown := sorted(set(arrays) - NPZ_ARRAYS):
        raise InputError(f"unknown array {unknown[0]!r}")
    if not {"rewards", "next_state_rewards"} & set(arrays):
        raise InputError("the array 'rewards' is missing")
    if {"rewards", "next_state_rewards"} <= set(arrays):
        raise InputError("give 'rewards' or 'next_state_rewards', not both")
    _check_arrays(arrays)
    if "kernels" in arrays:
        kernels = arrays["kernels"]
    elif {"successors", "probabilities"} <= set(arrays):
        probabilities = arrays["probabilities"]
        steps = probabilities if probabilities.ndim == 4 else probabilities[None]
        kernels = [GeneralKernel(arrays["successors"], step) for step in steps]
    else:
        raise InputError("give 'kernels', or 'successors' and 'probabilities'")
    if "rewards" in arrays:
        rewards = arrays["rewards"]
    else:
        rewards = [Reward(next_state=step) for step in np.atleast_2d(arrays["next_state_rewards"])]
    return from_arrays(
        kernels,
        rewards,
        horizon=horizon,
        start=int(arrays["start"].item()) if "start" in arrays else 0,
        stated_bounds=arrays.get("drift_bounds"),
        declared_successors=arrays.get("possible_successors", arrays.get("successors")),
        family=_family(arrays["family"]) if "family" in arrays else None,
    )


def _family(ends: np.ndarray) -> Family:
    if ends.ndim != 4 or len(ends) != 2:
        raise InputError(f"'family' must be two kernels, (2, S, A, S), not of the shape {ends.shape}")
    first, last = (GeneralKernel.from_dense(end) for end in ends)
    return Family.of_mixtures("the kernels are mixtures of the two in the file", first, last)


def _check_arrays(arrays: dict[str, np.ndarray]) -> None:
    for name, array in arrays.items():
        if not isinstance(array, np.ndarray):
            raise InputError(f"{name!r} is no array")
        if array.dtype.kind not in "biuf":
            raise InputError(f"the array {name!r} holds {array.dtype}, not numbers")
        if not array.size:
            raise InputError(f"the array {name!r} of the shape {array.shape} is empty")
    start = arrays.get("start", np.zeros(1))
    if start.size != 1 or not (np.isfinite(start).all() and start.item() == np.floor(start.item())):
        raise InputError(f"'start' must be one state, not {start.tolist()}")


def _check_range(rewards: Sequence[Reward], horizon: int) -> None:
    greatest = max(abs(end) for reward in rewards for end in reward.bounds())
    if isfinite(greatest) and greatest * horizon > GREATEST_RETURN:
        raise InputError(f"rewards of {greatest:.3g} over {horizon} steps exceed {GREATEST_RETURN:g}")


def _indexed(steps: Sequence):
    return constant(steps[0]) if len(steps) == 1 else lambda t: steps[t]


def _kernels(kernels) -> list[Kernel]:
    if isinstance(kernels, (list, tuple)) and not kernels:
        raise InputError("there must be at least one kernel, not an empty list")
    if isinstance(kernels, (list, tuple)) and not isinstance(kernels[0], np.ndarray):
        from scipy.sparse import issparse

        if isinstance(kernels[0], Kernel):
            return list(kernels)
        if isinstance(kernels[0], (list, tuple)) and kernels[0] and issparse(kernels[0][0]):
            return [GeneralKernel.from_sparse(step) for step in kernels]
        if issparse(kernels[0]):
            return [GeneralKernel.from_sparse(kernels)]
    dense = read_array("kernels", kernels)
    if dense.ndim == 3:
        return [GeneralKernel.from_dense(dense)]
    if dense.ndim == 4:
        return [GeneralKernel.from_dense(step) for step in dense]
    raise InputError(f"kernels must be (S, A, S) or (T, S, A, S), not {dense.shape}")


def _rewards(given: ArrayLike | Sequence[Reward], states: int, actions: int, horizon: int) -> list[Reward]:
    if isinstance(given, (list, tuple)) and given and all(isinstance(step, Reward) for step in given):
        return list(given)  # pyright: ignore[reportReturnType]
    rewards = read_array("rewards", given)
    if rewards.shape == (states, actions) == (horizon, states):
        raise InputError(
            f"rewards of the shape {rewards.shape} can be (S, A) or (T, S): give (1, S, A), "
            "or next_state_rewards in a file, or a list of Reward"
        )
    if rewards.shape == (states,):
        return [Reward(next_state=rewards)]
    if rewards.shape == (states, actions):
        return [Reward(state_action=rewards)]
    if rewards.ndim == 2 and rewards.shape[1] == states:
        return [Reward(next_state=step) for step in rewards]
    if rewards.ndim == 3 and rewards.shape[1:] == (states, actions):
        return [Reward(state_action=step) for step in rewards]
    raise InputError(f"rewards of the shape {rewards.shape} fit neither (S,) nor (S, A) nor T of them")
