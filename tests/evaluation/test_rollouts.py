"""Rollouts: paired, and the same however they are batched or threaded."""

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from replan import FixedTimes, Ties, load_setting, make_mission
from replan.evaluation.agent_runs import run_agent
from replan.evaluation.exact import evaluate
from replan.evaluation.rollouts import oracle_rollout, rollout, sampled_regret
from replan.model.streams import RULE, TRANSITION, uniforms
from replan.schedule.fixed import Random
from replan.schedule.rule import Decision, Rule
from tiny_worlds import random_times, tiny_missions

TIMES = FixedTimes((1, 17, 33, 49))


@pytest.mark.parametrize("execution", ["map", "belief"])
def test_results_do_not_depend_on_batches_order_or_threads(execution):
    mission = make_mission(load_setting("two-burst"), execution=execution)
    seeds = np.arange(200)
    whole = rollout(mission, TIMES, seeds).returns
    pieces = np.concatenate([rollout(mission, TIMES, part).returns for part in np.array_split(seeds, 7)])
    backwards = rollout(mission, TIMES, seeds[::-1]).returns[::-1]
    with ThreadPoolExecutor(4) as pool:
        threaded = list(
            pool.map(lambda part: rollout(mission, TIMES, part).returns, np.array_split(seeds, 9))
        )
    for other in (pieces, backwards, np.concatenate(threaded)):
        np.testing.assert_array_equal(whole, other)


@pytest.mark.parametrize("forecast", ["frozen", "trend", "mixture"])
def test_the_compiled_walk_steps_as_the_traced_loop_does(forecast):
    for name in ("two-burst", "late-burst"):
        mission = make_mission(load_setting(name), forecast=forecast)
        for rule in (FixedTimes((1, *range(20, 19 + mission.spending.limit))), Random()):
            traced = rollout(mission, rule, np.arange(300), trace=True)
            np.testing.assert_array_equal(rollout(mission, rule, np.arange(300)).returns, traced.returns)


@pytest.mark.parametrize("execution", ["map", "belief"])
def test_an_agent_in_the_loop_does_what_the_rollout_says(execution):
    mission = make_mission(load_setting("two-burst"), execution=execution)
    for seed in (0, 7):
        traced, agent = rollout(mission, TIMES, [seed], trace=True), run_agent(mission, TIMES, seed=seed)
        np.testing.assert_array_equal(traced.states[0], agent.states)
        np.testing.assert_array_equal(traced.beliefs[0], agent.believed)
        assert agent.times == TIMES.times == tuple(np.flatnonzero(traced.updates[0]))


@given(tiny_missions(max_horizon=6), st.integers(0, 1000))
def test_agents_and_rollouts_agree_on_random_worlds(mission, seed):
    rule = FixedTimes(random_times(np.random.default_rng(seed), mission))
    traced = rollout(mission, rule, [seed], trace=True)
    np.testing.assert_array_equal(traced.states[0], run_agent(mission, rule, seed=seed).states)


def test_the_oracle_sees_the_same_numbers():
    mission = make_mission(load_setting("two-burst"))
    seeds = np.arange(500)
    gap = oracle_rollout(mission.world, seeds) - rollout(mission, TIMES, seeds).returns
    unpaired = oracle_rollout(mission.world, seeds + 10_000) - rollout(mission, TIMES, seeds).returns
    assert gap.std() < 0.8 * unpaired.std()


def test_random_numbers_are_uniform_and_independent_of_each_other():
    grid = uniforms(np.arange(400)[:, None], np.arange(50)[None, :])
    assert grid.min() >= 0 and grid.max() < 1
    counts = np.histogram(grid, bins=20, range=(0, 1))[0]
    assert ((counts - 1000) ** 2 / 1000).sum() < 43.8  # 99.9 % of chi-square with 19 degrees of freedom
    along_time = np.corrcoef(grid[:, :-1].ravel(), grid[:, 1:].ravel())[0, 1]
    along_seeds = np.corrcoef(grid[:-1].ravel(), grid[1:].ravel())[0, 1]
    purposes = np.corrcoef(grid[:, 0], uniforms(np.arange(400), 0, RULE))[0, 1]
    assert max(abs(along_time), abs(along_seeds)) < 4 / 20_000**0.5
    assert abs(purposes) < 4 / 20
    np.testing.assert_array_equal(uniforms([3], 5, TRANSITION), uniforms(np.array([3]), 5))


