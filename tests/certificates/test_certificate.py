"""Regret never exceeds the certificate, whatever the world does within its bounds."""

from dataclasses import replace
from itertools import product
from math import comb

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.certificates.drifting_worlds import general_cases, slip_cases

from replan import Robot, Spending
from replan.certificates.certificate import Tightening, certify
from replan.certificates.in_advance import certify_ahead
from replan.errors import InputError
from replan.evaluation.rollouts import rollout
from replan.evaluation.visits import Follow
from replan.execute.mission import Mission
from replan.model.drift import piecewise
from replan.model.general_kernel import GeneralKernel
from replan.model.kernel import constant
from replan.model.reward import Reward
from replan.model.world import World
from replan.planning.optimal_values import oracle
from replan.schedule.fixed import FixedTimes, Random
from replan.schedule.lookahead import Lookahead
from replan.schedule.measuring_value import MeasuringValue
from replan.schedule.periodic import Periodic, periodic_times
from replan.worlds.settings import load_setting, make_mission
from replan.worlds.slip_grid import rover

ROWS = [Tightening(both, one, structure=False) for both, one in product([True, False], repeat=2)]
SLIPS = [
    Tightening(both, one, True, cells) for both, one in product([True, False], repeat=2) for cells in (1, 4)
]


def regrets(mission, times):
    """(S,) exact regret from every start."""
    return oracle(mission.world).values[0] - Follow(mission, FixedTimes(times)).returns()


@given(general_cases(), st.sampled_from(ROWS))
def test_regret_is_below_the_certificate_of_any_drifting_world(case, tightening):
    found = certify(case.mission, case.times, tightening=tightening)
    assert found.contradiction is None
    assert (regrets(case.mission, case.times) <= found.from_starts + 1e-9).all()


@given(slip_cases(), st.sampled_from(SLIPS))
def test_regret_is_below_the_certificate_of_any_drifting_slip(case, tightening):
    found = certify(case.mission, case.times, tightening=tightening)
    assert found.contradiction is None
    assert (regrets(case.mission, case.times) <= found.from_starts + 1e-9).all()


@given(general_cases(drift=0.0), st.booleans())
def test_without_drift_the_certificate_is_the_regret(case, both_ends):
    found = certify(case.mission, case.times, tightening=Tightening(both_ends))
    assert found.from_starts == pytest.approx(regrets(case.mission, case.times), abs=1e-9)


@given(slip_cases(drift=0.0), st.sampled_from(ROWS + SLIPS))
def test_without_drift_the_certificate_of_a_grid_is_the_regret(case, tightening):
    found = certify(case.mission, case.times, tightening=tightening)
    assert found.from_starts == pytest.approx(regrets(case.mission, case.times), abs=1e-9)


@given(slip_cases())
def test_every_tightening_tightens(case):
    def value(*switches):
        return certify(case.mission, case.times, tightening=Tightening(*switches)).value

    loose = value(False, False, False)
    assert value(True, False, False) <= loose + 1e-9
    assert value(False, True, False) <= loose + 1e-9
    assert value(False, False, True, 1) <= loose + 1e-9
    assert (
        value(False, True, True, 4)
        <= value(False, True, True, 1) + 1e-9
        <= value(False, False, True, 1) + 2e-9
    )


def two_burst(execution="map", **changes):
    slips = piecewise(50, slip=0.03, quiet=0.001, bursts=[(0.20, 0.34, 0.018), (0.62, 0.82, 0.018)])
    return Mission(
        rover(12, slips, **changes), Robot(planning_horizon=7, execution=execution), Spending.exactly(4)
    )


def test_two_burst_with_the_periodic_schedule():
    mission, times = two_burst(), periodic_times(50, 4)
    regret = regrets(mission, times)[0]
    assert regret == pytest.approx(0.7715, abs=1e-4)
    assert regret <= certify(mission, times).value <= 1.001 * regret
    assert certify(mission, times, tightening=Tightening(False, False, False)).value == pytest.approx(
        2.662, abs=1e-3
    )


