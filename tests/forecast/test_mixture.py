"""A mixture believes the models that foretold what was seen, and keeps every one of them alive."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from replan import Lookahead, Mission, Periodic, Reward, Robot, Spending, World, rover
from replan.errors import InputError
from replan.evaluation.exact import evaluate, regret
from replan.evaluation.optimal_schedule import optimum
from replan.forecast.base import Evidence, Future, mean_kernel
from replan.forecast.given import Given
from replan.forecast.mixture import CHANCE, SIZE, Mixture, sudden_changes
from replan.model.family import Family
from replan.model.general_kernel import GeneralKernel
from replan.model.kernel import constant
from replan.model.slip import SlipKernel
from tiny_worlds import random_kernel

GRID = SlipKernel((3, 3), 0.1)
SLIP = Family.of_one_slip(GRID)
JUMPING = SlipKernel((3, 3), 0.5)
GAIN = Reward(next_state=np.array([0.0, 0.0, 0.0, 1.0]))


def seen(*slips, times=(1, 5, 9), pace=0.04, horizon=16):
    """Evidence of a robot that saw these slips at updates, the last of them now."""
    kernels = [SlipKernel((3, 3), slip) for slip in slips]
    now = times[len(slips) - 1]
    earlier = (times[len(slips) - 2], kernels[-2]) if len(slips) > 1 else None
    return Evidence(now, horizon, kernels[-1], kernels[0], np.full(now, pace), earlier)


def weights(mixture, evidence):
    return {future.name: future.weight for future in mixture.futures(evidence)}


@given(st.integers(0, 2**32 - 1), st.booleans())
def test_weights_add_up_and_every_future_is_a_kernel(seed, compares):
    rng = np.random.default_rng(seed)
    nominal, before, now = (random_kernel(rng, 4, 2) for _ in range(3))
    earlier = (2, before) if compares else None
    futures = Mixture().futures(Evidence(5, 9, now, nominal, rng.uniform(0, 0.1, 5), earlier))
    assert sum(future.weight for future in futures) == pytest.approx(1.0)
    for t in range(5, 9):
        for kernel in (*(future.kernel(t) for future in futures), mean_kernel(futures)(t)):
            rows = kernel.general().probabilities
            assert rows.min() >= 0
            np.testing.assert_allclose(rows.sum(axis=2), 1)


def test_without_drift_the_only_future_is_that_nothing_moves():
    evidence = seen(0.1, pace=0.0)
    (future,) = Mixture().futures(evidence)
    assert future.name == "stays" and future.kernel(12) is evidence.kernel


def test_a_family_of_slips_moves_what_it_has_a_say_in_and_keeps_the_rest_as_seen():
    def member(slip):
        return SlipKernel((3, 3), np.r_[np.full(4, slip), np.full(5, 0.1)])

    family = Family("the slip of four cells", {"slip": np.linspace(0, 1, 11)}, member, linear=True)
    kernel = SlipKernel((3, 3), np.linspace(0.13, 0.77, 9))
    evidence = Evidence(1, 16, kernel, kernel, np.full(15, 0.04))
    futures = {future.name: future.kernel for future in Mixture(family=family).futures(evidence)}
    change = 0.04 * 5 / float(member(0.0).entrywise_distance(member(1.0)).max())
    expected = kernel.slip + np.r_[np.full(4, change), np.zeros(5)]
    np.testing.assert_allclose(futures["slip rises"](5).slip, expected)
    np.testing.assert_allclose(
        futures["slip falls"](15).slip[:4], np.maximum(kernel.slip[:4] - 3 * change, 0)
    )


@pytest.mark.parametrize("models", [SLIP, None])
def test_a_forecast_from_outside_has_two_thirds_of_the_weight_at_first(models):
    foretold = Given([SlipKernel((3, 3), 0.9)] * 16)
    found = weights(Mixture(foretold, models), seen(0.3, pace=1e-4))
    assert len(found) >= 3
    assert found["as given"] == pytest.approx(2 / 3, abs=1e-4)


def test_a_given_future_that_equals_the_estimate_is_no_other_future_than_that_it_stays():
    evidence = seen(0.3, pace=0.0)
    copies = Given([SlipKernel((3, 3), 0.3) for _ in range(16)])
    apart = Given([SlipKernel((3, 3), 0.3 + 0.1 * (t > 12)) for t in range(16)])
    itself, equal, other = (
        weights(Mixture(given, SLIP), evidence) for given in (Given([evidence.kernel]), copies, apart)
    )
    assert itself == equal and "as given" not in equal and len(equal) > 1
    assert other["as given"] > 0.5


def test_weights_are_numbers_however_sharp():
    evidence = seen(0.1, 0.5)
    found = weights(Mixture(sharpness=1e6), evidence)
    assert sum(found.values()) == pytest.approx(1.0)


def test_a_right_forecast_from_outside_carries_nearly_all():
    slips = [0.1 + 0.05 * t for t in range(16)]
    foretold = Given([SlipKernel((3, 3), slip) for slip in slips])
    evidence = seen(slips[0], slips[4])
    found = weights(Mixture(foretold), evidence)
    assert found["as given"] > 2 * max(found[name] for name in found if name != "as given")
    assert min(found.values()) >= 0.02 / 1.2


def test_a_forecast_that_was_wrong_loses_to_one_that_was_right():
    slips = [0.1 + 0.05 * t for t in range(16)]
    wrong = Given([SlipKernel((3, 3), 0.9)] * 16)
    right = Given([SlipKernel((3, 3), slip) for slip in slips])
    evidence = seen(slips[0], slips[4])
    assert weights(Mixture(wrong), evidence)["as given"] < weights(Mixture(right), evidence)["as given"]


def test_in_a_family_the_direction_last_seen_is_believed():
    rising, falling = (weights(Mixture(family=SLIP), seen(*slips)) for slips in ((0.1, 0.25), (0.4, 0.25)))
    assert rising["slip rises"] > 2 * rising["slip falls"]
    assert falling["slip falls"] > 2 * falling["slip rises"]


def test_a_parameter_moves_by_what_the_bounds_allow_and_no_further_than_its_range():
    evidence = replace(seen(0.1), horizon=40, drift_bounds=np.full(39, 0.04))
    futures = {future.name: future.kernel for future in Mixture(family=SLIP).futures(evidence)}
    for name, sign in (("slip rises", 1), ("slip falls", -1)):
        for t in (3, 8, 39):
            moved = float(futures[name](t).slip[0])
            assert moved == pytest.approx(np.clip(0.1 + sign * 0.05 * t, 0, 1))


def test_a_parameter_moves_for_a_fifth_of_the_mission_and_rests_where_drift_has_just_begun():
    evidence = replace(seen(0.1), horizon=40)
    futures = {future.name: future.kernel for future in Mixture(family=SLIP).futures(evidence)}
    moved = [float(futures["slip rises"](t).slip[0]) for t in (1, 9, 10, 39)]
    assert moved == pytest.approx([0.15, 0.55, 0.55, 0.55])


@pytest.mark.parametrize(("models", "pace"), [(SLIP, 0.04), (None, 0.04), (None, 0.1)])
def test_drift_after_the_update_is_a_surprise_once_and_its_end_is_another(models, pace):
    bounds = pace * np.array([0, 0, 0, 1, 1, 1, 0, 0, 0])
    found = [Mixture(family=models).surprise(bounds[:t], 1, 40) for t in range(1, 10)]
    assert found == [1, 1, 1, 4, 4, 4, 7, 7, 7]
    steady = np.full(9, pace)
    assert {Mixture(family=models).surprise(steady[:t], 1, 40) for t in range(1, 10)} == {1}


@pytest.mark.parametrize(("models", "expected"), [(SLIP, {1, 11, 22}), (None, {1})])
def test_drift_that_outlasts_what_was_expected_is_a_surprise(models, expected):
    steady = np.full(39, 0.03)
    assert {Mixture(family=models).surprise(steady[:t], 1, 41) for t in range(1, 40)} == expected


def test_drift_since_the_estimate_speaks_against_standing_still():
    before = replace(seen(0.1, pace=0.01), nominal=SlipKernel((3, 3), 0.5))
    after = replace(before, drift_bounds=np.concatenate([before.drift_bounds, np.full(4, 0.1)]))
    quiet, moved = (weights(Mixture(family=SLIP), evidence)["stays"] for evidence in (before, after))
    assert moved < 0.8 * quiet


@pytest.mark.parametrize("wrong", [{"sharpness": -1.0}, {"floor": 0.5}, {"doubt": -1.0}, {"tolerated": -0.1}])
def test_impossible_parameters_are_refused(wrong):
    with pytest.raises(InputError, match="mixture"):
        Mixture(**wrong)


def test_a_family_that_does_not_fit_into_memory_is_refused_and_not_left_out(monkeypatch):
    monkeypatch.setattr("replan.model.sizes.memory_bytes", lambda: 50_000.0)
    family = Family.of_one_slip(GRID)
    with pytest.raises(InputError, match="of memory"):
        Mixture(family=family).futures(seen(0.1))


def ways(kernel):
    return {
        "more": lambda change: kernel.with_slip(kernel.slip + change),
        "less": lambda change: kernel.with_slip(kernel.slip - change),
    }


def test_each_time_and_direction_has_a_future_that_jumps_then():
    found = sudden_changes(Evidence(4, 16, JUMPING, JUMPING, np.zeros(4)), ways(JUMPING), least=0.02)
    assert [future.name for future in found] == [
        f"{name} at {time}" for time in (6, 10, 14) for name in ("more", "less")
    ]
    assert not any(future.planned for future in found)
    assert sum(future.weight for future in found) == pytest.approx(1 - (1 - CHANCE) ** (12 / 16))
    assert found[2].kernel(9) is JUMPING
    np.testing.assert_allclose(found[2].kernel(10).slip, 0.5 + SIZE)


@pytest.mark.parametrize(("now", "times"), [(10, [11, 13, 15]), (13, [14, 15]), (14, [15]), (15, [])])
def test_close_to_the_end_no_time_counts_twice_and_no_jump_lies_in_the_past(now, times):
    found = sudden_changes(Evidence(now, 16, JUMPING, JUMPING, np.zeros(now)), ways(JUMPING), least=0.02)
    assert [future.name for future in found] == [
        f"{name} at {time}" for time in times for name in ("more", "less")
    ]


@pytest.mark.parametrize("slip", [0.0, 0.01])
def test_at_the_edge_of_its_range_a_parameter_jumps_in_one_direction_alone(slip):
    edge = SlipKernel((3, 3), slip)
    family = Family.of_one_slip(edge)
    stays, *jumps = Mixture(family=family).futures(Evidence(4, 16, edge, edge, np.zeros(4)))
    assert [jump.name.split(" at ")[0] for jump in jumps] == ["slip rises"] * 3
    assert 1 - stays.weight == pytest.approx((1 - (1 - CHANCE) ** (12 / 16)) / 2), "and falls never reveal"


def test_plans_are_made_for_the_other_futures_by_their_shares():
    kernels = [SlipKernel((3, 3), slip) for slip in (0.0, 0.2, 1.0)]
    futures = [
        Future(name, weight, lambda t, kernel=kernel: kernel, planned)
        for name, weight, kernel, planned in zip(
            "abc", (0.2, 0.6, 0.2), kernels, (True, True, False), strict=True
        )
    ]
    np.testing.assert_allclose(mean_kernel(futures)(3).slip, 0.15)
    assert mean_kernel([futures[0], futures[2]])(3) is kernels[0]


def bridge(failing_from: int) -> Mission:
    """States 0 to 2 on the way, 3 the goal; of two ways the fast one fails from some time on."""
    successors = np.tile(np.arange(4), (4, 1))

    def kernel_of(rate: float) -> GeneralKernel:
        rows = np.zeros((4, 2, 4))
        for state in range(3):
            rows[state, 0, [state + 1, 0]] = 1 - rate, rate
            rows[state, 1, state + 1], rows[state, 1, state] = 0.55, 0.45
        rows[3, :, 0] = 1.0
        return GeneralKernel(successors, rows)

    family = Family("the failure rate", {"failure": np.linspace(0, 1, 11)}, kernel_of)
    good, bad = kernel_of(0.0), kernel_of(0.9)
    world = World(
        horizon=24,
        kernel=lambda t: good if t < failing_from else bad,
        reward=constant(GAIN),
        start=0,
        family=family,
    )
    return Mission(world, Robot(planning_horizon=8), Spending.exactly(2))


def test_an_update_is_kept_for_a_jump_and_spent_on_it():
    mission = bridge(failing_from=9)
    alert = replace(mission, robot=replace(mission.robot, forecast=Mixture(family=mission.world.family)))
    assert regret(mission, Lookahead()) > 1.4 * optimum(mission).feedback_regret
    assert regret(alert, Lookahead()) < 1.03 * optimum(mission).feedback_regret
    assert np.flatnonzero(evaluate(alert, Lookahead()).steps.update_probability).tolist() == [1, 10]
    np.testing.assert_array_equal(alert.update(1).plan.policy, mission.update(1).plan.policy)


def test_without_a_jump_the_plan_is_the_one_of_a_world_that_stays():
    family = Family.of_one_slip(JUMPING)
    futures = Mixture(family=family).futures(Evidence(4, 16, JUMPING, JUMPING, np.zeros(4)))
    assert futures[0].name == "stays" and len(futures) == 7
    assert sum(future.weight for future in futures) == pytest.approx(1.0)
    assert mean_kernel(futures)(12) is JUMPING


def test_a_mixture_moves_the_family_that_its_world_declares():
    world = rover(6, np.linspace(0.05, 0.5, 12))
    robots = [Robot(planning_horizon=4, forecast=Mixture(family=family)) for family in (None, world.family)]
    declared, given = (Mission(world, robot, Spending.exactly(3)) for robot in robots)
    names = [
        {future.name for future in mission.update(2, mission.update(1)).futures}
        for mission in (declared, given)
    ]
    assert "slip rises" in names[0] and names[0] == names[1]
    assert regret(declared, Periodic()) == regret(given, Periodic())
