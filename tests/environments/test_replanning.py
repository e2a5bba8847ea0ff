"""A learner that chooses when to replan has the return that exact evaluation computes."""

import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env

from replan import InputError, evaluate, load_setting, make_mission, make_rule
from replan.environments.replanning import KEEP, UPDATE, Replanning
from replan.schedule.periodic import even_times


def a_mission(**options):
    return make_mission(load_setting("crosswind-medium"), **{"execution": "localised"} | options)


def returns(env, choose, seeds):
    totals = []
    for seed in range(seeds):
        seen, info = env.reset(seed=seed)
        total, done = info["reward"], False
        while not done:
            seen, reward, done, _, _ = env.step(choose(seen))
            total += reward
        totals.append(total)
    return np.array(totals)


def test_gymnasium_finds_nothing_wrong():
    check_env(Replanning(a_mission()), skip_render_check=True)


def test_even_updates_have_the_return_of_the_rule():
    mission = a_mission(budget=2)
    times = even_times(mission.horizon, 2)
    found = returns(Replanning(mission), lambda seen: UPDATE if seen["time"] in times else KEEP, 1500)
    exact = evaluate(mission, make_rule("even")).expected_return
    assert abs(found.mean() - exact) < 4 * found.std() / len(found) ** 0.5


def test_updates_that_are_not_left_are_refused_and_prices_are_paid():
    env = Replanning(a_mission(budget=1, price=0.25))
    env.reset(seed=0)
    _, dear, *_, first = env.step(UPDATE)
    seen, _, *_, second = env.step(UPDATE)
    assert first["updated"] and not second["updated"]
    assert seen["budget_left"] == 0
    assert seen["age"] == 2
    free = Replanning(a_mission(budget=1))
    free.reset(seed=0)
    assert dear == pytest.approx(free.step(UPDATE)[1] - 0.25)


def test_blind_robots_are_refused_in_one_line():
    with pytest.raises(InputError, match="execution localised"):
        Replanning(a_mission(execution="map"))
    with pytest.raises(InputError, match="mission must be a Mission"):
        Replanning("crosswind-medium")
