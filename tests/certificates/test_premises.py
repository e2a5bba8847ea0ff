"""Learned estimates: what is promised to the robot that plans on them, and how often it holds."""

from dataclasses import replace
from math import log, sqrt

import numpy as np
import pytest

from replan import Robot, Spending
from replan.certificates.certificate import certify
from replan.certificates.legs import OnEstimates
from replan.certificates.premises import KernelEstimate, learned_estimate, learned_estimates
from replan.errors import InputError
from replan.estimate.observations import Transitions
from replan.evaluation.exact import regret
from replan.execute.mission import Mission
from replan.model.general_kernel import GeneralKernel
from replan.model.kernel import constant
from replan.model.reward import Reward
from replan.model.world import World
from replan.schedule.fixed import FixedTimes
from replan.worlds.slip_grid import rover

UNIFORM = GeneralKernel.from_dense(np.full((2, 2, 2), 0.5))


def coins(*chances):
    """In both states, each action leads to state 1 with its own chance."""
    rows = [[1 - chance, chance] for chance in chances]
    return GeneralKernel.from_dense([rows, rows])


def mission_in(kernel, *, horizon, budget=1):
    """Nothing drifts, and state 1 pays."""
    reward = constant(Reward(next_state=np.array([0.0, 1.0])))
    world = World(horizon, constant(kernel), reward, stated_bounds=np.zeros(horizon - 1))
    return Mission(world, Robot(planning_horizon=horizon), Spending.exactly(budget))


def planned_on(estimates, mission, times):
    """The regret of the robot that plans on the estimates."""
    return regret(OnEstimates.of(mission, estimates), FixedTimes(times))


def at_the_edge(share=1.0):
    """The estimate says that action 0 is sure; the truth is 0.9, at the edge of the box."""
    radius = share * np.array([[0.1, 0.0], [0.1, 0.0]])
    return [KernelEstimate(time, coins(1.0, 0.98), radius, 0.05) for time in (0, 3)]


def test_the_promise_is_to_the_robot_that_plans_on_the_estimates():
    mission = mission_in(coins(0.9, 0.98), horizon=10, budget=2)
    found = certify(mission, (1, 4), estimates=at_the_edge())
    assert planned_on(at_the_edge(), mission, (1, 4)) == pytest.approx(0.8)
    assert 0.8 <= found.value < 0.82
    assert (found.estimates, found.probability) == ("learned", pytest.approx(0.9))


def test_a_radius_that_is_five_per_cent_too_small_breaks_the_promise():
    mission = mission_in(coins(0.9, 0.98), horizon=10, budget=2)
    small = at_the_edge(share=0.95)
    assert certify(mission, (1, 4), estimates=small).value < planned_on(small, mission, (1, 4)) - 0.01


def test_the_true_kernels_are_not_used():
    values = {
        certify(mission_in(coins(chance, 0.5), horizon=10, budget=2), (1, 4), estimates=at_the_edge()).value
        for chance in (0.1, 0.5, 0.9)
    }
    assert len(values) == 1


def test_a_rule_is_asked_by_the_robot_that_plans_on_the_estimates():
    mission = mission_in(coins(0.9, 0.98), horizon=10, budget=2)
    assert certify(mission, FixedTimes((1, 4)), estimates=at_the_edge()).times == (1, 4)
    with pytest.raises(InputError, match="no estimate of P_4 is given"):
        certify(mission, FixedTimes((1, 5)), estimates=at_the_edge())


def test_a_mission_that_learns_is_not_certified_without_its_estimates():
    mission = OnEstimates.of(mission_in(coins(0.9, 0.98), horizon=10, budget=2), at_the_edge())
    with pytest.raises(InputError, match="give the estimates, with their radii"):
        certify(mission, (1, 4))


@pytest.mark.parametrize("delta", [0.0, 1.0, -0.1, float("nan")])
def test_a_radius_without_its_probability_is_refused(delta):
    with pytest.raises(InputError, match="needs delta"):
        KernelEstimate(0, UNIFORM, np.ones((2, 2)), delta)


def test_a_true_kernel_has_no_delta():
    with pytest.raises(InputError, match="delta is 0"):
        KernelEstimate(0, UNIFORM, delta=0.1)


def test_probabilities_of_failure_add_up():
    mission = mission_in(UNIFORM, horizon=4, budget=2)
    for deltas, said in (((0.5, 0.6), "add up to 1.1"), ((0.5, 0.3), None)):
        given = [
            KernelEstimate(t, UNIFORM, np.ones((2, 2)), delta)
            for t, delta in zip((0, 1), deltas, strict=True)
        ]
        if said is None:
            assert certify(mission, (1, 2), estimates=given).probability == pytest.approx(0.2)
        else:
            with pytest.raises(InputError, match=said):
                certify(mission, (1, 2), estimates=given)


def test_two_estimates_of_one_kernel_are_refused():
    mission = mission_in(UNIFORM, horizon=4)
    with pytest.raises(InputError, match="two estimates of P_0"):
        certify(mission, (1,), estimates=[KernelEstimate(0, UNIFORM), KernelEstimate(0, UNIFORM)])


def sampled(kernel, generator, *, samples, delta):
    """An estimate of a kernel that stands still, from the same number of transitions of every pair."""
    _, states, actions = (part.ravel() for part in np.indices((samples, 2, 2)))
    lucky = generator.random(states.size) < kernel.dense()[states, actions, 1]
    seen = Transitions(np.zeros_like(states), states, actions, lucky.astype(np.int64))
    return learned_estimate(seen, UNIFORM, time=0, drift_bounds=np.zeros(1), delta=delta, most=samples)


