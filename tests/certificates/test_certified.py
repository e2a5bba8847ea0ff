"""The rule `certified` keeps what blind steps can give away within its amount."""

import numpy as np
import pytest
from hypothesis import given
from tests.certificates.drifting_worlds import general_cases, slip_cases
from tests.certificates.test_certificate import still_world

from replan import Robot, Spending
from replan.certificates.certified import Certified, given_away
from replan.errors import InputError
from replan.evaluation.exact import evaluate
from replan.execute.mission import Mission
from replan.model.general_kernel import GeneralKernel
from replan.model.kernel import constant
from replan.model.reward import Reward
from replan.model.world import World
from replan.planning.backward_induction import oracle
from replan.schedule.rule import Rule
from replan.skip.propagation import skip_interval
from replan.worlds.slip_grid import rover


def context(mission, *, last_update=1, time=2):
    return mission.context(Certified(), mission.progress(last_update, 1), mission.world.start, time)


@given(slip_cases() | general_cases())
def test_blind_steps_give_away_no_more_than_the_rule_computes(case):
    mission = case.mission
    best = oracle(mission.world)
    asked = context(mission, last_update=1)
    lost = np.zeros(mission.world.states)
    everyone = np.arange(mission.world.states)
    how = mission.update(1).propagation
    steps = skip_interval(
        mission.world.kernel, mission.world.reward, how, everyone, begin=1, end=mission.horizon
    )
    for k, step in enumerate(steps):
        lost = lost + (step.before * best.loss(step.time).T[step.actions]).sum(axis=1)
        assert (lost <= given_away(asked, k + 1) + 1e-9).all()


def sloping(budget=3):
    return Mission(rover(5, np.linspace(0.05, 0.5, 14)), Robot(planning_horizon=4), Spending.exactly(budget))


def test_it_is_a_rule_that_updates_once_going_on_costs_too_much():
    assert isinstance(Certified(), Rule)
    mission = sloping()
    for t in range(2, 14):
        decision = Certified(0.05).decide(context(mission, time=t))
        assert decision.update == (decision.score > 0.05)
    scores = [Certified(10.0).decide(context(mission, time=t)).score for t in range(2, 14)]
    assert scores == sorted(scores)


def test_a_smaller_amount_updates_no_later():
    def first_due(amount):
        decisions = [Certified(amount).decide(context(sloping(), time=t)).update for t in range(2, 14)]
        return decisions.index(True)

    assert first_due(0.01) <= first_due(0.05) < first_due(0.15)


def test_it_knows_where_steps_can_lead():
    def most(**declared):
        mission = Mission(still_world(**declared), Robot(planning_horizon=2), Spending.exactly(1))
        return given_away(context(mission), mission.horizon - 1).max()

    assert most(declared_successors=np.array([[0], [1]])) == pytest.approx(0)
    assert most() > 0.01


@pytest.mark.parametrize("amount", [0.0, -1.0, np.nan])
def test_its_amount_is_positive(amount):
    with pytest.raises(InputError, match="amount must be positive"):
        Certified(amount)


def test_what_may_be_given_away_is_never_more_than_there_is_to_win():
    generator = np.random.default_rng(0)
    kernels = [GeneralKernel.from_dense(k) for k in generator.dirichlet(np.ones(6), size=(30, 6, 2))]
    world = World(30, kernels.__getitem__, constant(Reward(state_action=generator.uniform(size=(6, 2)))))
    asked = context(Mission(world, Robot(planning_horizon=5), Spending.exactly(1)))
    assert 0 < given_away(asked, 29).max() <= 29 * 1.0


def test_it_spends_its_budget():
    found = evaluate(sloping(), Certified(0.05))
    assert found.steps.update_probability.sum() == pytest.approx(3)
