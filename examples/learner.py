"""A learner that finds out by trial when to look, and what the rules do with the same number of looks.

It is dropped into `BudgetedObservation`, where a look costs one unit of budget and shows the state, and in
between it acts on the plan of its last look, as every rule does. All that it learns is a table: after a look
at time t, in state s, with b looks left, when should the next one be? Q-learning fills it. The table is then
a rule like any other, so its regret is exact.

One run says little: what is learned depends on the seed, so the mean and the range over seeds are shown.
After 3000 missions about two fifths of the blank table's regret are gone. That comes near even spacing,
better or worse by the seed, and not near look-ahead, which needs no trials.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np

from replan import (
    Context,
    Decision,
    Mission,
    Need,
    Robot,
    Rule,
    Spending,
    make_rule,
    optimum,
    oracle,
    piecewise,
    regret,
    rover,
)
from replan.environments import BudgetedObservation, WorldEnvironment
from replan.study import Bench, choose

EPISODES = (0, 300, 1000, 3000)
SEEDS = (1, 2, 3)
EXPLORE = 0.2


@dataclass(frozen=True, eq=False)
class Learned(Rule):
    """Look next when the table says so."""

    values: np.ndarray = field(repr=False)  # (T, B, S, T + 1) return expected of each next look; T: none

    name = "learned"
    needs = frozenset({Need.STATE})

    def due_at(self, context: Context) -> int:
        """The best next look."""
        return int(self.values[context.last_update, context.budget_left, context.state].argmax())

    def decide(self, context: Context) -> Decision:
        """Whether it is now."""
        return Decision(context.time >= self.due_at(context), "as learned")


def small_mission() -> Mission:
    """A 5 x 5 grid that turns slippery in the middle of 20 steps."""
    slip = piecewise(20, slip=0.05, quiet=0.002, bursts=[(0.3, 0.6, 0.06)])
    return Mission(rover(5, slip), Robot(planning_horizon=7), Spending.exactly(4))


def blank_table(mission: Mission) -> np.ndarray:
    """Zero where a next look leaves room for those after it: rewards are costs, so zero invites trying."""
    horizon, budget = mission.horizon, mission.spending.limit
    values = np.full((horizon, budget, mission.world.states, horizon + 1), -np.inf)
    values[:, 0, :, horizon] = 0.0
    for t in range(horizon):
        for left in range(1, budget):
            values[t, left, :, t + 1 : horizon - left + 1] = 0.0
    return values


def train(mission: Mission, *, seed: int) -> Iterator[tuple[int, Learned]]:
    """The table after each of `EPISODES`."""
    env = BudgetedObservation(WorldEnvironment(mission.world), budget=mission.spending.limit)
    env.reset(seed=seed)
    random = np.random.default_rng(seed)
    values = blank_table(mission)
    visits = np.zeros(values.shape)
    for episode in range(max(EPISODES) + 1):
        if episode in EPISODES:
            yield episode, Learned(values.copy())
        run_episode(mission, env, values, visits, random)


def run_episode(mission, env, values, visits, random) -> None:
    """One mission; from look to look is one step of Q-learning."""
    observation, _ = env.reset()
    observation, _, over = walk(mission, env, observation, until=1)
    while not over:
        here = observation["seen"]["time"], observation["budget_left"], observation["seen"]["state"]
        allowed = np.flatnonzero(np.isfinite(values[here]))
        when = int(random.choice(allowed) if random.random() < EXPLORE else values[here].argmax())
        observation, earned, over = walk(mission, env, observation, until=when)
        if not over:
            there = observation["seen"]["time"], observation["budget_left"], observation["seen"]["state"]
            earned += values[there].max()
        visits[(*here, when)] += 1
        rate = max(1 / visits[(*here, when)], 0.02)
        values[(*here, when)] += rate * (earned - values[(*here, when)])


def walk(mission, env, observation, *, until: int):
    """Act on the plan of the last look until the next one; what is then seen, what was earned, the end."""
    begin = int(observation["seen"]["time"])
    how = mission.update(begin).propagation
    estimate = how.begin(np.array([observation["seen"]["state"]]))
    earned, over = 0.0, False
    for time in range(begin, until):
        actions = how.act(estimate, time)
        estimate = how.advance(estimate, actions, time)
        look = time + 1 == until and until < mission.horizon
        observation, reward, over, _, _ = env.step((actions[0], int(look)))
        earned += reward
    return observation, earned, over


def main() -> None:
    mission = small_mission()
    best = oracle(mission.world)
    print(f"exact regret, {mission.spending.limit} looks in {mission.horizon} steps")
    runs = [[regret(mission, rule, best=best) for _, rule in train(mission, seed=seed)] for seed in SEEDS]
    for episodes, found in zip(EPISODES, zip(*runs, strict=True), strict=True):
        spread = f"({min(found):.3f} to {max(found):.3f} over {len(SEEDS)} seeds)"
        print(f"  learned, {episodes:>5} episodes {np.mean(found):.3f} {spread}")
    bench = Bench(mission)
    for name in ("periodic", "drift-threshold", "regret-guided"):
        print(f"  {name:<23} {regret(mission, choose(bench, name).rule, best=best):.3f}")
    print(f"  {'lookahead':<23} {regret(mission, make_rule('lookahead'), best=best):.3f}")
    print(f"  {'best possible':<23} {optimum(mission).feedback_regret:.3f}")


if __name__ == "__main__":
    main()
