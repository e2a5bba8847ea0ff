"""The paper's eight settings with the periodic schedule, as the docs show them."""

import pytest

from replan import Robot, Spending
from replan.certificates.certificate import certify
from replan.certificates.in_advance import certify_ahead
from replan.certificates.parameter_range import SlipRange
from replan.certificates.premises import KernelEstimate, Premises
from replan.evaluation.exact import regret
from replan.execute.mission import Mission
from replan.schedule.fixed import FixedTimes
from replan.schedule.periodic import periodic_times
from replan.worlds.settings import PAPER_SETTINGS, load_setting, make_mission
from replan.worlds.slip_grid import rover

PIECEWISE = [name for name in PAPER_SETTINGS if name != "sinusoidal-medium"]


def periodic(name, execution="map"):
    mission = make_mission(load_setting(name), execution=execution)
    return mission, periodic_times(mission.horizon, mission.spending.limit)


@pytest.mark.parametrize("execution", ["map", "belief"])
@pytest.mark.parametrize("name", PIECEWISE)
def test_the_certificate_is_at_most_twice_the_regret(name, execution):
    mission, times = periodic(name, execution)
    true = regret(mission, FixedTimes(times))
    assert true - 1e-9 <= certify(mission, times).value <= 1.001 * true


@pytest.mark.parametrize("name", PIECEWISE)
def test_even_in_advance_it_is_at_most_twice_the_regret(name):
    mission, times = periodic(name)
    true = regret(mission, FixedTimes(times))
    assert true <= certify_ahead(mission, times).value <= 1.5 * true


@pytest.mark.parametrize("execution", ["map", "belief"])
def test_what_is_known_of_sinusoidal_medium_allows_more_than_twice_its_regret(execution):
    mission, times = periodic("sinusoidal-medium", execution)
    true = regret(mission, FixedTimes(times))
    kernels = [KernelEstimate(t - 1, mission.update(t).kernel) for t in times]
    known = SlipRange(Premises(tuple(kernels), mission.world.drift_bounds, family=mission.world.family))
    other = Mission(
        rover(12, known.high),
        Robot(planning_horizon=mission.robot.planning_horizon, execution=execution),
        Spending.exactly(mission.spending.limit),
    )
    for estimate in kernels:
        assert other.world.kernel(estimate.time).entrywise_distance(estimate.kernel).max() < 1e-12
    assert (other.world.drift_bounds <= mission.world.drift_bounds + 1e-12).all()
    fits = regret(other, FixedTimes(times))
    assert 3.4 * true < fits <= certify(mission, times).value < 8 * true
