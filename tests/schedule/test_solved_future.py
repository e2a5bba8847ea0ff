"""A future is solved once for all plans that robots bring into it, and the figures stay the same."""

from collections import Counter
from dataclasses import replace

import numpy as np
import pytest

from replan import Mission, Robot, Spending, evaluate
from replan.forecast.base import Evidence
from replan.forecast.mixture import Mixture
from replan.model.family import Family
from replan.model.sizes import Sizes
from replan.model.slip import SlipKernel
from replan.schedule import solved_future
from replan.schedule.lookahead import Lookahead
from replan.worlds.slip_grid import rover

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

    solve, weigh = solved_future.later_values, Lookahead._candidates
    monkeypatch.setattr(solved_future, "later_values", counted(solve))
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
