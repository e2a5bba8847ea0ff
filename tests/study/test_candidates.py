"""The candidate sets of the appendix, by hand, and those of equal size."""

from dataclasses import replace

import numpy as np
import pytest

from replan import Robot, Spending, rollout
from replan.errors import InputError
from replan.evaluation.exact import regret
from replan.execute.mission import Mission
from replan.model.drift import piecewise
from replan.schedule.lazy_value import LazyValue, lazy_score
from replan.schedule.periodic import BestOffset, Periodic
from replan.schedule.registry import rule_names
from replan.schedule.regret_guided import CHOSEN_FAMILIES, RegretGuided
from replan.study.candidates import (
    EQUAL_COUNT,
    candidates,
    distinct_schedules,
    drift_thresholds,
    lazy_scores,
    lazy_thresholds,
    log_thresholds,
)
from replan.study.protocol import Bench, choose, validation_regret
from replan.worlds.slip_grid import rover


@pytest.fixture(scope="module")
def mission():
    slip = piecewise(16, slip=0.03, quiet=0.001, bursts=[(0.25, 0.5, 0.03)])
    return Mission(rover(4, slip), Robot(planning_horizon=4), Spending.exactly(3))


def test_drift_thresholds_by_hand():
    # T = 5, sum 0.4, B = 3: base 0.2, multiples .05 .1 .15 .2 .25 .3; the greatest 0.22; 4 / 5 * 0.4 = 0.32
    found = drift_thresholds(np.array([0.05, 0.05, 0.22, 0.08]), budget=3)
    assert found == pytest.approx([0.05, 0.1, 0.15, 0.2, 0.22, 0.25, 0.3, 0.32])


def test_drift_thresholds_of_one_update_do_not_divide_by_zero():
    assert drift_thresholds(np.array([0.1, 0.1, 0.1]), budget=1)[0] == pytest.approx(0.075)


def test_a_world_that_stands_still_has_the_fallback_threshold():
    assert drift_thresholds(np.zeros(4), budget=3) == [1e-3]
    assert lazy_thresholds(np.zeros(4)) == [1e-3]


def test_lazy_thresholds_by_hand():
    # percentiles of 1..6, linear between: 2, 3, 4, 5, with 1 and 6; zeros do not count
    assert lazy_thresholds(np.array([0, 3, 1, 0, 2, 4, 6, 5])) == pytest.approx([1, 2, 3, 4, 5, 6])


def test_lazy_scores_follow_the_periodic_schedule(mission):
    # T = 16, B = 3: updates at 1, 8, 15; the score of t = 8 is still that of the update at 1
    scores = lazy_scores(mission)
    assert scores.shape == (14,)
    for t, tau in ((2, 1), (8, 1), (9, 8), (15, 8)):
        update = mission.update(tau)
        expected = lazy_score(mission.world.kernel(t), update.kernel, update.plan.next_values)
        assert scores[t - 2] == expected
    assert {rule.threshold for rule in candidates("lazy-value", mission)} == set(lazy_thresholds(scores))


def test_one_update_has_lazy_scores_too(mission):
    alone = Mission(mission.world, Robot(planning_horizon=4), Spending.exactly(1))
    assert lazy_scores(alone).shape == (14,)


def test_the_papers_sets(mission):
    sizes = {name: len(candidates(name, mission)) for name in rule_names()}
    # thresholds: of the eight, 4 / T = 4 / 16 is the multiplier 0.5 over B - 1 = 2 again; 6 pace weights
    assert sizes["self-triggered"] == 7
    assert sizes["drift-threshold"] == 6 * 7
    # best-offset: q = 7, and its last offset is the uniform schedule
    assert sizes["best-offset"] == 7
    assert sizes["regret-guided"] == EQUAL_COUNT == 3 * 7 * 5 * 9 - 34
    assert sizes["periodic"] == sizes["random"] == sizes["front-loaded"] == sizes["back-loaded"] == 1


def test_every_score_is_tried_once(mission):
    rules = candidates("regret-guided", mission)
    assert len(set(rules)) == len(rules)
    assert {rule.score for rule in rules} == set(CHOSEN_FAMILIES)
    assert all(isinstance(rule, RegretGuided) and rule.threshold is None for rule in rules)
    assert sum((rule.score, rule.diameter) == ("drift", 0.0) for rule in rules) == 1


@pytest.mark.parametrize("name", ["regret-guided", "drift-threshold", "self-triggered", "lazy-value"])
def test_equal_sets_are_equal_and_hold_the_papers(mission, name):
    equal = candidates(name, mission, search="equal")
    assert len(equal) == len(set(equal)) == EQUAL_COUNT
    assert set(candidates(name, mission)) <= set(equal)


