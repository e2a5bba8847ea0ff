"""Python says in one line what is wrong with an argument, as the command line does."""

from dataclasses import dataclass, replace
from math import nan

import numpy as np
import pytest

from replan import (
    Agent,
    Archive,
    Context,
    Decision,
    DriftBoundedMLE,
    DriftThreshold,
    Family,
    FamilyFilter,
    FixedRate,
    FixedTimes,
    ForecastFault,
    GeneralKernel,
    Given,
    InputError,
    Lookahead,
    Mission,
    Mixture,
    Observation,
    PathExpired,
    Periodic,
    PooledSlip,
    RegretGuided,
    Reward,
    Robot,
    Rule,
    SimulatedRobot,
    Sizes,
    SlipKernel,
    Spending,
    Ties,
    TrueKernel,
    certify,
    certify_ahead,
    check_rule,
    check_world,
    decompose,
    evaluate,
    evaluate_times,
    from_arrays,
    linear,
    load_setting,
    local_drift_bounds,
    make_mission,
    make_rule,
    optimum,
    oracle,
    piecewise,
    plan,
    regret,
    rollout,
    rover,
    sinusoidal,
)
from replan.estimate.drift_bounds import check_drift_bounds

SETTING, RULE = load_setting("two-burst"), make_rule("periodic")
WORLD = rover(3, np.linspace(0.1, 0.3, 8))
MISSION = Mission(WORLD, Robot(planning_horizon=3), Spending.exactly(2))


@pytest.mark.parametrize("given", [SETTING, "two-burst"])
@pytest.mark.parametrize(
    "call",
    [
        optimum,
        lambda mission: regret(mission, RULE),
        lambda mission: evaluate(mission, RULE),
        lambda mission: evaluate_times(mission, [1, 2, 3, 4]),
        lambda mission: rollout(mission, RULE, [0]),
        lambda mission: decompose(mission, RULE),
        lambda mission: certify(mission, RULE),
        lambda mission: check_rule(RULE, mission),
        lambda mission: Agent.on(mission, RULE),
    ],
)
def test_a_setting_in_place_of_a_mission_is_told_how_to_make_one(call, given):
    with pytest.raises(InputError, match=r"must be a Mission, not .*make_mission\(.*\) makes one"):
        call(given)


@pytest.mark.parametrize("call", [oracle, check_world, SimulatedRobot])
def test_a_setting_in_place_of_a_world_is_one_line(call):
    with pytest.raises(InputError, match="world must be a World, not"):
        call(SETTING)


@pytest.mark.parametrize(
    ("wrong", "line"),
    [
        ({"estimator": "tracked"}, "estimator must be an Estimator, not 'tracked'"),
        ({"estimator": TrueKernel}, "estimator must be an Estimator, not <class"),
        ({"ties": "first"}, "ties must be a Ties, not 'first'"),
        ({"forecast": Mixture}, "forecast must be a Forecast, not <class"),
        ({"forecast": "mixture"}, r"forecast must be a Forecast, such as Mixture\(\), not 'mixture'"),
        ({"planner": "induction"}, "planner must be a function, not 'induction'"),
    ],
)
def test_a_robot_of_names_in_place_of_parts_is_refused_when_it_is_made(wrong, line):
    with pytest.raises(InputError, match=line):
        Robot(planning_horizon=3, **wrong)


def test_words_in_place_of_numbers_and_unknown_ties_are_one_line():
    with pytest.raises(InputError, match="drift bounds must be 7 numbers"):
        replace(WORLD, stated_bounds="large")
    with pytest.raises(InputError, match="ties must be"):
        Ties("any")


@pytest.mark.parametrize("times", [[1, 5.5], [1, 5.0], 5, "1,5"])
def test_update_times_that_are_no_whole_numbers_are_refused(times):
    with pytest.raises(InputError, match="update time"):
        evaluate_times(MISSION, times)


