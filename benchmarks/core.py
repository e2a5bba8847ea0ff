"""Planning, the oracle, rollouts, exact regret, memory and import, beside QuantEcon and Gymnasium."""

from __future__ import annotations

import subprocess
import sys
import warnings
from typing import NamedTuple

import gymnasium
import numpy as np
from scipy.sparse import csr_matrix

from benchmarks.timing import Row, compare
from replan import (
    FixedTimes,
    Mission,
    Robot,
    SlipKernel,
    Spending,
    load_setting,
    make_mission,
    oracle,
    regret,
    rollout,
)
from replan.model.general_kernel import GeneralKernel
from replan.planning.backward_induction import plan
from replan.planning.optimal_values import oracle_return
from replan.worlds.slip_grid import rover

TIMES = (1, 17, 33, 49)


class Lists(NamedTuple):
    """A kernel as QuantEcon takes it, made before anything is timed."""

    kernel: GeneralKernel
    columns: np.ndarray  # (S * A * k,) next states
    begins: np.ndarray  # (S * A + 1,) where the list of each state and action begins
    pairs: tuple[np.ndarray, np.ndarray]  # (S * A,) states and actions


def lists(kernel) -> Lists:
    general = kernel.general()
    states, actions, width = general.probabilities.shape
    return Lists(
        general,
        np.repeat(general.successors[:, None, :], actions, axis=1).reshape(-1).astype(np.int32),
        np.arange(0, states * actions * width + 1, width, dtype=np.int32),
        (np.repeat(np.arange(states), actions), np.tile(np.arange(actions), states)),
    )


def quantecon_problem(lists: Lists, reward):
    """QuantEcon's problem of sparse state-action pairs."""
    import quantecon

    matrix = csr_matrix(
        (lists.kernel.probabilities.reshape(-1), lists.columns, lists.begins),
        shape=(len(lists.begins) - 1, lists.kernel.states),
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return quantecon.markov.DiscreteDP(
            reward.expected(lists.kernel).reshape(-1), matrix, 1.0, *lists.pairs
        )


def planning(n: int) -> list[Row]:
    from quantecon.markov import backward_induction

    kernel, reward = SlipKernel((n, n), 0.1), rover(n, [0.1, 0.1]).reward
    general, problem = kernel.general(), quantecon_problem(lists(kernel), reward(0))
    peer = "QuantEcon, sparse"

    def theirs():
        return backward_induction(problem, 8)

    return [
        compare(
            f"plan, H = 8, n = {n}, slip kernel",
            lambda: plan(kernel, reward, time=0, horizon=8),
            peer,
            theirs,
        ),
        compare(
            f"plan, H = 8, n = {n}, general", lambda: plan(general, reward, time=0, horizon=8), peer, theirs
        ),
    ]


def oracle_at_scale(n: int = 1000, horizon: int = 80) -> list[Row]:
    """QuantEcon has no time-varying kernels: its problem is rebuilt for every step (three, scaled up).

    Its lists of successors and probabilities are there beforehand; only what it does with them is timed.
    """
    from quantecon.markov import backward_induction

    world = rover(n, np.linspace(0.05, 0.5, horizon))
    last = [(lists(world.kernel(t)), world.reward(t)) for t in range(horizon - 3, horizon)]

    def theirs():
        values = np.zeros(world.states)
        for step, reward in reversed(last):
            values = backward_induction(quantecon_problem(step, reward), 1, values)[0][0]

    return [
        _scaled(compare(what, ours, "QuantEcon rebuilt per step", theirs), horizon, len(last))
        for what, ours in (
            (f"oracle's return, T = {horizon}, n = {n}", lambda: oracle_return(world)),
            (f"oracle's values at all times, T = {horizon}, n = {n}", lambda: oracle(world)),
        )
    ]


def _scaled(row: Row, horizon: int, steps: int) -> Row:
    peer, seconds = row["peer"], row["peer_seconds"]
    assert seconds is not None
    return {
        **row,
        "peer": f"{peer} ({steps} steps x {horizon}/{steps})",
        "peer_seconds": seconds * horizon / steps,
    }


class PlainRover(gymnasium.Env):
    """The rover as one would write it for Gymnasium."""

    observation_space = gymnasium.spaces.Discrete(144)
    action_space = gymnasium.spaces.Discrete(5)

    def __init__(self, slip) -> None:
        self.slip = slip

    def reset(self, *, seed=None, options=None):
        """To the corner."""
        super().reset(seed=seed)
        self.i = self.j = self.t = 0
        return 0, {}

    def step(self, action):
        """Slip or not, then move."""
        if self.np_random.random() < self.slip[self.t]:
            action = int(self.np_random.integers(5))
        if action == 0:
            self.j = min(self.j + 1, 11)
        elif action == 1:
            self.j = max(self.j - 1, 0)
        elif action == 2:
            self.i = min(self.i + 1, 11)
        elif action == 3:
            self.i = max(self.i - 1, 0)
        self.t += 1
        return 12 * self.i + self.j, -(22 - self.i - self.j) / 20, False, self.t >= 50, {}


def rollouts() -> Row:
    setting = load_setting("two-burst")
    mission = make_mission(setting)
    gymnasium.register("PlainRover-v0", entry_point=PlainRover, max_episode_steps=50)
    environment = gymnasium.make("PlainRover-v0", slip=setting.drift.profile(50).tolist())
    updates = {t: mission.update(t).propagation for t in (0, *TIMES)}
    tables = {t: (how.policy[0].tolist(), how.following[0].tolist()) for t, how in updates.items()}

    def theirs():
        for seed in range(1000):
            state, _ = environment.reset(seed=seed)
            total = 0.0
            for t in range(50):
                if t in tables:
                    (policy, following), believed = tables[t], state
                state, reward, *_ = environment.step(policy[believed])
                believed = following[believed]
                total += reward

    seeds = np.arange(1000)
    return compare(
        "1000 rollouts, n = 12, T = 50",
        lambda: rollout(mission, FixedTimes(TIMES), seeds),
        "Gymnasium loop",
        theirs,
        repeat=15,
    )


def exact_regret() -> Row:
    world = make_mission(load_setting("two-burst")).world
    best = oracle(world)
    return compare(
        "exact regret of a schedule, n = 12, T = 50 (goal: under 10 ms)",
        lambda: regret(
            Mission(world, Robot(planning_horizon=7), Spending.exactly(4)), FixedTimes(TIMES), best=best
        ),
        repeat=10,
    )


def in_fresh_python(code: str) -> float:
    """What a fresh interpreter prints."""
    return float(
        subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True).stdout
    )