class DrawsLater(Rule):
    """The second update is two steps after the first; the later ones are drawn."""

    def decide(self, context):
        return Decision(True, "drawn")

    def next_update(self, context, states):
        if context.last_update == 1:
            return np.full(len(states), min(3, context.horizon - context.budget_left))
        return Random().next_update(context, states)


@given(tiny_missions(max_horizon=8), st.sampled_from([Random(), DrawsLater()]), st.integers(0, 1000))
def test_a_rule_that_draws_draws_the_same_times_for_a_rollout_as_for_an_agent(mission, rule, seed):
    seeds = np.arange(seed, seed + 4)
    traced = rollout(mission, rule, seeds, trace=True)
    for one, updates, states in zip(seeds, traced.updates, traced.states, strict=True):
        run = run_agent(mission, rule, seed=int(one))
        assert run.times == tuple(np.flatnonzero(updates))
        np.testing.assert_array_equal(run.states, states)
    np.testing.assert_allclose(rollout(mission, rule, seeds).returns, traced.returns, atol=1e-12)


class OneOfTwo(Rule):
    """Draws the next update from two times."""

    def next_update(self, context, states):
        chances = np.zeros((len(states), context.horizon + 1))
        chances[:, context.time + 2 : context.time + 4] = 0.5
        return chances

    def decide(self, context):
        return Decision(True, "drawn")


def test_two_times_are_enough_for_seeds_to_differ():
    mission = make_mission(load_setting("two-burst"))
    traced = rollout(mission, OneOfTwo(), np.arange(50), trace=True)
    assert set(np.argwhere(traced.updates)[:, 1]) > {1, 3, 4, 5, 6, 7}
    np.testing.assert_array_equal(rollout(mission, OneOfTwo(), np.arange(50)).returns, traced.returns)


@pytest.mark.parametrize("rule", [Random(), DrawsLater()], ids=["random", "later"])
def test_drawn_times_cost_what_exact_evaluation_says(rule):
    mission = make_mission(load_setting("two-burst"))
    returns = rollout(mission, rule, np.arange(2000)).returns
    exact = evaluate(mission, rule).expected_return
    assert abs(returns.mean() - exact) < 4 * returns.std(ddof=1) / 2000**0.5


@pytest.mark.filterwarnings("error")
def test_sampled_regret_by_hand():
    found = sampled_regret(np.array([5.0, 6.0, 9.0]), np.array([4.0, 4.0, 6.0]))  # gaps 1, 2, 3
    assert (found.n, found.regret) == (3, 2.0)
    assert found.standard_error == pytest.approx(1 / 3**0.5)
    two = sampled_regret(np.array([5.0, 6.0]), np.array([4.0, 3.0]))  # gaps 1, 3
    assert two.standard_error == pytest.approx(1.0)
    assert np.isnan(sampled_regret(np.ones(1), np.zeros(1)).standard_error)


def test_the_oracle_rolls_out_to_its_value_whatever_the_ties():
    world = make_mission(load_setting("two-burst")).world
    seeds = np.arange(2000)
    value = evaluate(make_mission(load_setting("two-burst")), TIMES).oracle_return
    for ties in (None, Ties("last"), Ties("random", 3)):
        returns = oracle_rollout(world, seeds, ties=ties)
        assert abs(returns.mean() - value) < 4 * returns.std(ddof=1) / len(seeds) ** 0.5
    assert rollout(make_mission(load_setting("two-burst")), None, 7).returns.shape == (1,)
