"""Tiny random worlds whose kernels drift as far as their bounds allow, in directions drawn by hypothesis."""

from dataclasses import dataclass, replace

import numpy as np
from hypothesis import strategies as st

from replan import Robot, Spending
from replan.execute.mission import Mission
from replan.model.family import Family
from replan.model.general_kernel import GeneralKernel
from replan.model.kernel import constant
from replan.model.reward import Reward
from replan.model.slip import SlipKernel
from replan.model.world import World
from replan.planning.ties import Ties
from replan.worlds.slip_grid import rover

any_ties = st.sampled_from([Ties("first"), Ties("last"), Ties("random", 5)])


@dataclass(frozen=True)
class Case:
    mission: Mission
    times: tuple[int, ...]


def pushed(row: np.ndarray, eps: float, generator: np.random.Generator) -> np.ndarray:
    """The row moved by eps in two entries, or as far as a distribution can be."""
    up, down = generator.permutation(len(row))[:2]
    amount = min(eps, row[down], 1 - row[up])
    moved = row.copy()
    moved[up] += amount
    moved[down] -= amount
    return moved


def drifting_kernels(generator, horizon, states, actions, eps, style) -> np.ndarray:
    kernels = np.empty((horizon, states, actions, states))
    kernels[0] = generator.dirichlet(np.full(states, 0.5), size=(states, actions))
    target = generator.dirichlet(np.full(states, 0.1), size=(states, actions))
    for t in range(horizon - 1):
        for s in range(states):
            for a in range(actions):
                row = kernels[t, s, a]
                if style == "one way":  # as far as allowed towards one corner, at every step
                    step = target[s, a] - row
                    kernels[t + 1, s, a] = row + step * min(1, eps[t] / max(np.abs(step).max(), 1e-12))
                else:
                    kernels[t + 1, s, a] = pushed(row, eps[t], generator)
    return kernels


def random_times(generator, horizon, budget) -> tuple[int, ...]:
    later = generator.choice(np.arange(2, horizon), size=budget - 1, replace=False)
    return (1, *sorted(int(t) for t in later))


@st.composite
def general_cases(draw, *, drift: float = 0.4, execution=None) -> Case:
    """Worlds of 2 or 3 states without any structure, with rewards of every kind that change over time."""
    generator = np.random.default_rng(draw(st.integers(0, 2**32)))
    horizon, states = draw(st.integers(3, 6)), draw(st.integers(2, 3))
    budget = draw(st.integers(1, horizon - 1))
    eps = generator.uniform(0, drift, horizon - 1) * generator.integers(0, 2, horizon - 1)
    style = draw(st.sampled_from(["any way", "one way"]))
    kernels = [
        GeneralKernel.from_dense(k) for k in drifting_kernels(generator, horizon, states, 2, eps, style)
    ]
    rewards = [
        Reward(
            state_action=generator.normal(size=(states, 2)) if generator.integers(2) else None,
            next_state=generator.normal(size=states),
        )
        for _ in range(horizon)
    ]
    world = World(horizon, lambda t: kernels[t], lambda t: rewards[t], stated_bounds=eps)
    execution = execution or draw(st.sampled_from(["map", "belief"]))
    mission = Mission(
        world,
        Robot(planning_horizon=draw(st.integers(1, 6)), execution=execution, ties=draw(any_ties)),
        Spending.exactly(budget),
    )
    return Case(mission, random_times(generator, horizon, budget))


@st.composite
def slip_cases(draw, *, drift: float = 0.3) -> Case:
    """Small grids with one slip that moves by its bound at every step, up or down."""
    generator = np.random.default_rng(draw(st.integers(0, 2**32)))
    horizon, side = draw(st.integers(3, 7)), draw(st.integers(2, 3))
    budget = draw(st.integers(1, horizon - 1))
    steps = generator.uniform(0, drift, horizon - 1) * generator.choice([-1, 1], horizon - 1)
    slips = np.empty(horizon)
    slips[0] = generator.uniform(0, 1)
    for t in range(horizon - 1):
        slips[t + 1] = np.clip(slips[t] + steps[t], 0, 1)
    world = rover(side, slips, goal=(int(generator.integers(side)), int(generator.integers(side))))
    if generator.integers(2):
        reward = Reward(
            state_action=generator.normal(size=(side * side, 5)), next_state=generator.normal(size=side**2)
        )
        world = replace(world, reward=constant(reward))
    execution = draw(st.sampled_from(["map", "belief"]))
    mission = Mission(
        world,
        Robot(planning_horizon=draw(st.integers(1, 5)), execution=execution, ties=draw(any_ties)),
        Spending.exactly(budget),
    )
    return Case(mission, random_times(generator, horizon, budget))