def test_the_promise_is_broken_no_more_often_than_delta_and_a_tenth_of_the_radius_breaks_it():
    """Two actions that few samples hardly tell apart: the plan often takes the worse one."""
    delta, trials, kernel = 0.1, 200, coins(0.45, 0.55)
    mission = mission_in(kernel, horizon=2)
    broken = {1.0: 0, 0.1: 0}
    for seed in range(trials):
        estimate = sampled(kernel, np.random.default_rng(seed), samples=8, delta=delta)
        true = planned_on([estimate], mission, (1,))
        for share in broken:
            scaled = replace(estimate, radius=share * estimate.radius)
            broken[share] += true > certify(mission, (1,), estimates=[scaled]).value + 1e-9
    assert broken[1.0] <= delta * trials < broken[0.1]


def test_more_observations_promise_more():
    kernel = coins(0.3, 0.6)
    mission = mission_in(kernel, horizon=6)

    def promised(samples):
        estimate = sampled(kernel, np.random.default_rng(7), samples=samples, delta=0.1)
        return certify(mission, (1,), estimates=[estimate]).value

    assert promised(400) < 0.5 * promised(20)


def test_the_radius_is_the_simultaneous_one_of_hoeffding():
    """Pair (0, 0) seen forty times, of 2 x 2 pairs with 2 successors."""
    nothing = np.zeros(40, dtype=np.int64)
    seen = Transitions(np.tile([0, 1, 2, 2], 10), nothing, nothing, np.tile([1, 1, 0, 1], 10))
    bounds = np.array([0.01, 0.02, 0.04])
    found = learned_estimate(seen, UNIFORM, time=2, drift_bounds=bounds, delta=0.2, most=50)
    drift = ((0.01 + 0.02) + 0.02 + 0 + 0) / 4
    assert found.radius[0, 0] == pytest.approx(sqrt(log(2 * 2 * 2 * 2 * 50 / 0.2) / (2 * 40)) + drift)
    assert found.kernel.dense()[0, 0] == pytest.approx([0.25, 0.75])
    assert found.radius[0, 1] == found.radius[1, 0] == found.radius[1, 1] == 1
    assert (found.time, found.delta) == (2, 0.2)


def test_fewer_possible_successors_make_a_smaller_radius():
    many = Transitions(*np.zeros((4, 400), dtype=np.int64))
    options = {"time": 0, "drift_bounds": np.zeros(3), "delta": 0.1, "most": 400}
    one = learned_estimate(many, UNIFORM, possible=[[0], [1]], **options)
    assert one.radius[0, 0] == pytest.approx(sqrt(log(2 * 2 * 2 * 1 * 400 / 0.1) / 800))


def test_a_pair_never_seen_has_radius_one_and_the_nominal_kernel():
    none = np.zeros(0, dtype=np.int64)
    once = Transitions(np.array([0]), np.array([1]), np.array([0]), np.array([1]))
    options = {"time": 0, "drift_bounds": np.zeros(3), "delta": 0.1, "most": 5}
    empty = learned_estimate(Transitions(none, none, none, none), UNIFORM, **options)
    assert (empty.radius == 1).all()
    assert empty.kernel.dense() == pytest.approx(UNIFORM.dense())
    told = learned_estimate(once, UNIFORM, **options)
    assert told.kernel.dense()[1, 0] == pytest.approx([0, 1])
    assert told.kernel.dense()[0, 0] == pytest.approx([0.5, 0.5])


def test_drift_since_the_observation_widens_the_radius():
    many = Transitions(*np.zeros((4, 400), dtype=np.int64))
    options = {"delta": 0.1, "most": 400}
    still = learned_estimate(many, UNIFORM, time=0, drift_bounds=np.full(3, 0.1), **options)
    later = learned_estimate(many, UNIFORM, time=2, drift_bounds=np.full(3, 0.1), **options)
    assert later.radius[0, 0] - still.radius[0, 0] == pytest.approx(0.2)


def test_more_observations_than_declared_are_refused():
    many = Transitions(*np.zeros((4, 3), dtype=np.int64))
    with pytest.raises(InputError, match="more than the 2"):
        learned_estimate(many, UNIFORM, time=0, drift_bounds=np.zeros(3), delta=0.1, most=2)


def test_each_estimate_uses_the_transitions_before_its_update_alone():
    rows = [(0, 0, 0, 1), (1, 1, 0, 1), (5, 0, 0, 0)]
    mission = mission_in(coins(0.9, 0.98), horizon=10, budget=2)
    found = learned_estimates(Transitions.of_rows(rows), mission.world, (1, 4), delta=0.1)
    assert [estimate.time for estimate in found] == [0, 3]
    assert found[0].kernel.dense()[0, 0] == pytest.approx([0, 1])
    assert found[0].radius[1, 0] == 1
    assert found[1].radius[1, 0] < found[0].radius[1, 0] or found[1].kernel.dense()[1, 0, 1] == 1
    assert certify(mission, (1, 4), estimates=found).probability == pytest.approx(0.9)


def test_transitions_after_the_horizon_are_refused():
    mission = mission_in(coins(0.9, 0.98), horizon=10)
    with pytest.raises(InputError, match="t=10"):
        learned_estimates(Transitions.of_rows([(10, 0, 0, 0)]), mission.world, (1,), delta=0.1)


def test_a_family_whose_parameter_changes_nothing_is_certified():
    world = rover(1, [0.1, 0.2, 0.3])
    estimates = learned_estimates(Transitions.of_rows([[0, 0, 0, 0]]), world, (1,), delta=0.05)
    assert (
        certify(
            Mission(world, Robot(planning_horizon=2), Spending.exactly(1)), (1,), estimates=estimates
        ).value
        == 0.0
    )