def test_the_certificate_never_looks_at_kernels_that_no_update_reveals():
    mission, times = two_burst(), periodic_times(50, 4)
    revealed = {max(t - 1, 0) for t in times}

    def only_revealed(t):
        assert t in revealed, f"P_{t} was looked at"
        return mission.world.kernel(t)

    hidden = replace(mission.world, kernel=only_revealed, stated_bounds=mission.world.drift_bounds)
    assert certify(replace(mission, world=hidden), times).value == certify(mission, times).value


def test_bounds_that_are_too_small_are_named():
    mission, times = two_burst(stated_bounds=np.full(49, 0.001)), periodic_times(50, 4)
    for tightening in (Tightening(), Tightening(structure=False)):
        found = certify(mission, times, tightening=tightening)
        assert found.value == np.inf
        assert "the bounds are too small" in found.contradiction
        assert "0.049 in all" in found.assumed[0]


def still_world(**declared):
    """Nothing moves, and every entry may drift by 0.1 a step."""
    stay = GeneralKernel.from_dense(np.repeat(np.eye(2)[:, None, :], 2, axis=1))
    moved = Reward(next_state=np.array([0.0, 1.0]))
    return World(3, constant(stay), constant(moved), stated_bounds=np.full(2, 0.1), **declared)


def test_a_way_that_no_estimate_has_seen_is_possible_unless_declared_otherwise():
    loose = Tightening(both_ends=False, one_kernel=False)
    apart = still_world(declared_successors=np.array([[0], [1]]))
    for world, value in ((apart, pytest.approx(0)), (still_world(), pytest.approx(0.39, abs=0.05))):
        mission = Mission(world, Robot(planning_horizon=2), Spending.exactly(1))
        assert certify(mission, (1,), tightening=loose).value == value
        assert certify_ahead(mission, (1,), tightening=loose).value == value


def test_an_estimate_outside_the_declared_successors_is_named():
    apart = still_world(declared_successors=np.array([[1], [1]]))
    with pytest.raises(InputError, match="s=0, a=0 to a state that is not declared possible"):
        certify(Mission(apart, Robot(planning_horizon=2), Spending.exactly(1)), (1,))


@settings(max_examples=30)
@given(
    slip_cases(),
    st.sampled_from([MeasuringValue(1e-9), MeasuringValue(0.1), Lookahead(), Random()]),
    st.integers(0, 9),
)
def test_a_rule_is_certified_by_the_times_that_one_mission_takes(case, rule, seed):
    found = certify(case.mission, rule, seed=seed)
    taken = tuple(np.flatnonzero(rollout(case.mission, rule, [seed], trace=True).updates[0]))
    later = case.mission.horizon - 2  # steps after the first update, which every rule makes
    assert found.one_of_many == (rule != Random() or comb(later, case.mission.spending.limit - 1) > 1)
    assert found.times == taken
    np.testing.assert_array_equal(found.from_starts, certify(case.mission, taken).from_starts)
    revealed = ", ".join(str(t - 1) for t in taken)
    assert f"the estimates at t = {revealed} are the true kernels" in found.assumed


def test_a_rule_that_always_takes_the_same_times_is_certified_as_it_is():
    mission = two_burst()
    found = certify(mission, Periodic())
    assert not found.one_of_many
    assert (found.times, found.value) == ((1, 17, 33, 49), certify(mission, (1, 17, 33, 49)).value)


def test_the_world_without_one_slip_is_certified_within_twice_its_regret():
    mission = make_mission(load_setting("thin-ice-medium"))
    times = periodic_times(mission.horizon, mission.spending.limit)
    true = regrets(mission, times)[mission.world.start]
    assert true == pytest.approx(2.534, abs=1e-3)
    assert true <= certify(mission, times).value <= 2 * true


@pytest.mark.slow
@settings(max_examples=5000)
@given(st.one_of(general_cases(), slip_cases()), st.booleans(), st.booleans())
def test_thousands_more_worlds_never_exceed_their_certificate(case, both_ends, one_kernel):
    found = certify(case.mission, case.times, tightening=Tightening(both_ends, one_kernel))
    assert (regrets(case.mission, case.times) <= found.from_starts + 1e-9).all()