@st.composite
def grid_cases(draw, *, execution=None) -> Case:
    """Small grids that declare nothing: walls move, the slip law turns, slip differs from cell to cell."""
    generator = np.random.default_rng(draw(st.integers(0, 2**32)))
    horizon, shape = draw(st.integers(3, 8)), draw(st.sampled_from([(1, 3), (2, 2), (2, 3), (3, 3)]))
    budget = draw(st.integers(1, min(3, horizon - 1)))
    kernels = moving_grids(generator, horizon, shape)
    reward = Reward(next_state=-np.arange(shape[0] * shape[1])[:: generator.choice([-1, 1])] / 5.0)
    if generator.integers(2):
        reward = Reward(next_state=generator.normal(size=shape[0] * shape[1]))
    world = World(horizon, lambda t: kernels[t], constant(reward), start=int(generator.integers(2)))
    execution = execution or draw(st.sampled_from(["map", "belief"]))
    mission = Mission(
        world,
        Robot(planning_horizon=draw(st.integers(1, 6)), execution=execution, ties=draw(any_ties)),
        Spending.exactly(budget),
    )
    return Case(mission, random_times(generator, horizon, budget))


def moving_grids(generator, horizon, shape) -> list[SlipKernel]:
    """One kernel for each time; at every time each of walls, slip law and slips changes or stays."""
    cells = shape[0] * shape[1]
    per_cell, moves, turns, drifts = generator.integers(2, size=4)
    blocked, law, slip = np.zeros(cells, bool), np.full(5, 0.2), generator.uniform(0, 0.5, cells)
    kernels: list[SlipKernel] = []
    for t in range(horizon):
        if t == 0 or (moves and generator.random() < 0.4):
            blocked = generator.random(cells) < 0.3 if moves else blocked
        if t == 0 or (turns and generator.random() < 0.5):
            law = generator.dirichlet(np.full(5, 0.4)) if turns else law
        if drifts:
            slip = np.clip(slip + generator.uniform(-0.2, 0.2, cells), 0, 1)
        kernels.append(SlipKernel(shape, slip if per_cell else slip[0], law=law, blocked=blocked))
    return kernels


@st.composite
def family_cases(draw, *, drift: float = 0.3, execution=None) -> Case:
    """Mixtures of two kernels, declared as such, whose parameter moves by its bound at every step."""
    generator = np.random.default_rng(draw(st.integers(0, 2**32)))
    horizon, states = draw(st.integers(3, 6)), draw(st.integers(2, 3))
    budget = draw(st.integers(1, horizon - 1))
    ends = generator.dirichlet(np.full(states, 0.3), size=(2, states, 2))
    if generator.integers(2):
        ends[1, 0] = ends[0, 0]  # a state that the parameter does not concern
    family = Family.of_mixtures("a mixture", *(GeneralKernel.from_dense(end) for end in ends))
    parameters = np.empty(horizon)
    parameters[0] = generator.uniform(0, 1)
    for t in range(horizon - 1):
        step = generator.uniform(0, drift) * generator.choice([-1, 0, 1])
        parameters[t + 1] = np.clip(parameters[t] + step, 0, 1)
    kernels = [family.member(parameter) for parameter in parameters]
    of_action = generator.normal(size=(states, 2)) if generator.integers(2) else None
    reward = Reward(state_action=of_action, next_state=generator.normal(size=states))
    world = World(horizon, lambda t: kernels[t], constant(reward), family=family)
    execution = execution or draw(st.sampled_from(["map", "belief"]))
    mission = Mission(
        world,
        Robot(planning_horizon=draw(st.integers(1, 6)), execution=execution, ties=draw(any_ties)),
        Spending.exactly(budget),
    )
    return Case(mission, random_times(generator, horizon, budget))
