"""Groups with the same remaining actions give what every robot gives by itself."""

from functools import cache

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from replan.evaluation.visited_steps import RemainingActions, interval_steps, one_by_one
from replan.planning.followed import follow_action
from tiny_worlds import tiny_missions


@st.composite
def robots_after_an_update(draw):
    """A mission, its books after an update at 1, all states, and any chances of the next update."""
    mission = draw(tiny_missions(min_horizon=4))
    states = np.arange(mission.world.states)
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    chances = np.zeros((len(states), mission.horizon + 1))
    if draw(st.booleans()):
        chances[states, rng.integers(2, mission.horizon + 1, len(states))] = 1.0
    else:
        chances[:, 2:] = rng.dirichlet(np.ones(mission.horizon - 1))
    return (
        mission,
        mission.progress(1, mission.limit - 1),
        states,
        chances,
        rng.dirichlet(np.ones(len(states))),
    )


def by_time(steps):
    """By time, the expected reward, where robots leave and stay, and the probability of the step."""
    found = {}
    for step, weight, leaving in steps:
        parts = weight @ step.reward, leaving @ step.after, weight @ step.before, weight.sum()
        found[step.time] = np.concatenate([np.atleast_1d(part) for part in parts])
    return found


@given(robots_after_an_update())
def test_groups_step_as_their_robots_do_one_by_one(robots):
    mission, progress, states, chances, share = robots

    def until(end):
        return interval_steps(mission, progress, states, end)

    together = by_time(RemainingActions.of(mission, progress, states, chances).steps(states, share))
    apart = by_time(one_by_one(share, until)(chances))
    assert together.keys() == apart.keys()
    for time, expected in apart.items():
        np.testing.assert_allclose(together[time], expected, atol=1e-12)


@given(robots_after_an_update(), st.integers(0, 2**32 - 1))
def test_values_are_those_of_pushing_every_robot_forwards(robots, seed):
    mission, progress, states, chances, _ = robots
    ahead = np.random.default_rng(seed).normal(size=(mission.horizon, len(states)))
    step = cache(lambda t, a: follow_action(mission.world.kernel(t), mission.world.reward(t), a))
    found = RemainingActions.of(mission, progress, states, chances).values(ahead.__getitem__, step)
    for state in states:
        one, alone = np.array([state]), chances[[state]]
        expected = 0.0
        steps = RemainingActions.of(mission, progress, one, alone).steps(one, np.ones(1))
        for each, weight, leaving in steps:
            expected += float(weight @ each.reward)
            if each.time + 1 < mission.horizon:
                expected += float(leaving @ each.after @ ahead[each.time + 1])
        np.testing.assert_allclose(found[state], expected, atol=1e-12)


@given(tiny_missions())
def test_robots_with_the_same_actions_ahead_are_one_group(mission):
    progress, states = mission.progress(1, mission.limit - 1), np.zeros(4, dtype=np.int64)
    chances = np.zeros((4, mission.horizon + 1))
    chances[:2, 2], chances[2:, 3] = 1.0, 1.0
    grouped = RemainingActions.of(mission, progress, states, chances)
    assert [len(each.actions) for each in grouped.groups] == [2, 1]
