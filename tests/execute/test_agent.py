"""The robot's loop: what it says, what it survives, what it refuses."""

from dataclasses import dataclass, replace

import numpy as np
import pytest
from tests.execute.loop import Deciding, Faulty, events, fly

from replan import Agent, InputError, Periodic, TrueKernel, load_setting, make_mission, make_rule
from replan.execute import Event, plan_by_induction
from replan.forecast import Frozen, Given
from replan.model import GeneralKernel, SlipKernel
from replan.schedule import Decision, Lookahead, Random


def test_every_update_and_action_is_in_the_log_with_its_reason(mission):
    agent = Agent.on(mission, Periodic())
    fly(agent, mission)
    assert events(agent, "update") == [1, 17, 33, 49]
    assert events(agent, "act") == list(range(50))
    whys = [event.why for event in agent.log if event.what == "update"]
    assert whys[0] == "the first update" and all("raster" in why for why in whys[1:])
    assert agent.budget_left == 0 and agent.done


def test_a_failing_estimator_leaves_the_last_plan_in_force_and_spends_the_look(mission):
    estimator = Faulty(TrueKernel(mission.world), fail_at=(17,))
    agent = Agent.on(mission, Periodic(), estimator=estimator)
    state = fly(agent, mission, until=17)
    before = agent.plan
    assert agent.due().update and agent.update(state) is False
    assert agent.plan is before
    assert agent.budget_left == 2
    assert agent.estimate == state, "the look resets where the agent believes itself to be"
    kept = agent.log[-1]
    assert kept.what == "kept plan" and "no lock on the beacon" in kept.why
    fly(agent, mission, state=state)
    assert events(agent, "update") == [1, 33, 49]
    assert agent.plan.time == 49


def test_a_failing_planner_is_survived_as_well(mission):
    def planner(kernel, reward, at, horizon, ties):
        if at == 33:
            raise MemoryError
        return plan_by_induction(kernel, reward, at, horizon, ties)

    agent = Agent.on(mission, Periodic(), planner=planner)
    fly(agent, mission)
    assert events(agent, "kept plan") == [33]


UNUSABLE = {
    "no plan": lambda made: None,
    "a policy for too few states": lambda made: replace(made, policy=made.policy[:3]),
    "an action one past the last": lambda made: replace(made, policy=np.full_like(made.policy, 5)),
    "a plan of another time": lambda made: replace(made, time=10**9),
    "infinite values": lambda made: replace(made, next_values=made.next_values + np.inf),
    "a policy as a list": lambda made: replace(made, policy=made.policy.tolist()),
    "an action that does not exist": lambda made: replace(made, policy=np.full_like(made.policy, 9)),
    "an action before the first": lambda made: replace(made, policy=made.policy - 5),
    "half actions": lambda made: replace(made, policy=made.policy / 2),
    "values for too few states": lambda made: replace(made, next_values=made.next_values[:3]),
    "values that are not numbers": lambda made: replace(made, next_values=made.next_values * np.nan),
}


@pytest.mark.parametrize("execution", ["map", "belief"])
@pytest.mark.parametrize("spoil", UNUSABLE.values(), ids=UNUSABLE)
def test_a_planner_that_returns_something_unusable_is_survived(execution, spoil):
    def planner(kernel, reward, at, horizon, ties):
        made = plan_by_induction(kernel, reward, at, horizon, ties)
        return spoil(made) if at == 17 else made

    mission = make_mission(load_setting("two-burst"), execution=execution)
    agent = Agent.on(mission, Periodic(), planner=planner)
    fly(agent, mission)
    assert events(agent, "kept plan") == [17] and events(agent, "update") == [1, 33, 49]


def spoiled(factor):
    kernel = SlipKernel((12, 12), 0.1).general()
    return GeneralKernel(kernel.successors, kernel.probabilities * factor)


@dataclass
class Giving(Faulty):
    """Gives a fixed thing instead of a kernel at 17."""

    thing: object = None

    def estimate(self, observation):
        return self.thing if observation.time == 17 else super().estimate(observation)


@pytest.mark.parametrize(
    "thing",
    [None, np.eye(144), SlipKernel((3, 3), 0.1), spoiled(np.nan), spoiled(0.0), spoiled(-1.0)],
    ids=["none", "array", "small", "not a number", "zeros", "negative"],
)
def test_an_estimator_that_returns_something_unusable_is_survived(mission, thing):
    agent = Agent.on(mission, Periodic(), estimator=Giving(TrueKernel(mission.world), thing=thing))
    fly(agent, mission)
    assert events(agent, "kept plan") == [17] and events(agent, "update") == [1, 33, 49]


def boom(context):
    raise RuntimeError("boom")