def test_best_offset_has_as_many_as_there_are(mission):
    equal = candidates("best-offset", mission, search="equal")
    times = [rule.times(16, 3) for rule in equal if isinstance(rule, BestOffset)]
    # {1, 1 + o, 1 + o + q}: every pair of later times, 14 * 13 / 2
    assert len(times) == len(set(times)) == 91
    assert Periodic() not in equal


def test_best_offset_is_cut_to_the_equal_count():
    slip = piecewise(80, slip=0.03, quiet=0.001, bursts=[(0.25, 0.5, 0.03)])
    rules = candidates(
        "best-offset", Mission(rover(4, slip), Robot(planning_horizon=4), Spending.exactly(4)), search="equal"
    )
    assert len(set(rules)) == EQUAL_COUNT


def test_log_thresholds_are_even_in_the_logarithm():
    assert log_thresholds([], 0.01, 100.0, 5) == pytest.approx([0.01, 0.1, 1, 10, 100])
    assert log_thresholds([0.01, 5.0], 0.01, 1.0, 5) == pytest.approx(
        [0.01, 0.01 * 10 ** (2 / 3), 0.01 * 10 ** (4 / 3), 1, 5]
    )


def test_equal_schedules_are_found_once(mission):
    rules = candidates("lazy-value", mission)
    found = distinct_schedules(mission, [*rules, LazyValue(1e9), LazyValue(2e9)])
    assert sum(len(each) for each in found) == len(rules) + 2
    assert any({LazyValue(1e9), LazyValue(2e9)} <= set(each) for each in found)


@pytest.mark.parametrize("steps", [0, 2, 5])
def test_with_a_price_alone_the_candidates_are_those_of_budgets_that_fit(mission, steps):
    priced = Mission(mission.world, replace(mission.robot, update_steps=steps), Spending.at_price(0.1))
    expected = [
        rule
        for budget in (1, 2, 4, 8)
        if 1 + (budget - 1) * max(steps, 1) < 16
        for rule in candidates("lazy-value", priced.with_spending(Spending.exactly(budget)))
    ]
    assert candidates("lazy-value", priced) == list(dict.fromkeys(expected))


@pytest.mark.parametrize("execution", ["map", "localised"])
@pytest.mark.parametrize("name", ["drift-threshold", "best-offset"])
def test_rules_that_make_the_same_updates_whatever_the_drawn_steps_are_measured_once(
    mission, name, execution
):
    robot = replace(mission.robot, update_steps={1: 0.5, 3: 0.5}, execution=execution)
    drawn, seeds = replace(mission, robot=robot), np.arange(20)
    rules = candidates(name, drawn)
    found = distinct_schedules(drawn, rules)
    assert sum(len(each) for each in found) == len(rules)
    assert len(found) < len(rules) or name == "best-offset"
    for first, *others in found:
        for other in others:
            updates = (rollout(drawn, rule, seeds, trace=True).updates for rule in (first, other))
            np.testing.assert_array_equal(*updates)
    choice = choose(Bench(drawn), name)
    assert choice.validation_regret == min(validation_regret(Bench(drawn), rule) for rule in rules)


def test_a_rule_that_depends_on_the_state_is_chosen_on_the_validation_seeds(mission):
    bench = Bench(mission)
    chosen = choose(bench, "measuring-value")
    assert (chosen.candidates, chosen.distinct_schedules) == (17, 17)
    regrets = {rule: validation_regret(bench, rule) for rule in candidates("measuring-value", mission)}
    assert chosen.validation_regret == min(regrets.values()) == regrets[chosen.rule]


def test_an_unknown_search_is_named(mission):
    with pytest.raises(InputError, match="paper, equal"):
        candidates("periodic", mission, search="all")  # type: ignore[arg-type]


@pytest.fixture(scope="module")
def two_burst():
    slip = piecewise(50, slip=0.03, quiet=0.001, bursts=[(0.20, 0.34, 0.018), (0.62, 0.82, 0.018)])
    return Mission(rover(12, slip), Robot(planning_horizon=7), Spending.exactly(4))


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("periodic", 0.7715),
        ("front-loaded", 1.89),
        ("back-loaded", 1.76),
        ("drift-threshold", 0.50),
        ("best-offset", 0.53),
    ],
)
def test_exact_regret_of_the_two_burst_setting(two_burst, name, expected):
    schedules = distinct_schedules(two_burst, candidates(name, two_burst))
    best = min(regret(two_burst, rules[0]) for rules in schedules)
    assert best == pytest.approx(expected, abs=0.005)


def test_exact_regret_of_the_gap_score_in_the_two_burst_setting(two_burst):
    rules = [rule for rule in candidates("regret-guided", two_burst) if getattr(rule, "score", None) == "gap"]
    schedules = distinct_schedules(two_burst, rules[::3])
    assert min(regret(two_burst, same[0]) for same in schedules) == pytest.approx(0.56, abs=0.005)
