"""A world moved, within its bounds, to where the robot's regret is greatest stays below the certificate."""

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import pytest

from replan import Robot, Spending
from replan.certificates.certificate import Tightening, certify
from replan.evaluation.visits import Follow
from replan.execute.mission import Mission
from replan.model.general_kernel import GeneralKernel
from replan.model.reward import Reward
from replan.model.world import World
from replan.planning.optimal_values import oracle
from replan.schedule.fixed import FixedTimes

STATES = ACTIONS = 2


@dataclass(frozen=True)
class Game:
    """Two states, two actions: a kernel is the (2, 2) chances of state 1."""

    chances: np.ndarray  # (T, S, A)
    bounds: np.ndarray  # (T-1,)
    rewards: list[Reward]
    times: tuple[int, ...]
    execution: str

    @property
    def mission(self) -> Mission:
        kernels = [GeneralKernel.from_dense(np.stack([1 - p, p], axis=2)) for p in self.chances]
        world = World(len(kernels), kernels.__getitem__, self.rewards.__getitem__, stated_bounds=self.bounds)
        return Mission(
            world, Robot(planning_horizon=2, execution=self.execution), Spending.exactly(len(self.times))
        )

    @cached_property
    def regret(self) -> float:
        mission = self.mission
        return float((oracle(mission.world).values[0] - Follow(mission, FixedTimes(self.times)).returns())[0])

    def moved(self, generator) -> "Game":
        """With some kernels changed that no update reveals; itself where the bounds forbid that."""
        horizon = len(self.chances)
        first, last = sorted(generator.integers(horizon, size=2))
        chances = self.chances.copy()
        for t in set(range(first, last + 1)) - {0, *(t - 1 for t in self.times)}:
            s, a = generator.integers(STATES), generator.integers(ACTIONS)
            chances[t, s, a] = np.clip(chances[t, s, a] + generator.uniform(-0.3, 0.3), 0, 1)
        drift = np.abs(np.diff(chances, axis=0)).max(axis=(1, 2))
        return replace(self, chances=chances) if (drift <= self.bounds + 1e-12).all() else self


def drawn(generator, execution) -> Game:
    horizon = int(generator.integers(4, 7))
    second = int(generator.integers(2, horizon))
    return Game(
        chances=np.tile(generator.random((STATES, ACTIONS)), (horizon, 1, 1)),
        bounds=np.full(horizon - 1, generator.uniform(0.05, 0.3)),
        rewards=[Reward(state_action=generator.normal(size=(STATES, ACTIONS))) for _ in range(horizon)],
        times=(1, second) if generator.integers(2) else (1,),
        execution=execution,
    )


@pytest.mark.parametrize("execution", ["map", "belief"])
def test_an_adversary_that_climbs_comes_close_and_never_above(execution):
    generator = np.random.default_rng(5)
    shares = []
    for _ in range(15):
        game = drawn(generator, execution)
        certificate = min(
            certify(game.mission, game.times, tightening=Tightening(both, one)).value
            for both in (True, False)
            for one in (True, False)
        )
        for _ in range(150):
            other = game.moved(generator)
            if other is not game and other.regret > game.regret:
                game = other
        assert game.regret <= certificate + 1e-9
        shares.append(game.regret / certificate)
    assert max(shares) > 0.9  # the adversary is one
