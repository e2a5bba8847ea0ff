"""The best update times of a robot that sees where it is, by dynamic programming.

V_t(n, b, s) is what the robot gains from t on in state s, with b updates left and the plan n in force:

    V_t(n, b, s) = max(F_t(n, b, s), F_t(n', b - 1, s) - price),   F_t(n, b, s) = r + E V_{t+1}(n, b, s'),

where F follows a plan for one step and n' is the plan that an update at t makes. A plan is named by the time
of its update, by that of the update before where the forecast compares estimates, and by the steps that the
update took. An update that takes d > 0 steps is worth what the old plan, or waiting, gains in these, and then
V_{t+d}(n', b - 1, s); drawn durations are averaged.

Look-ahead solves the programme once after an update in every future, for all times until the next one; what
an update gains is averaged over the futures.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from functools import cache
from itertools import product

import numpy as np

from replan.forecast.base import Future
from replan.model.kernel import Array, Indices, Kernel
from replan.model.reward import Reward
from replan.model.sizes import require_memory
from replan.planning.backward_induction import Plan, plan, plan_ahead
from replan.planning.followed import FollowedStep, follow
from replan.schedule.rule import Context
from replan.skip.latency import INSTANT, Latency

PlanName = tuple[int, int, int]
"""Time of the update that makes a plan, of the update before where that matters, else 0, and its steps."""
Worth = tuple[Array, Array]
"""(S, B + 1) values and expected updates."""
EQUAL = 1e-12
"""An update that gains no more than this is not made."""


@dataclass(frozen=True)
class SeeingProblem:
    """A world, or a future, and the plans that updates make in it."""

    kernel: Callable[[int], Kernel] = field(repr=False)
    reward: Callable[[int], Reward] = field(repr=False)
    policy: Callable[[PlanName, int], Indices] = field(repr=False)
    """(plan, time from its arrival on) -> (S,) its actions."""
    compares: bool
    """Whether a plan depends on the update before its own."""
    begin: int
    """The first time at which an update can be made or not."""
    horizon: int
    """T."""
    in_force: PlanName
    """The plan at `begin`."""
    limit: int
    """Updates that can be made from `begin` on."""
    price: float = 0.0
    """Price of an update."""
    latency: Latency = INSTANT
    """The steps that updates take, and the action meanwhile."""

    def made(self, time: int, before: PlanName, steps: int = 0) -> PlanName:
        """Return the plan that an update makes while another plan is in force."""
        return time, before[0] if self.compares else 0, steps

    def names(self, time: int) -> Iterable[PlanName]:
        """Yield the plans that can be in force before a decision at a time."""
        yield self.in_force
        earliest = max(self.begin, 1)
        for made, (steps, _) in product(range(earliest, time), self.latency.durations):
            if made + steps <= time:
                befores = {self.in_force[0], *range(earliest, made)} if self.compares else {0}
                yield from (self.made(made, (before, 0, 0), steps) for before in befores)

    def meanwhile(self, name: PlanName, time: int) -> Indices:
        """(S,) actions at a time at which an update runs, with a plan in force."""
        if self.latency.waiting is None:
            return self.policy(name, time)
        return np.full(self.kernel(time).states, self.latency.waiting)


@dataclass(frozen=True)
class SeeingProgramme:
    """The solution of a problem."""

    problem: SeeingProblem
    values: Array = field(repr=False)
    """(S, B + 1) V at `begin` with the plan in force."""
    updated: dict[tuple[int, PlanName], Array] = field(repr=False)
    """(S, B + 1) worth of an update at each time with a plan in force, with as many left after it."""
    kept: dict[int, Array] = field(repr=False)
    """(S, B + 1) F at each time with the plan in force since before `begin`."""
    counts: Array = field(repr=False)
    """(S, B + 1) expected number of updates, belonging to `values`."""

    def steps(self, policy_at: Callable[[int], Indices], begin: int, mass: Array) -> tuple[Array, Array]:
        """(T - begin + 1,) gains of robots that follow a policy, and (T + 1, S) where their `mass` goes."""
        problem = self.problem
        gained, spread = [0.0], np.zeros((problem.horizon + 1, len(mass)))
        spread[begin] = mass
        for t in range(begin, problem.horizon):
            step = follow(problem.kernel(t), problem.reward(t), policy_at(t))
            gained.append(gained[-1] + float(spread[t] @ step.reward))
            spread[t + 1] = step.push(spread[t])
        return np.array(gained), spread


def solve_seeing(problem: SeeingProblem) -> SeeingProgramme:
    """Solve a problem backwards in time."""
    states, columns = problem.kernel(problem.begin).states, problem.limit + 1
    plans = len(list(problem.names(problem.horizon - 1))) + problem.horizon
    if not problem.latency.instant:
        plans *= problem.horizon
    require_memory(3 * plans * states * columns, "the value of every plan, state and budget")
    backwards = _Backwards(problem, (np.zeros((states, columns)), np.zeros((states, columns))))
    updated: dict[tuple[int, PlanName], Array] = {}
    kept: dict[int, Array] = {}
    for t in range(problem.horizon - 1, problem.begin - 1, -1):
        here: dict[PlanName, Worth] = {}
        for name in problem.names(t):
            worth = backwards.keeping(name, t)
            if name == problem.in_force:
                kept[t] = worth[0]
            if t >= 1 and t > name[0]:
                made = backwards.updating(name, t)
                updated[t, name] = made[0]
                worth = _better(worth, made, problem.price)
            here[name] = worth
        backwards.ahead[t] = here
        backwards.forget(t)
    values, counts = backwards.ahead[problem.begin][problem.in_force]
    return SeeingProgramme(problem, values, updated, kept, counts)


class _Backwards:
    """Values ahead of a time, and the steps to them; plans that say the same share a step."""

    def __init__(self, problem: SeeingProblem, nothing: Worth) -> None:
        self.problem, self.nothing = problem, nothing
        self.ahead: dict[int, dict[PlanName, Worth]] = {}
        """V of the times that are still needed."""
        self._steps: dict[tuple[int, bytes], FollowedStep] = {}
        self._made: dict[tuple, Worth] = {}

    def forget(self, time: int) -> None:
        """Forget what no earlier time needs."""
        last = time + self.problem.latency.spacing - 1
        self.ahead.pop(last + 1, None)
        self._made = {}
        self._steps = {key: step for key, step in self._steps.items() if key[0] < last}

    def keeping(self, name: PlanName, time: int) -> Worth:
        """Return the worth of following a plan for one step."""
        ahead = self.ahead.get(time + 1, {}).get(name, self.nothing)
        return self._back(self.problem.policy(name, time), time, ahead)

    def updating(self, name: PlanName, time: int) -> Worth:
        """Return the worth of an update, the mean over its durations."""
        (steps, _), *others = self.problem.latency.durations
        if not others:
            return self._taking(name, time, steps)
        values, counts = (np.zeros_like(part) for part in self.nothing)
        for steps, probability in self.problem.latency.durations:
            worth, updates = self._taking(name, time, steps)
            values, counts = values + probability * worth, counts + probability * updates
        return values, counts

    def _taking(self, name: PlanName, time: int, steps: int) -> Worth:
        """Return the worth of an update that takes some steps, with the plan `name` in force."""
        new, horizon = self.problem.made(time, name, steps), self.problem.horizon
        if not steps:
            if new not in self._made:
                self._made[new] = self.keeping(new, time)
            return self._made[new]
        arrival = min(time + steps, horizon)
        policies = [self.problem.meanwhile(name, t) for t in range(time, arrival)]
        key = (new, *(policy.tobytes() for policy in policies))
        if key not in self._made:
            worth = self.ahead.get(arrival, {}).get(new, self.nothing)
            for t in range(arrival - 1, time - 1, -1):
                worth = self._back(policies[t - time], t, worth)
            self._made[key] = worth
        return self._made[key]

    def _back(self, policy: Indices, time: int, ahead: Worth) -> Worth:
        key = time, policy.tobytes()
        if key not in self._steps:
            self._steps[key] = follow(self.problem.kernel(time), self.problem.reward(time), policy)
        step, (values, counts) = self._steps[key], ahead
        return step.backup(values), step.expect(counts)


def _better(kept: Worth, updated: Worth, price: float) -> Worth:
    """Return values and expected updates of the better of keeping the plan and updating."""
    (worth, count), (made, updates) = kept, updated
    worth, count = worth.copy(), count.copy()
    gains = made[:, :-1] - price
    due = gains > worth[:, 1:] + EQUAL
    worth[:, 1:] = np.where(due, gains, worth[:, 1:])
    count[:, 1:] = np.where(due, updates[:, :-1] + 1.0, count[:, 1:])
    return worth, count


def gains_of_updating(context: Context, states: Indices) -> Array:
    """(R,) what an update now gains over the best that can be done without, in the futures expected."""
    total, left = np.zeros(len(states)), min(context.budget_left, context.steps_left)
    for future, programme in _programmes(context):
        updated = programme.updated[context.time, programme.problem.in_force][states, left - 1] - (
            context.price or 0.0
        )
        total += future.weight * (updated - programme.kept[context.time][states, left])
    return total


def _programmes(context: Context) -> list[tuple[Future, SeeingProgramme]]:
    """Return the futures and the best updates in each, kept until the next update."""
    begin = context.earliest_update
    limit = min(context.budget, context.horizon - begin)
    key = gains_of_updating, context.last_update, context.surprise, context.price, limit, context.latency
    if key not in context.cache:
        futures = context.reconsidered()
        told = len(futures) == 1 and not context.reconsiders and context.plans_ahead
        context.cache[key] = [
            (future, solve_seeing(_problem(context, future, begin, limit, told=told))) for future in futures
        ]
    return context.cache[key]


def _problem(context: Context, future: Future, begin: int, limit: int, *, told: bool) -> SeeingProblem:
    """Return one future, and the plans of later updates in it.

    Robots that are told the future plan on it, others on the kernel that they see.
    """
    in_force = context.last_update, 0, 0
    made = _told_plan(context, future, begin) if told else _seen_plan(context, future)
    return SeeingProblem(
        future.kernel,
        context.reward,
        lambda name, t: (context.plan if name == in_force else made(name)).at(t).policy,
        compares=False,
        begin=begin,
        horizon=context.horizon,
        in_force=in_force,
        limit=limit,
        price=context.price or 0.0,
        latency=context.latency,
    )


def _told_plan(context: Context, future: Future, begin: int) -> Callable[[PlanName], Plan]:
    """Return the plan on a known future, which is the same whenever it is made."""
    ties, steps = context.plan.ties, context.planning_horizon
    ahead = plan_ahead(
        future.kernel, context.reward, time=begin, end=context.horizon, horizon=steps, ties=ties
    )
    return lambda name: ahead


def _seen_plan(context: Context, future: Future) -> Callable[[PlanName], Plan]:
    """Return a function from update time to the plan on the kernel of the step before, taken to stay."""

    @cache
    def made(name: PlanName) -> Plan:
        time, _, steps = name
        kernel = future.kernel(max(time - 1, context.last_update))
        arrival = min(time + steps, context.horizon - 1)
        horizon = min(context.planning_horizon, context.horizon - arrival)
        return plan(kernel, context.reward, time=arrival, horizon=horizon, ties=context.plan.ties)

    return made
