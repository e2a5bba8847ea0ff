"""Toy-text environments as worlds: those of Gymnasium with a table `P`, and NS-Gym's, whose kernels drift.

    world = from_gymnasium(gymnasium.make("FrozenLake-v1"), horizon=40)

    lake = NSFrozenLakeWrapper(gymnasium.make("FrozenLake-v1", is_slippery=False), {"P": update_function})
    world = from_ns_gym(lake, horizon=40)

NS-Gym defines when the environment changes, replan when the agent looks. The drift of these environments
depends only on the time, so one pass over the horizon reads every kernel; an update function that draws at
random gives the sequence of kernels that belongs to the seed. `replan.worlds.model_table` turns a table into
a kernel and a reward.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from replan.errors import InputError
from replan.model.kernel import Array
from replan.model.world import World
from replan.worlds.model_table import ModelTable, world_of_tables


def from_gymnasium(environment: Any, *, horizon: int | None = None, start: int | None = None) -> World:
    """Make a world of an environment that does not drift, or of a list of them, one for each time.

    Parameters
    ----------
    environment : gymnasium.Env or list of gymnasium.Env
        Environments with a table of their model, `env.unwrapped.P`.
    horizon : int, optional
        T. Defaults to the environment's own limit of steps, or to the length of the list.
    start : int, optional
        Start state. Defaults to the environment's own.

    Returns
    -------
    World
        The world with the environments' kernels and rewards.

    Raises
    ------
    InputError
        If an environment has no table, or continuous states or actions.
    """
    drifts = isinstance(environment, Sequence)
    environments = list(environment) if drifts else [environment]
    if not environments:
        raise InputError("an empty list of environments has no world")
    tables = [read_table(each) for each in environments]
    if horizon is None:
        horizon = len(environments) if drifts else _step_limit(environment)
    return world_of_tables(
        tables, horizon=horizon, start=start, start_probabilities=start_probabilities(environments[0])
    )


def from_ns_gym(environment: Any, *, horizon: int, start: int | None = None, seed: int = 0) -> World:
    """Make a world of a fresh NS-Gym environment, which is stepped through the horizon.

    Parameters
    ----------
    environment : gymnasium.Env
        An environment of NS-Gym that was not stepped yet.
    horizon : int
        T.
    start : int, optional
        Start state. Defaults to the environment's own.
    seed : int
        Seed of the environment's changes.

    Returns
    -------
    World
        The world with the kernels that the environment had at each step.
    """
    states, actions = numbered_spaces(environment)
    if not (environment.has_wrapper_attr("has_reset") and environment.has_wrapper_attr("tunable_params")):
        raise InputError(f"{name_of(environment)} is not an NS-Gym environment: see from_gymnasium")
    if environment.get_wrapper_attr("has_reset"):
        # After a reset NS-Gym keeps the last table of the episode before until the next change.
        raise InputError(f"{name_of(environment)} has been reset before: give a fresh one")
    if not (hasattr(environment.unwrapped, "transition_matrix") or _is_table(environment.unwrapped)):
        raise InputError(f"{name_of(environment)} has no model table: its kernels cannot be read")
    elsewhere = np.random.get_state()  # Bridge draws from numpy's global stream
    try:
        tables = _read_tables(environment, states, actions, horizon=horizon, seed=seed)
    finally:
        np.random.set_state(elsewhere)
    law = start_probabilities(environment)
    return world_of_tables(tables, horizon=horizon, start=start, start_probabilities=law)


def read_table(environment: Any) -> ModelTable:
    """Return the table of an environment in its present state."""
    states, actions = numbered_spaces(environment)
    table = getattr(environment.unwrapped, "P", None)
    if table is None:
        raise InputError(f"{name_of(environment)} has no model table P: its kernel cannot be read")
    return ModelTable.read(table, states=states, actions=actions)


def numbered_spaces(environment: Any) -> tuple[int, int]:
    """Return the numbers of states and actions; both spaces must be discrete and start at 0."""
    if not hasattr(environment, "unwrapped"):
        raise InputError(f"{type(environment).__name__} is not a Gymnasium environment")
    sizes = []
    for what in ("observation", "action"):
        space = getattr(environment.unwrapped, f"{what}_space")
        if type(space).__name__ != "Discrete" or int(space.start) != 0:
            kind = "Discrete counted from 0"
            raise InputError(f"the {what}s of {name_of(environment)} are {type(space).__name__}, not {kind}")
        sizes.append(int(space.n))
    return sizes[0], sizes[1]


def start_probabilities(environment: Any) -> Array:
    """Return (S,) probabilities of the first state; if none are stated, the state after `reset` has 1."""
    law = getattr(environment.unwrapped, "initial_state_distrib", None)
    if law is not None:
        return np.asarray(law, dtype=float)
    certain = np.zeros(int(environment.unwrapped.observation_space.n))
    certain[int(environment.unwrapped.reset(seed=0)[0])] = 1.0
    return certain


def name_of(environment: Any) -> str:
    """Return the registered id, or the class."""
    spec = getattr(environment, "spec", None)
    return type(environment.unwrapped).__name__ if spec is None else spec.id


def _step_limit(environment: Any) -> int:
    spec = getattr(environment, "spec", None)
    limit = None if spec is None else spec.max_episode_steps
    if limit is None:
        raise InputError("this environment has no limit of steps: give a horizon")
    return int(limit)


def _read_tables(environment: Any, states: int, actions: int, *, horizon: int, seed: int) -> list[ModelTable]:
    """Return the table of each time. It changes within `step`, before the move: it is read after each."""
    inner = environment.unwrapped
    environment.reset(seed=seed)
    begin, tables = inner.s, []
    for _ in range(horizon):
        inner.s = begin  # the table does not depend on it, and an episode that has ended would not go on
        environment.step(0)
        table = getattr(inner, "transition_matrix", None) or inner.P
        tables.append(ModelTable.read(table, states=states, actions=actions))
    return tables


def _is_table(inner: Any) -> bool:
    return isinstance(getattr(inner, "P", None), dict)
