"""What an update puts in force, and what a rule is told of it, part by part."""

from dataclasses import dataclass, field, replace

import numpy as np
import pytest
from tests.tiny_worlds import random_world

from replan import InputError, Mission, Reward, Ties, constant
from replan.execute import AgentConfig, plan_by_induction
from replan.forecast import Forecast, Future
from replan.model.family import Family
from replan.schedule import Decision, Need, Rule
from replan.schedule.budget import Kind, Prices

HORIZON, STATES = 9, 4


@dataclass(frozen=True, eq=False)
class Noting(Forecast):
    """The estimate stays, from the update on; what is told is noted."""

    compares: bool = True
    reconsiders: bool = True
    told: list = field(default_factory=list)

    def futures(self, evidence):
        self.told.append(evidence)

        def kernel(time):
            assert evidence.time <= time < HORIZON
            return evidence.kernel

        return (Future("stays", 1.0, kernel),)

    def surprise(self, drift_bounds, update, horizon):
        assert horizon == HORIZON
        return update + len(drift_bounds)


class Curious(Rule):
    """Asks for everything."""

    needs = frozenset(Need)

    def decide(self, context):
        return Decision(False, "never")


def a_mission(**options) -> Mission:
    world = random_world(np.random.default_rng(3), states=STATES, actions=3, horizon=HORIZON)
    family = Family.of_mixtures("two kernels", world.kernel(0), world.kernel(1))
    everywhere = np.tile(np.arange(STATES), (STATES, 1))
    world = replace(world, declared_successors=everywhere, family=family)
    return Mission(world, **{"budget": 4, "planning_horizon": 3, "ties": Ties("last")} | options)


def test_a_mission_tells_its_robot_what_its_world_declares():
    mission = a_mission()
    config, world = mission.config, mission.world
    assert config.nominal is world.kernel(0) is not world.kernel(1)
    assert config.declared_successors is world.declared_successors
    assert config.family is world.family
    assert config.ties == Ties("last")


def test_an_update_on_a_forecast_has_its_parts():
    mission = a_mission(forecast=(forecast := Noting()))
    made = mission.update(5, 3)
    assert made.time == made.plan.time == 5
    assert made.kernel is mission.world.kernel(4)
    assert [each.time for each in made.plan.later] == [6, 7, 8]
    assert {each.ties for each in (made.plan, *made.plan.later)} == {Ties("last")}
    assert made.earlier == (3, mission.world.kernel(2)) and made.compared == 3
    assert [future.name for future in made.futures] == ["stays"]
    (evidence,) = forecast.told
    assert (evidence.time, evidence.horizon, evidence.earlier) == (5, HORIZON, made.earlier)
    assert evidence.kernel is made.kernel and evidence.nominal is mission.world.kernel(0)
    np.testing.assert_array_equal(evidence.drift_bounds, mission.world.drift_bounds[:5])
    made.expect(7)
    np.testing.assert_array_equal(forecast.told[1].drift_bounds, mission.world.drift_bounds[:7])


def test_updates_are_told_apart_by_the_one_before_where_the_forecast_compares():
    compared = a_mission(forecast=Noting())
    assert compared.update(5).earlier is None
    assert compared.update(5) is compared.update(5, 0) is not compared.update(5, 3)
    progress = compared.progress(5, 2, 3)
    assert progress.update is compared.update(5, 3)
    assert progress.earlier.time == 3
    for forecast in ({}, {"forecast": Noting(compares=False)}):
        other = a_mission(**forecast)
        assert other.update(5) is other.update(5, 3)
        assert other.update(5, 3).earlier is None


@pytest.mark.parametrize("forecast", [{}, {"forecast": Noting()}])
def test_values_of_actions_must_be_finite_for_beliefs_alone(forecast):
    mission = a_mission(planning_horizon=1, **forecast)
    endless = constant(Reward(next_state=np.array([np.inf, 0.0, 0.0, 0.0])))
    with np.errstate(invalid="ignore"):
        for execution in ("map", "belief"):
            mission = replace(mission, world=replace(mission.world, reward=endless), execution=execution)
            if execution == "map":
                assert mission.update(5).plan.time == 5
            else:
                with pytest.raises(InputError, match="q_values"):
                    mission.update(5)


def test_a_planner_gets_the_kernel_the_time_the_steps_left_and_the_ties():
    told = []

    def planner(*given):
        told.append(given)
        return plan_by_induction(*given)

    mission = a_mission()
    config = replace(mission.config, planner=planner)
    made = config.make_update(7, mission.world.kernel(6))
    assert told == [(mission.world.kernel(6), mission.world.reward, 7, 2, Ties("last"))]
    assert made.plan.ties == Ties("last")