def test_a_forecast_is_taken_as_it_is_and_anything_else_refused():
    assert make_mission(SETTING, forecast=Mixture()).robot.forecast == Mixture()
    with pytest.raises(InputError, match="forecast must be a Forecast, not 3"):
        make_mission(SETTING, forecast=3)


@pytest.mark.parametrize("bound", [5.0, 1.01])
def test_drift_bounds_above_one_are_refused(bound):
    with pytest.raises(InputError, match="change by 1 at most"):
        replace(WORLD, stated_bounds=np.full(7, bound))
    with pytest.raises(InputError, match="change by 1 at most"):
        check_drift_bounds(bound, states=9, actions=5)
    assert replace(WORLD, stated_bounds=np.ones(7)).drift_bounds.max() == 1


@pytest.mark.parametrize(
    "wrong",
    [Reward(next_state=np.zeros(7)), Reward(state_action=np.zeros((9, 3))), Reward(np.full((9, 5), nan))],
)
@pytest.mark.parametrize("since", [0, 5])
def test_a_reward_that_does_not_fit_is_refused_with_its_time(wrong, since):
    world = replace(WORLD, reward=lambda t: wrong if t >= since else WORLD.reward(t))
    with pytest.raises(InputError, match=f"the reward of time {since} "):
        Mission(world, MISSION.robot, MISSION.spending)


def test_there_is_no_optimum_of_infinite_rewards():
    reward = Reward(next_state=np.full(9, -np.inf))
    endless = replace(MISSION, world=replace(WORLD, reward=lambda t: reward))
    with pytest.raises(InputError, match="finite rewards"), np.errstate(invalid="ignore"):
        optimum(endless)


@dataclass(frozen=True)
class Scoreless(Rule):
    """Its score is not a number."""

    def decide(self, context: Context) -> Decision:
        return Decision(False, "not a number", score=nan)


def test_a_score_that_is_not_a_number_is_refused():
    with pytest.raises(InputError, match="the rule scoreless: its score is not a number at t=2"):
        evaluate(MISSION, Scoreless())
    with pytest.raises(InputError, match="its score is not a number"):
        Agent.on(MISSION, Scoreless())


@pytest.mark.parametrize("made", [TrueKernel, lambda world: FamilyFilter(world.family, world.drift_bounds)])
def test_an_estimator_for_another_grid_fails_the_trial_of_the_agent(made):
    with pytest.raises(InputError, match="the kernel of the estimator has 16 states"):
        Agent.on(MISSION, RULE, estimator=made(rover(4, np.linspace(0.1, 0.3, 8))))


def test_an_estimator_forgets_the_trial():
    estimator = FamilyFilter(WORLD.family, WORLD.drift_bounds)
    before, after = estimator.begin(), Agent.on(MISSION, RULE, estimator=estimator).learned
    assert before.keys() == after.keys()
    for name in before:
        np.testing.assert_array_equal(before[name], after[name])


def test_an_estimator_that_returns_a_kernel_only_is_refused():
    class Old(TrueKernel):
        def estimate(self, learned, seen):
            return super().estimate(learned, seen)[1]

    said = "estimate must return what was learned and a kernel, not SlipKernel"
    with pytest.raises(InputError, match=said):
        Agent.on(MISSION, RULE, estimator=Old(WORLD))


@pytest.mark.parametrize(
    ("wrong", "named"),
    [
        (lambda: Mixture(sharpness="x"), "sharpness must be a number, not 'x'"),
        (lambda: DriftThreshold("x"), "threshold must be a number, not 'x'"),
        (lambda: make_rule("last-moment", margin=True), "margin"),
        (lambda: Sizes(schedules="x"), "schedules must be a number, not 'x'"),
        (lambda: Given("x"), "a given forecast needs at least one kernel"),
        (lambda: load_setting(None), "a setting is a name or a TOML file, not None"),
    ],
)
def test_values_of_another_type_are_one_line(wrong, named):
    with pytest.raises(InputError, match=named):
        wrong()


