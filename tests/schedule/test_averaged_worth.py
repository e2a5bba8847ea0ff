"""Candidates weighed over several futures, each solved once for all plans that robots bring into it."""

from collections import Counter
from dataclasses import replace

import numpy as np
import pytest

from replan import Mission, Robot, Spending, evaluate
from replan.forecast.base import Evidence, Future
from replan.forecast.mixture import Mixture
from replan.model.family import Family
from replan.model.sizes import Sizes
from replan.model.slip import SlipKernel
from replan.schedule import averaged_worth
from replan.schedule.averaged_worth import Candidates, best_on_average
from replan.schedule.lookahead import Lookahead
from replan.worlds.slip_grid import rover

HORIZON = 4
NO = -np.inf


def chosen(worth, weights, revealed=(None, None, None)):
    """Return the choice of one robot with one update left, (M, 5) worths of the times 0..4 in each future."""
    worth = np.array(worth, dtype=float)[:, None, :, None]
    futures = tuple(
        Future(f"future {i}", weight, lambda t: None, revealed=revealed[i])
        for i, weight in enumerate(weights)
    )
    still = Candidates(np.array([0]), worth[0], np.zeros(1))
    return best_on_average(worth, futures, still).of(np.array([0]), 1)


def test_the_mean_decides():
    worth = [[NO, 1.0, 0.9, 0.8, NO], [NO, 0.5, 0.7, 0.6, NO]]
    assert [chosen(worth, [1 - likely, likely]).times[0] for likely in (0.0, 0.3, 0.4, 1.0)] == [1, 1, 2, 2]
    assert chosen(worth, [0.6, 0.4]).worth[0] == pytest.approx(0.6 * 0.9 + 0.4 * 0.7)


def test_the_terms_add_up_to_the_gain_over_the_time_that_is_best_where_nothing_moves():
    rng = np.random.default_rng(0)
    for _ in range(50):
        worth = np.full((3, HORIZON + 1), NO)
        worth[:, 1:HORIZON] = rng.normal(size=(3, 3))
        weights = rng.dirichlet(np.ones(3))
        choice, mean = chosen(worth, weights), weights @ worth
        assert choice.times[0] == mean[1:HORIZON].argmax() + 1
        terms = choice.terms(0)
        assert list(terms) == ["future 0", "future 1", "future 2"]
        assert sum(terms.values()) == pytest.approx(mean[choice.times[0]] - mean[worth[0].argmax()])


def test_every_robot_and_every_number_of_updates_left_has_a_choice_of_its_own():
    rng = np.random.default_rng(1)
    worth = np.full((2, 3, HORIZON + 1, 2), NO)
    worth[:, :, 1:HORIZON] = rng.normal(size=(2, 3, 3, 2)) + 5 * np.arange(3)[:, None, None]
    futures = tuple(Future(f"future {i}", 0.5, lambda t: None) for i in range(2))
    found = best_on_average(worth, futures, Candidates(np.arange(3), worth[0], np.full(3, 7.0)))
    mean = worth.mean(axis=0)
    for left in (1, 2):
        choice = found.of(np.arange(3), left)
        assert choice.times.tolist() == mean[:, :, left - 1].argmax(axis=1).tolist()
        assert choice.worth == pytest.approx(mean[:, :, left - 1].max(axis=1))
    spent = found.of(np.arange(3), 0)
    assert spent.times.tolist() == [HORIZON] * 3 and spent.worth.tolist() == [7.0] * 3


def test_of_equal_times_the_earliest_wins_and_a_time_that_one_future_rules_out_never_does():
    assert chosen([[NO, 0.3, 0.7, 0.7, NO]], [1.0]).times[0] == 2
    choice = chosen([[NO, 0.3, 0.7, 0.9, NO], [NO, 0.3, 0.5, NO, NO]], [0.99, 0.01])
    assert choice.times[0] == 2
    assert choice.terms(0) == pytest.approx({"future 0": 0.99 * (0.7 - 0.9), "future 1": 0}), "and is not 0.9"


