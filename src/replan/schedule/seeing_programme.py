"""The best update times of a robot that sees where it is, by dynamic programming.

V_t(n, b, s) is what the robot gains from t on in state s, with b updates left and the plan n in force:

    V_t(n, b, s) = max(F_t(n, b, s), F_t(n', b - 1, s) - price),   F_t(n, b, s) = r + E V_{t+1}(n, b, s'),

where F follows a plan for one step and n' is the plan that an update at t makes. A plan is named by the time
of its update and, where the forecast compares estimates, by that of the update before.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

import numpy as np

from replan.model.kernel import Array, Indices, Kernel
from replan.model.reward import Reward
from replan.model.sizes import require_memory
from replan.planning.backward_induction import Plan
from replan.planning.followed import FollowedStep, follow

PlanName = tuple[int, int]
"""Time of the update that makes a plan, and of the update before where that matters, else 0."""
EQUAL = 1e-12
"""An update that gains no more than this is not made."""


@dataclass(frozen=True)
class SeeingProblem:
    """A world, or a future, and the plans that updates make in it."""

    kernel: Callable[[int], Kernel] = field(repr=False)
    reward: Callable[[int], Reward] = field(repr=False)
    plan: Callable[[PlanName], Plan] = field(repr=False)
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

    def made(self, time: int, before: PlanName) -> PlanName:
        """Return the plan that an update makes while another plan is in force."""
        return time, before[0] if self.compares else 0

    def names(self, time: int) -> Iterable[PlanName]:
        """Yield the plans that can be in force before a decision at a time."""
        yield self.in_force
        earliest = max(self.begin, 1)
        for made in range(earliest, time):
            yield from (
                (self.made(made, (before, 0)) for before in {self.in_force[0], *range(earliest, made)})
                if self.compares
                else ((made, 0),)
            )


@dataclass(frozen=True)
class SeeingProgramme:
    """The solution of a problem."""

    problem: SeeingProblem
    values: Array = field(repr=False)
    """(S, B + 1) V at `begin` with the plan in force."""
    updated: dict[PlanName, Array] = field(repr=False)
    """(S, B + 1) F at the time of each update, with as many left after it."""
    kept: dict[int, Array] = field(repr=False)
    """(S, B + 1) F at each time with the plan in force since before `begin`."""
    counts: Array = field(repr=False)
    """(S, B + 1) expected number of updates, belonging to `values`."""

    def steps(self, name: PlanName, begin: int, mass: Array) -> tuple[Array, Array]:
        """(T - begin + 1,) gains of robots that follow a plan, and (T + 1, S) where their `mass` goes."""
        problem = self.problem
        gained, spread = [0.0], np.zeros((problem.horizon + 1, len(mass)))
        plan, spread[begin] = problem.plan(name), mass
        for t in range(begin, problem.horizon):
            step = follow(problem.kernel(t), problem.reward(t), plan.at(t).policy)
            gained.append(gained[-1] + float(spread[t] @ step.reward))
            spread[t + 1] = step.push(spread[t])
        return np.array(gained), spread


def solve_seeing(problem: SeeingProblem) -> SeeingProgramme:
    """Solve a problem backwards in time."""
    states, columns = problem.kernel(problem.begin).states, problem.limit + 1
    plans = len(list(problem.names(problem.horizon - 1))) + problem.horizon
    require_memory(3 * plans * states * columns, "the value of every plan, state and budget")
    nothing = np.zeros((states, columns)), np.zeros((states, columns))
    ahead: dict[PlanName, tuple[Array, Array]] = {}
    updated: dict[PlanName, Array] = {}
    kept: dict[int, Array] = {}
    for t in range(problem.horizon - 1, problem.begin - 1, -1):
        steps = _Steps(problem, t)
        here: dict[PlanName, tuple[Array, Array]] = {}
        made: dict[PlanName, tuple[Array, Array]] = {}
        for name in problem.names(t):
            worth, count = steps.follow(name, ahead.get(name, nothing))
            if name == problem.in_force:
                kept[t] = worth
            if t >= 1 and t > name[0]:
                new = problem.made(t, name)
                if new not in made:
                    made[new] = steps.follow(new, ahead.get(new, nothing))
                worth, count = _better((worth, count), made[new], problem.price)
            here[name] = worth, count
        updated |= {name: values for name, (values, _) in made.items()}
        ahead = here
    values, counts = ahead[problem.in_force]
    return SeeingProgramme(problem, values, updated, kept, counts)


class _Steps:
    """The step of each plan at one time; plans that say the same share it."""

    def __init__(self, problem: SeeingProblem, time: int) -> None:
        self.problem, self.time = problem, time
        self.kernel, self.reward = problem.kernel(time), problem.reward(time)
        self._known: dict[bytes, FollowedStep] = {}

    def follow(self, name: PlanName, ahead: tuple[Array, Array]) -> tuple[Array, Array]:
        """Return values and expected updates one step before `ahead`, with a plan in force."""
        step, (values, counts) = self._step(name), ahead
        return step.backup(values), step.expect(counts)

    def _step(self, name: PlanName) -> FollowedStep:
        policy: Indices = self.problem.plan(name).at(self.time).policy
        key = policy.tobytes()
        if key not in self._known:
            self._known[key] = follow(self.kernel, self.reward, policy)
        return self._known[key]


def _better(kept: tuple[Array, Array], updated: tuple[Array, Array], price: float) -> tuple[Array, Array]:
    """Return values and expected updates of the better of keeping the plan and updating."""
    (worth, count), (made, updates) = kept, updated
    worth, count = worth.copy(), count.copy()
    gains = made[:, :-1] - price
    due = gains > worth[:, 1:] + EQUAL
    worth[:, 1:] = np.where(due, gains, worth[:, 1:])
    count[:, 1:] = np.where(due, updates[:, :-1] + 1.0, count[:, 1:])
    return worth, count