def test_seeds_and_time_limits_of_another_type_are_one_line():
    mission = make_mission(load_setting("two-burst"))
    with pytest.raises(InputError, match="seeds must be whole numbers"):
        rollout(mission, Periodic(), ["x"])
    with pytest.raises(InputError, match="time_limit must be a positive number of seconds, not True"):
        Agent.on(mission, Periodic(), time_limit=True)


KERNEL = WORLD.kernel(0)
ROWS = np.full((3, 2, 3), 1 / 3)


@pytest.mark.parametrize(
    ("wrong", "named"),
    [
        (lambda: replace(WORLD, horizon=8.0), "horizon must be a whole number, not 8.0"),
        (lambda: replace(WORLD, start=True), "start must be a whole number, not True"),
        (lambda: replace(WORLD, kernel=KERNEL), "kernel must be a function of time that returns a Kernel"),
        (lambda: replace(WORLD, family="slip"), "family must be a Family, not 'slip'"),
        (lambda: from_arrays("x", [1.0], horizon=4), "kernels must be an array of numbers, not 'x'"),
        (lambda: from_arrays(ROWS, {}, horizon=4), "rewards must be an array of numbers, not {}"),
        (lambda: from_arrays(ROWS, [0.0, 1.0, 2.0], horizon="4"), "horizon must be a whole number, not '4'"),
        (lambda: Reward(next_state="x"), "next_state must be an array of numbers, not 'x'"),
        (lambda: rover(3, [0.1] * 6, start=(0, 5)), r"start \(0, 5\) lies outside the 3 x 3 grid"),
        (lambda: rover(3, [0.1] * 6, goal=(9, 9)), r"goal \(9, 9\) lies outside the 3 x 3 grid"),
        (lambda: rover(3, [0.1] * 6, goal=4), "goal must be a row and a column, not 4"),
        (lambda: rover(3.0, [0.1] * 6), "n must be a whole number, not 3.0"),
        (lambda: linear(10, slip="x", rate=0.1), "slip must be a number, not 'x'"),
        (lambda: Mixture(given=KERNEL), "given must be a Given, not"),
        (lambda: Mixture(family=WORLD), "family must be a Family, not"),
        (lambda: Mixture(doubt=nan), "a mixture takes numbers of at least 0"),
        (lambda: Archive([KERNEL]), "members must be a whole number, not"),
        (lambda: Archive(past=WORLD), "past must be a Past, not"),
        (lambda: Given(KERNEL), "a given forecast needs at least one kernel"),
        (lambda: Given([KERNEL], fault=0.5), "fault must be a ForecastFault, not 0.5"),
        (lambda: ForecastFault(late=1.5), "late must be a whole number, not 1.5"),
        (lambda: ForecastFault(noise="x"), "the noise of a forecast must be a number, not 'x'"),
        (lambda: Ties("random", seed=-1), "ties must have a seed from 0"),
        (lambda: Lookahead(tolerance="x"), "tolerance must be a number, not 'x'"),
        (lambda: RegretGuided(m=2.5), "m must be a whole number, not 2.5"),
        (lambda: RegretGuided(alpha=None), "alpha must be a number, not None"),
        (lambda: FixedRate(2.5), "every must be a whole number, not 2.5"),
        (lambda: PathExpired("x"), "share must be a number, not 'x'"),
        (lambda: FixedTimes(5), "update times must be a list of whole numbers, not 5"),
        (lambda: Spending(2, exact="no"), "exact must be a bool, not 'no'"),
        (lambda: Spending(2, spacing=0), "spacing must be at least 1, not 0"),
        (lambda: make_mission(MISSION), "setting must be a Setting, not Mission"),
        (lambda: make_mission(SETTING, world={}), "world must be a World, not {}"),
        (lambda: make_mission(SETTING, price="0.5"), "'price' should be a valid number, not '0.5'"),
        (lambda: make_mission(SETTING, price=True), "'price' should be a valid number, not True"),
        (lambda: make_rule(None), "name must be a str, not None"),
        (lambda: check_rule("periodic"), "rule must be a Rule or a function that makes one, not 'periodic'"),
        (lambda: Agent.on(MISSION, RULE, seed=0.5), "seed must be a whole number, not 0.5"),
        (lambda: Agent.on(MISSION, RULE, sizes={}), "sizes must be a Sizes, not {}"),
    ],
)
def test_arguments_of_another_type_or_outside_their_range_are_one_line(wrong, named):
    with pytest.raises(InputError, match=named):
        wrong()


