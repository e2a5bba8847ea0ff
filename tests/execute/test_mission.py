"""A mission is a world, a robot and a way to spend: what it refuses, computes once and shares."""

from dataclasses import FrozenInstanceError, replace

import pytest
from tests.execute.loop import Faulty, with_robot

from replan import InputError, Mission, Periodic, Robot, Spending, TrueKernel, load_setting
from replan.estimate.slip_mle import PooledSlip
from replan.evaluation.exact import evaluate
from replan.execute.mission import make_timeline
from replan.forecast.trend import Trend
from replan.model.slip import SlipKernel
from replan.schedule.drift_threshold import DriftThreshold
from replan.schedule.fixed import FixedTimes


@pytest.mark.parametrize(
    ("part", "given", "named"),
    [
        ("world", None, "world must be a World, not None"),
        ("world", load_setting("two-burst"), "world must be a World, not "),
        ("robot", 7, "robot must be a Robot, not 7"),
        ("robot", Robot, "robot must be a Robot, not "),
        ("spending", 4, "spending must be a Spending, not 4"),
        ("spending", None, "spending must be a Spending, not None"),
    ],
)
def test_each_part_of_a_mission_has_its_type(mission, part, given, named):
    with pytest.raises(InputError, match=named):
        replace(mission, **{part: given})


def test_a_budget_fits_into_the_steps(mission):
    assert replace(mission, spending=Spending.exactly(49)).limit == 49
    assert replace(mission, spending=Spending.at_price(0.1)).limit == 49
    for way in (Spending.exactly, Spending.at_most):
        with pytest.raises(InputError, match=r"budget must lie between 1 and 49 \(horizon - 1\), not 50"):
            Mission(mission.world, mission.robot, way(50))
        with pytest.raises(InputError, match="budget must lie between 1 and 49"):
            mission.with_spending(way(50))


def test_a_reward_that_could_not_be_flown_is_refused_at_once(mission):
    unrewarded = replace(mission.world, reward=mission.world.reward(0))
    with pytest.raises(InputError, match="a function of time"):
        replace(mission, world=unrewarded)


def test_a_mission_is_changed_by_replacing_its_parts(mission):
    with pytest.raises(FrozenInstanceError):
        mission.spending = Spending.exactly(2)
    belief = with_robot(mission, execution="belief")
    assert belief.robot.execution == "belief" and mission.robot.execution == "map"
    assert belief.world is mission.world and belief.update(5) is not mission.update(5)
    assert (mission.horizon, mission.limit, mission.cropped) == (50, 4, mission)


def test_missions_that_differ_in_their_spending_share_their_updates(mission):
    early = mission.update(5)
    for spending in (Spending.exactly(2), Spending.at_most(3), Spending.at_price(0.1)):
        other = mission.with_spending(spending)
        assert type(other) is Mission and other.spending is spending
        assert other.world is mission.world and other.robot is mission.robot
        assert other.update(5) is early, "made before"
        assert mission.update(9) is other.update(9) and other.update(11) is mission.update(11), "made after"
        assert other.beginning().budget_left == other.limit
        assert other.with_spending(mission.spending).update(9) is mission.update(9)
    assert replace(mission, spending=Spending.exactly(2)).update(5) is not early
    assert mission.spending == Spending.exactly(4), "and the mission itself is as it was"


def test_an_update_is_made_once_whatever_came_before_where_the_forecast_does_not_compare(mission):
    before = mission.update(3)
    assert mission.update(5, before) is mission.update(5)
    trend = with_robot(mission, forecast=Trend())
    assert trend.update(5, before) is trend.update(5, before) is not trend.update(5)
    assert trend.with_spending(Spending.exactly(2)).update(5, before) is trend.update(5, before)


def test_an_update_reveals_the_kernel_of_the_step_before(mission):
    assert mission.estimator == TrueKernel(mission.world)
    for time, of in ((0, 0), (1, 0), (2, 1), (20, 19)):
        assert mission.estimate(time) is mission.update(time).kernel
        assert mission.estimate(time) is mission.world.kernel(of)


@pytest.mark.parametrize(
    "estimator", [PooledSlip(SlipKernel((12, 12), 0.05), 0.005), Faulty(None)], ids=["learns", "one's own"]
)
def test_what_a_robot_learns_is_sampled_and_not_evaluated_exactly(mission, estimator):
    learns = with_robot(mission, estimator=estimator)
    assert learns.estimator is estimator
    for ask in (
        lambda: learns.estimate(5),
        lambda: learns.update(5),
        lambda: make_timeline(learns, Periodic()),
        lambda: evaluate(learns, Periodic()),
    ):
        with pytest.raises(InputError, match="sampled, not evaluated exactly"):
            ask()


def test_a_robot_that_is_shown_the_true_kernels_is_that_of_the_paper(mission):
    shown, rule = with_robot(mission, estimator=TrueKernel(mission.world)), FixedTimes((1, 9, 20, 30))
    assert shown.estimate(5) is mission.estimate(5)
    assert evaluate(shown, rule).regret == evaluate(mission, rule).regret


def test_times_may_be_fewer_and_begin_later_where_updates_have_a_price(mission):
    priced, at_most = (
        mission.with_spending(way) for way in (Spending.at_price(0.1, limit=4), Spending.at_most(4))
    )
    assert priced.check_times((3, 5)) == (3, 5) and priced.check_times(()) == ()
    assert at_most.check_times((1, 5)) == (1, 5)
    assert mission.check_times([1, 5, 7, 49]) == (1, 5, 7, 49)
    for each, times in ((mission, (1, 5)), (at_most, (3, 5)), (at_most, ()), (priced, (1, 2, 3, 4, 5))):
        with pytest.raises(InputError):
            each.check_times(times)


def test_drift_bounds_are_computed_for_rules_that_read_them(mission):
    for rule, read in ((Periodic(), False), (DriftThreshold(), True)):
        fresh = replace(mission, world=replace(mission.world))
        evaluate(fresh, rule)
        assert ("drift_bounds" in vars(fresh.world)) == read
