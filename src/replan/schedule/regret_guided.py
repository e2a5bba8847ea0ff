"""`regret-guided`: Algorithm 1, update when the score of what a stale plan costs reaches a threshold."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product
from math import inf
from typing import Literal, get_args

from replan.errors import InputError, require, require_numbers, require_whole, require_word
from replan.schedule.rule import Context, Decision, Need, Rule, register
from replan.schedule.score import (
    PACINGS,
    PHI,
    Pacing,
    Phi,
    compared,
    named,
    paced,
    proxy_terms,
    require_threshold,
    theorem_terms,
)

ScoreFamily = Literal["gap", "drift", "gap+drift", "theorem"]
Weights = tuple[float, float, float]

# The paper's table of adaptive scores. It has no theorem-level row: all weights one, lambda as for gap+drift.
WEIGHTS: dict[ScoreFamily, Weights] = {
    "gap": (1, 0, 1),
    "drift": (1, 1, 0),
    "gap+drift": (1, 1, 1),
    "theorem": (1, 1, 1),
}
CHOSEN_FAMILIES: tuple[ScoreFamily, ...] = ("gap", "drift", "gap+drift")
ALPHAS = (0.3, 0.5, 0.7, 0.8, 0.9, 0.95, 0.99)
MS = (1, 2, 3, 5, 8)
DIAMETERS = (0.0, 0.01, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0)
THRESHOLDS: dict[ScoreFamily, float] = {"gap": 0.15, "drift": 0.25, "gap+drift": 0.30, "theorem": 0.30}


@register
@dataclass(frozen=True)
class RegretGuided(Rule):
    """The paper's adaptive rule. `diameter` 0 switches the residual term off."""

    score: ScoreFamily = "drift"
    """Family of the score: its weights, its threshold and the terms that it adds up."""
    alpha: float = 0.9
    """Mixing rate: the residual and the accumulated term fall by alpha every m steps."""
    m: int = 3
    """Steps of a mixing block."""
    diameter: float = 0.5
    """D, the size of the residual term; 0 switches it off."""
    threshold: float | None = None
    """lambda, the score at which the rule updates; None: the family's."""
    weights: Weights | None = None
    """w1, w2 and w3 of the terms; None: the family's."""
    phi: str | Phi = "log"
    """Transformation of the terms: `log`, `linear`, `sqrt` or a function."""
    pacing: str | Pacing = "even"
    """L_t, the longest time without an update: `even`, `none` or a function of the context."""

    name = "regret-guided"
    exact_budget = True
    needs = frozenset({Need.DRIFT_SO_FAR, Need.BUDGET})

    def __post_init__(self) -> None:
        require_word(get_args(ScoreFamily), score=self.score)
        require_numbers(alpha=self.alpha, diameter=self.diameter)
        require_whole(m=self.m)
        if not 0 <= self.alpha <= 1:
            raise InputError(f"alpha must lie between 0 and 1, not {self.alpha}")
        if self.m < 1:
            raise InputError(f"m must be at least 1, not {self.m}")
        if not 0 <= self.diameter < inf:
            raise InputError(f"diameter must be finite and not negative, not {self.diameter}")
        if self.threshold is not None:
            require_threshold(self.threshold)
        if self.weights is not None:
            require(tuple, weights=self.weights)
            if len(self.weights) != 3 or not all(0 <= weight < inf for weight in self.weights):
                raise InputError(f"weights must be three finite numbers, none negative, not {self.weights}")
        named("phi", self.phi, PHI)
        named("pacing", self.pacing, PACINGS)
        ahead = Need.DRIFT_AHEAD if self.score == "theorem" else Need.DRIFT_SO_FAR  # mismatches reach to T
        needs = {ahead} if self.pacing == "none" else {ahead, Need.BUDGET}
        object.__setattr__(self, "needs", frozenset(needs))

    @classmethod
    def candidates(cls) -> list[RegretGuided]:
        """Return families x alpha x m x D, each score once: `drift` with D = 0 has no alpha and m."""
        rules = [
            cls(score, alpha=alpha, m=m, diameter=diameter)
            for score, alpha, m, diameter in product(CHOSEN_FAMILIES, ALPHAS, MS, DIAMETERS)
        ]
        first = cls("drift", alpha=ALPHAS[0], m=MS[0], diameter=0.0)
        return [rule for rule in rules if rule == first or (rule.score, rule.diameter) != ("drift", 0.0)]

    def decide(self, context: Context) -> Decision:
        """Update if S_t reaches lambda, or at the pacing limit; the terms of the decision add up to S_t."""
        phi, pacing = named("phi", self.phi, PHI), named("pacing", self.pacing, PACINGS)
        weights = WEIGHTS[self.score] if self.weights is None else self.weights
        threshold = THRESHOLDS[self.score] if self.threshold is None else self.threshold
        score_terms = theorem_terms if self.score == "theorem" else proxy_terms
        raw = score_terms(context, alpha=self.alpha, m=self.m, diameter=self.diameter)
        terms = {name: w * phi(x) if w else 0.0 for name, w, x in zip(raw._fields, weights, raw, strict=True)}
        score = sum(terms.values())
        parts = " + ".join(f"{name} {terms[name]:.4g}" for name, w in zip(terms, weights, strict=True) if w)
        decision = compared(score, threshold, parts, terms)
        return paced(decision, context, pacing(context))