@pytest.mark.parametrize("how", [boom, lambda context: None], ids=["raises", "decides nothing"])
def test_a_rule_that_fails_at_once_is_refused_and_one_that_fails_later_is_recorded(mission, how):
    with pytest.raises(InputError, match=r"the rule deciding (cannot decide|decided None)"):
        Agent.on(mission, Deciding(how))

    def fails_in_flight(context):
        return Decision(False, "") if context.time < 4 else how(context)

    agent = Agent.on(mission, Deciding(fails_in_flight))
    with pytest.warns(UserWarning, match="the rule failed") as warned:
        fly(agent, mission)
    assert len(warned) == 1
    assert events(agent, "update") == [1, 47, 48, 49], "as late as exactly four updates allow"
    assert events(agent, "failed rule") == list(range(4, 50))


def test_a_rule_that_fails_once_is_asked_again(mission):
    def decide(context):
        if context.time == 5:
            raise RuntimeError("boom")
        return Decision(context.time == 6, "six")

    agent = Agent.on(mission, Deciding(decide))
    state = fly(agent, mission, until=5)
    assert not agent.due().update and "boom" in agent.due().reason
    assert events(agent, "failed rule") == [5], "asking twice is one failure"
    fly(agent, mission, state=state)
    assert events(agent, "update")[:2] == [1, 6]


def test_a_forecast_that_fails_is_survived(mission):
    def foretold(t):
        if failing:
            raise MemoryError
        return mission.world.kernel(t)

    failing = False
    agent = Agent.on(mission, Periodic(), forecast=Given(foretold))
    state = fly(agent, mission, until=9)
    failing = True
    fly(agent, mission, state=state)
    assert events(agent, "update") == [1]
    assert events(agent, "kept plan") == [17, 33, 49]


def test_a_forecast_is_validated_before_the_robot_acts_on_it(mission):
    kernels = [mission.world.kernel(0)] * 20 + [SlipKernel((2, 2), 0.1)]
    with pytest.raises(InputError, match="the kernel of the forecast has 4 states"):
        Agent.on(mission, Periodic(), forecast=Given(kernels))


def test_a_planner_of_one_s_own_and_a_forecast_do_not_go_together(mission):
    def planner(*arguments):
        return plan_by_induction(*arguments)

    with pytest.raises(InputError, match="planner"):
        Agent.on(mission, Periodic(), planner=planner, forecast=Given(mission.world.kernel))


def test_a_rule_that_has_not_drawn_its_times_is_refused(mission):
    with pytest.raises(InputError, match="seed"):
        Agent.on(mission, Random())


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        ({"rule": Lookahead}, r"an instance: Lookahead\(\)"),
        ({"rule": "periodic"}, "rule must be a Rule"),
        ({"rule": Deciding(lambda context: True)}, "decided True, not a Decision"),
        ({"drift_bounds": np.zeros(48)}, "drift_bounds"),
        ({"drift_bounds": np.full(49, -0.1)}, "drift_bounds"),
        ({"drift_bounds": np.full(49, np.nan)}, "drift_bounds"),
        ({"drift_bounds": 0.1}, "drift_bounds"),
        ({"reward": 3}, "reward"),
        ({"reward": lambda t: 3}, "reward"),
        ({"budget": 0}, "budget"),
    ],
)
def test_what_could_not_work_is_refused_at_construction(mission, arguments, named):
    with pytest.raises(InputError, match=named):
        Agent.on(mission, **{"rule": Periodic(), **arguments})


def test_the_estimator_is_told_what_the_update_reveals(mission):
    estimator = Faulty(TrueKernel(mission.world))
    agent = Agent.on(mission, Periodic(), estimator=estimator)
    fly(agent, mission)
    acted = [event.action for event in agent.log if event.what == "act"]
    assert [seen.time for seen in estimator.asked] == [1, 17, 33, 49]
    assert estimator.asked[1].commanded == tuple(acted[1:17])
    assert estimator.asked[1].previous_action == acted[16]


def test_the_estimator_is_told_the_state_before_where_it_was_seen(mission):
    apart = mission.with_budget(None, looks=3, plans=3)
    estimator = Faulty(TrueKernel(mission.world))
    agent = Agent.on(apart, Periodic(), estimator=estimator)
    agent.start(0)
    for spend, previous in ((agent.update, 7), (agent.look, 8), (agent.look, None)):
        agent.act()
        spend(1, previous=previous)
    assert [seen.previous_state for seen in estimator.asked] == [7, 8, None]


def test_an_update_spends_the_parts_that_are_left(mission):
    agent = Agent.on(mission.with_budget(None, looks=2, plans=1), Periodic())
    agent.start(0)
    for _ in range(2):
        agent.act()
        agent.update(1)
    assert (events(agent, "update"), events(agent, "look")) == ([1], [2])


def test_a_rule_that_raises_spends_two_budgets_as_one_that_never_updates(mission):
    apart = mission.with_budget(None, looks=6, plans=3)
    spent = []
    for how in (lambda context: Decision(False, "never"), boom):
        agent = Agent.on(apart, Deciding(how), trial=False)
        fly(agent, apart)
        spent.append([(event.time, event.what) for event in agent.log if event.what in ("update", "look")])
    assert spent[0] == spent[1]
    assert [what for _, what in spent[0]] == ["update", "look", "look", "look", "update", "update"]


