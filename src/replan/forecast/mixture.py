"""`mixture`: several models of the drift, weighed by how well each predicted what was then seen.

The models: the world stays as it is; it returns to the nominal kernel; where a family of models is declared,
each of its parameters rises, falls or swings, else the world goes on as it moved, turns back, becomes more
random or swaps its actions; and it moves as given from outside.
Where nothing moves, one of the parameters may jump. At an update each model says what it would have predicted
at the update before; the closer that comes to the estimate, the more it weighs. Weights depend only on these
two estimates and their times, from fixed priors, so that evaluation stays exact.

Between updates drift bounds come in. The models then move by as much as these allow, that the world stays is
believed less, and a rule that has settled on a time reconsiders it (`surprise`). Within a family drift goes
on for as long again as it has lasted (`replan.forecast.trend`).

Nothing announces a jump. No plan is made for one: it would be worse as long as the jump does not come.
Look-ahead counts on them, since the drift bound of a jump reveals it at once: an update that is kept until
then is spent where it is worth most.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from weakref import WeakValueDictionary

import numpy as np

from replan.errors import InputError, require, require_numbers
from replan.estimate.estimator import Estimator
from replan.forecast.base import Evidence, Forecast, Future, KernelAt
from replan.forecast.from_family import FamilyMoves
from replan.forecast.given import Given
from replan.forecast.trend import (
    STILL,
    Moved,
    held_bounds,
    lasting_bounds,
    moving,
    onwards,
    swapped_actions,
    swinging,
    towards,
    towards_chance,
)
from replan.model.family import Family, SameMembers
from replan.model.kernel import Array, Kernel, constant
from replan.model.slip import SlipKernel
from replan.model.world import Knowledge

GIVEN, SWAPPED = "as given", "actions swap"
PRIORS = {
    "stays": 0.3,
    "goes on": 0.2,
    "turns back": 0.1,
    "returns to nominal": 0.1,
    "more chance": 0.05,
    SWAPPED: 1.0,
}
MOVES_PRIOR = 0.2
"""Shared by the rises, falls and swings of the parameters of a family."""
GIVEN_PRIOR = 2.0
"""Weight of "as given" as a multiple of all others together: two thirds before anything is seen."""
CHANCE = 0.6  # of a jump in the course of a whole mission
SIZE = 0.5  # by which a probability changes in it
TIMES = 3  # at which it may come, evenly spaced over the rest of the mission


@dataclass(frozen=True)
class Mixture(Forecast):
    """Weigh models of the drift by how well they predicted the last estimate."""

    given: Given | None = None
    """A further model, from outside."""
    family: Family | None = field(default=None, repr=False)
    """Family whose parameters move; None: the one that the world declares, if it does."""
    sharpness: float = 3.0
    """By how many powers of e a model that predicted nothing falls behind one that predicted all."""
    floor: float = 0.02
    """Least weight of a model."""
    tolerated: float = 0.02
    """Change of a probability, beyond what was expected, at which a rule reconsiders."""
    doubt: float = 2.0
    """By how many powers of e "stays" falls behind for each unit of drift since the estimate."""

    compares = True
    reconsiders = True

    def __post_init__(self) -> None:
        require_numbers(
            sharpness=self.sharpness, doubt=self.doubt, tolerated=self.tolerated, floor=self.floor
        )
        if self.given is not None:
            require(Given, given=self.given)
        if self.family is not None:
            require(Family, family=self.family)
        numbers = (self.sharpness, self.doubt, self.tolerated)
        if not (all(number >= 0 for number in numbers) and 0 <= self.floor <= 0.1):
            raise InputError("a mixture takes numbers of at least 0, and a floor of at most 0.1")

    def informed_by(self, knowledge: Knowledge, estimator: Estimator | None) -> Mixture:
        """Return the mixture with the family that the world declares, unless it has one."""
        if self.family is not None or knowledge.family is None:
            return self
        return replace(self, family=knowledge.family.moving)

    def futures(self, evidence: Evidence) -> tuple[Future, ...]:
        """Return one future for each model that differs from the others, weighed."""
        members = self._members(evidence)
        weights = self._weights(evidence, members)
        merged: dict[str, Future] = {}
        for name, course in members.items():
            future = Future(name, weights[name], course, planned=name != SWAPPED)
            stays = future.stays(evidence.kernel, evidence.time, evidence.horizon)
            if stays or (name == GIVEN and _equals_estimate(course, evidence)):
                future = replace(future, name="stays")
            if same := merged.get(future.name):
                future = replace(same, weight=same.weight + future.weight)
            merged[future.name] = future
        if len(merged) > 1:
            return tuple(merged.values())
        jumps = self._jumps(evidence)
        return (Future("stays", 1 - sum(jump.weight for jump in jumps), constant(evidence.kernel)), *jumps)

    def within(self, restrict: Callable[[Kernel], Kernel]) -> Mixture:
        """Return the mixture of the same models on a part of the states."""
        given, family = self.given, self.family
        return replace(
            self,
            given=None if given is None else given.within(restrict),
            family=None if family is None else family.within(restrict),
        )

    def sources(self, horizon: int) -> Iterable[Kernel] | None:
        """Return the members of the family and the given kernels."""
        members = [] if self.family is None else [self.family.member(*point) for point in self.family.points]
        given = () if self.given is None else self.given.sources(horizon)
        return None if given is None else [*members, *given]

    def surprise(self, drift_bounds: Array, update: int, horizon: int) -> int:
        """Return the last time at which the drift left what was expected at the last surprise, or update."""
        since, expected = update, self._bounds(drift_bounds[:update], horizon)
        for t in range(update + 1, len(drift_bounds) + 1):
            if abs((drift_bounds[since:t] - expected[since:t]).sum()) > self.tolerated:
                since, expected = t, self._bounds(drift_bounds[:t], horizon)
        return since

    def _bounds(self, known: Array, horizon: int) -> Array:
        """(T-1,) drift bounds: within a family drift comes to rest, without one anything may happen."""
        return (held_bounds if self._moves is None else lasting_bounds)(known, horizon)

    def _jumps(self, evidence: Evidence) -> tuple[Future, ...]:
        """Return sudden changes of the parameters."""
        if self._moves is None:
            return ()
        return sudden_changes(evidence, self._directions(evidence.kernel), least=self.tolerated)

    @cached_property
    def _moves(self) -> FamilyMoves | None:
        """The moves within the family; None without one, or if two of its members are the same kernel."""
        try:
            return None if self.family is None else FamilyMoves(self.family)
        except SameMembers:
            return None

    def _directions(self, kernel: Kernel) -> dict[str, Moved]:
        """By name, ways to move of which nothing is known but how far."""
        if self._moves is None:
            return {"more chance": towards_chance(kernel)}
        return {name: self._moves.moved(kernel, axis, sign) for name, axis, sign in self._moves.directions()}

    def _members(self, evidence: Evidence) -> dict[str, KernelAt]:
        """By name, the kernels that each model expects; "stays" comes first."""
        kernel = evidence.kernel
        moves = self._directions(kernel) | {"returns to nominal": towards(kernel, evidence.nominal)}
        if self._moves is None and not isinstance(kernel, SlipKernel):
            moves[SWAPPED] = swapped_actions(kernel)
        if self._moves is None and evidence.earlier is not None:
            moves["goes on"] = onwards(evidence)
            moves["turns back"] = towards(kernel, evidence.earlier[1])
        found: dict[str, KernelAt] = {"stays": constant(kernel)}
        bounds = self._bounds(evidence.drift_bounds, evidence.horizon)
        for name, moved in moves.items():
            found[name] = self._shared(name, evidence, lambda moved=moved: moving(evidence, moved, bounds))
        found |= self._swings(evidence)
        if self.given is not None:
            found[GIVEN] = self.given.course(evidence)
        return found

    def _swings(self, evidence: Evidence) -> dict[str, KernelAt]:
        """By name, the swings of each parameter that begin with a rise or a fall, if rests are known."""
        found, moves = {}, self._moves
        if moves is None:
            return found
        for name, axis, sign in moves.directions():
            forth, back = (moves.moved(evidence.kernel, axis, way) for way in (sign, -sign))
            if course := swinging(evidence, forth, back):
                name = f"{name} and swings"
                found[name] = self._shared(name, evidence, lambda course=course: course)
        return found

    def _shared(self, name: str, evidence: Evidence, make: Callable[[], KernelAt]) -> KernelAt:
        """Return the course that another update at the same time expects, or make it.

        Within a family a course does not depend on the update before. As long as one update expects it, the
        others at its time get the same object, so that rules work on it once.
        """
        if self._moves is None:
            return make()
        seen = evidence.time, evidence.horizon, evidence.kernel, evidence.nominal
        key = name, *seen, evidence.drift_bounds.tobytes()
        course = self._courses.get(key)
        if course is None:
            course = self._courses[key] = make()
        return course

    @cached_property
    def _courses(self) -> WeakValueDictionary[tuple, KernelAt]:
        return WeakValueDictionary()

    def _weights(self, evidence: Evidence, members: Mapping[str, KernelAt]) -> dict[str, float]:
        """By model, adding up to 1."""
        moves = [name for name in members if name not in PRIORS and name != GIVEN]
        priors = {name: PRIORS[name] for name in members if name in PRIORS}
        priors |= {name: MOVES_PRIOR / len(moves) for name in moves}
        priors[GIVEN] = GIVEN_PRIOR * sum(priors.values())
        prior = np.array([priors[name] for name in members])
        prior[0] *= np.exp(-self.doubt * evidence.drift_bounds[evidence.since :].sum())
        misses = self._misses(evidence, members)
        weights = prior * np.exp(-self.sharpness * (misses - misses.min()))
        weights = np.maximum(weights / weights.sum(), self.floor)
        return dict(zip(members, weights / weights.sum(), strict=True))

    def _misses(self, evidence: Evidence, members: Mapping[str, KernelAt]) -> np.ndarray:
        """(M,) distance of the predicted kernel from the one seen, in units of the change seen; at most 1."""
        if evidence.earlier is None:
            return np.zeros(len(members))
        then, kernel = evidence.earlier
        moved = _distance(kernel, evidence.kernel)
        if moved <= STILL:
            return np.zeros(len(members))
        before = (0, evidence.nominal) if then > 1 else None
        at_the_time = self._members(replace(evidence, time=then, kernel=kernel, earlier=before))
        predicted = [at_the_time.get(name, constant(kernel))(evidence.since) for name in members]
        return np.minimum([_distance(each, evidence.kernel) / moved for each in predicted], 1.0)


def _equals_estimate(course: KernelAt, evidence: Evidence) -> bool:
    """Return whether all that is given from now on equals the estimate: kernels from outside are copies."""
    times = range(evidence.time, evidence.horizon)
    return all(course(t).entrywise_distance(evidence.kernel).max() <= STILL for t in times)


def _distance(one: Kernel, other: Kernel) -> float:
    """Return the mean over states and actions of the total variation."""
    return float(one.total_variation(other).mean())


def sudden_changes(
    evidence: Evidence, directions: Mapping[str, Moved], *, least: float
) -> tuple[Future, ...]:
    """Return one future for each time and direction in which a probability changes by more than `least`.

    All directions have the same share of the chance of a jump; if nothing can move, there is no future.
    """
    now, end, kernel = len(evidence.drift_bounds), evidence.horizon, evidence.kernel
    chance = 1 - (1 - CHANCE) ** ((end - now) / end)
    times = [max(now + 1, now + int((end - now) * (k + 0.5) / TIMES)) for k in range(TIMES)]
    weight = chance / (TIMES * len(directions))
    jumped = {name: moved(SIZE) for name, moved in directions.items()}
    return tuple(
        Future(f"{name} at {time}", weight, _jumping(kernel, other, time), planned=False)
        for time in dict.fromkeys(times)
        if time < end
        for name, other in jumped.items()
        if other.entrywise_distance(kernel).max() > least
    )


def _jumping(kernel: Kernel, other: Kernel, time: int) -> KernelAt:
    return lambda t: kernel if t < time else other
