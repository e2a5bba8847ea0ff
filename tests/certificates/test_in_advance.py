"""A certificate in advance holds for every plan that later updates may make."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.certificates.drifting_worlds import general_cases, slip_cases
from tests.certificates.test_certificate import regrets, two_burst

from replan.certificates.certificate import Tightening, certify
from replan.certificates.in_advance import certify_ahead
from replan.certificates.legs import OnEstimates
from replan.errors import InputError
from replan.schedule.periodic import periodic_times

SWITCHES = [
    Tightening(both, one, slip) for both in (True, False) for one in (True, False) for slip in (None, False)
]


@given(general_cases(execution="map"), st.integers(0, 5))
def test_regret_is_below_the_certificate_in_advance(case, known_until):
    found = certify_ahead(case.mission, case.times, known_until=known_until)
    assert (regrets(case.mission, case.times) <= found.from_starts + 1e-9).all()


@given(slip_cases(), st.integers(0, 6), st.sampled_from(SWITCHES))
def test_regret_on_a_grid_is_below_the_certificate_in_advance(case, known_until, tightening):
    mission = replace(case.mission, robot=replace(case.mission.robot, execution="map"))
    found = certify_ahead(mission, case.times, known_until=known_until, tightening=tightening)
    assert (regrets(mission, case.times) <= found.from_starts + 1e-9).all()


@settings(max_examples=60)
@given(slip_cases())
def test_what_is_known_after_the_fact_is_no_less(case):
    mission = replace(case.mission, robot=replace(case.mission.robot, execution="map"))
    before = certify_ahead(mission, case.times)
    after = certify(mission, case.times, tightening=Tightening(slip_cells=1))
    assert (after.from_starts <= before.from_starts + 1e-9).all()
    assert (before.when, after.when) == ("in advance", "after the fact")


def test_in_advance_only_the_first_kernel_is_looked_at():
    mission, times = two_burst(), periodic_times(50, 4)

    def only_first(t):
        assert t == 0, f"P_{t} was looked at"
        return mission.world.kernel(t)

    hidden = replace(mission.world, kernel=only_first, stated_bounds=mission.world.drift_bounds)
    found = certify_ahead(replace(mission, world=hidden), times)
    assert 0.7715 < found.value < 1.6


@pytest.mark.parametrize("tightening", SWITCHES)
def test_estimates_that_contradict_the_bounds_promise_nothing(tightening):
    mission = two_burst(stated_bounds=np.full(49, 0.001))
    found = certify_ahead(mission, periodic_times(50, 4), known_until=33, tightening=tightening)
    assert found.value == found.dynamic == np.inf
    assert "the bounds are too small" in found.contradiction


def test_learned_estimates_are_refused():
    with pytest.raises(InputError, match="do not reveal the true kernel"):
        certify_ahead(OnEstimates.of(two_burst(), []), periodic_times(50, 4))


def test_belief_execution_is_refused():
    with pytest.raises(InputError, match="map"):
        certify_ahead(two_burst("belief"), periodic_times(50, 4))


def test_all_kernels_known_and_no_drift_leave_nothing_open():
    mission = two_burst(stated_bounds=np.zeros(49))
    still = replace(mission, world=replace(mission.world, kernel=lambda t: mission.world.kernel(0)))
    times = periodic_times(50, 4)
    assert certify_ahead(still, times).value == pytest.approx(regrets(still, times)[0], abs=1e-9)