def test_the_log_begins_with_the_state_that_is_seen_for_free(mission):
    agent = Agent.on(mission, Periodic())
    assert agent.log == []
    agent.start(5)
    assert agent.log == [Event(0, "start", state=5)]


def test_a_forecast_goes_on_from_what_the_estimator_has_learned(mission):
    @dataclass(frozen=True)
    class Informed(Frozen):
        source: object = None

        def informed_by(self, estimator):
            return replace(self, source=estimator)

    agent = Agent.on(mission, Periodic(), forecast=Informed())
    assert agent.forecast.source is agent.estimator


def test_an_update_beyond_the_budget_is_refused_and_recorded(mission):
    agent = Agent.on(mission, Periodic())
    agent.start(0)
    assert agent.update(0) is False, "the first step is free, the first update at 1"
    agent.act()
    for _ in range(4):
        agent.update(1)
        agent.act()
    assert agent.update(1) is False
    assert events(agent, "refused update") == [0, 5]
    assert [event.state for event in agent.log if event.what == "refused update"] == [0, 1]


def test_a_second_update_at_one_time_is_refused_and_costs_nothing(mission):
    agent = Agent.on(mission, Periodic())
    fly(agent, mission, until=1)
    assert agent.update(1) is True
    assert agent.update(1) is False
    assert agent.budget_left == 3
    assert agent.log[-1].what == "refused update" and "already" in agent.log[-1].why


@pytest.mark.parametrize("state", [999, 144, -1, None, True, float("nan"), 1.5, "1"])
def test_what_is_not_a_state_is_refused_and_costs_nothing(mission, state):
    agent = Agent.on(mission, Periodic())
    with pytest.raises(InputError, match="state must be a whole number from 0 to 143"):
        agent.start(state)
    fly(agent, mission, until=1)
    before = list(agent.log)
    with pytest.raises(InputError, match="state must be a whole number from 0 to 143"):
        agent.update(state)
    if state is not None:
        with pytest.raises(InputError, match="previous must be a whole number from 0 to 143"):
            agent.update(1, previous=state)
    assert agent.budget_left == 4 and agent.log == before
    assert agent.update(np.int64(1)) and agent.act() >= 0


def test_an_engineer_may_update_before_the_rule_says_so(mission):
    agent = Agent.on(mission, Periodic())
    state = fly(agent, mission, until=5)
    assert not agent.due().update
    assert agent.update(state)
    assert agent.budget_left == 2


def test_misuse_is_said_plainly(mission):
    with pytest.raises(InputError, match=r"call start\(state\) first"):
        Agent.on(mission, Periodic()).act()
    agent = Agent.on(mission, Periodic())
    fly(agent, mission)
    with pytest.raises(InputError, match="all 50 steps"):
        agent.act()


def spread(states, *cells):
    belief = np.zeros(states)
    for cell, probability in cells:
        belief[cell] = probability
    return belief


@pytest.mark.parametrize("execution", ["map", "belief"])
def test_a_certain_distribution_is_a_state(execution):
    mission = make_mission(load_setting("two-burst"), execution=execution)
    actions = []
    for look in (17, spread(144, (17, 1.0))):
        agent = Agent.on(mission, Periodic())
        agent.start(0)
        agent.act()
        assert agent.update(look)
        actions.append([agent.act() for _ in range(10)])
    assert actions[0] == actions[1]


def test_an_uncertain_look_goes_on_as_a_belief_or_from_its_mode():
    belief = spread(144, (17, 0.5), (30, 0.3), (45, 0.2))
    for execution in ("map", "belief"):
        mission = make_mission(load_setting("two-burst"), execution=execution)
        agent = Agent.on(mission, Periodic())
        agent.start(0)
        agent.act()
        agent.update(belief)
        assert agent.log[-1].state == 17
        if execution == "map":
            assert agent.estimate == 17
        else:
            assert agent.estimate == pytest.approx(belief)
            kernel = mission.update(1).kernel.general().dense()
            action = agent.act()
            assert agent.estimate == pytest.approx(belief @ kernel[:, action])


@pytest.mark.parametrize(
    "look", [[0.5, 0.5], np.full(144, 0.1), np.full(144, np.nan), -np.eye(144)[0], np.eye(144), ["a"] * 144]
)
def test_what_is_no_distribution_over_the_states_is_refused(mission, look):
    agent = Agent.on(mission, Periodic())
    agent.start(0)
    agent.act()
    with pytest.raises(InputError, match="144 probabilities"):
        agent.update(look)
    assert agent.budget_left == mission.budget


def test_only_rules_that_need_the_current_kernel_are_refused_where_it_is_not_known(mission):
    blind = replace(Agent.on(mission, Periodic()), current_kernel=None)
    with pytest.raises(InputError, match="current_kernel"):
        replace(blind, rule=make_rule("lazy-value"))
