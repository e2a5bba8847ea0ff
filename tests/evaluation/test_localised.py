"""Robots that see where they are, against trajectories that are followed one by one."""

from dataclasses import replace
from functools import cache

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from replan import InputError, Mission, Robot, Spending, evaluate, load_setting, make_mission, make_rule
from replan.estimate.estimator import TrueKernel
from replan.evaluation.agent_runs import run_agent
from replan.evaluation.decomposition import decompose
from replan.evaluation.exact import evaluate_times
from replan.evaluation.optimal_schedule import feedback_regrets, optimum
from replan.evaluation.rollouts import rollout
from replan.forecast.base import Evidence, Frozen
from replan.forecast.given import Given
from replan.forecast.mixture import Mixture
from replan.forecast.trend import Trend
from replan.planning.optimal_values import oracle
from replan.schedule.last_moment import Gain, LastMoment
from replan.schedule.periodic import even_times
from tiny_worlds import tiny_missions


class SlowRobot:
    """A localised robot written out afresh, with dense kernels and a recursion over every trajectory."""

    def __init__(self, mission: Mission) -> None:
        self.mission, self.world, self.T = mission, mission.world, mission.horizon
        self.dense = [mission.world.kernel(t).general().dense() for t in range(self.T)]
        self.price = mission.spending.price or 0.0
        self.left = mission.limit
        self.expected = cache(self._expected)
        self.policy = cache(self._policy)

    def reward(self, t, kernel, values):
        """(S, A) expected reward and value under a dense kernel."""
        reward = self.world.reward(t)
        ahead = values if reward.next_state is None else values + reward.next_state
        return kernel @ ahead + (0 if reward.state_action is None else reward.state_action)

    def _expected(self, update, earlier, t):
        """(S, A, S) the kernel that an update expects at t."""
        estimate = lambda time: self.world.kernel(max(time - 1, 0))  # noqa: E731
        before = (earlier, estimate(earlier)) if earlier else None
        evidence = Evidence(
            update, self.T, estimate(update), self.world.kernel(0), self.world.drift_bounds[:update], before
        )
        planned = [each for each in self.mission.robot.forecast.futures(evidence) if each.planned]
        total = sum(each.weight for each in planned)
        return sum(each.weight / total * each.kernel(t).general().dense() for each in planned)

    def _policy(self, update, earlier, t):
        """(S,) actions at t of the plan made at an update."""
        made = t if self.mission.robot.forecast.moves else update
        values = np.zeros(self.world.states)
        for u in range(min(made + self.mission.robot.planning_horizon, self.T) - 1, made - 1, -1):
            z = self.reward(u, self.expected(update, earlier, u), values)
            values = z.max(axis=1)
        return self.mission.robot.ties.choose(z, plan_time=made, states=np.arange(self.world.states))

    def following(self, plan, kernels, t):
        """(S,) what a plan gains from t to T on the kernels that another update expects."""
        values = np.zeros(self.world.states)
        for u in range(self.T - 1, t - 1, -1):
            z = self.reward(u, self.expected(*kernels, u), values)
            values = z[np.arange(self.world.states), self.policy(*plan, u)]
        return values

    def loss_and_gain(self, t, s, plan):
        """Of the next action, and of a new plan, on what is expected now."""
        new = self.made(t, plan)
        q = self.reward(t, self.expected(*new, t), self.following(new, new, t + 1))
        loss = q[s, self.policy(*new, t)[s]] - q[s, self.policy(*plan, t)[s]]
        return loss, self.following(new, new, t)[s] - self.following(plan, new, t)[s]

    def made(self, t, plan):
        return t, plan[0] if self.mission.robot.forecast.compares else 0

    def act(self, t, s, plan, left, onward):
        """Expected reward of one step and of what `onward` makes of it."""
        action = self.policy(*plan, t)[s]
        reward = self.world.reward(t)
        total = 0.0 if reward.state_action is None else reward.state_action[s, action]
        for to, p in enumerate(self.dense[t][s, action]):
            if p > 0:
                gain = 0.0 if reward.next_state is None else reward.next_state[to]
                total += p * (gain + onward(t + 1, to, plan, left))
        return total

    def objective(self, due):
        """Of a rule (t, s, plan, left) -> bool."""

        def value(t, s, plan, left):
            if t == self.T:
                return 0.0
            if t and left and due(t, s, plan, left):
                return self.act(t, s, self.made(t, plan), left - 1, value) - self.price
            return self.act(t, s, plan, left, value)

        return value(0, self.world.start, (0, 0), self.left)

    def best(self):
        """The best objective of all."""

        def value(t, s, plan, left):
            if t == self.T:
                return 0.0
            kept = self.act(t, s, plan, left, value)
            if not t or not left:
                return kept
            return max(kept, self.act(t, s, self.made(t, plan), left - 1, value) - self.price)

        return value(0, self.world.start, (0, 0), self.left)


