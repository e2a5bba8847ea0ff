"""Exact regrets are those of Storm, a model checker that is not ours, on the unrolled loop of the agent."""

from itertools import combinations

import numpy as np
import pytest

from replan import Robot, Spending, evaluate, evaluate_times
from replan.certificates.certificate import Tightening, certify
from replan.certificates.legs import true_estimates
from replan.certificates.premises import premises_in
from replan.certificates.uncertainty import RowBoxes
from replan.execute.mission import Mission
from replan.model.general_kernel import GeneralKernel
from replan.model.reward import Reward
from replan.model.world import World
from replan.planning.ties import Ties
from replan.schedule.fixed import FixedTimes
from replan.schedule.registry import make_rule
from replan.schedule.rule import Need
from replan.skip.acting import EXECUTIONS
from replan.worlds.settings import list_names
from tiny_worlds import random_times, random_world

pytest.importorskip("stormpy", reason="stormpy has no wheel for this machine")
from storm_chains import boxed_steps, chain_of, oracle_of

BLIND_ONLY = {"accumulated-value", "measuring-value"}
LOCALISED_ONLY = {"gain", "last-moment"}
FEW, ALL = range(6), range(6, 200)


def random_mission(seed, execution):
    rng = np.random.default_rng(seed)
    horizon = int(rng.integers(4, 8))
    world = random_world(
        rng,
        states=int(rng.integers(2, 5)),
        actions=int(rng.integers(2, 4)),
        horizon=horizon,
        next_state_reward=bool(seed % 2),
    )
    ties = Ties(("first", "last", "random")[seed % 3], seed=seed)
    robot = Robot(planning_horizon=int(rng.integers(1, horizon + 1)), execution=execution, ties=ties)
    spend = Spending.at_most if seed % 4 > 1 or execution == "localised" else Spending.exactly
    return Mission(world, robot, spend(int(rng.integers(1, horizon - 1)))), rng


def rules_for(mission, rng):
    """Every registered rule that suits the robot and draws nothing, and times of any kind."""
    unsuited = BLIND_ONLY if mission.robot.sees else LOCALISED_ONLY
    names = sorted(set(list_names("rules")) - unsuited - {"random"})
    times = random_times(rng, mission)
    return [
        *map(make_rule, names),
        FixedTimes(times),
        *([FixedTimes(times[1:])] if mission.robot.sees else []),
    ]


def agrees(seed, folder):
    for execution in EXECUTIONS:
        mission, rng = random_mission(seed, execution)
        most = oracle_of(mission.world).expected_reward(folder / "oracle.drn")
        rules = rules_for(mission, rng)
        assert sum(Need.STATE in rule.needs for rule in rules) >= 3
        for rule in rules:
            found = evaluate(mission, rule)
            theirs = chain_of(mission, rule).expected_reward(folder / "chain.drn")
            assert found.oracle_return == pytest.approx(most, abs=1e-9)
            assert found.regret == pytest.approx(most - theirs, abs=1e-9), (seed, execution, rule)


@pytest.mark.parametrize("seed", FEW)
def test_the_regret_of_every_rule_is_the_one_that_storm_computes(seed, tmp_path):
    agrees(seed, tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize("seed", ALL)
def test_the_regret_of_every_rule_is_the_one_that_storm_computes_on_many_worlds(seed, tmp_path):
    agrees(seed, tmp_path)


@pytest.mark.parametrize("execution", EXECUTIONS)
def test_the_regret_of_random_times_is_the_mean_of_what_storm_computes_for_all(execution, tmp_path):
    mission, _ = random_mission(8, execution)
    mission = mission.with_spending(Spending.exactly(3))
    times = [(1, *others) for others in combinations(range(2, mission.horizon), 2)]
    theirs = [chain_of(mission, FixedTimes(each)).expected_reward(tmp_path / "chain.drn") for each in times]
    assert np.ptp(theirs) > 0.01
    assert evaluate(mission, make_rule("random")).expected_return == pytest.approx(np.mean(theirs), abs=1e-9)


def slowly_drifting(seed, execution):
    """A mission in whose boxes no entry can be 0, which Storm needs for rewards of interval models."""
    rng = np.random.default_rng(seed)
    first, last = (0.5 * rng.dirichlet(np.ones(3), size=(3, 2)) + 0.5 / 3 for _ in range(2))
    kernels = [GeneralKernel.from_dense(first + (last - first) * t / 20) for t in range(6)]
    reward = Reward(state_action=rng.normal(size=(3, 2)))
    world = World(6, kernels.__getitem__, lambda t: reward, start=0)
    return Mission(world, Robot(planning_horizon=4, execution=execution), Spending.exactly(3)), rng


@pytest.mark.parametrize("execution", ["map", "belief"])
@pytest.mark.parametrize("seed", range(4))
def test_both_ends_of_a_certificate_by_boxes_are_those_of_storms_interval_models(seed, execution, tmp_path):
    """The oracle at best and the robot at worst, each over all worlds whose kernels lie in the boxes."""
    mission, rng = slowly_drifting(seed, execution)
    times = random_times(rng, mission)
    free = Tightening(structure=False, one_kernel=False)
    found = certify(mission, times, tightening=free)
    known = premises_in(mission.world, true_estimates(mission, times))
    step = boxed_steps(mission.world, RowBoxes(known))
    oracle, chain = oracle_of(mission.world, step), chain_of(mission, FixedTimes(times), step)
    best = oracle.extreme_reward(tmp_path / "oracle.drn", best=True)
    worst = chain.extreme_reward(tmp_path / "chain.drn", best=False)
    assert found.oracle_at_best == pytest.approx(best, abs=1e-9)
    assert found.robot_at_worst == pytest.approx(worst, abs=1e-9)
    assert evaluate_times(mission, times).regret <= found.value <= best - worst + 1e-9


def test_storm_tells_a_chain_from_one_with_another_reward(tmp_path):
    """A wrong model is noticed: the comparison is not of a number with itself."""
    mission, rng = random_mission(0, "map")
    chain = chain_of(mission, FixedTimes(random_times(rng, mission)))
    value = chain.expected_reward(tmp_path / "chain.drn")
    start, [(reward, following)] = next(iter(chain.choices.items()))
    chain.choices[start] = [(reward + 1e-6, following)]
    assert chain.expected_reward(tmp_path / "chain.drn") - value == pytest.approx(1e-6, abs=1e-9)
