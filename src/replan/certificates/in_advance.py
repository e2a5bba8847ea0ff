"""A certificate in advance: for update times that are still to come, from the estimates made so far.

The estimates of later updates are unknown, and so are their plans. Regret is bounded over all of them: at
every step the believed state may take any action that some possible plan takes there. Where the kernels are a
family, the range of the parameter at each update is divided into intervals, each with its own possible plans
and later kernels, and the worst of them counts.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache

import numpy as np

from replan.certificates.behaviour import Possible, known_behaviour, possible_behaviour
from replan.certificates.certificate import (
    PLAN_CELLS,
    Certificate,
    KernelSet,
    Tightening,
    assumptions,
    promised,
    uncertainty,
)
from replan.certificates.legs import (
    budgeted_times,
    optimistic_values_backwards,
    require_frozen,
    step_costs,
    true_estimates,
)
from replan.certificates.parameter_range import SlipRange
from replan.certificates.premises import premises_in
from replan.certificates.uncertainty import Uncertainty, losses_backwards
from replan.errors import InputError, require, require_whole
from replan.execute.mission import Mission, require_instant, require_world
from replan.model.kernel import Array
from replan.model.sizes import require_pairs
from replan.skip.spending import FIRST_UPDATE

ADVANCE = Tightening(both_ends=False, slip_cells=1)


def certify_ahead(
    mission: Mission, times: Sequence[int], *, known_until: int = 0, tightening: Tightening = ADVANCE
) -> Certificate:
    """Certify update times in advance, from the estimates that exist at a time.

    Parameters
    ----------
    mission : Mission
        The mission to certify.
    times : sequence of int
        Update times.
    known_until : int
        Time until which updates have left their estimates; 0 means P_0 only.
    tightening : Tightening
        Structure and effort that make the certificate tighter.

    Returns
    -------
    Certificate
        A bound on the regret, with what it assumes.
    """
    require_world(mission)
    require_instant(mission)
    require_frozen(mission)
    require_whole(known_until=known_until)
    require(Tightening, tightening=tightening)
    times = budgeted_times(mission, times)
    made = tuple(t for t in times if t <= max(known_until, FIRST_UPDATE))  # the first plan is made on P_0 too
    return Ahead(mission, made, tightening).certificate(times)


@dataclass(frozen=True)
class Branch:
    """A part of the kernels that are possible at an update, and the behaviour that follows from it."""

    uncertain: KernelSet
    may: Possible


@dataclass(frozen=True)
class Rest:
    """Bounds from an update on, over a set of kernels."""

    uncertain: KernelSet
    lost: Array  # (S,) the most that is given away from the update on
    unpaid: Array  # (S,) minus the least return from the update on

    @classmethod
    def worst(cls, uncertain: KernelSet, rests: Sequence[Rest]) -> Rest:
        """The worst of several."""
        lost, unpaid = ([rest.lost for rest in rests], [rest.unpaid for rest in rests])
        return cls(uncertain, np.max(lost, axis=0), np.max(unpaid, axis=0))


class Ahead:
    """Certificates in advance of one mission."""

    def __init__(self, mission: Mission, made: tuple[int, ...], tightening: Tightening) -> None:
        if mission.robot.execution != "map":
            raise InputError(
                'a certificate in advance is for execution = "map": a belief is not known in advance'
            )
        require_pairs(mission.world.states, mission.horizon + 8, "a certificate in advance")
        self.mission, self.made = mission, made
        self.tightening = replace(tightening, slip_cells=1)  # no path of parameters is followed here
        self.known = premises_in(mission.world, true_estimates(mission, made))
        self.uncertain = uncertainty(self.known, self.tightening)
        self.plan_cells = tightening.plan_cells or (
            1 if isinstance(self.uncertain, SlipRange) else PLAN_CELLS
        )
        if self.uncertain.contradiction is not None:
            self.plan_cells = 1  # nothing is promised
        self._allowed: dict[bytes, Allowed] = {}
        self.branches, self.rests = cache(self._branches), cache(self._rests)

    def certificate(self, times: tuple[int, ...]) -> Certificate:
        """Return the certificate of update times, which begin with those made."""
        world = self.mission.world
        start = Rest.worst(self.uncertain, self.rests((0, *times)))
        best = self.allowed(self.uncertain).best(0)
        return Certificate(
            **promised(world, start.lost, self.uncertain.contradiction),
            oracle_at_best=float(best[world.start]),
            robot_at_worst=-float(start.unpaid[world.start]),
            when="in advance",
            estimates="true kernel",
            probability=1.0,
            times=times,
            tightening=self.tightening,
            assumed=assumptions(self.known, self.uncertain),
        )

    def allowed(self, uncertain: KernelSet) -> Allowed:
        """Return the bounds of single steps over a set of kernels."""
        return self._allowed.setdefault(uncertain.key, Allowed(self.mission, uncertain))

    def _branches(self, tau: int) -> list[Branch]:
        if tau == 0 or tau in self.made:
            return [Branch(self.uncertain, known_behaviour(self.mission, self.uncertain, tau))]
        parts = self.uncertain.parts(tau - 1, self.plan_cells)
        return [Branch(part, possible_behaviour(self.mission, part, tau)) for part in parts]

    def _rests(self, starts: tuple[int, ...]) -> list[Rest]:
        """Return the bounds from the first of these updates on, one for each of its branches or more."""
        begin, later, result = starts[0], starts[1:], []
        branches = self.branches(begin)
        for branch in branches:
            if later:
                rests = [self._leg(branch, begin, later[0], rest) for rest in self.rests(later)]
                follow = [rest for rest in rests if rest is not None]
                result += follow if len(branches) == 1 else [Rest.worst(branch.uncertain, follow)]
            else:
                nothing = np.zeros(self.mission.world.states)
                end = Rest(branch.uncertain, nothing, nothing)
                result.append(self._leg(branch, begin, self.mission.horizon, end))
        return result

    def _leg(self, branch: Branch, begin: int, end: int, after: Rest) -> Rest | None:
        """Return the bounds from an update at `begin` on; None if no kernel fits it and the next one."""
        uncertain = branch.uncertain.joined(after.uncertain, end - 1)
        if uncertain is None:
            return None
        allowed, leg = self.allowed(uncertain), (uncertain, branch.may, begin, end)
        worst = [*worst_leg(*leg, after.unpaid, cost=allowed.cost, arrival=allowed.arrival)]
        unpaid = np.diagonal(worst[-1]).copy()
        if not self.tightening.one_kernel:
            return Rest(uncertain, allowed.best(begin) + unpaid, unpaid)

        def limit(t: int) -> Array:
            return allowed.best(t) + worst[end - 1 - t]

        *_, table = worst_leg(*leg, after.lost, cost=allowed.lost, limit=limit)
        return Rest(uncertain, np.diagonal(table).copy(), unpaid)


class Allowed:
    """Bounds of single steps over a set of kernels, computed from the last step back as far as asked for."""

    def __init__(self, mission: Mission, uncertain: KernelSet) -> None:
        world = mission.world
        given = (uncertain, world.reward)
        self._best, self._lost = (
            _ItemsByTime(optimistic_values_backwards(*given), world.horizon),
            _ItemsByTime(losses_backwards(*given), world.horizon - 1),
        )
        self.cost, self.arrival = step_costs(*given)

    def best(self, t: int) -> Array:
        """(S,) the best that an oracle can do from t on."""
        return self._best[t][0]

    def lost(self, t: int) -> Array:
        """(V, S, A) the most that an action can give away at t."""
        return self._lost[t][0]


class _ItemsByTime:
    """The items of an iterator that goes back in time, by their time."""

    def __init__(self, items: Iterator, last: int) -> None:
        self.items, self.last, self.taken = items, last, []

    def __getitem__(self, t: int):
        while len(self.taken) <= self.last - t:
            self.taken.append(next(self.items))
        return self.taken[self.last - t]


def worst_leg(
    uncertain: Uncertainty,
    may: Possible,
    begin: int,
    end: int,
    after: Array,
    *,
    cost: Callable[[int], Array],
    arrival: Callable[[int], Array | None] = lambda t: None,
    limit: Callable[[int], Array] | None = None,
) -> Iterator[Array]:
    """Yield for t = end-1..begin the greatest total of costs, (X, S) from a believed and a true state on.

    `after` (S,) is the total from `end` on. Pairs of states that cannot come about after the update are left
    out.
    """
    ahead = np.tile(after, (len(after), 1))
    where = may.reached(end - begin)
    for t in range(end - 1, begin - 1, -1):
        extra = arrival(t)
        ahead = ahead if extra is None else ahead + extra
        ahead = _step(uncertain, t, may, cost(t), ahead, where[t - begin])
        if limit is not None:
            ahead = np.minimum(ahead, limit(t))
        yield ahead


def _step(uncertain: Uncertainty, t: int, may: Possible, cost: Array, ahead: Array, where: Array) -> Array:
    """(X, S) the worst action that a plan may take in each believed state, the worst place it may go to."""
    out = np.full(ahead.shape, -np.inf)
    for a in range(may.actions.shape[1]):
        believed = np.flatnonzero(may.actions[:, a])
        if believed.size == 0:
            continue
        goes = may.following[believed, a]  # (X', k)
        target = np.full((believed.size, ahead.shape[1]), -np.inf)
        for slot in range(goes.shape[1]):
            chosen = goes[:, slot]
            target[chosen] = np.maximum(target[chosen], ahead[may.successors[believed[chosen], slot]])
        taken = np.full(believed.size, a)
        out[believed] = np.maximum(out[believed], uncertain.step(t, 0, cost, taken, target, where[believed]))
    return out
