"""The checker passes every rule of ours and catches a cheat of every kind."""

import sys
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest

from replan import Robot, Spending
from replan.errors import InputError
from replan.evaluation.agent_runs import run_agent
from replan.evaluation.exact import evaluate
from replan.evaluation.rule_checks import check_rule
from replan.execute.mission import Mission
from replan.model.slip import SlipKernel
from replan.schedule.periodic import Periodic
from replan.schedule.registry import registered_rule, rule_names
from replan.schedule.regret_guided import RegretGuided
from replan.schedule.rule import Decision, Need, Rule
from replan.worlds.slip_grid import rover


def small_mission(steps=8, spending=None, **robot):
    world, robot = rover(3, np.linspace(0.1, 0.4, steps)), Robot(planning_horizon=4, **robot)
    return Mission(world, robot, spending or Spending.exactly(2))


@pytest.mark.parametrize("name", rule_names())
def test_our_rules_pass(name):
    assert check_rule(registered_rule(name)()) == []


def test_the_theorem_score_passes_because_it_declares_the_profile():
    assert check_rule(RegretGuided("theorem", diameter=1.0, threshold=2.0)) == []


@pytest.mark.parametrize("robot", [{"update_steps": {1: 0.5, 2: 0.5}}, {"execution": "localised"}])
def test_rules_of_late_and_of_localised_robots_pass(robot):
    for name in ("drift-threshold", "random"):
        assert check_rule(registered_rule(name)(), small_mission(12, **robot)) == []


@dataclass
class Honest(Rule):
    """Never asks for an update by itself; the cheats below change one thing each."""

    held: Any = None
    calls: list = field(default_factory=list)

    name = "honest"

    def decide(self, context):
        return Decision(False, "")


def cheat(*needs, **methods):
    """A rule class with other needs and methods than those of the honest rule."""
    return type("Cheat", (Honest,), {"needs": frozenset(needs), **methods})


def due(condition):
    return lambda self, context: Decision(condition(context), "")


def names(time):
    return lambda self, context, states: np.full(len(states), time(context))


def draws(time):
    return lambda self, context, states: np.eye(1, context.horizon + 1, time(context))


def counts(self, context):
    self.calls.append(context.time)
    return Decision(len(self.calls) % 3 == 0, "")


def names_whole_times_at_first(self, context, states):
    step = 1.5 if (context.horizon, context.time) in self.calls else 1
    self.calls.append((context.horizon, context.time))
    return np.full(len(states), context.time + step)


def draws_below_zero(self, context, states):
    chances = np.zeros((1, context.horizon + 1))
    chances[0, context.time + 1 : context.time + 3] = 1.5, -0.5
    return chances


def draws_with_the_future(self, context, states):
    latest = context.horizon - context.budget_left
    chosen = context.time + 1 + int(np.argmax(context.drift_bounds.base[context.time : latest]))
    return np.eye(1, context.horizon + 1, chosen)


CHEATS = {
    "looks behind its bounds": (
        cheat(Need.DRIFT_SO_FAR, decide=due(lambda c: c.drift_bounds.base[c.time :].sum() > 0.1)),
        "looks ahead",
    ),
    "reads the current kernel": (
        cheat(decide=due(lambda c: c.current_kernel.states > 3)),
        "needs the current kernel",
    ),
    "reads beyond its bounds": (
        cheat(Need.DRIFT_SO_FAR, decide=due(lambda c: c.drift_bounds[c.time] > 0.01)),
        "IndexError",
    ),
    "counts": (cheat(decide=counts), "differently when it is asked again"),
    "throws dice": (
        cheat(decide=due(lambda c: bool(np.random.default_rng().random() < 0.5))),
        "differently when it is asked again",
    ),
    "reads the state": (cheat(decide=due(lambda c: c.state % 2 == 0)), "needs the state"),
    "names times by the state": (
        cheat(next_update=lambda self, context, states: context.time + 1 + states % 2),
        "does not declare it",
    ),
    "says maybe": (cheat(decide=due(lambda c: "maybe")), "decides 'maybe'"),
    "scores nothing": (
        cheat(decide=lambda self, context: Decision(False, "", score=float("nan"))),
        "score is not a number",
    ),
    "names half a step": (
        cheat(next_update=names(lambda c: c.time + 1.5)),
        "neither times nor probabilities",
    ),
    "names whole times at first": (
        cheat(next_update=names_whole_times_at_first),
        "differently when it is asked again",
    ),
    "names the past": (cheat(next_update=names(lambda c: c.time - 1)), "names the time 0"),
    "names the update itself": (
        cheat(next_update=names(lambda c: c.time)),
        "names the time 1, not one of 2 to",
    ),
    "names a time after the end": (
        cheat(next_update=names(lambda c: c.horizon + 1)),
        "names the time 15, not one of 2 to 14",
    ),
    "draws below zero": (cheat(next_update=draws_below_zero), "no distribution"),
    "draws nothing": (
        cheat(next_update=lambda self, context, states: np.zeros((1, context.horizon + 1))),
        "no distribution",
    ),
    "draws the update itself": (
        cheat(next_update=draws(lambda c: c.time)),
        "after an update at 1 break the budget: the next update must lie in 2 to",
    ),
    "draws one too late": (
        cheat(next_update=draws(lambda c: c.horizon - c.budget_left + 1)),
        "after an update at 1 break the budget",
    ),
    "draws no update": (cheat(next_update=draws(lambda c: c.horizon)), "break the budget"),
    "draws with the future": (
        cheat(Need.DRIFT_SO_FAR, next_update=draws_with_the_future),
        "looks ahead",
    ),
    "needs everything": (cheat("everything"), "needs 'everything'"),
}


