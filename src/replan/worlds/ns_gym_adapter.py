"""NS-Gym's toy-text environments as worlds: FrozenLake, CliffWalking and Bridge, whose kernels drift.

    lake = NSFrozenLakeWrapper(gymnasium.make("FrozenLake-v1", is_slippery=False), {"P": update_function})
    world = from_ns_gym(lake, horizon=40)

NS-Gym defines when the environment changes, replan when the agent looks. The drift of these environments
depends on the time alone, so one pass over the horizon reads every kernel; an update function that draws at
random gives the sequence of kernels that belongs to the seed. The drift bounds are the largest entrywise
changes, as in every world without stated ones. `replan.worlds.model_table` turns a table into a kernel and a
reward.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from replan.errors import InputError
from replan.model import World
from replan.worlds.gymnasium_adapter import name_of, numbered_spaces, start_probabilities
from replan.worlds.model_table import ModelTable, world_of_tables


def from_ns_gym(environment: Any, *, horizon: int, start: int | None = None, seed: int = 0) -> World:
    """Return the world of a fresh NS-Gym environment, which is stepped through the horizon."""
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