def forecasts(world):
    given = Given(world.kernel)
    return Frozen(), Trend(), given, Mixture(), Mixture(given=given)


@st.composite
def seeing_missions(draw):
    mission = draw(tiny_missions(max_horizon=4, executions=("localised",)))
    forecast = forecasts(mission.world)[draw(st.integers(0, 4))]
    limit = draw(st.one_of(st.none(), st.integers(1, mission.horizon - 1)))
    price = draw(st.floats(0.0, 0.5)) if limit is None or draw(st.booleans()) else None
    spending = Spending(limit, price=price)
    return Mission(mission.world, replace(mission.robot, forecast=forecast), spending)


@given(seeing_missions(), st.floats(0.001, 0.3))
def test_last_moment_and_gain_decide_as_they_are_defined(mission, margin):
    slow, price = SlowRobot(mission), mission.spending.price

    def last(t, s, plan, left):
        loss, gain = slow.loss_and_gain(t, s, plan)
        return loss >= margin - 1e-12 and (price is None or gain >= price - 1e-12)

    def gain(t, s, plan, left):
        return slow.loss_and_gain(t, s, plan)[1] >= (margin if price is None else price) - 1e-12

    for rule, due in ((LastMoment(margin, pace=False), last), (Gain(margin), gain)):
        assert evaluate(mission, rule).objective == pytest.approx(slow.objective(due), abs=1e-12)


@given(seeing_missions(), st.floats(0.001, 0.3))
def test_pacing_saves_updates_for_steps_that_lose_more(mission, margin):
    slow, price, bounds = SlowRobot(mission), mission.spending.price, mission.world.drift_bounds

    def due(t, s, plan, left):
        loss, gain = slow.loss_and_gain(t, s, plan)
        steps = mission.horizon - t
        young = (t - plan[0]) * left < steps
        since = bounds[max(plan[0] - 1, 0) : t].sum()
        share = max(1 / steps, bounds[t - 1] / (2 * left * since) if since > 0 else 0.0)
        pays = price is None or gain >= price - 1e-12
        return loss >= margin - 1e-12 and pays and (not young or loss >= share * gain - 1e-12)

    assert evaluate(mission, LastMoment(margin)).objective == pytest.approx(slow.objective(due), abs=1e-12)


@given(seeing_missions())
def test_the_floor_is_the_best_of_all_feedback_rules(mission):
    best = optimum(mission)
    assert best.feedback_objective == pytest.approx(SlowRobot(mission).best(), abs=1e-12)
    times = best.fixed_times
    assert evaluate_times(mission, times).objective == pytest.approx(best.fixed_objective, abs=1e-12)
    assert best.fixed_objective <= best.feedback_objective + 1e-12


@given(seeing_missions(), st.integers(0, 2**16))
def test_fixed_times_are_followed_and_none_is_better_than_the_best(mission, code):
    times = [t for t in range(1, mission.horizon) if code >> t & 1][: mission.limit]
    slow = SlowRobot(mission)
    value = slow.objective(lambda t, s, plan, left: t in times)
    exact = evaluate_times(mission, times)
    assert exact.objective == pytest.approx(value, abs=1e-12)
    assert exact.expected_updates == pytest.approx(len(times))
    assert exact.objective <= optimum(mission).fixed_objective + 1e-12
    assert exact.steps.loss.sum() == pytest.approx(exact.regret, abs=1e-12)


@pytest.mark.parametrize("name", ["last-moment", "gain", "even", "periodic", "random", "drift-threshold"])
def test_rollouts_have_the_exact_mean_and_agents_take_the_same_updates(name):
    mission = make_mission(load_setting("terrain-medium"), execution="localised")
    rule = make_rule(name)
    exact, sampled = evaluate(mission, rule), rollout(mission, rule, np.arange(2000), trace=True)
    error = sampled.returns.std() / len(sampled.returns) ** 0.5
    assert abs(sampled.returns.mean() - exact.expected_return) < 4 * error
    assert sampled.update_counts.mean() == pytest.approx(exact.expected_updates, abs=0.1)
    assert sampled.updates is not None
    for seed in range(3):
        run = run_agent(mission, rule, seed=seed)
        assert run.times == tuple(np.flatnonzero(sampled.updates[seed]))
        assert run.total_reward == pytest.approx(sampled.returns[seed], abs=1e-12)


