"""The paper's theorem, term by term: as its proof supports it, and as printed.

The printed form is false (with no drift and alpha = 0 it promises 0 where the regret can be large), so it is
kept only to be compared. The supported form follows `replan.certificates.lemmas`; it also bounds t = 0, and
needs overlap of the policies that its proof couples: optimal against planned, and optimal against optimal at
shifted times. Its bound on state mismatch allows any action, so it covers belief execution too, though the
paper speaks of MAP.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Literal

import numpy as np

from replan.certificates.legs import budgeted_times, require_frozen
from replan.certificates.lemmas import Lemmas, optimal_policies, plan_policies, printed_bound
from replan.certificates.mixing import Chains, diameter, overlap, overlap_profile
from replan.execute.mission import Mission, require_world
from replan.model.kernel import Indices
from replan.model.reward import reward_range
from replan.planning.optimal_values import Oracle, oracle

NO_OVERLAP = "eta = 0 for every m: the theorem promises nothing"
NO_DIAMETER = "D is infinite: the theorem promises nothing"


@dataclass(frozen=True)
class Bound:
    """One form of the bound at its best m."""

    total: float
    terms: dict[str, float]
    alpha: float
    m: int | None  # None: nothing is promised


EMPTY = Bound(np.inf, {}, 1.0, None)


@dataclass(frozen=True)
class Theorem:
    """Regret is at most `total`, from any start, if the overlap is as found."""

    total: float
    terms: dict[str, float]  # each summed over time
    alpha: float
    m: int | None
    diameter: float  # D, in steps
    reward_range: float
    scale: float  # what stands where the paper has D
    printed: Bound = field(repr=False)  # the false form
    says: str


def theorem(
    mission: Mission, times: Sequence[int], *, spread: Literal["diameter", "span"] = "diameter"
) -> Theorem:
    """Compute the paper's bound of an update schedule, at the m that makes it least.

    Parameters
    ----------
    mission : Mission
        The mission.
    times : sequence of int
        Update times.
    spread : {"diameter", "span"}
        "span" uses the measured span of values in place of D times the range of the reward.

    Returns
    -------
    Theorem
        The bound, its terms, and the bound as the paper prints it.
    """
    require_world(mission)
    require_frozen(mission)
    times = budgeted_times(mission, times)
    width = reward_range(mission.world.reward, mission.horizon)
    if mission.world.states > (most := mission.sizes.certified_starts):
        too_large = f"the theorem is not computed for more than {most} states: it compares all pairs of them"
        return Theorem(np.inf, {}, 1.0, None, np.inf, width, np.inf, EMPTY, too_large)
    best = oracle(mission.world)
    steps = diameter(best)
    if spread == "diameter" and np.isinf(steps):
        return Theorem(np.inf, {}, 1.0, None, steps, width, np.inf, EMPTY, NO_DIAMETER)
    scale = _scale(mission, best, steps, width, spread)
    chains = Chains(mission.world)
    optimal = optimal_policies(best)
    stale = _stale_policies(mission, times)
    profile = overlap_profile(chains, stale.__getitem__, optimal.__getitem__, longest=mission.horizon - 1)
    lemmas = Lemmas(mission, scale)
    printed = EMPTY if np.isinf(steps) else _best_printed(lemmas, times, steps, profile)
    found = _best_supported(lemmas, times, chains, optimal, profile)
    says = NO_OVERLAP if found.m is None else f"alpha = {found.alpha:.3g} over blocks of m = {found.m} steps"
    return Theorem(found.total, found.terms, found.alpha, found.m, steps, width, scale, printed, says)


def supported_terms(lemmas: Lemmas, times: Sequence[int], *, alpha: float, m: int) -> dict[str, float]:
    """Each term of the bound, summed over time."""
    horizon = lemmas.mission.horizon
    at_update = {tau: lemmas.update_time(tau, alpha=alpha, m=m) for tau in (0, *times)}
    skips = list(skipped(times, horizon))
    return {
        "start": at_update[0],
        "update_time": sum(at_update[tau] for tau in times),
        "inherited": sum(at_update[tau] for tau, _ in skips),
        "residual_horizon": sum(lemmas.residual_horizon(t, alpha=alpha, m=m) for _, t in skips),
        "immediate_drift": sum(lemmas.immediate_drift(tau, t) for tau, t in skips),
        "accumulated_drift": sum(lemmas.accumulated_drift(tau, t, alpha=alpha, m=m) for tau, t in skips),
        "state_mismatch": sum(lemmas.state_mismatch(t) for _, t in skips),
    }


def skipped(times: Sequence[int], horizon: int) -> Iterator[tuple[int, int]]:
    """(last update, t) for every skipped t after the first update."""
    for tau, following in zip(times, [*times[1:], horizon], strict=True):
        for t in range(tau + 1, following):
            yield tau, t


def supported_overlap(
    mission: Mission, times: Sequence[int], chains: Chains, optimal: Indices, *, m: int, at_most: float = 1.0
) -> float:
    """The least overlap of the policies that the proof couples, over its blocks of m steps."""
    least = at_most
    for begin, policies in _coupled_blocks(mission, times, optimal, m):
        mine = chains.matrix(begin, m, optimal.__getitem__)
        theirs = chains.matrix(begin, m, lambda t, begin=begin, policies=policies: policies[t - begin])
        least = overlap(mine, theirs, at_most=least)
        if least == 0:
            break
    return least


def _coupled_blocks(
    mission: Mission, times: Sequence[int], optimal: Indices, m: int
) -> Iterator[tuple[int, Indices]]:
    """(first step, (m, S) the other policy) of each block in the proof."""
    horizon = mission.horizon
    for tau in (0, *times):
        ahead = plan_policies(mission, tau)[1:]
        for block in range(len(ahead) // m):
            yield tau + 1 + block * m, ahead[block * m : (block + 1) * m]
    for tau, t in skipped(times, horizon):
        for block in range((horizon - t - 1) // m):
            shifted = t + 1 + block * m
            yield tau + 1 + block * m, optimal[shifted : shifted + m]


def _best_supported(
    lemmas: Lemmas, times: Sequence[int], chains: Chains, optimal: Indices, profile: np.ndarray
) -> Bound:
    """The least total over m, most promising m first; overlap can only be lower than the profile says."""

    def total(m: int, alpha: float) -> dict[str, float]:
        return supported_terms(lemmas, times, alpha=alpha, m=m)

    hoped = {m: sum(total(m, 1 - profile[m]).values()) for m in range(1, len(profile)) if profile[m] > 0}
    least = EMPTY
    for m in sorted(hoped, key=hoped.__getitem__):
        if hoped[m] >= least.total:
            break
        eta = supported_overlap(lemmas.mission, times, chains, optimal, m=m, at_most=float(profile[m]))
        terms = total(m, 1 - eta)
        if eta > 0 and sum(terms.values()) < least.total:
            least = Bound(sum(terms.values()), terms, 1 - eta, m)
    return least


def _best_printed(lemmas: Lemmas, times: Sequence[int], steps: float, profile: np.ndarray) -> Bound:
    least = EMPTY
    for m in range(1, len(profile)):
        if profile[m] > 0:
            alpha = 1 - float(profile[m])
            terms = printed_bound(lemmas, times, diameter=steps, alpha=alpha, m=m)
            if sum(terms.values()) < least.total:
                least = Bound(sum(terms.values()), terms, alpha, m)
    return least


def _stale_policies(mission: Mission, times: Sequence[int]) -> Indices:
    """(T, S) the policy of the last update at every time."""
    last = np.searchsorted(times, np.arange(mission.horizon), side="right")
    updates = (0, *times)
    return np.stack([mission.update(updates[k]).plan.policy for k in last])


def _scale(mission: Mission, best: Oracle, steps: float, width: float, spread: str) -> float:
    """A bound on the span of V*_t, R_t + V*_{t+1} and of the plans' values, which span at most H rewards."""
    plans = mission.robot.planning_horizon * width
    if spread == "diameter":
        of_next_state = any(mission.world.reward(t).next_state is not None for t in range(mission.horizon))
        return max((steps + of_next_state) * width, plans)
    spans = [plans]
    for t in range(mission.horizon):
        arrival = mission.world.reward(t).next_state
        ahead = best.values[t + 1] if arrival is None else best.values[t + 1] + arrival
        spans += [float(np.ptp(best.values[t])), float(np.ptp(ahead))]
    return max(spans)