@pytest.mark.parametrize(
    ("revealed", "time", "worth"), [(None, 1, 0.7), (1, 3, 0.8), (2, 3, 0.75), (3, 1, 0.7), (9, 1, 0.7)]
)
def test_a_candidate_after_a_future_is_revealed_is_worth_the_best_that_is_left_then(revealed, time, worth):
    stays, jumps = [NO, 0.5, 0.2, 0.7, NO], [NO, 0.9, 0.8, 0.1, NO]
    choice = chosen([stays, jumps], [0.5, 0.5], revealed=(None, revealed))
    assert (choice.times[0], choice.worth[0]) == (time, pytest.approx(worth))


def test_a_revealed_future_makes_no_time_possible():
    choice = chosen([[NO, 0.1, 0.2, 0.9, NO], [NO, 0.1, 0.2, NO, NO]], [0.5, 0.5], revealed=(None, 1))
    assert choice.times[0] == 2 and choice.worth[0] == pytest.approx(0.2)


def test_with_all_futures_revealed_at_once_waiting_is_worth_what_a_robot_that_knows_its_future_has():
    rng = np.random.default_rng(2)
    for _ in range(50):
        worth = np.full((3, HORIZON + 1), NO)
        worth[:, 1:HORIZON] = rng.normal(size=(3, 3))
        weights = rng.dirichlet(np.ones(3))
        assert chosen(worth, weights, revealed=(1, 1, 1)).worth[0] == pytest.approx(
            weights @ worth.max(axis=1)
        )


SLIPS = np.concatenate([np.linspace(0.05, 0.07, 6), np.linspace(0.1, 0.4, 5), np.full(5, 0.4)])


def mission(execution, spending):
    robot = Robot(planning_horizon=3, execution=execution, forecast=Mixture())
    return Mission(rover(4, SLIPS), robot, spending)


@pytest.mark.parametrize("execution", ["map", "belief"])
@pytest.mark.parametrize("spending", [Spending.exactly(3), Spending.at_price(0.02)])
def test_figures_are_those_of_solving_each_future_anew(execution, spending):
    shared = mission(execution, spending)
    anew = replace(shared, sizes=Sizes(compared_floor=0))
    found, expected = (evaluate(each, Lookahead()) for each in (shared, anew))
    assert found.regret == pytest.approx(expected.regret, abs=1e-12)
    assert found.dynamic_regret == pytest.approx(expected.dynamic_regret, abs=1e-12)
    np.testing.assert_allclose(found.steps.loss, expected.steps.loss, atol=1e-12)


def test_a_future_is_solved_once_whatever_the_update_before(monkeypatch):
    calls = Counter()

    def counted(function):
        def call(*arguments, **options):
            calls[function] += 1
            return function(*arguments, **options)

        return call

    solve, weigh = averaged_worth.later_values, Lookahead._candidates
    monkeypatch.setattr(averaged_worth, "later_values", counted(solve))
    monkeypatch.setattr(Lookahead, "_candidates", counted(weigh))
    world = rover(5, np.linspace(0.05, 0.5, 18))
    robot = Robot(planning_horizon=5, execution="belief", forecast=Mixture())
    evaluate(Mission(world, robot, Spending.exactly(4)), Lookahead())
    assert 2 * calls[solve] < calls[weigh]


def test_updates_at_one_time_share_the_courses_of_a_family():
    kernel, mixture = SlipKernel((3, 3), 0.2), Mixture(family=Family.of_one_slip(SlipKernel((3, 3), 0.2)))
    nominal, bounds = SlipKernel((3, 3), 0.1), np.full(5, 0.02)

    def courses(earlier):
        found = mixture.futures(Evidence(5, 12, kernel, nominal, bounds, earlier))
        return {future.name: future.kernel for future in found if future.name != "stays"}

    one, other = courses((1, nominal)), courses((3, SlipKernel((3, 3), 0.15)))
    assert len(one) > 1 and one == other
    kernels = one["slip rises"]
    assert kernels(11) is kernels(10) is not kernels(6), "a course that has come to rest is one kernel"
