"""Random worlds small enough to enumerate."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
from hypothesis import strategies as st

from replan import Robot, Spending
from replan.execute.mission import Mission
from replan.model.general_kernel import GeneralKernel
from replan.model.reward import Reward
from replan.model.world import World
from replan.planning.ties import Ties
from replan.skip.acting import Propagation


def random_kernel(
    rng: np.random.Generator, states: int, actions: int, *, sparse: bool = True
) -> GeneralKernel:
    dense = rng.dirichlet(np.full(states, 0.7), size=(states, actions))
    if sparse:
        dense = np.where(dense < 0.15, 0.0, dense)
        dense /= dense.sum(axis=2, keepdims=True)
    return GeneralKernel.from_dense(dense)


def random_world(
    rng: np.random.Generator,
    *,
    states: int = 3,
    actions: int = 2,
    horizon: int = 4,
    next_state_reward: bool = False,
) -> World:
    kernels = [random_kernel(rng, states, actions) for _ in range(horizon)]
    rewards = [
        Reward(next_state=rng.normal(size=states))
        if next_state_reward
        else Reward(state_action=rng.normal(size=(states, actions)))
        for _ in range(horizon)
    ]
    return World(horizon, kernels.__getitem__, rewards.__getitem__, start=int(rng.integers(states)))


def late_mission(seed: int, execution: str, steps, meanwhile: str, *, horizon: int = 6, **options) -> Mission:
    """A mission whose updates take time; action 1 is taken by a robot that waits."""
    rng = np.random.default_rng(seed)
    world = random_world(rng, states=3, actions=3, horizon=horizon, next_state_reward=bool(seed % 2))
    robot = Robot(planning_horizon=3, execution=execution, update_steps=steps, meanwhile=meanwhile, **options)
    return Mission(replace(world, waiting=1), robot, Spending.at_most(2))


@st.composite
def tiny_missions(draw, *, max_horizon: int = 5, executions=("map", "belief"), min_horizon: int = 3):
    """Missions of 2 or 3 states, 2 actions, a few steps, any execution and tie rule."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    horizon = draw(st.integers(min_horizon, max_horizon))
    world = random_world(
        rng,
        states=draw(st.integers(2, 3)),
        actions=draw(st.integers(2, 3)),
        horizon=horizon,
        next_state_reward=draw(st.booleans()),
    )
    return Mission(
        world,
        Robot(
            planning_horizon=draw(st.integers(1, horizon)),
            execution=draw(st.sampled_from(executions)),
            ties=Ties(draw(st.sampled_from(["first", "last", "random"])), seed=3),
        ),
        Spending.exactly(draw(st.integers(1, horizon - 1))),
    )


def steps_of(world: World, acting: Propagation, states, begin: int, end: int) -> Iterator[tuple]:
    """Yield (R,) actions, expected rewards and (R, S) places after each step of robots that saw `states`."""
    estimate, places = acting.begin(np.asarray(states)), np.eye(world.states)[states]
    for t in range(begin, end):
        actions = acting.act(estimate, t)
        after = world.kernel(t).push(places, actions)
        yield actions, world.reward(t).along(places, actions, after), after
        estimate, places = acting.advance(estimate, actions, t), after


def random_times(rng: np.random.Generator, mission: Mission) -> tuple[int, ...]:
    others = rng.choice(np.arange(2, mission.horizon), size=mission.spending.limit - 1, replace=False)
    return (1, *sorted(int(t) for t in others))
