"""What fails in the loop is recorded and survived: the estimator, the planner, the forecast, the rule."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pytest
from tests.execute.loop import Deciding, Faulty, events, fly, with_robot

from replan import Agent, InputError, Periodic, Spending, TrueKernel, load_setting, make_mission, regret
from replan.execute.robot import plan_by_induction
from replan.forecast.base import Forecast, Future
from replan.forecast.given import Given
from replan.model.general_kernel import GeneralKernel
from replan.model.slip import SlipKernel
from replan.schedule.lookahead import Lookahead
from replan.schedule.rule import Decision


def test_a_failing_estimator_leaves_the_last_plan_in_force_and_is_spent(mission):
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

    agent = Agent.on(with_robot(mission, planner=planner), Periodic())
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
    agent = Agent.on(with_robot(mission, planner=planner), Periodic())
    fly(agent, mission)
    assert events(agent, "kept plan") == [17] and events(agent, "update") == [1, 33, 49]


def spoiled(factor):
    kernel = SlipKernel((12, 12), 0.1).general()
    return GeneralKernel(kernel.successors, kernel.probabilities * factor)


@dataclass
class Giving(Faulty):
    """Gives a fixed thing instead of a kernel at 17."""

    thing: object = None

    def estimate(self, learned, observation):
        learned, kernel = super().estimate(learned, observation)
        return learned, self.thing if observation.time == 17 else kernel


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
    agent = Agent.on(with_robot(mission, forecast=Given(foretold)), Periodic())
    state = fly(agent, mission, until=9)
    failing = True
    fly(agent, mission, state=state)
    assert events(agent, "update") == [1]
    assert events(agent, "kept plan") == [17, 33, 49]


def test_a_forecast_is_validated_before_the_robot_acts_on_it(mission):
    kernels = [mission.world.kernel(0)] * 20 + [SlipKernel((2, 2), 0.1)]
    with pytest.raises(InputError, match="the kernel of the forecast has 4 states"):
        Agent.on(with_robot(mission, forecast=Given(kernels)), Periodic())


def test_a_rule_that_raises_spends_the_budget_as_one_that_never_updates(mission):
    spent = []
    for how in (lambda context: Decision(False, "never"), boom):
        agent = Agent.on(mission, Deciding(how), trial=False)
        fly(agent, mission)
        spent.append([(event.time, event.why) for event in agent.log if event.what == "update"])
    assert spent[0] == spent[1]
    assert [time for time, _ in spent[0]] == [1, 47, 48, 49]
    assert spent[0][1][1] == "budget forces an update: 3 left, 3 steps to go"


def test_a_rule_that_raises_where_nothing_must_be_spent_makes_the_first_update_alone(mission):
    for spending, times in ((Spending.at_most(4), [1]), (Spending.at_price(0.1), [])):
        agent = Agent.on(mission.with_spending(spending), Deciding(boom), trial=False)
        with pytest.warns(UserWarning, match="the rule failed"):
            fly(agent, mission)
        assert events(agent, "update") == times


@dataclass(frozen=True)
class Expecting(Forecast):
    """A forecast that returns what it is told."""

    answer: Any

    def futures(self, evidence):
        return self.answer


def expected(kernel, *, weight=1.0, planned=True):
    return Future("some", weight, lambda t: kernel, planned=planned)


GOOD, SMALLER = SlipKernel((12, 12), 0.1), SlipKernel((5, 5), 0.1)
NO_STATE = GeneralKernel.of_merged(GOOD.general().successors + 144, GOOD.general().probabilities)
STAYS = expected(GOOD, weight=0.5)
UNUSABLE_FUTURES = {
    "nothing": (None, "returned NoneType, not futures"),
    "a kernel": (GOOD, "returned SlipKernel, not futures"),
    "no futures": ((), "do not add up to 1"),
    "too small a weight": ((STAYS,), "do not add up to 1"),
    "a weight that is not a number": ((expected(GOOD, weight=np.nan),), "do not add up to 1"),
    "a negative weight": ((expected(GOOD, weight=1.5), expected(GOOD, weight=-0.5)), "do not add up to 1"),
    "no plan": ((expected(GOOD, planned=False),), "no future that plans are made for"),
    "successors that are no states": ((STAYS, expected(NO_STATE, weight=0.5)), "not a state"),
    "the same without a plan": ((STAYS, expected(NO_STATE, weight=0.5, planned=False)), "not a state"),
    "no kernel": ((STAYS, expected(None, weight=0.5, planned=False)), "returned NoneType, not a kernel"),
    "another grid": ((STAYS, expected(SMALLER, weight=0.5, planned=False)), "25 states"),
}


@pytest.mark.parametrize("execution", ["map", "belief", "localised"])
@pytest.mark.parametrize(("answer", "line"), UNUSABLE_FUTURES.values(), ids=UNUSABLE_FUTURES)
def test_unusable_futures_are_one_line_before_anything_acts_on_them(mission, answer, line, execution):
    mission = with_robot(mission, forecast=Expecting(answer), execution=execution)
    with pytest.raises(InputError, match=line):
        regret(mission, Lookahead())
    with pytest.raises(InputError, match=line):
        Agent.on(mission, Lookahead())
