"""The score of Algorithm 1 and its pacing limit.

S_t = w1 phi(R_t) + w2 phi(I_t) + w3 phi(A_t) is the paper's equation (score).

R_t is the loss at the end of the horizon (residual), I_t the drift since the last update (immediate), A_t its
cost over the rest of the horizon (accumulated). `proxy_terms` are the normalised ones of the paper's
experiments, equation (score proxy); `theorem_terms` those of the bound, as the proof supports it. The pacing
limit L_t is the longest time that a paced rule goes without an update, whatever its score.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from dataclasses import replace
from math import ceil, inf, log, log1p, sqrt
from typing import Any, NamedTuple

import numpy as np

from replan.errors import InputError, require_numbers, shown
from replan.model.kernel import Kernel
from replan.schedule.rule import Context, Decision
from replan.skip.acting import distinct

TRIGGER_TOLERANCE = 1e-12  # a score this close below its threshold has reached it
NEGLIGIBLE = 1e-18  # powers of alpha below this are not added up

Phi = Callable[[float], float]

PHI: dict[str, Phi] = {"log": log1p, "linear": lambda x: x, "sqrt": sqrt}

Pacing = Callable[[Context], float]


class ScoreTerms(NamedTuple):
    """R_t, I_t and A_t, before phi and the weights."""

    residual: float
    immediate: float
    accumulated: float


def require_threshold(threshold: float) -> None:
    """Raise `InputError` for a threshold that every score reaches, or that is no number."""
    require_numbers(threshold=threshold)
    if not threshold >= 0:
        raise InputError(f"threshold must be at least 0, not {threshold:g}")


def compared(score: float, threshold: float, parts: str, terms: Mapping[str, float]) -> Decision:
    """Decide to update if a score reaches its threshold; `parts` says in words what the score is made of."""
    due = score >= threshold - TRIGGER_TOLERANCE
    reason = f"score {score:.4g} {'reaches' if due else 'is below'} {threshold:.4g}: {parts}"
    return Decision(due, reason, score, threshold, terms)


def stale_drift(context: Context) -> float:
    """Return the sum of epsilon from tau - 1, the time of the estimated kernel, to t - 1."""
    sums = context.drift.sums
    return float(sums[context.time] - sums[context.estimate_time])


def proxy_terms(context: Context, *, alpha: float, m: int, diameter: float) -> ScoreTerms:
    """Return alpha^K D, the stale drift I_t, and m (1 - alpha^K) / (1 - alpha) I_t; K = floor((T-t) / m)."""
    K = (context.horizon - context.time) // m
    drift = stale_drift(context)
    return ScoreTerms(alpha**K * diameter, drift, m * geometric_sum(alpha, K) * drift)


def theorem_terms(context: Context, *, alpha: float, m: int, diameter: float) -> ScoreTerms:
    """Return the terms of the theorem, which need the drift bounds of the whole horizon.

    With N = T-t-1, K = floor(N/m) and e_j = D TV(P_{tau+j}, P_{t+j}) + max |r_{t+j} - r_{tau+j}|, the
    mismatch of times tau+j and t+j: R_t = alpha^K D, I_t = e_0, and
    A_t = 2 sum_{l<K} alpha^l (e_{lm+1} + ... + e_{lm+m}) + 2 alpha^K (e_{Km+1} + ... + e_N).
    D is `diameter` times the range of the reward.
    """
    tau, t, sums = context.last_update, context.time, context.drift.sums
    N = context.horizon - t - 1
    K = N // m
    known = _since_update(context)
    D = diameter * known.reward_range
    counted = min(N, m * _powers_that_count(alpha))
    drift = sums[t : t + counted + 1] - sums[tau : tau + counted + 1]
    e = D * np.minimum(1.0, known.variation_factor * drift)
    if not known.constant_reward:
        e = e + [context.reward(tau + j).change(context.reward(t + j)) for j in range(counted + 1)]
    block = np.minimum(np.arange(counted) // m, K)  # e_{Km+1}..e_N share the last power
    return ScoreTerms(alpha**K * D, float(e[0]), float(2 * (float(alpha) ** block @ e[1:])))


def _powers_that_count(alpha: float) -> int:
    """Return the number of powers of alpha above NEGLIGIBLE."""
    if alpha == 1:
        return sys.maxsize
    return 1 if alpha == 0 else ceil(log(NEGLIGIBLE) / log(alpha)) + 1


def total_variation_factor(kernel: Kernel) -> int:
    """Return a bound on a row's total variation, as a multiple of its largest entrywise change.

    Of k successors some gain as much as the others lose, and one of the two sides has at most floor(k/2).
    """
    return max(1, kernel.general().successors.shape[1] // 2)


class _SinceUpdate(NamedTuple):
    """Numbers that stay the same while an update is in force, of the steps from tau on."""

    reward_range: float
    constant_reward: bool
    variation_factor: int


def _since_update(context: Context) -> _SinceUpdate:
    if _SinceUpdate not in context.cache:
        rewards, _ = distinct([context.reward(t) for t in range(context.last_update, context.horizon)])
        bounds = [each.bounds() for each in rewards]
        span = max(high for _, high in bounds) - min(low for low, _ in bounds)
        factor = total_variation_factor(context.kernel)
        context.cache[_SinceUpdate] = _SinceUpdate(span, len(rewards) == 1, factor)
    return context.cache[_SinceUpdate]


def geometric_sum(alpha: float, K: int) -> float:
    """Return (1 - alpha^K) / (1 - alpha), which is K at alpha = 1."""
    return float(K) if alpha == 1 else (1 - alpha**K) / (1 - alpha)


def pacing_limit(context: Context) -> int:
    """Return L_t = ceil((T - t) / b_t)."""
    return ceil((context.horizon - context.time) / context.budget_left)


PACINGS: dict[str, Pacing] = {"even": pacing_limit, "none": lambda context: inf}


def paced(decision: Decision, context: Context, limit: float) -> Decision:
    """Turn a decision into an update if the last one was `limit` or more steps ago."""
    if decision.update or context.time - context.last_update < limit:
        return decision
    return replace(decision, update=True, reason=f"{limit} steps since the last update: the pacing limit")


def named(what: str, given: Any, known: Mapping[str, Any]) -> Any:
    """Return the function of that name among those known, or the function that is given in its place."""
    if callable(given):
        return given
    if not isinstance(given, str) or given not in known:
        raise InputError(f"{what} must be one of {', '.join(known)} or a function, not {shown(given)}")
    return known[given]
