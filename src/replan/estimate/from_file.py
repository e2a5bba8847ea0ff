"""Kernel estimates from a file of observations, as plain numbers, for `replan estimate`."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from numpy.typing import ArrayLike

from replan.errors import InputError
from replan.estimate.drift_bounded_mle import DriftBoundedMLE
from replan.estimate.filling import Filling
from replan.estimate.observations import read_transitions
from replan.model.general_kernel import GeneralKernel
from replan.model.kernel import Kernel

MOST_STATES = 2000  # of a kernel in which every state can follow every other


def estimate_file(
    path: str | Path,
    *,
    states: int,
    actions: int,
    drift_bound: ArrayLike,
    nominal: Kernel | None = None,
    filling: Filling = "nominal",
) -> dict:
    """Return the log-likelihood, its certified gap, and the estimates of every pair at the times it was seen.

    Without a `nominal` kernel every state may follow every other, and nominal is uniform. Each of `kernels`
    has t, s, a, and the lists `next` and `probabilities` of the successors whose probability is not 0.
    """
    seen = read_transitions(path)
    if not len(seen):
        raise InputError(f"{path}: no observations")
    nominal = uniform_kernel(states, actions) if nominal is None else nominal
    if (nominal.states, nominal.actions) != (states, actions):
        raise InputError(f"the nominal kernel has {nominal.states} states and {nominal.actions} actions")
    estimator = DriftBoundedMLE(nominal, drift_bound, filling=filling)
    try:
        estimator.learn(seen)
    except InputError as error:
        raise InputError(f"{path}: {error}") from None
    kernels = []
    for pair in estimator.pairs():
        for t, row in zip(pair.times.tolist(), pair.probabilities, strict=True):
            kept = row > 1e-9
            following, probabilities = pair.successors[kept].tolist(), row[kept].tolist()
            kernels.append(
                {"t": t, "s": pair.state, "a": pair.action, "next": following, "probabilities": probabilities}
            )
    kernels.sort(key=lambda entry: (entry["t"], entry["s"], entry["a"]))
    return {"log_likelihood": estimator.log_likelihood, "gap": estimator.gap, "kernels": kernels}


def uniform_kernel(states: int, actions: int) -> GeneralKernel:
    """Return the uniform kernel over all states."""
    if states < 1 or actions < 1:
        raise InputError(f"there must be at least one state and one action, not {states} and {actions}")
    if states > MOST_STATES:
        raise InputError(f"for more than {MOST_STATES} states give a nominal kernel with its successors")
    return GeneralKernel(
        np.tile(np.arange(states), (states, 1)), np.full((states, actions, states), 1 / states)
    )
