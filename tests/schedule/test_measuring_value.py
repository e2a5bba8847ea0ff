"""Act-Then-Measure as a rule, judged by enumeration and by figures of another program."""

from dataclasses import replace
from itertools import product

import numpy as np
import pytest
from hypothesis import given

from replan import Spending
from replan.errors import InputError
from replan.evaluation.exact import regret
from replan.forecast.given import Given
from replan.model.kernel import constant
from replan.planning.optimal_values import oracle
from replan.schedule.measuring_value import MeasuringValue, measuring_values
from replan.schedule.questions import decision_at
from replan.study.study_rules import AccumulatedValue
from replan.worlds.settings import load_setting, make_mission
from tiny_worlds import tiny_missions

GRID = (0.001, 0.003, 0.01, 0.02, 0.03, 0.05, 0.08, 0.12, 0.2, 0.3, 0.5, 0.8, 1.2, 2, 3, 5, 8)
FIGURES = {  # regret and best threshold: likeliest cell, belief; then the same of the sum
    "two-burst": ((0.372, 0.01), (0.103, 0.003), (0.392, 0.03), (0.103, 0.003)),
    "sparse-late-50": ((0.192, 0.01), (0.066, 0.003), (0.208, 0.03), (0.067, 0.001)),
    "sinusoidal-medium": ((0.261, 0.02), (0.041, 0.003), (0.267, 0.03), (0.041, 0.003)),
    "thin-ice-medium": ((0.959, 0.003), (0.815, 0.003), (0.965, 0.003), (0.814, 0.003)),
    "terrain-medium": ((1.816, 0.02), (1.002, 0.01), (1.045, 0.12), (0.801, 0.05)),
    "crosswind-medium": ((2.724, 0.001), (2.729, 0.001), (1.729, 0.03), (1.725, 0.03)),
}


def enumerated(mission, state: int, begin: int, kernel_at) -> list[float]:
    """MV of begin, begin + 1, ... with the belief as a sum over all paths of states."""
    update = mission.update(begin)
    dense = [kernel_at(t).general().dense() for t in range(begin, mission.horizon)]
    estimate, actions, values = update.propagation.begin(np.array([state])), [], []
    for k in range(mission.horizon - begin):
        belief = np.zeros(mission.world.states)
        for path in product(range(mission.world.states), repeat=k):
            way = (state, *path)
            belief[way[-1]] += np.prod([dense[i][way[i], actions[i], way[i + 1]] for i in range(k)])
        q_values = update.plan.at(begin + k).q_values
        actions.append(int(update.propagation.act(estimate, begin + k)[0]))
        values.append(belief @ q_values.max(axis=1) - belief @ q_values[:, actions[-1]])
        estimate = update.propagation.advance(estimate, np.array(actions[-1:]), begin + k)
    return values


@pytest.mark.parametrize("told", [False, True], ids=["frozen", "given"])
@given(mission=tiny_missions())
def test_measuring_values_are_those_of_enumeration(told, mission):
    kernel_at = mission.world.kernel if told else constant(mission.update(1).kernel)
    mission = replace(mission, robot=replace(mission.robot, forecast=Given(kernel_at))) if told else mission
    context = mission.context(MeasuringValue(), mission.progress(1, 1), 0)
    values = measuring_values(context, np.arange(mission.world.states))
    for state, row in enumerate(values):
        assert row == pytest.approx(enumerated(mission, state, 1, kernel_at), abs=1e-12)
    assert (values >= -1e-9).all()
    assert values[:, 0] == pytest.approx(0, abs=2e-9)  # the state has just been seen


@pytest.mark.parametrize("kind", [MeasuringValue, AccumulatedValue])
@given(mission=tiny_missions())
def test_the_time_named_at_an_update_is_the_first_at_which_the_rule_says_yes(kind, mission):
    mission = mission.with_spending(Spending.at_most(mission.limit))  # no update is forced
    rule, progress = kind(0.05), mission.progress(1, mission.limit)
    states = np.arange(mission.world.states)
    named = rule.next_update(mission.context(rule, progress, 0), states)
    for state, time in zip(states, named, strict=True):
        asked = (mission.context(rule, progress, int(state), t) for t in range(2, mission.horizon))
        yes = [c.time for c in asked if decision_at(rule, c, None).update]
        assert time == (yes[0] if yes else mission.horizon)


@pytest.mark.parametrize("kind", [MeasuringValue, AccumulatedValue])
def test_a_score_that_equals_the_threshold_has_reached_it(kind):
    mission = make_mission(load_setting("two-burst"))
    progress = mission.progress(30, 2)
    scores = [kind().decide(mission.context(kind(), progress, 0, t)).score for t in range(31, 50)]
    rule, time = kind(max(scores)), 31 + int(np.argmax(scores))
    assert rule.next_update(mission.context(rule, progress, 0), np.array([0])) == time
    assert rule.decide(mission.context(rule, progress, 0, time)).update


def test_a_decision_gives_its_score_and_threshold_in_words():
    mission = make_mission(load_setting("two-burst"))
    rule = MeasuringValue(0.01)
    decision = rule.decide(mission.context(rule, mission.progress(1, 3), mission.world.start, 9))
    assert decision.terms == {"measuring value": decision.score} and decision.threshold == 0.01
    assert "measuring value" in decision.reason
    assert (" reaches " in decision.reason) == decision.update == (decision.score >= 0.01)


def test_a_threshold_has_to_be_above_zero():
    with pytest.raises(InputError, match="threshold"):
        MeasuringValue(0.0)


def cases():
    for name, figures in FIGURES.items():
        for (figure, best), (kind, execution) in zip(
            figures, product((MeasuringValue, AccumulatedValue), ("map", "belief")), strict=True
        ):
            yield pytest.param(name, kind, execution, figure, best, id=f"{name}-{kind.name}-{execution}")


@pytest.mark.parametrize(("name", "kind", "execution", "figure", "best"), list(cases()))
def test_regret_at_the_best_threshold_is_that_of_another_program(name, kind, execution, figure, best):
    mission = make_mission(load_setting(name), execution=execution)
    assert regret(mission, kind(best)) == pytest.approx(figure, abs=0.001)


@pytest.mark.slow
@pytest.mark.parametrize(("name", "kind", "execution", "figure", "best"), list(cases()))
def test_no_threshold_of_the_grid_does_better(name, kind, execution, figure, best):
    mission = make_mission(load_setting(name), execution=execution)
    values = oracle(mission.world)
    assert min(regret(mission, kind(x), best=values) for x in GRID) == pytest.approx(figure, abs=0.001)
