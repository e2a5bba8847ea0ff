"""A world that stands still may jump: no plan is made for that, and look-ahead keeps an update for it."""

from dataclasses import replace

import numpy as np
import pytest

from replan import Lookahead, Mission, Reward, World
from replan.evaluation import evaluate, optimum, regret
from replan.forecast import Evidence, Future, Mixture, mean_kernel
from replan.forecast.sudden_changes import CHANCE, SIZE, sudden_changes
from replan.model import Family, GeneralKernel, SlipKernel, constant

GRID = SlipKernel((3, 3), 0.5)
GAIN = Reward(next_state=np.array([0.0, 0.0, 0.0, 1.0]))


def ways(kernel):
    return {
        "more": lambda change: kernel.with_slip(kernel.slip + change),
        "less": lambda change: kernel.with_slip(kernel.slip - change),
    }


def test_each_time_and_direction_has_a_future_that_jumps_then():
    found = sudden_changes(Evidence(4, 16, GRID, GRID, np.zeros(4)), ways(GRID), least=0.02)
    assert [future.name for future in found] == [
        f"{name} at {time}" for time in (6, 10, 14) for name in ("more", "less")
    ]
    assert not any(future.planned for future in found)
    assert [future.revealed for future in found] == [6, 6, 10, 10, 14, 14], "the bound of t - 1 comes in at t"
    assert sum(future.weight for future in found) == pytest.approx(1 - (1 - CHANCE) ** (12 / 16))
    assert found[2].kernel(9) is GRID
    np.testing.assert_allclose(found[2].kernel(10).slip, 0.5 + SIZE)


@pytest.mark.parametrize(("now", "times"), [(10, [11, 13, 15]), (13, [14, 15]), (14, [15]), (15, [])])
def test_close_to_the_end_no_time_counts_twice_and_no_jump_lies_in_the_past(now, times):
    found = sudden_changes(Evidence(now, 16, GRID, GRID, np.zeros(now)), ways(GRID), least=0.02)
    assert [future.revealed for future in found] == [time for time in times for _ in range(2)]


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
    return Mission(world, budget=2, planning_horizon=8)


def test_an_update_is_kept_for_a_jump_and_spent_on_it():
    mission = bridge(failing_from=9)
    alert = replace(mission, forecast=Mixture(family=mission.world.family))
    assert regret(mission, Lookahead()) > 1.4 * optimum(mission).feedback_regret
    assert regret(alert, Lookahead()) < 1.03 * optimum(mission).feedback_regret
    assert np.flatnonzero(evaluate(alert, Lookahead()).steps.update_probability).tolist() == [1, 10]
    np.testing.assert_array_equal(alert.update(1).plan.policy, mission.update(1).plan.policy)


def test_without_a_jump_the_plan_is_the_one_of_a_world_that_stays():
    family = Family.of_one_slip(GRID)
    futures = Mixture(family=family).futures(Evidence(4, 16, GRID, GRID, np.zeros(4)))
    assert futures[0].name == "stays" and len(futures) == 7
    assert sum(future.weight for future in futures) == pytest.approx(1.0)
    assert mean_kernel(futures)(12) is GRID