@pytest.mark.parametrize(("cheat", "finding"), CHEATS.values(), ids=CHEATS)
def test_a_cheat_is_caught(cheat, finding):
    found = check_rule(cheat())
    assert any(finding in str(each) for each in found), found


@pytest.mark.parametrize(
    "time", [lambda c: c.horizon, lambda c: c.horizon - c.budget_left], ids=["the end", "the latest"]
)
def test_a_rule_may_name_the_end_and_draw_the_latest_time(time):
    assert check_rule(Honest()) == []
    assert check_rule(cheat(next_update=names(time))()) == []
    assert check_rule(cheat(next_update=draws(lambda c: c.horizon - c.budget_left))()) == []


class HoldsTheWorld(Honest):
    def decide(self, context):
        t = min(context.time + 1, context.horizon - 1)
        ahead = self.held.world.kernel(t).entrywise_distance(context.kernel).max()
        return Decision(False, "", score=float(ahead))


class ProfileIsNotTheWorld(HoldsTheWorld):
    needs = frozenset({Need.DRIFT_AHEAD})


class PlansWithTheWorld(Honest):
    def next_update(self, context, states):
        ahead = int(np.argmax(self.held.world.drift_bounds[context.time :]))
        return np.full(len(states), ahead + context.time + 1)


class LooksAtTheKindOfKernel(Honest):
    def decide(self, context):
        ahead = self.held.world.kernel(min(context.time + 1, context.horizon - 1))
        return Decision(isinstance(ahead, SlipKernel), "")


class PeeksForSeveral(Honest):
    """Peeks only where exact evaluation asks, which `decide` does not show."""

    def updates(self, context, states):
        bounds = self.held.world.drift_bounds
        return np.full(len(states), bool(bounds[min(context.time, len(bounds) - 1)] > 0.02))


class PeeksWhenEvaluated(PeeksForSeveral):
    """As above, and a robot that asks finds the same."""

    def decide(self, context):
        return Decision(bool(self.updates(context, np.zeros(1))[0]), "")


@pytest.mark.parametrize(
    ("cheat", "finding"),
    [
        (HoldsTheWorld, "looks ahead"),
        (ProfileIsNotTheWorld, "looks ahead"),
        (PlansWithTheWorld, "looks ahead"),
        (LooksAtTheKindOfKernel, "another world follows"),
        (PeeksForSeveral, "exact evaluation than for one robot"),
        (PeeksWhenEvaluated, "looks ahead"),
    ],
)
def test_a_rule_made_from_the_mission_is_made_anew_in_every_world(cheat, finding):
    found = check_rule(lambda mission: cheat(mission))
    assert any(finding in str(each) for each in found), found


def test_looking_ahead_is_told_of_every_time_and_with_what_was_changed():
    found = check_rule(lambda mission: HoldsTheWorld(mission), small_mission())
    still = "looks ahead: decides differently where the world stands still afterwards"
    untold = "uses what it does not declare: decides differently where "
    untold += "kernels and drift bounds that it was not told of differ"
    assert [(each.what, each.time) for each in found] == [*((still, t) for t in range(2, 7)), (untold, 7)]


class SeesTheState(Honest):
    needs = frozenset({Need.STATE})

    def decide(self, context):
        return Decision(context.state % 2 == 0, "")


def draws_otherwise_for_several(self, context, states):
    chosen = context.time + (1 if len(states) == 1 else 2)
    return np.repeat(np.eye(1, context.horizon + 1, chosen), len(states), axis=0)


