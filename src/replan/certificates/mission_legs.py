"""The legs of a mission: from one update to the next, with the actions that the robot takes.

Between updates nothing is seen, so the actions after an update are known for every state that it may find.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from replan import _loops
from replan.certificates.knowledge import Estimate
from replan.certificates.uncertainty import Uncertainty
from replan.errors import InputError
from replan.evaluation.rollouts import rollout
from replan.execute.mission import Mission
from replan.execute.timeline import make_timeline
from replan.model.kernel import Array, Indices, Kernel
from replan.model.reach import Reach
from replan.schedule.rule import Need, Rule

AT_ONCE = 256
"""States seen at an update that are followed at once; bounds memory at so many tables of states."""


@dataclass(frozen=True)
class Leg:
    """From one update to the next, for robots that saw each of the X states of its time."""

    time: int
    actions: Indices = field(repr=False)  # (L, X)

    def __len__(self) -> int:
        return len(self.actions)

    def reached(self, uncertain: Uncertainty, seen: Indices) -> list[Array]:
        """(X, S) for each step, where a robot may be that saw one of these states."""
        counts, here = uncertain.counts, np.zeros((len(seen), uncertain.counts[self.time]), dtype=bool)
        here[np.arange(len(seen)), seen] = True
        where = [here]
        for t in range(self.time, self.time + len(self) - 1):
            near = uncertain.successors[: counts[t]]
            where.append(_loops.certificates.spread_places(near, where[-1], counts[t + 1]))
        return where


def in_blocks(count: int) -> list[Indices]:
    """Return the numbers below `count` in blocks that are worked on at once."""
    return np.split(np.arange(count), range(AT_ONCE, count, AT_ONCE))


def require_frozen(mission: Mission) -> None:
    """Raise `InputError` unless the robot expects that nothing moves, as all certificates assume."""
    if mission.robot.forecast.moves:
        raise InputError(f"certificates are for the forecast frozen, not {mission.robot.forecast.name}")


def budgeted_times(mission: Mission, times: Sequence[int]) -> tuple[int, ...]:
    """Return the update times. Raises `InputError` if the mission has a price, or cannot take them."""
    mission.spending.required_limit()
    return mission.check_times(times)


def find_legs(mission: Mission, times: Sequence[int], nested: Reach) -> list[Leg]:
    """From t = 0 and from each update to the next, latest first."""
    require_frozen(mission)
    ends = (*times, mission.horizon)
    return [_leg(mission, begin, end, nested) for begin, end in zip((0, *times), ends, strict=True)][::-1]


def _leg(mission: Mission, begin: int, end: int, nested: Reach) -> Leg:
    propagation, seen = mission.update(begin).propagation, nested.states[: nested.counts[begin]]
    actions = np.empty((end - begin, len(seen)), dtype=np.int64)
    for block in in_blocks(len(seen)):
        estimate = propagation.begin(seen[block])
        for k in range(end - begin):
            taken = actions[k, block] = propagation.act(estimate, begin + k)
            estimate = propagation.advance(estimate, taken, begin + k)
    return Leg(begin, actions)


def times_taken(mission: Mission, rule: Rule, *, seed: int) -> tuple[int, ...]:
    """The update times of one mission; the seed settles what depends on the states seen or on draws."""
    if Need.STATE not in rule.needs:
        return make_timeline(mission, rule, seed=seed, explain=False).times
    updates = rollout(mission, rule, [seed], trace=True).updates
    assert updates is not None
    return tuple(int(t) for t in np.flatnonzero(updates[0]))


def true_estimates(mission: Mission, times: Sequence[int]) -> list[Estimate]:
    """The kernels that the updates of the paper's simulator reveal: P_0 and the one before each update."""
    if isinstance(mission, OnEstimates):
        raise InputError(
            "the mission's updates do not reveal the true kernel: give the estimates, with their radii"
        )
    revealed = sorted({0, *(t - 1 for t in times)})
    return [Estimate(u, mission.estimate(u + 1)) for u in revealed]


@dataclass(frozen=True)
class OnEstimates(Mission):
    """The same mission for the robot that plans on given estimates."""

    given: Mapping[int, Kernel] = field(default_factory=dict, repr=False)  # u -> estimate of P_u

    @classmethod
    def of(cls, mission: Mission, estimates: Sequence[Estimate]) -> OnEstimates:
        """The mission with these estimates in place of its own."""
        given = {estimate.time: estimate.kernel for estimate in estimates}
        return cls(mission.world, mission.robot, mission.spending, given=given)

    def estimate(self, time: int) -> Kernel:
        """Return the estimate of P_{t-1}."""
        before = max(time - 1, 0)
        if before not in self.given:
            raise InputError(f"no estimate of P_{before} is given, on which the plan of t={time} is made")
        return self.given[before]
