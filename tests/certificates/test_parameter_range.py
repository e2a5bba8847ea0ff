"""Promises where the kernel is a member of a declared family: one parameter, the same for all rows."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.certificates.drifting_worlds import family_cases, slip_cases
from tests.certificates.test_certificate import regrets
from tests.certificates.test_moving_grids import check_after_the_fact, check_in_advance

from replan import Robot, Spending
from replan.certificates.certificate import Tightening, certify
from replan.certificates.in_advance import certify_ahead
from replan.execute.mission import Mission
from replan.model.family import Family
from replan.schedule.periodic import periodic_times
from replan.worlds.settings import load_setting, make_mission

TIGHTENINGS = st.builds(
    Tightening, st.booleans(), st.booleans(), st.just(True), st.sampled_from([1, 4]), st.integers(1, 4)
)


@given(family_cases(), TIGHTENINGS)
def test_regret_is_below_the_certificate_of_any_member(case, tightening):
    check_after_the_fact(case, tightening)


@given(family_cases(execution="map"), TIGHTENINGS, st.integers(0, 5))
def test_regret_is_below_the_certificate_in_advance_of_any_member(case, tightening, known_until):
    check_in_advance(case, tightening, known_until)


@given(slip_cases(), st.integers(1, 4))
def test_regret_with_one_slip_is_below_the_certificate_in_advance_however_it_is_told_apart(case, plan_cells):
    mission = replace(case.mission, robot=replace(case.mission.robot, execution="map"))
    found = certify_ahead(mission, case.times, tightening=Tightening(plan_cells=plan_cells))
    assert (regrets(mission, case.times) <= found.from_starts + 1e-9).all()


@pytest.mark.slow
@settings(max_examples=3000, derandomize=False)
@given(family_cases(), TIGHTENINGS)
def test_thousands_more_members_never_exceed_their_certificate(case, tightening):
    check_after_the_fact(case, tightening)


@pytest.mark.slow
@settings(max_examples=3000, derandomize=False)
@given(family_cases(execution="map"), TIGHTENINGS, st.integers(0, 5))
def test_thousands_more_members_never_exceed_their_certificate_in_advance(case, tightening, known_until):
    check_in_advance(case, tightening, known_until)


@given(family_cases(drift=0.0))
def test_without_drift_the_certificate_is_the_regret(case):
    found = certify(case.mission, case.times)
    assert found.from_starts == pytest.approx(regrets(case.mission, case.times), abs=1e-9)


@given(family_cases(execution="map"))
def test_telling_plans_apart_tightens(case):
    values = [
        certify_ahead(case.mission, case.times, tightening=Tightening(False, plan_cells=cells)).value
        for cells in (1, 2, 4)
    ]
    assert values[2] <= values[1] + 1e-9 <= values[0] + 2e-9


@given(slip_cases(), st.booleans())
def test_one_slip_is_bounded_as_a_mixture_too(case, ahead):
    family = case.mission.world.family
    mixture = Family.of_mixtures("a mixture", family.first.general(), family.last.general())
    mission = replace(
        case.mission,
        world=replace(case.mission.world, family=mixture),
        robot=replace(case.mission.robot, execution="map"),
    )
    found = (certify_ahead if ahead else certify)(mission, case.times)
    assert mixture.description in found.assumed
    assert (regrets(mission, case.times) <= found.from_starts + 1e-9).all()


def test_members_that_contradict_the_bounds_promise_nothing():
    world = make_mission(load_setting("thin-ice-mild")).world
    mission = Mission(
        replace(world, stated_bounds=np.full(world.horizon - 1, 1e-4)),
        Robot(planning_horizon=5),
        Spending.exactly(3),
    )
    found = certify_ahead(mission, (1, 9, 20), known_until=9)
    assert found.value == np.inf
    assert "the bounds are too small" in found.contradiction


@pytest.mark.slow
def test_thin_ice_is_promised_within_three_times_its_regret_before_the_first_step():
    mission = make_mission(load_setting("thin-ice-medium"))
    times = periodic_times(mission.horizon, mission.spending.limit)
    true = regrets(mission, times)[mission.world.start]
    assert true == pytest.approx(2.534, abs=1e-3)
    assert true <= certify(mission, times).value + 1e-9 <= 1.001 * true
    assert true <= certify_ahead(mission, times).value <= 3 * true
