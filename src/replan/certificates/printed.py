"""The theorem's bound as printed. It is false, and kept under its own name so that it can be compared."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from replan.certificates.lemmas import Lemmas


def printed_bound(
    lemmas: Lemmas, times: Sequence[int], *, diameter: float, alpha: float, m: int
) -> dict[str, float]:
    """Its terms: none for state mismatch or t = 0, mismatches against P_tau, D without the reward's range."""
    horizon = lemmas.mission.horizon
    D = diameter
    terms: dict[str, float] = dict.fromkeys(
        ("update_time", "inherited", "residual_horizon", "immediate_drift", "accumulated_drift"), 0.0
    )
    for tau, following in zip(times, [*times[1:], horizon], strict=True):
        at_update = _update_time(lemmas, tau, D, alpha, m)
        terms["update_time"] += at_update
        mismatch = [
            lemmas.kernel_change(tau, j) * D + _action_span(lemmas, tau, j) for j in range(tau, horizon)
        ]
        for t in range(tau + 1, following):
            blocks = (horizon - t) // m
            terms["inherited"] += at_update
            terms["residual_horizon"] += alpha**blocks * D
            terms["immediate_drift"] += mismatch[t - tau]
            terms["accumulated_drift"] += 2 * alpha**blocks * sum(mismatch[blocks * m : horizon - t + 1])
            for block in range(blocks):
                terms["accumulated_drift"] += 2 * alpha**block * sum(mismatch[block * m : (block + 1) * m])
    return terms


def _update_time(lemmas: Lemmas, tau: int, D: float, alpha: float, m: int) -> float:
    length = lemmas.plan_length(tau)
    errors = [variation * D for variation in lemmas.estimate_variations(tau)]
    blocks = (length - 1) // m
    total = alpha**blocks * D + errors[0] + 2 * alpha**blocks * sum(errors[blocks * m + 1 :])
    for block in range(blocks):
        total += 2 * alpha**block * sum(errors[block * m + 1 : (block + 1) * m + 1])
    return total


def _action_span(lemmas: Lemmas, tau: int, j: int) -> float:
    """Max over s of the span over actions of r_j - r_tau, each expected under its own time's kernel."""
    world = lemmas.mission.world
    change = world.reward(j).expected(world.kernel(j)) - world.reward(tau).expected(world.kernel(tau))
    return float(np.ptp(change, axis=1).max())
