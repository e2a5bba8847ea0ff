"""The legs of a mission, from one update to the next, and bounds on regret by backward induction over them.

Between updates nothing is seen, so the actions after an update are known for every state that it may find.
Regret is bounded over all possible kernels in two ways. As a difference: the best that the oracle could do
minus the worst that the robot could suffer, each with its own worst kernels. As one problem: regret is the
sum of what the robot's actions give away, V*_t(s) - V_t(s) = [V*_t(s) - Q*_t(s, a_t)] + E[V*_{t+1} -
V_{t+1}], with one kernel for oracle and robot.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from replan import _loops
from replan.certificates.premises import KernelEstimate
from replan.certificates.uncertainty import Uncertainty, action_reward, losses
from replan.errors import InputError, shown
from replan.evaluation.rollouts import rollout
from replan.execute.mission import Mission, make_timeline
from replan.model.kernel import Array, Indices, Kernel
from replan.model.reach import Reach
from replan.model.reward import Reward
from replan.model.sizes import Sizes
from replan.schedule.rule import Need, Rule


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


def in_blocks(count: int, at_once: int) -> list[Indices]:
    """Return the numbers below `count` in blocks that are worked on at once."""
    return np.split(np.arange(count), range(at_once, count, at_once))


def require_frozen(mission: Mission) -> None:
    """Raise `InputError` unless the robot is blind and expects that nothing moves, as certificates assume."""
    if mission.robot.sees:
        raise InputError("certificates are for robots that are blind between updates, not for localised ones")
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
    for block in in_blocks(len(seen), mission.sizes.legs_at_once):
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


def true_estimates(mission: Mission, times: Sequence[int]) -> list[KernelEstimate]:
    """The kernels that the updates of the paper's simulator reveal: P_0 and the one before each update."""
    if isinstance(mission, OnEstimates):
        raise InputError(
            "the mission's updates do not reveal the true kernel: give the estimates, with their radii"
        )
    revealed = sorted({0, *(t - 1 for t in times)})
    return [KernelEstimate(u, mission.estimate(u + 1)) for u in revealed]


@dataclass(frozen=True)
class OnEstimates(Mission):
    """The same mission for the robot that plans on given estimates."""

    given: Mapping[int, Kernel] = field(default_factory=dict, repr=False)  # u -> estimate of P_u

    @classmethod
    def of(cls, mission: Mission, estimates: Sequence[KernelEstimate]) -> OnEstimates:
        """The mission with these estimates in place of its own."""
        if not isinstance(estimates, Sequence) or not all(isinstance(e, KernelEstimate) for e in estimates):
            raise InputError(f"estimates must be a list of KernelEstimate, not {shown(estimates)}")
        given = {estimate.time: estimate.kernel for estimate in estimates}
        return cls(mission.world, mission.robot, mission.spending, mission.sizes, given=given)

    def estimate(self, time: int) -> Kernel:
        """Return the estimate of P_{t-1}."""
        before = max(time - 1, 0)
        if before not in self.given:
            raise InputError(f"no estimate of P_{before} is given, on which the plan of t={time} is made")
        return self.given[before]


def optimistic_values(uncertain: Uncertainty, reward: Callable[[int], Reward]) -> list[Array]:
    """For t = 0..T, (C, S) the best that the oracle could do from t on."""
    return [*optimistic_values_backwards(uncertain, reward)][::-1]


def optimistic_values_backwards(uncertain: Uncertainty, reward: Callable[[int], Reward]) -> Iterator[Array]:
    """The items of `optimistic_values`, the last one first."""
    horizon, values = uncertain.horizon, np.zeros((1, uncertain.counts[-1]))
    yield values
    for t in range(horizon - 1, -1, -1):
        step = reward(t)
        here = []
        for cell in range(uncertain.cells(t)):
            ahead = values[uncertain.following(t, cell)].max(axis=0) if t + 1 < horizon else values[0]
            gained = uncertain.best(t, cell, ahead if step.next_state is None else ahead + step.next_state)
            here.append((gained if step.state_action is None else gained + step.state_action).max(axis=1))
        values = np.stack(here)
        yield values


def step_costs(
    uncertain: Uncertainty, reward: Callable[[int], Reward]
) -> tuple[Callable[[int], Array], Callable[[int], Array | None]]:
    """Minus what a step at t pays: (V, S, A) for the action, (S,) or nothing for the next state."""

    def cost(t: int) -> Array:
        return uncertain.plain(-action_reward(uncertain, reward(t), t))

    def arrival(t: int) -> Array | None:
        part = reward(t).next_state
        return None if part is None else -part

    return cost, arrival


class LegBounds:
    """Bounds over the legs of a mission; robots that saw different states are bounded apart, in blocks."""

    def __init__(
        self,
        uncertain: Uncertainty,
        reward: Callable[[int], Reward],
        sizes: Sizes,
        *,
        one_kernel: bool = True,
    ) -> None:
        self.uncertain, self.at_once = uncertain, sizes.legs_at_once
        self.best = optimistic_values(uncertain, reward)  # for t = 0..T, (C, S)
        self.lost = losses(uncertain, reward) if one_kernel else None
        self.cost, self.arrival = step_costs(uncertain, reward)

    def from_start(self, legs: Sequence[Leg]) -> tuple[Array, Array]:
        """(C, S) minus the least return from t = 0 on, and a bound on the regret; legs are latest first."""
        unpaid = regret = np.zeros((1, self.uncertain.counts[-1]))
        for leg in legs:
            seen = in_blocks(leg.actions.shape[1], self.at_once)
            blocks = [self._along(leg, block, unpaid, regret) for block in seen]
            unpaid, regret = (np.concatenate(parts, axis=1) for parts in zip(*blocks, strict=True))
        return unpaid, regret

    def _along(self, leg: Leg, seen: Array, unpaid: Array, regret: Array) -> tuple[Array, Array]:
        """(C, X) both bounds from the update on for robots that saw X states, from (C, S) those after."""
        each = np.arange(len(seen))
        unpaid, regret = (np.repeat(after[:, None, :], len(seen), axis=1) for after in (unpaid, regret))
        where = leg.reached(self.uncertain, seen)
        for k in range(len(leg) - 1, -1, -1):
            t, taken = leg.time + k, leg.actions[k, seen]
            cost, arrival, lost = self.cost(t), self.arrival(t), self.lost
            unpaid = unpaid if arrival is None else unpaid + arrival
            unpaid = self._step(t, lambda cell, cost=cost: cost, taken, unpaid, where[k])
            difference = self.best[t][:, None, :] + unpaid
            if lost is None:
                regret = difference
            else:
                regret = self._step(t, lost[t].__getitem__, taken, regret, where[k])
                np.minimum(regret, difference, out=regret)
        return unpaid[:, each, seen], regret[:, each, seen]

    def _step(
        self, t: int, cost: Callable[[int], Array], actions: Array, ahead: Array, where: Array
    ) -> Array:
        """(C, X, S) the greatest cost of a step plus the expectation of what is ahead, (C', X, S')."""
        uncertain, here = self.uncertain, np.empty((self.uncertain.cells(t), *where.shape))
        for cell in range(len(here)):
            follow = ahead[uncertain.following(t, cell)] if t + 1 < uncertain.horizon else ahead
            target = follow[0] if len(follow) == 1 else follow.max(axis=0)
            here[cell] = uncertain.step(t, cell, cost(cell), actions, target, where)
        return here