def test_a_price_of_whole_units_of_any_size_is_a_number():
    dear = replace(MISSION, spending=Spending.at_price(10**30))
    assert evaluate(dear, Lookahead()).expected_updates == 0


EMPTY = np.array([])


@pytest.mark.parametrize(
    ("wrong", "named"),
    [
        (lambda: replace(WORLD, start_states=[0, 9]), "start_states must lie between 0 and 8"),
        (lambda: replace(WORLD, start_states=[]), "start_states must be a list of states"),
        (lambda: replace(WORLD, grid=(2, 2)), "a grid of 2 x 2 cells does not have 9 states"),
        (lambda: replace(WORLD, grid=9), "grid must be rows and columns, not 9"),
        (lambda: replace(WORLD, waiting=5), r"waiting 5 is not an action \(0 to 4\)"),
        (lambda: replace(WORLD, past="yesterday"), "past must be a Past, not 'yesterday'"),
        (lambda: replace(WORLD.knowledge, horizon="8"), "horizon must be a whole number, not '8'"),
        (lambda: replace(WORLD.knowledge, nominal=ROWS), "nominal must be a Kernel, not array"),
        (lambda: Robot(planning_horizon=3, execution=EMPTY), "execution must be .*, not array"),
        (lambda: Robot(planning_horizon=3, meanwhile=EMPTY), "meanwhile must be .*, not array"),
        (lambda: Ties(EMPTY), "ties must be .*, not array"),
        (lambda: RegretGuided(phi=EMPTY), "phi must be one of .*, not array"),
        (lambda: RegretGuided(EMPTY), 'score must be "gap", .*, not array'),
        (lambda: GeneralKernel([[0]], "x"), "probabilities must be an array of numbers, not 'x'"),
        (lambda: GeneralKernel.from_dense({}), "a dense kernel must be an array of numbers, not {}"),
        (lambda: GeneralKernel.from_sparse(3), "a kernel takes a list of sparse matrices, not 3"),
        (lambda: SlipKernel(3, 0.1), "shape must be rows and columns, not 3"),
        (lambda: SlipKernel((3, "x"), 0.1), "columns must be a whole number, not 'x'"),
        (lambda: SlipKernel((3, 3), "x"), "slip must be an array of numbers, not 'x'"),
        (lambda: rover(3, 0.1), "slip must be a number for each time"),
        (lambda: rover(3, [0.1] * 6, terrain="x"), "terrain must be an array of numbers, not 'x'"),
        (lambda: rover(3, [0.1] * 6, obstacles=4), "obstacles must be a list of rows and columns, not 4"),
        (lambda: rover(10**9, [0.1] * 6), "a grid of 1000000000 x 1000000000 cells needs about"),
        (lambda: linear(10**30, slip=0.1, rate=0.1), "a slip over 10+ steps needs about"),
        (lambda: linear(10, slip=0.1, rate=10**400), "rate must be finite, not 1"),
        (lambda: piecewise(-1, slip=0.1, quiet=0.0, bursts=[]), "horizon must be at least 1, not -1"),
        (lambda: piecewise(9, slip=0.1, quiet=0.0, bursts=[3]), "a burst is its begin, its end and"),
        (lambda: sinusoidal(9, slip=0.1, amplitude=nan, period=3), "amplitude must be finite, not nan"),
        (lambda: local_drift_bounds(KERNEL, 8), "kernel must be a function, not <replan"),
        (lambda: Family.of_mixtures("two", KERNEL, ROWS), "last must be a Kernel, not array"),
        (lambda: FamilyFilter("slip", 0.1), "family must be a Family, not 'slip'"),
        (lambda: FamilyFilter(WORLD.family, "x"), "drift bounds must be an array of numbers, not 'x'"),
        (lambda: FamilyFilter(WORLD.family, 0.1, start=ROWS), "start must be a Kernel, not array"),
        (lambda: PooledSlip(ROWS, 0.1), "nominal must be a SlipKernel, not array"),
        (lambda: PooledSlip(KERNEL, 0.1, confidence="x"), "confidence must be a number, not 'x'"),
        (lambda: DriftBoundedMLE(3, 0.1), "nominal must be a Kernel, not 3"),
        (lambda: Observation(1_700_000_000, 0), "time must be a step of the mission, 0 to 10000000, not"),
        (lambda: Observation(1.5, 0), "time must be a whole number, not 1.5"),
        (lambda: plan(ROWS, WORLD.reward, time=0, horizon=3), "kernel must be a Kernel, not array"),
        (lambda: plan(KERNEL, "x", time=0, horizon=3), "reward must be a function, not 'x'"),
        (lambda: plan(KERNEL, WORLD.reward, time=0, horizon=3, ties="last"), "ties must be a Ties"),
        (lambda: evaluate(MISSION, RULE, best=3.0), "best must be an Oracle, not 3.0"),
        (lambda: decompose(MISSION, RULE, best=EMPTY), "best must be an Oracle, not array"),
        (lambda: evaluate_times(MISSION, np.array(3)), "update times must be a list of whole numbers"),
        (lambda: FixedTimes(np.array(3)), "update times must be a list of whole numbers, not array"),
        (lambda: rollout(MISSION, "periodic", [0]), "rule must be a Rule, not 'periodic'"),
        (lambda: rollout(MISSION, Periodic, [0]), r"rule must be an instance: Periodic\(\)"),
        (lambda: rollout(MISSION, RULE, [0], trace="yes"), "trace must be a bool, not 'yes'"),
        (lambda: rollout(MISSION, RULE, [0], motion=3), "motion must be a Motion, not 3"),
        (lambda: certify(MISSION, [1, 4], tightening=True), "tightening must be a Tightening, not True"),
        (lambda: certify(MISSION, [1, 4], estimates=[KERNEL]), "estimates must be a list of KernelEst"),
        (lambda: certify_ahead(MISSION, [1, 4], known_until="x"), "known_until must be a whole number"),
        (lambda: check_world(WORLD, most="x"), "most must be a whole number, not 'x'"),
        (lambda: check_rule(RULE, most=nan), "most must be a whole number, not nan"),
        (lambda: PathExpired(10**400), "share must be finite, not 1"),
        (lambda: ForecastFault(error=10**400), "the error of a forecast must be finite, not 1"),
        (lambda: Agent.on(MISSION, RULE, trial=EMPTY), "trial must be a bool, not array"),
        (lambda: Agent.on(MISSION, RULE, arrival=EMPTY), "arrival must be .*, not array"),
    ],
)
def test_what_once_was_another_error_of_python_is_one_line(wrong, named):
    with pytest.raises(InputError, match=named) as caught:
        wrong()
    assert "\n" not in str(caught.value)


def test_whole_numbers_of_numpy_are_numbers():
    world = from_arrays(ROWS, [0.0, 1.0, 2.0], horizon=np.int64(6))
    mission = Mission(world, Robot(planning_horizon=2), Spending.exactly(np.array(1)))
    assert evaluate(mission, PathExpired(10**30)).regret >= 0