def test_the_paper_s_rules_keep_their_exact_budget_and_others_may_leave_some():
    mission = make_mission(load_setting("thin-ice-medium"), execution="localised")
    for name in ("periodic", "best-offset", "random", "front-loaded", "drift-threshold", "self-triggered"):
        steps = evaluate(mission, make_rule(name)).steps
        assert steps.update_probability.sum() == pytest.approx(mission.limit)
        assert steps.update_probability[1] == 1.0
    assert evaluate(mission, make_rule("last-moment")).expected_updates < 1.1


def test_one_replan_at_the_right_moment_is_worth_as_much_as_one_at_every_step():
    worlds = ("thin-ice-medium", "crosswind-hard", "terrain-hard")
    for name in worlds:
        mission = make_mission(load_setting(name), execution="localised", budget=1)
        every = mission.with_spending(Spending.at_most(mission.horizon - 1))
        at_every_step = evaluate(every, make_rule("fixed-rate")).regret
        assert evaluate(mission, LastMoment()).regret <= at_every_step + 0.01
        assert evaluate(mission, make_rule("even")).regret > at_every_step + 0.5


def test_on_the_estimate_of_the_last_update_nothing_is_known_of_what_has_changed():
    mission = make_mission(load_setting("thin-ice-medium"), execution="localised")
    told = replace(mission.robot, estimator=TrueKernel(mission.world))
    steps = evaluate(Mission(mission.world, told, mission.spending), LastMoment()).steps
    shorter = mission.horizon - told.planning_horizon + 1  # from then on plans look less far ahead
    assert steps.update_probability[:shorter].sum() == 0
    assert evaluate(mission, LastMoment()).steps.update_probability[:shorter].sum() > 0.9


def test_even_spacing_splits_the_horizon_into_equal_parts():
    assert even_times(40, 1, sees=True) == (20,)
    assert even_times(30, 2, sees=True) == (10, 20)
    assert even_times(31, 4, sees=True) == tuple(int(t) for t in np.rint(np.linspace(0, 31, 6)[1:-1]))


def test_rules_that_need_another_robot_are_refused_in_one_line():
    mission = make_mission(load_setting("two-burst"))
    with pytest.raises(InputError, match="last-moment is for localised robots"):
        evaluate(mission, LastMoment())
    seeing = make_mission(load_setting("two-burst"), execution="localised")
    for name in ("measuring-value", "accumulated-value"):
        with pytest.raises(InputError, match=f"{name} weighs the loss of not seeing the state"):
            evaluate(seeing, make_rule(name))
    with pytest.raises(InputError, match="margin must be above 0"):
        LastMoment(0.0)
    with pytest.raises(InputError, match="execution must be"):
        Robot(planning_horizon=3, execution="seeing")


def test_large_maps_are_cut_to_what_can_be_reached():
    setting = load_setting("two-burst").model_copy(update={"n": 300})
    mission = make_mission(setting, execution="localised")
    small = make_mission(load_setting("two-burst").model_copy(update={"n": 70}), execution="localised")
    assert mission.cropped is not mission
    for rule in (LastMoment(), make_rule("even")):
        large, alike = evaluate(mission, rule), evaluate(small, rule, all_starts=False)
        assert large.expected_updates == pytest.approx(alike.expected_updates, abs=1e-9)
        assert large.regret == pytest.approx(
            oracle(mission.world).values[0][mission.world.start] - large.expected_return, abs=1e-9
        )


@pytest.mark.slow
@pytest.mark.parametrize("name", ["thin-ice-medium", "crosswind-hard"])
def test_look_ahead_on_several_futures_places_one_update_near_the_floor(name):
    mission = make_mission(load_setting(name), execution="localised", budget=1, forecast="mixture")
    ahead = evaluate(mission, make_rule("lookahead"), all_starts=False)
    assert ahead.regret <= feedback_regrets(mission, 1)[-1] + 0.01
    assert evaluate(mission, make_rule("even"), all_starts=False).regret > ahead.regret + 1


@given(seeing_missions())
def test_look_ahead_that_is_told_the_truth_is_the_best_rule(mission):
    told = replace(mission.robot, forecast=Given(mission.world.kernel))
    mission = Mission(mission.world, told, mission.spending)
    best = optimum(mission).feedback_objective
    assert evaluate(mission, make_rule("lookahead")).objective == pytest.approx(best, abs=1e-9)


def test_regret_of_a_localised_robot_has_two_causes():
    mission = make_mission(load_setting("terrain-medium"), execution="localised")
    for rule in (LastMoment(), make_rule("periodic")):
        parts, exact = decompose(mission, rule), evaluate(mission, rule)
        assert parts.state == 0
        assert parts.plan + parts.model == pytest.approx(exact.regret, abs=1e-9)