@pytest.mark.parametrize(
    "method",
    [
        {"updates": lambda self, context, states: states % 2 == (1 if len(states) > 1 else 0)},
        {"updates": lambda self, context, states: np.full(len(states), context.state % 2 == 0)},
        {"next_update": lambda self, c, states: np.full(len(states), c.time + (2 if len(states) > 1 else 1))},
        {"next_update": draws_otherwise_for_several},
    ],
    ids=["decides", "decides for the first", "names", "draws"],
)
def test_a_rule_that_answers_otherwise_for_several_states_is_caught(method):
    assert check_rule(SeesTheState()) == []
    found = check_rule(type("Cheat", (SeesTheState,), method)())
    what = "answers differently for several states at once than for one robot"
    assert {each.what for each in found} == {what}


@pytest.mark.parametrize(
    "answer", [lambda states: np.full(len(states), np.nan), lambda states: np.array([True])]
)
def test_updates_must_answer_true_or_false_for_each_state(answer):
    rule = type("Cheat", (SeesTheState,), {"updates": lambda self, context, states: answer(states)})()
    assert "not True or False for each of" in str(check_rule(rule)[0])
    with pytest.raises(InputError, match="not True or False for each of"):
        evaluate(small_mission(), rule)


class FindsItsNeeds(Honest):
    def __getattribute__(self, name):
        return frozenset() if name == "needs" else super().__getattribute__(name)


class Odd(frozenset):
    def __iter__(self):
        return iter(())


@pytest.mark.parametrize(
    "cheat",
    [
        type("ComputesItsNeeds", (Honest,), {"needs": property(lambda self: frozenset())}),
        type("AnswersForItsNeeds", (Honest,), {"needs": Odd({Need.DRIFT_AHEAD})}),
        FindsItsNeeds,
    ],
)
def test_needs_that_are_computed_are_refused(cheat):
    (found,) = check_rule(cheat())
    assert str(found).startswith("needs must be a plain frozenset of the class, or set in __post_init__")


def test_needs_that_change_are_refused():
    class ChangesItsNeeds(Honest):
        def decide(self, context):
            self.needs = frozenset({Need.DRIFT_AHEAD})
            return Decision(False, "")

    assert "changes its needs while it is asked" in map(str, check_rule(ChangesItsNeeds()))


class WalksUpTheStack(Honest):
    """Looks for a mission among the variables of whoever asks."""

    def decide(self, context):
        frame = sys._getframe(1)
        while "mission" not in frame.f_locals:
            frame = frame.f_back
        bounds = frame.f_locals["mission"].world.drift_bounds
        return Decision(bool(bounds[min(context.time, len(bounds) - 1)] > 0.02), "")


class IsHonestWhenChecked(Honest):
    """Peeks unless the checker asks it one question."""

    needs = frozenset({Need.DRIFT_SO_FAR})

    def decide(self, context):
        callers, frame = set(), sys._getframe()
        while frame is not None:
            callers.add(frame.f_code.co_name)
            frame = frame.f_back
        ahead = context.drift_bounds.base[context.time :].sum()
        return Decision(bool("evaluate" in callers and ahead > 0.1), "")


def knowledge_behind(context):
    """The knowledge of the mission, through the functions that a context holds."""
    return context.update.expect.__wrapped__.func.__self__.knowledge


class FollowsTheClosures(Honest):
    def decide(self, context):
        bounds = knowledge_behind(context).drift.bounds
        return Decision(bool(bounds[context.time - 1 :].max() > 0.02), "")


@pytest.mark.parametrize("cheat", [WalksUpTheStack, IsHonestWhenChecked, FollowsTheClosures])
def test_a_rule_that_looks_for_the_future_behind_its_context_is_caught(cheat):
    found = check_rule(cheat())
    assert any("looks ahead" in str(each) for each in found), found


SEEN: dict[bytes, float] = {}


class RemembersInItsModule(Honest):
    """Keeps the kernels of every update, and knows them when the same world comes again."""

    def decide(self, context):
        first = context.reward(0).next_state.tobytes() + bytes([context.horizon])
        here = float((context.kernel.general().probabilities ** 2).sum())
        known = SEEN.setdefault(first, here)
        SEEN[first] = min(known, here)
        return Decision(bool(known < here - 0.1), "")


class RemembersInTheCache(Honest):
    """Leaves later drift bounds in the cache of the update, where earlier questions find them."""

    needs = frozenset({Need.DRIFT_SO_FAR})

    def decide(self, context):
        known = context.cache.get("known", context.drift_bounds)
        context.cache["known"] = max(known, context.drift_bounds, key=len)
        return Decision(bool(known[context.time :].sum() > 0.05), "")