MEMORY = """
import numpy, numba, replan
from benchmarks.timing import peak_megabytes
from replan.planning.backward_induction import plan
from replan.worlds.slip_grid import rover
small = rover(5, [.1, .1])
plan(small.kernel(0), small.reward, time=0, horizon=8)
before = peak_megabytes()
world = rover(1000, [.1, .1])
made = plan(world.kernel(0), world.reward, time=0, horizon=8)
print(peak_megabytes() - before)
"""


def footprint() -> list[Row]:
    megabytes = in_fresh_python(MEMORY)
    clock = "import time; t = time.perf_counter(); import {}; print(time.perf_counter() - t)"
    pairs = [
        (in_fresh_python(clock.format("replan, numpy")), in_fresh_python(clock.format("numpy")))
        for _ in range(5)
    ]
    ours, numpys = (min(side) for side in zip(*pairs, strict=True))
    return [
        Row(
            what=f"import replan and numpy ({ours / numpys:.2f}x of numpy alone; goal: at most 1.5x)",
            ours_seconds=ours,
            peer="import numpy",
            peer_seconds=numpys,
        ),
        Row(
            what=f"memory of a plan at n = 1000: {megabytes:.0f} MB above the import (goal: under 200 MB)",
            ours_seconds=0.0,
            peer=None,
            peer_seconds=None,
        ),
    ]


def rows() -> list[Row]:
    """All of the core's claims."""
    return [
        *planning(12),
        *planning(200),
        *planning(1000),
        *oracle_at_scale(),
        rollouts(),
        exact_regret(),
        *footprint(),
    ]
