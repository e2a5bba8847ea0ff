"""Train a learner on the tune part of the suite, score it on the test part, beside the rules.

PPO of stable-baselines3 decides at every look when the next one is, in units of even spacing; moves are those
of the last plan on the robot's belief, as for every rule. What it sees means the same in every world, so what
it learns on the worlds of the tune part can be tried on others. Its reward is the loss of each step against
the oracle, in units of the world's own range from even spacing to the floor: the sum is minus the regret.

Its score is sampled, from a few missions in each world; those of the rules are exact, from the cards that
come with replan. Half a minute of training is a beginning, not a result. `make test-ns-gym` runs it in an
environment that has stable-baselines3.
"""

from __future__ import annotations

import gymnasium
import numpy as np
import torch
from gymnasium import spaces
from stable_baselines3 import PPO

import replan.suite.environments  # noqa: F401  (registers the worlds of the suite)
from replan import oracle
from replan.environments import BudgetedObservation
from replan.suite import SuiteWorld, reference_cards, score_matrix, suite_worlds, summarise

EXECUTION = "belief"
FAMILIES = ("rover-bursts", "rover-sines", "rover-walks", "rover-switches", "rover-lines")
DECISIONS = 15_000
EPISODES = 30
INTERVALS = np.array([0.25, 0.5, 0.75, 1.0, 1.25, 1.5, 2.0])
"""Steps to the next look, in units of even spacing."""


class WhenToLook(gymnasium.Env):
    """Action: one of `INTERVALS`. Observation: numbers between 0 and 1.

    They are the time, the looks left, the steps of even spacing from here on, and how much knowing the state
    would be worth after each of the intervals.
    """

    action_space = spaces.Discrete(len(INTERVALS))
    observation_space = spaces.Box(0.0, 1.0, (3 + len(INTERVALS),), np.float32)

    def __init__(self, worlds: list[SuiteWorld]) -> None:
        missions = [world.mission(EXECUTION) for world in worlds]
        self.worlds = [(w, m, oracle(m.world)) for w, m in zip(worlds, missions, strict=True)]

    def reset(self, *, seed=None, options=None):
        """Begin a mission in a world, drawn or given by its position, with the first look at t = 1."""
        super().reset(seed=seed)
        position = (options or {}).get("world", self.np_random.integers(len(self.worlds)))
        self.world, self.mission, self.best = self.worlds[position]
        named = gymnasium.make(f"replan/{self.world.name}-v1")
        self.env = BudgetedObservation(named, budget=self.mission.spending.limit)
        self.shown, _ = self.env.reset(seed=int(self.np_random.integers(2**31)))
        self._walk(until=1)
        return self._features(), {}

    def step(self, action):
        """Go on to the next look; after the last one, to the end."""
        begin, left = int(self.shown["seen"]["time"]), int(self.shown["budget_left"])
        until = begin + max(1, round(INTERVALS[action] * self._even()))
        lost = self._walk(until=min(until, self.mission.horizon - left))
        over = self.shown["budget_left"] == 0
        if over:
            lost += self._walk(until=self.mission.horizon)
        return self._features(), -lost / self._range(), bool(over), False, {"lost": lost}

    def _walk(self, *, until: int) -> float:
        """Act on the plan of the last look up to the next one; the loss against the oracle."""
        lost = 0.0
        for time, move in self._moves(until):
            lost += self.best.loss(time)[self.env.unwrapped._state, move]
            look = time + 1 == until and until < self.mission.horizon
            self.shown, *_ = self.env.step((move, int(look)))
        return lost

    def _moves(self, until: int):
        begin = int(self.shown["seen"]["time"])
        propagation = self.mission.update(begin).propagation
        belief = propagation.begin(np.array([self.shown["seen"]["state"]]))
        for time in range(begin, until):
            actions = propagation.act(belief, time)
            yield time, int(actions[0])
            belief = propagation.advance(belief, actions, time)

    def _even(self) -> float:
        return (self.mission.horizon - self.shown["seen"]["time"]) / (self.shown["budget_left"] + 1)

    def _range(self) -> float:
        return self.world.even[EXECUTION] - self.world.floor[EXECUTION]

    def _features(self):
        time, left, horizon = self.shown["seen"]["time"], self.shown["budget_left"], self.mission.horizon
        propagation, worth = self.mission.update(int(time)).propagation, [0.0]
        belief = propagation.begin(np.array([self.shown["seen"]["state"]]))
        q_values = propagation.plan.q_values
        for t in range(int(time), int(time + INTERVALS[-1] * self._even()) + 1):
            belief = propagation.advance(belief, propagation.act(belief, t), t)
            worth.append(float((belief @ q_values.max(axis=1) - (belief @ q_values).max(axis=1))[0]))
        at = np.minimum(np.rint(INTERVALS * self._even()).astype(int), len(worth) - 1)
        shares = [time / horizon, left / self.mission.spending.limit, self._even() / horizon]
        return np.clip([*shares, *np.array(worth)[at] / self._range()], 0, 1).astype(np.float32)


def sampled_regret(model: PPO, env: WhenToLook, position: int, episodes: int) -> float:
    """The mean loss of some missions in a world."""
    total = 0.0
    for episode in range(episodes):
        observation, _ = env.reset(seed=episode, options={"world": position})
        over = False
        while not over:
            action, _ = model.predict(observation, deterministic=True)
            observation, _, over, _, info = env.step(int(action))
            total += info["lost"]
    return total / episodes


def drawn(part: str, each: int) -> list[SuiteWorld]:
    """The first worlds of every family."""
    worlds = suite_worlds(part)
    return [w for family in FAMILIES for w in [w for w in worlds if w.family == family][:each]]


def main(decisions: int = DECISIONS, episodes: int = EPISODES, each: int = 10) -> None:
    torch.set_num_threads(1)
    env = WhenToLook(drawn("tune", 2 * each))
    model = PPO("MlpPolicy", env, seed=0, device="cpu", n_steps=512, batch_size=128, gamma=1.0)
    model.learn(decisions)
    worlds = drawn("test", each)
    env = WhenToLook(worlds)
    regrets = {(w.name, EXECUTION): sampled_regret(model, env, i, episodes) for i, w in enumerate(worlds)}
    print(f"score on {len(worlds)} test worlds, {EXECUTION}: mean of the middle half, 95 % interval")
    scores = {f"learner, {decisions} decisions": score_matrix(worlds, regrets, [EXECUTION])}
    for card in reference_cards():
        scores[card.name] = score_matrix(worlds, card.regrets, [EXECUTION])
    found = {name: summarise(each).iqm for name, each in scores.items()}
    for name, iqm in sorted(found.items(), key=lambda item: -item[1].value):
        print(f"  {name:<28} {iqm}")


if __name__ == "__main__":
    main()
