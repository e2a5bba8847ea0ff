"""Robots whose forecast compares two estimates: floors by brute force, rules asked alone and together."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from replan import FixedTimes, InputError, Robot, Spending, load_setting, make_mission
from replan.evaluation.agent_runs import run_agent
from replan.evaluation.decomposition import decompose
from replan.evaluation.exact import evaluate_times, from_start, regret
from replan.evaluation.optimal_schedule import feedback_regrets, optimum
from replan.evaluation.rollouts import rollout
from replan.evaluation.rule_checks import check_rule
from replan.execute.mission import Mission
from replan.forecast.mixture import Mixture
from replan.forecast.trend import Trend
from replan.model.sizes import Sizes
from replan.planning.backward_induction import oracle
from replan.schedule.lookahead import Lookahead
from replan.schedule.periodic import Periodic
from replan.skip.propagation import skip_interval
from tiny_worlds import random_world, tiny_missions

FORECASTS = [Trend(), Mixture()]


def best_by_recursion(mission):
    """Return of the best feedback schedule, trying every next time after every two updates."""
    world, horizon = mission.world, mission.horizon

    def onward(earlier, time, left, state):
        steps = skip_interval(
            world.kernel,
            world.reward,
            mission.update(time, earlier).propagation,
            np.array([state]),
            begin=time,
            end=horizon,
        )
        gained, best = 0.0, -np.inf
        for step in steps:
            gained += float(step.reward[0])
            u = step.time + 1
            if u == horizon:
                best = max(best, gained) if left == 0 else best
            elif left and horizon - u >= left:
                ahead = sum(p * onward(time, u, left - 1, s) for s, p in enumerate(step.after[0]) if p)
                best = max(best, gained + ahead)
        return best

    (step,) = skip_interval(
        world.kernel, world.reward, mission.update(0).propagation, np.array([world.start]), begin=0, end=1
    )
    ahead = sum(p * onward(0, 1, mission.spending.limit - 1, s) for s, p in enumerate(step.after[0]) if p)
    return float(step.reward[0]) + ahead


@given(tiny_missions(max_horizon=5), st.sampled_from(FORECASTS))
def test_the_floor_is_that_of_trying_everything(mission, forecast):
    mission = replace(mission, robot=replace(mission.robot, forecast=forecast))
    found = optimum(mission)
    best = float(oracle(mission.world).values[0][mission.world.start])
    assert best - found.feedback_regret == pytest.approx(best_by_recursion(mission), abs=1e-9)
    assert evaluate_times(mission, found.fixed_times).regret == pytest.approx(found.fixed_regret, abs=1e-9)
    assert found.feedback_regret <= found.fixed_regret + 1e-9


@given(tiny_missions(max_horizon=7), st.sampled_from(FORECASTS))
def test_no_rule_beats_it(mission, forecast):
    mission = replace(mission, robot=replace(mission.robot, forecast=forecast))
    floor = optimum(mission).feedback_regret
    for rule in (Periodic(), Lookahead(), FixedTimes(tuple(range(1, mission.spending.limit + 1)))):
        assert floor <= regret(mission, rule) + 1e-9


@given(tiny_missions(max_horizon=8))
def test_a_rule_that_reconsiders_spends_its_budget(mission):
    steps = from_start(replace(mission, robot=replace(mission.robot, forecast=Mixture())), Lookahead(), None)[
        1
    ]
    assert steps.update_probability.sum() == pytest.approx(mission.spending.limit)


@pytest.mark.parametrize("execution", ["map", "belief"])
def test_an_agent_reconsiders_as_exact_evaluation_does(execution):
    setting = load_setting("crosswind-mild")
    mission = make_mission(setting, execution=execution)
    mission = replace(mission, robot=replace(mission.robot, forecast=Mixture(None, mission.world.family)))
    rule = Lookahead(tolerance=0.0, effort=1e30)
    updates = rollout(mission, rule, np.arange(3), trace=True).updates
    for seed in range(3):
        run = run_agent(mission, rule, seed=seed)
        assert np.flatnonzero(updates[seed]).tolist() == list(run.times)


def test_the_terms_name_the_expectation_that_carried_the_decision():
    mission = make_mission(load_setting("thin-ice-medium"))
    mission = replace(mission, robot=replace(mission.robot, forecast=Mixture(None, mission.world.family)))
    named = {
        name
        for _, decision in run_agent(mission, Lookahead(), seed=0).decisions
        for name, value in decision.terms.items()
        if value and name != "expected return"
    }
    assert "failure rate rises" in named


@pytest.mark.slow
@pytest.mark.parametrize("execution", ["map", "belief"])
def test_it_is_a_sound_rule(execution):
    mission = make_mission(load_setting("crosswind-mild"), execution=execution)
    mission = replace(mission, robot=replace(mission.robot, forecast=Mixture(None, mission.world.family)))
    assert check_rule(Lookahead(), mission) == []


@given(tiny_missions(max_horizon=5), st.sampled_from(FORECASTS))
def test_one_programme_gives_the_floor_of_every_budget(mission, forecast):
    mission = replace(mission, robot=replace(mission.robot, forecast=forecast))
    floors = feedback_regrets(mission, mission.horizon - 1)
    separately = [
        optimum(replace(mission, spending=Spending.exactly(b))).feedback_regret
        for b in range(1, mission.horizon)
    ]
    assert floors == pytest.approx(separately, abs=1e-9)


def test_what_is_too_large_is_refused_in_one_line():
    mission = make_mission(load_setting("two-burst"))
    world = replace(mission.world, horizon=120, stated_bounds=None)
    large = replace(
        mission,
        world=replace(world, kernel=lambda t: mission.world.kernel(0)),
        robot=replace(mission.robot, forecast=Trend()),
    )
    with pytest.raises(InputError, match="states x steps"):
        optimum(large)


def test_the_limit_is_states_times_squared_steps():
    mission = Mission(
        random_world(np.random.default_rng(0), horizon=4), Robot(planning_horizon=3), Spending.exactly(2)
    )
    mission = replace(mission, robot=replace(mission.robot, forecast=Trend()))
    assert optimum(replace(mission, sizes=Sizes(compared_floor=3 * 4**2))).fixed_proved
    with pytest.raises(InputError, match="up to states x steps\\^2 = 47, not 48"):
        optimum(replace(mission, sizes=Sizes(compared_floor=3 * 4**2 - 1)))


def test_an_optimum_at_a_price_is_refused():
    mission = make_mission(load_setting("crosswind-mild"), price=0.1)
    mission = replace(mission, robot=replace(mission.robot, forecast=Trend()))
    with pytest.raises(InputError, match="optimum with prices is not computed for the forecast trend"):
        optimum(mission)


def test_the_split_by_cause_is_refused_where_the_forecast_moves():
    mission = replace(
        make_mission(load_setting("crosswind-mild")),
        robot=replace(make_mission(load_setting("crosswind-mild")).robot, forecast=Trend()),
    )
    with pytest.raises(InputError, match="frozen"):
        decompose(mission, Periodic())
