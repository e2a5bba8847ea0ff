"""Look-ahead that is told the truth reaches the floor: no rule does better, and it knows all there is."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from tests.tiny_worlds import random_world

from replan import InputError, Robot, Spending, evaluate, optimum
from replan.execute.mission import Mission
from replan.forecast.given import Given
from replan.planning.ties import Ties
from replan.schedule.lookahead import Lookahead

EXECUTIONS, MEANWHILES = ("map", "belief", "localised"), ("go-on", "wait")
DURATIONS = (0, 1, 2, 3, {0: 0.5, 1: 0.5}, {0: 0.25, 2: 0.75}, {1: 0.5, 3: 0.5})


def told_the_truth(number: int) -> Mission:
    """A random mission in a tiny world whose kernels the robot knows."""
    rng = np.random.default_rng(number)
    horizon, states, actions = (int(rng.integers(*between)) for between in ((4, 9), (2, 5), (2, 4)))
    world = random_world(
        rng, states=states, actions=actions, horizon=horizon, next_state_reward=bool(rng.random() < 0.5)
    )
    limit, price = int(rng.integers(1, horizon)), float(rng.choice([0.0, 0.02, 0.1, 0.5]))
    robot = Robot(
        planning_horizon=int(rng.integers(1, horizon + 1)),
        execution=EXECUTIONS[number % 3],
        ties=Ties(str(rng.choice(["first", "last", "random"])), seed=3),
        update_steps=DURATIONS[int(rng.integers(len(DURATIONS)))],
        meanwhile=MEANWHILES[int(rng.integers(2))],
        forecast=Given(world.kernel),
    )
    ways = (
        Spending.exactly(limit),
        Spending.at_most(limit),
        Spending.at_price(price),
        Spending.at_price(price, limit=limit),
    )
    return Mission(replace(world, waiting=1), robot, ways[int(rng.integers(4))])


def missions(count: int):
    """The first of them; an exact budget may not fit into the steps, and a plan may never arrive."""
    number = made = 0
    while made < count:
        try:
            mission = told_the_truth(number)
        except InputError:
            pass
        else:
            made += 1
            yield number, mission
        number += 1


@pytest.mark.parametrize("count", [150, pytest.param(3_000, marks=pytest.mark.slow)])
def test_look_ahead_that_is_told_the_truth_reaches_the_floor(count):
    short = {}
    for number, mission in missions(count):
        floor = optimum(mission).feedback_objective
        reached = evaluate(mission, Lookahead(tolerance=0.0, effort=1e30)).objective
        if abs(floor - reached) > 1e-9:
            short[number] = floor - reached
    assert not short


def test_missions_that_share_their_updates_and_spend_in_different_ways_share_no_choices():
    differ = 0
    for _, mission in missions(20):
        world = mission.world
        robot = Robot(planning_horizon=2, update_steps=1, meanwhile="wait", forecast=Given(world.kernel))
        ways = (Spending.exactly(2), Spending.at_most(2), Spending.at_price(0.1, limit=2))
        alone = [evaluate(Mission(world, robot, way), Lookahead()).objective for way in ways]
        shared = Mission(world, robot, ways[0])
        together = [evaluate(shared.with_spending(way), Lookahead()).objective for way in ways]
        assert together == pytest.approx(alone, abs=1e-12)
        differ += alone[1] - alone[0] > 1e-3
    assert differ
