"""Train a learner on the tune part of the suite, score it on the test part, beside the rules.

PPO of stable-baselines3 decides after every step whether to look; moves are those of the last plan on the
robot's belief, as for every rule. It sees six numbers that mean the same in every world, so what it learns on
the worlds of the tune part can be tried on others. The reward is the loss of each step against the oracle, in
units of the world's own range from even spacing to the floor: their sum is minus the regret.

Its score is sampled, from a few missions in each world; those of the rules are exact, from the cards that
come with replan. Ten minutes of training would say more than the half minute here: this is a beginning, not a
result. `make test-ns-gym` runs it in an environment that has stable-baselines3.
"""

from __future__ import annotations

import gymnasium
import numpy as np
import torch
from gymnasium import spaces
from stable_baselines3 import PPO

import replan.environments  # noqa: F401  (registers the worlds)
from replan import oracle
from replan.environments import BudgetedObservation
from replan.suite import SuiteWorld, reference_cards, score_matrix, suite_worlds, summarise

EXECUTION = "belief"
FAMILIES = ("rover-bursts", "rover-sines", "rover-walks", "rover-switches", "rover-lines")
TRAINING_STEPS = 30_000
EPISODES = 30


class WhenToLook(gymnasium.Env):
    """Action: look after the next step or not. Observation: numbers between 0 and 1.

    They are the time, the age of the last look, the looks left, the steps left for each of them, the
    probability that the robot is not in the likeliest state, and how much knowing its state is worth.
    """

    action_space = spaces.Discrete(2)
    observation_space = spaces.Box(0.0, 1.0, (6,), np.float32)

    def __init__(self, worlds: list[SuiteWorld]) -> None:
        missions = [world.mission(EXECUTION) for world in worlds]
        self.worlds = [(w, m, oracle(m.world)) for w, m in zip(worlds, missions, strict=True)]

    def reset(self, *, seed=None, options=None):
        """Begin a mission in a world, drawn or given by its position; the first look comes with it."""
        super().reset(seed=seed)
        position = (options or {}).get("world", self.np_random.integers(len(self.worlds)))
        self.world, self.mission, self.best = self.worlds[position]
        named = gymnasium.make(f"replan/{self.world.name}-v1")
        self.env = BudgetedObservation(named, budget=self.mission.budget)
        shown, _ = self.env.reset(seed=int(self.np_random.integers(2**31)))
        self._look(shown, time=0)
        self.step(1)
        return self._features(), {}

    def step(self, action):
        """Take the planned move, and look if the action says so."""
        move, time = int(self.propagation.act(self.belief, self.time)[0]), self.time
        lost = self.best.loss(time)[self.env.unwrapped._state, move]
        self.belief = self.propagation.advance(self.belief, np.array([move]), time)
        shown, _, over, _, info = self.env.step((move, int(action)))
        self.time += 1
        if info["looked"] and not over:
            self._look(shown, time=self.time)
        return self._features(), -lost / self._range(), over, False, {"lost": lost}

    def _look(self, shown, *, time: int) -> None:
        self.time = self.looked = time
        self.left = int(shown["budget_left"])
        self.propagation = self.mission.update(time).propagation
        self.belief = self.propagation.begin(np.array([shown["seen"]["state"]]))

    def _range(self) -> float:
        return self.world.even[EXECUTION] - self.world.floor[EXECUTION]

    def _features(self):
        horizon = self.mission.horizon
        q_values = self.propagation.plan.q_values
        known = self.belief @ q_values.max(axis=1) - (self.belief @ q_values).max(axis=1)
        shares = (
            self.time / horizon,
            (self.time - self.looked) / horizon,
            self.left / self.mission.budget,
            (horizon - self.time) / (self.left + 1) / horizon,
            1 - self.belief.max(),
            float(known[0]) / self._range(),
        )
        return np.clip(shares, 0, 1).astype(np.float32)


def sampled_regret(model: PPO, env: WhenToLook, position: int, episodes: int) -> float:
    """The mean loss of some missions in a world."""
    total = 0.0
    for episode in range(episodes):
        observation, _ = env.reset(seed=episode, options={"world": position})
        over = False
        while not over:
            action, _ = model.predict(observation, deterministic=True)
            observation, _, over, _, info = env.step(action)
            total += info["lost"]
    return total / episodes


def drawn(part: str, each: int) -> list[SuiteWorld]:
    """The first worlds of every family."""
    worlds = suite_worlds(part)
    return [w for family in FAMILIES for w in [w for w in worlds if w.family == family][:each]]


def main(steps: int = TRAINING_STEPS, episodes: int = EPISODES, each: int = 10) -> None:
    torch.set_num_threads(1)
    env = WhenToLook(drawn("tune", 10))
    model = PPO("MlpPolicy", env, seed=0, device="cpu", n_steps=1024, batch_size=256, learning_rate=1e-3)
    model.learn(steps)
    worlds = drawn("test", each)
    env = WhenToLook(worlds)
    regrets = {(w.name, EXECUTION): sampled_regret(model, env, i, episodes) for i, w in enumerate(worlds)}
    print(f"score on {len(worlds)} test worlds, {EXECUTION}: mean of the middle half, 95 % interval")
    scores = {f"learner, {steps} steps": score_matrix(worlds, regrets, [EXECUTION])}
    for card in reference_cards():
        scores[card.name] = score_matrix(worlds, card.regrets, [EXECUTION])
    found = {name: summarise(each).iqm for name, each in scores.items()}
    for name, iqm in sorted(found.items(), key=lambda item: -item[1].value):
        print(f"  {name:<28} {iqm}")


if __name__ == "__main__":
    main()
