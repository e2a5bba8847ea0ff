"""A discrete Bayes filter over the parameters of a family of models, theta -> kernel.

The evidence is the last transition before each update, as in the paper, or the whole skip interval: theta
and the state are filtered forward together, from the state at the last update, under the commanded actions,
to the state now. Between steps theta moves within its drift bound (`replan.estimate.movement`).
"""

from __future__ import annotations

import logging

import numpy as np
from numpy.typing import ArrayLike

from replan import _loops
from replan.errors import InputError, require
from replan.estimate.drift_bounds import check_drift_bounds
from replan.estimate.estimator import Learned, Observation
from replan.estimate.movement import Movement
from replan.estimate.slip_evidence import (
    CONFIDENCE,
    UNLIKELY,
    ParameterEstimate,
    Stretch,
    last_update,
    stretches,
)
from replan.estimate.slip_mle import EvidenceKind, check_options
from replan.model.family import Family
from replan.model.general_kernel import prepare_kernel
from replan.model.kernel import Array, Kernel

log = logging.getLogger(__name__)


class FamilyFilter:
    """Estimator of the parameters of a family.

    Parameters
    ----------
    family : Family
        The kernels that are possible, by their parameters.
    drift_bounds : array_like
        One number for every step, (T-1,) numbers, or (T-1, S, A) with a bound for each state and action.
    start : Kernel, optional
        The kernel at t = 0. Without it all parameters are equally likely then.
    evidence : {"intervals", "transitions"}
        Whether it learns from whole skip intervals or from the last transition before each update.
    confidence : float
        Probability with which the stated range of a parameter holds.
    """

    def __init__(
        self,
        family: Family,
        drift_bounds: ArrayLike,
        *,
        start: Kernel | None = None,
        evidence: EvidenceKind = "intervals",
        confidence: float = CONFIDENCE,
    ) -> None:
        check_options(evidence, confidence)
        require(Family, family=family)
        if start is not None:
            require(Kernel, start=start)
        self.family, self.start, self.evidence, self.confidence = family, start, evidence, confidence
        self._successors, self._probabilities = family.stacked
        _, self.states, self.actions, _ = self._probabilities.shape
        self.drift_bounds = check_drift_bounds(drift_bounds, states=self.states, actions=self.actions)
        self._steps = step_bounds(self.drift_bounds, family)
        self._movement = Movement(family)
        self._warm_up()

    def begin(self) -> Learned:
        """Return the weights of all hypotheses, their time, moves still to be made, and the last update."""
        members = self._movement.members
        weights = np.full(members, 1 / members) if self.start is None else self.family.locate(self.start)
        return {
            "belief": self._movement.spread(weights),  # (H,)
            "time": np.array(0),  # of the parameters that the belief is about
            "pending_bounds": np.zeros(len(self.family.shape)),
            "pending_steps": np.array(0),
            "last_update": np.empty(0, dtype=np.int64),
        }

    def weights(self, learned: Learned) -> Array:
        """(G,) probability of each member, at the time of the last transition."""
        return self._movement.of_members(learned["belief"])

    def estimate(self, learned: Learned, seen: Observation) -> tuple[Learned, Kernel]:
        """Learn from the update and return the mean kernel of the step before it.

        Steps that no parameters explain, such as those of a robot that was carried away, are logged and
        ignored.
        """
        way, transition = stretches(last_update(learned), seen)
        now = {**learned, "last_update": np.array([seen.time, seen.state])}
        for stretch in (way if self.evidence == "intervals" else None, transition):
            if stretch is not None:
                self._learn(now, stretch)
        now["belief"] = self._moved(now, now["belief"][:, None], seen.time - 1, to_the_last=True)[:, 0]
        return now, self.family.mean(self.weights(now))

    def parameters(self, learned: Learned) -> tuple[ParameterEstimate, ...]:
        """Each parameter at the time of the last transition.

        The interval reaches over the likeliest values, as many as make up its confidence, and over all others
        that are at least (1 - confidence) / 2 times as likely as the likeliest.
        """
        grid, found = self.weights(learned).reshape(self.family.shape), []
        time = int(learned["time"])
        ranges = zip(self.family.values, self.family.grids, self.family.circular, strict=True)
        for axis, (name, values, circular) in enumerate(ranges):
            line = grid.sum(axis=tuple(other for other in range(grid.ndim) if other != axis))
            likeliest = np.argsort(-line, kind="stable")
            enough = int(np.searchsorted(line[likeliest].cumsum(), self.confidence))
            least = min(line[likeliest[enough]], line.max() * (1 - self.confidence) / 2)
            kept = np.flatnonzero(line >= least)
            edges = np.concatenate([values[:1], (values[1:] + values[:-1]) / 2, values[-1:]])
            low, high = float(edges[kept.min()]), float(edges[kept.max() + 1])
            mean = mean_angle(line, values) if circular else float(line @ values)
            found.append(ParameterEstimate(name, time, mean, low, high, self.confidence))
        return tuple(found)

    def predicted(self, learned: Learned, steps: int) -> Array:
        """(steps + 1, G) probability of each member 0, 1, ... steps after the last transition."""
        bounds = np.array([self._bounds(int(learned["time"]) + k) for k in range(steps)])
        return self._movement.ahead(learned["belief"], bounds)

    def _learn(self, now: dict[str, np.ndarray], stretch: Stretch) -> None:
        """Condition the belief on a stretch; with probability `UNLIKELY` the robot is carried in it."""
        for name, state in (("s", stretch.start), ("next", stretch.end)):
            if not 0 <= state < self.states:
                raise InputError(f"t={stretch.time}: {name}={state} is not a state (0 to {self.states - 1})")
        belief = self._moved(now, now["belief"][:, None], stretch.time)[:, 0]
        joint = np.zeros((len(belief), self.states + 1))
        joint[:, stretch.start] = joint[:, -1] = belief
        for k, action in enumerate(stretch.actions):
            joint = self._moved(now, joint, stretch.time + k)
            joint = _loops.general.push_hypotheses(self._successors, self._probabilities, action, joint)
        if joint[:, stretch.end].sum() < UNLIKELY:
            log.warning(
                "t=%d: no parameters lead from s=%d to s=%d in %d steps; nothing is learned from them",
                *(stretch.time, stretch.start, stretch.end, len(stretch.actions)),
            )
        belief = (1 - UNLIKELY) * joint[:, stretch.end] + UNLIKELY * joint[:, -1]
        now["belief"] = belief / belief.sum()

    def _moved(
        self, now: dict[str, np.ndarray], joint: Array, time: int, *, to_the_last: bool = False
    ) -> Array:
        """(H, C) weights at a later time, which becomes that of the belief.

        Moves are saved up until they add up to a cell of the grid, or `to_the_last`: each one is shared
        between neighbours, which blurs the parameters.
        """
        bounds, steps, at = now["pending_bounds"], int(now["pending_steps"]), int(now["time"])
        while at < time:
            bounds, steps, at = bounds + self._bounds(at), steps + 1, at + 1
            if (bounds >= self._movement.cells).any():
                joint, bounds, steps = self._movement.move(joint, bounds, steps), 0 * bounds, 0
        if to_the_last and bounds.any():
            joint, bounds, steps = self._movement.move(joint, bounds, steps), 0 * bounds, 0
        now |= {"pending_bounds": bounds, "pending_steps": np.array(steps), "time": np.array(at)}
        return joint

    def _bounds(self, time: int) -> Array:
        """(d,) the most that each parameter moves from `time` to the next step, in positions."""
        if self._steps.ndim == 2 and time >= len(self._steps):
            raise InputError(f"t={time + 1} lies beyond the drift bounds, which end at t={len(self._steps)}")
        return self._steps[time] if self._steps.ndim == 2 else self._steps

    def _warm_up(self) -> None:
        """Compile or load what updates need."""
        begun = self.begin()
        prepare_kernel(self.family.mean(self.weights(begun)))
        joint = np.zeros((len(begun["belief"]), self.states + 1))
        _loops.general.push_hypotheses(self._successors, self._probabilities, 0, joint)
        self._movement.move(joint, np.zeros(len(self.family.shape)), 1)


def mean_angle(weights: Array, values: Array) -> float:
    """Return the mean direction of angles whose first and last value are one, in their range."""
    whole = values[-1] - values[0]
    mean = np.angle(weights @ np.exp(2j * np.pi * (values - values[0]) / whole))
    return float(values[0] + whole * (mean / (2 * np.pi) % 1))


def step_bounds(bounds: Array, family: Family) -> Array:
    """(d,) or (T-1, d) bounds of each parameter: the greatest among the rows that depend on it, if any do."""
    if bounds.ndim == 3:
        return np.stack([bounds[:, rows].max(axis=1, initial=0.0) for rows in family.depends], axis=1)
    return np.repeat(bounds[..., None], len(family.shape), axis=-1)