@pytest.mark.parametrize("cheat", [RemembersInItsModule, RemembersInTheCache])
def test_a_rule_that_remembers_what_it_was_asked_is_caught(cheat):
    assert any("asked again" in str(each) for each in check_rule(cheat()))


class TakesTheCurrentKernel(Honest):
    """P_t, which it does not declare; the future does not matter to it."""

    ago = 0

    def decide(self, context):
        kernel = knowledge_behind(context).current_kernel(context.time - self.ago)
        return Decision(bool(kernel.entrywise_distance(context.kernel).max() > 0.02), "")


class TakesTheKernelBefore(TakesTheCurrentKernel):
    """P_{t-1}, which a blind robot is not told of before its next update."""

    ago = 1


class TakesTheDriftSoFar(Honest):
    def decide(self, context):
        bounds = knowledge_behind(context).drift.bounds[context.last_update : context.time]
        return Decision(bool(bounds.sum() > 0.02), "")


RUNNING = Need.RUNNING_ESTIMATE, Need.STATE


@pytest.mark.parametrize(
    ("cheat", "declared", "needs"),
    [
        (TakesTheCurrentKernel, (), (Need.CURRENT_KERNEL,)),
        (TakesTheCurrentKernel, RUNNING, (Need.CURRENT_KERNEL,)),
        (TakesTheKernelBefore, (), RUNNING),
        (TakesTheDriftSoFar, (), (Need.DRIFT_SO_FAR,)),
    ],
)
def test_what_is_past_may_matter_only_if_it_is_declared(cheat, declared, needs):
    found = check_rule(type("Undeclared", (cheat,), {"needs": frozenset(declared)})())
    assert found and all("uses what it does not declare" in str(each) for each in found), found
    assert check_rule(type("Declared", (cheat,), {"needs": frozenset(needs)})()) == []


def test_the_profile_may_matter_if_it_is_declared():
    def next_update(self, context, states):
        ahead = int(np.argmax(context.drift_bounds[context.time :]))
        return np.full(len(states), ahead + context.time + 1)

    assert check_rule(cheat(Need.DRIFT_AHEAD, next_update=next_update)()) == []


def test_terms_may_be_nan_but_scores_may_not():
    def decide(self, context):
        return Decision(False, "", score=0.5, terms={"unknown": float("nan"), "known": 0.5})

    assert check_rule(cheat(decide=decide)()) == []
    with pytest.raises(InputError, match=r"^the rule cheat: its score is not a number at t=2$"):
        evaluate(small_mission(), CHEATS["scores nothing"][0]())
    with pytest.raises(InputError, match="decides 'maybe', not True or False, at t=2"):
        evaluate(small_mission(), CHEATS["says maybe"][0]())


@dataclass
class Noted(Honest):
    """Updates at even distances and notes what it is asked."""

    every: int = 3
    needs = frozenset({Need.EARLIER_ESTIMATE})

    def note(self, context):
        earlier = context.earlier[0] if context.earlier else None
        self.calls.append((context.time, context.last_update, context.budget_left, earlier))

    def decide(self, context):
        self.note(context)
        return Decision(context.time - context.last_update >= self.every, "")


class NotedNames(Noted):
    def next_update(self, context, states):
        self.note(context)
        return np.full(len(states), min(context.time + self.every, context.horizon))


@pytest.mark.parametrize("spending", [Spending.exactly(3), Spending.at_most(9), Spending.at_price(0.1)])
@pytest.mark.parametrize("kind", [Noted, NotedNames])
def test_a_rule_is_asked_what_a_robot_asks_it_and_nothing_else(kind, spending):
    mission, checked, asked = small_mission(12, spending), kind(), kind()
    assert check_rule(checked, mission) == []
    run_agent(mission, asked)
    assert set(checked.calls) == set(asked.calls)


def test_findings_are_told_once_and_no_more_than_asked_for():
    found = check_rule(CHEATS["counts"][0]())
    assert len(found) == len(set(found)) > 5
    assert check_rule(CHEATS["counts"][0](), most=2) == found[:2]
    assert str(found[0]) == f"answers differently when it is asked again at t={found[0].time}"


def test_what_is_no_rule_is_named():
    assert "is no rule" in str(check_rule(lambda mission: 3)[0])  # type: ignore[arg-type]
    for use in (check_rule, lambda rule: evaluate(small_mission(), rule)):
        with pytest.raises(InputError, match=r"an instance: Periodic\(\)"):
            use(Periodic)


def test_faults_on_given_missions_are_found():
    def decide(self, context):
        return Decision(False, "", score=float("nan") if context.time > 15 else 0.0)

    late = cheat(decide=decide)()
    assert check_rule(late) == []
    assert "score is not a number at t=16" in str(check_rule(late, small_mission(20))[0])
