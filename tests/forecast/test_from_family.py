"""The forecast of a family: parameters go on at their pace, and nothing ahead is used that is not known."""

from dataclasses import replace

import numpy as np
import pytest

from replan.errors import InputError
from replan.estimate.estimator import Observation, TrueKernel
from replan.estimate.family_filter import FamilyFilter
from replan.evaluation.agent_runs import SimulatedRobot
from replan.execute.agent import Agent
from replan.forecast.base import Evidence, mean_kernel
from replan.forecast.from_family import FromFamily
from replan.model.family import Family
from replan.model.slip import SlipKernel
from replan.schedule.periodic import Periodic
from replan.worlds.crosswind import Crosswind
from replan.worlds.forecasts import ForecastParameters
from replan.worlds.settings import load_setting, make_mission
from replan.worlds.thin_ice import failure_rates

ICE = load_setting("thin-ice-hard")
WORLD = make_mission(ICE).world
RATES = failure_rates(ICE.ice, WORLD.horizon)
AHEAD = FromFamily(WORLD.family, WORLD.drift_bounds, knows_ahead=True)


def evidence(time, earlier=None):
    before = None if earlier is None else (earlier, WORLD.kernel(earlier - 1))
    bounds = WORLD.drift_bounds[:time]
    return Evidence(time, WORLD.horizon, WORLD.kernel(time - 1), WORLD.kernel(0), bounds, before)


def expected_rates(forecast, seen, times):
    kernel = mean_kernel(forecast.futures(seen))
    return np.array([WORLD.family.share_of(kernel(t)) for t in times])


def test_ice_that_melts_by_its_bound_is_expected_to_go_on_melting():
    times = range(4, 30)
    found = expected_rates(AHEAD, evidence(4, earlier=2), times)
    assert found == pytest.approx(RATES[list(times)], abs=0.1)
    rising = max(AHEAD.futures(evidence(4, earlier=2)), key=lambda future: future.weight)
    assert rising.name == "failure rate rises" and rising.weight > 0.8


def test_without_the_bounds_ahead_the_last_one_is_held():
    held, later = replace(AHEAD, knows_ahead=False), WORLD.drift_bounds.copy()
    later[4:] = 0.3
    other = FromFamily(WORLD.family, later)
    times = range(4, 15)
    found = expected_rates(held, evidence(4, earlier=2), times)
    assert found == pytest.approx(expected_rates(other, evidence(4, earlier=2), times))
    assert found[-1] > RATES[9] - 0.1


def test_parameters_that_stood_still_stay():
    seen = evidence(30, earlier=20)
    assert expected_rates(AHEAD, seen, [30, 39]) == pytest.approx(RATES[[29, 29]], abs=1e-9)


def test_weights_are_probabilities_and_futures_directions():
    for time, earlier in ((1, None), (4, 2), (12, 5)):
        futures = AHEAD.futures(evidence(time, earlier))
        assert sum(future.weight for future in futures) == pytest.approx(1)
        assert len({future.name for future in futures}) == len(futures) <= 3


def test_a_filter_goes_on_from_its_own_weights():
    learner = FamilyFilter(WORLD.family, WORLD.drift_bounds, start=WORLD.kernel(0))
    learned, kernel = learner.estimate(learner.begin(), Observation(5, 100, 88, 2, (2,)))
    forecast = AHEAD.informed_by(WORLD.knowledge, learner)
    seen = replace(evidence(5), kernel=kernel, learned=learned)
    ahead = learner.predicted(learned, 20) @ WORLD.family.points[:, 0]
    assert expected_rates(forecast, seen, range(4, 24)) == pytest.approx(ahead[:20], abs=1e-9)


def test_two_parameters_move_apart():
    cells = np.arange(9)
    family = Family(
        "two patches",
        {"first": np.linspace(0, 1, 9), "second": np.linspace(0, 1, 9)},
        lambda one, two: SlipKernel((3, 3), np.where(cells < 4, one, two)),
        linear=True,
    )
    bounds = np.full(9, 0.05)
    earlier, now = family.member(0.1, 0.5), family.member(0.225, 0.375)
    seen = Evidence(3, 10, now, family.member(0.1, 0.5), bounds[:3], (1, earlier))
    futures = FromFamily(family, bounds).futures(seen)
    likeliest = max(futures, key=lambda future: future.weight)
    assert likeliest.name == "first rises, second falls"
    slip = mean_kernel(futures)(6).slip
    assert slip[0] > 0.3 and slip[8] < 0.3


def test_other_estimators_change_nothing_and_another_family_is_refused():
    assert AHEAD.informed_by(WORLD.knowledge, TrueKernel(WORLD)) is AHEAD
    other = FamilyFilter(Family.of_mixtures("a rate", WORLD.family.first, WORLD.family.last, values=5), 0.1)
    with pytest.raises(InputError, match="different families"):
        AHEAD.informed_by(WORLD.knowledge, other)
    with pytest.raises(InputError, match="declares a family"):
        make_mission(load_setting("nsbridge-0"), forecast=ForecastParameters(kind="family"))


def test_an_agent_goes_on_from_a_snapshot_as_it_would_have(tmp_path):
    mission = make_mission(ICE, forecast=ForecastParameters(kind="family"))
    agents = []
    for _ in range(2):
        learner = FamilyFilter(WORLD.family, WORLD.drift_bounds, start=WORLD.kernel(0))
        agents.append(Agent.on(mission, Periodic(), estimator=learner))
    one, two = agents
    robot = SimulatedRobot(mission.world, seed=3)
    one.start(robot.look())
    while not one.done:
        if one.time == 20:
            one.save(tmp_path / "agent.npz")
            two.restore(tmp_path / "agent.npz")
        going = [one] if one.time < 20 else [one, two]
        for agent in going:
            if agent.due().update:
                agent.update(robot.look())
        actions = {agent.act() for agent in going}
        assert len(actions) == 1 and np.array_equal(going[-1].plan.policy, one.plan.policy)
        robot.do(actions.pop())


@pytest.mark.parametrize("turn", [200, 270, -200])
def test_an_angle_that_crosses_the_end_of_its_range_moves_the_short_way_round(turn):
    world = Crosswind(horizon=30, wind={"turn": turn, "turn_begin": 3, "turn_steps": 20}).build()
    forecast = FromFamily(world.family, world.drift_bounds)
    for now in range(3, 24):
        earlier = (now - 1, world.kernel(now - 2))
        seen = Evidence(now, 30, world.kernel(now - 1), world.kernel(0), world.drift_bounds[:now], earlier)
        likeliest = max(forecast.futures(seen), key=lambda future: future.weight)
        if now > 5:
            assert likeliest.name == ("angle falls" if turn > 0 else "angle rises")


def test_a_parameter_that_moves_farther_than_its_bound_is_logged_and_goes_on_that_way(caplog):
    bounds = np.full(WORLD.horizon - 1, 1e-3)
    seen = Evidence(4, WORLD.horizon, WORLD.family.member(0.9), WORLD.family.member(0.1), bounds[:4])
    futures = FromFamily(WORLD.family, bounds).futures(seen)
    assert max(futures, key=lambda future: future.weight).name == "failure rate rises"
    assert "failure rate moved by 0.787 in 3 steps" in caplog.text