def test_a_context_says_what_is_in_force_and_what_the_rule_asks_for():
    mission = a_mission(forecast=Noting(), execution="belief", prices=Prices(look=0.1, plan=0.2))
    progress = mission.after(mission.after(mission.beginning(), 3), 5)
    told = mission.context(Curious(), progress, 2, 7)
    world, update = mission.world, progress.update
    assert (told.time, told.horizon, told.planning_horizon, told.last_update) == (7, HORIZON, 3, 5)
    assert (told.looks, told.plans, told.looks_left, told.plans_left) == (4, 4, 2, 2)
    assert told.kernel is world.kernel(4) and told.plan is update.plan
    assert told.propagation is update.propagation and told.cache is update.cache
    assert told.surprise == 5 + 7 and told.reconsiders
    assert told.reward is world.reward and told.execution == "belief"
    assert told.declared_successors is world.declared_successors and told.family is world.family
    assert told.prices == mission.prices and told.parts
    assert told.given[Need.STATE] == 2 and told.given[Need.BUDGET] == 4
    assert told.given[Need.EARLIER_ESTIMATE] == (3, world.kernel(2))
    assert told.given[Need.CURRENT_KERNEL] is world.kernel(7)
    np.testing.assert_array_equal(told.given[Need.DRIFT_SO_FAR].bounds, world.drift_bounds[:7])
    np.testing.assert_array_equal(told.given[Need.DRIFT_AHEAD].bounds, world.drift_bounds)


def test_without_a_forecast_that_reconsiders_nothing_surprises():
    mission = a_mission()
    told = mission.context(Curious(), mission.after(mission.beginning(), 5), 2, 7)
    assert told.surprise == 5 and not told.reconsiders and told.prices is None and not told.parts


def test_a_part_of_an_update_leaves_the_other_part_as_it_was():
    mission = a_mission(budget=None, looks=3, plans=3)
    planned = mission.after(mission.beginning(), 3, Kind.PLAN)
    assert (planned.kind, planned.last_update, planned.last_look) == (Kind.PLAN, 3, 0)
    looked = mission.after(planned, 5, Kind.LOOK)
    assert (looked.kind, looked.last_update, looked.last_look) == (Kind.LOOK, 5, 5)
    failed = looked.keeping(6, Kind.PLAN)
    assert (failed.last_update, failed.last_look, failed.update.time) == (6, 5, 3)
    assert (failed.looks_left, failed.plans_left) == (2, 1)


def test_times_may_be_fewer_and_begin_later_where_updates_have_a_price():
    assert a_mission(prices=Prices(look=0.1)).check_times((3, 5)) == (3, 5)
    assert a_mission(spend_all=False).check_times((1, 5)) == (1, 5)
    for mission, times in ((a_mission(), (1, 5)), (a_mission(spend_all=False), (3, 5))):
        with pytest.raises(InputError):
            mission.check_times(times)


def test_drift_bounds_given_as_numbers_are_checked_at_once_and_functions_when_asked():
    mission = a_mission()
    given = {"horizon": HORIZON, "planning_horizon": 3, "budget": 4, "reward": mission.world.reward}
    given["nominal"] = mission.world.kernel(0)
    with pytest.raises(InputError, match="drift_bounds must be 8 numbers"):
        AgentConfig(**given, drift_bounds=np.zeros(3))
    late = AgentConfig(**given, drift_bounds=lambda: np.zeros(3))
    with pytest.raises(InputError, match="drift_bounds must be 8 numbers"):
        _ = late.drift


def test_a_rule_cannot_ask_for_what_is_expected_with_drift_bounds_that_are_not_known_yet():
    mission = a_mission(forecast=(forecast := Noting()))
    context = mission.context(Curious(), mission.progress(3, 2), 0, 5)
    context.expect(2), context.expect(5), context.expect(HORIZON)
    assert [len(told.drift_bounds) for told in forecast.told if told.time == 3][-2:] == [2, 5]
    assert max(len(told.drift_bounds) for told in forecast.told) == 5


def test_where_the_plan_is_kept_the_estimate_is_as_old_as_the_plan():
    mission = a_mission(budget=None, looks=3, plans=3)
    kept = mission.progress(3, 2).keeping(5, Kind.LOOK)
    context = mission.context(Curious(), kept, 0, 6)
    assert (context.last_update, context.plan.time, context.estimate_time) == (5, 3, 2)
    assert context.kernel is mission.world.kernel(2)


class Needy(Curious):
    """Needs one thing by its word."""

    def __init__(self, need: str) -> None:
        self.needs = frozenset({need})


def test_a_need_may_be_given_by_its_word_and_an_unknown_one_is_refused():
    mission = a_mission()
    assert mission.context(Needy("state"), mission.progress(3, 2), 1, 5).state == 1
    with pytest.raises(InputError, match="needs 'stat', not one of state, drift so far"):
        mission.context(Needy("stat"), mission.progress(3, 2), 1, 5)


def test_an_unknown_execution_is_refused_at_once():
    with pytest.raises(InputError, match='execution must be "map" or "belief", not \'mapp\''):
        a_mission(execution="mapp")
