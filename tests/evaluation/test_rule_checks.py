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
from replan.schedule.registry import RULES
from replan.schedule.regret_guided import RegretGuided
from replan.schedule.rule import Decision, Need, Rule
from replan.worlds.slip_grid import rover


@pytest.mark.parametrize("name", RULES)
def test_our_rules_pass(name):
    assert check_rule(RULES[name]()) == []


def test_the_theorem_score_passes_because_it_declares_the_profile():
    assert check_rule(RegretGuided("theorem", diameter=1.0, threshold=2.0)) == []


@dataclass
class Honest(Rule):
    """Never asks for an update by itself; the cheats below change one thing each."""

    held: Any = None
    calls: list = field(default_factory=list)

    name = "honest"

    def decide(self, context):
        return Decision(False, "")


class LooksBehindTheBounds(Honest):
    needs = frozenset({Need.DRIFT_SO_FAR})

    def decide(self, context):
        return Decision(context.drift_bounds.base[context.time :].sum() > 0.1, "")


class HoldsTheWorld(Honest):
    def decide(self, context):
        t = min(context.time + 1, context.horizon - 1)
        ahead = self.held.world.kernel(t).entrywise_distance(context.kernel).max()
        return Decision(False, "", score=float(ahead))


class PeeksAtTheNextBound(Honest):
    def decide(self, context):
        bounds = self.held.world.drift_bounds
        return Decision(False, "", score=float(bounds[min(context.time, len(bounds) - 1)]))


class PlansWithTheWorld(Honest):
    def next_update(self, context, states):
        return np.full(
            len(states), int(np.argmax(self.held.world.drift_bounds[context.time :])) + context.time + 1
        )


class ProfileIsNotTheWorld(HoldsTheWorld):
    needs = frozenset({Need.DRIFT_AHEAD})


class LooksAtTheKindOfKernel(Honest):
    def decide(self, context):
        ahead = self.held.world.kernel(min(context.time + 1, context.horizon - 1))
        return Decision(
            False, "", score=float(len(ahead.general().successors) + isinstance(ahead, SlipKernel))
        )


class ReadsTheCurrentKernel(Honest):
    def decide(self, context):
        return Decision(context.current_kernel.states > 3, "")


class ReadsBeyondTheBounds(Honest):
    needs = frozenset({Need.DRIFT_SO_FAR})

    def decide(self, context):
        return Decision(context.drift_bounds[context.time] > 0.01, "")


class Counts(Honest):
    def decide(self, context):
        self.calls.append(context.time)
        return Decision(len(self.calls) % 3 == 0, "")


class ThrowsDice(Honest):
    def decide(self, context):
        return Decision(bool(np.random.default_rng().random() < 0.5), "")


class ReadsTheState(Honest):
    def decide(self, context):
        return Decision(context.state % 2 == 0, "")


class NamesTheStateUnasked(Honest):
    def next_update(self, context, states):
        return context.time + 1 + states % 2


class SaysMaybe(Honest):
    def decide(self, context):
        return Decision("maybe", "")  # type: ignore[arg-type]


class ScoresNothing(Honest):
    def decide(self, context):
        return Decision(False, "", score=float("nan"))


class NamesHalfASecond(Honest):
    def next_update(self, context, states):
        return np.full(len(states), context.time + 1.5)


class NamesThePast(Honest):
    def next_update(self, context, states):
        return np.full(len(states), context.time - 1)


class DrawsBeyondTheBudget(Honest):
    def next_update(self, context, states):
        return np.eye(1, context.horizon + 1, context.horizon - 1)


class DrawsWithTheFuture(Honest):
    needs = frozenset({Need.DRIFT_SO_FAR})

    def next_update(self, context, states):
        latest = context.horizon - context.budget_left
        chosen = context.time + 1 + int(np.argmax(context.drift_bounds.base[context.time : latest]))
        return np.eye(1, context.horizon + 1, chosen)


class NamesTheUpdateItself(Honest):
    def next_update(self, context, states):
        return np.full(len(states), context.time)


class NamesAfterTheEnd(Honest):
    def next_update(self, context, states):
        return np.full(len(states), context.horizon + 1)


class NamesTheEnd(Honest):
    def next_update(self, context, states):
        return np.full(len(states), context.horizon)


class DrawsBelowZero(Honest):
    def next_update(self, context, states):
        chances = np.zeros((1, context.horizon + 1))
        chances[0, context.time + 1 : context.time + 3] = 1.5, -0.5
        return chances


class DrawsNothing(Honest):
    def next_update(self, context, states):
        return np.zeros((1, context.horizon + 1))


class DrawsTheUpdateItself(Honest):
    def next_update(self, context, states):
        return np.eye(1, context.horizon + 1, context.time)


class DrawsOneTooLate(Honest):
    def next_update(self, context, states):
        return np.eye(1, context.horizon + 1, context.horizon - context.budget_left + 1)


class DrawsTheLatest(Honest):
    def next_update(self, context, states):
        return np.eye(1, context.horizon + 1, context.horizon - context.budget_left)


class DrawsNoUpdate(Honest):
    def next_update(self, context, states):
        return np.eye(1, context.horizon + 1, context.horizon)


class NamesWholeTimesAtFirst(Honest):
    def next_update(self, context, states):
        question = context.horizon, context.time
        step = 1.5 if question in self.calls else 1
        self.calls.append(question)
        return np.full(len(states), context.time + step)


class NeedsEverything(Honest):
    needs = frozenset({"everything"})


@pytest.mark.parametrize(
    ("cheat", "finding"),
    [
        (LooksBehindTheBounds, "looks ahead"),
        (ReadsTheCurrentKernel, "needs the current kernel"),
        (ReadsBeyondTheBounds, "raised IndexError"),
        (Counts, "differently when it is asked again"),
        (ThrowsDice, "differently when it is asked again"),
        (ReadsTheState, "needs the state"),
        (NamesTheStateUnasked, "does not declare it"),
        (SaysMaybe, "decides 'maybe'"),
        (ScoresNothing, "score is not a number"),
        (NamesHalfASecond, "neither times nor probabilities"),
        (NamesThePast, "names the time 0"),
        (NamesTheUpdateItself, "names the time 1, not one of 2 to"),
        (NamesAfterTheEnd, "names the time 15, not one of 2 to 14"),
        (DrawsBelowZero, "no distribution"),
        (DrawsBeyondTheBudget, "break the budget"),
        (DrawsWithTheFuture, "looks ahead"),
        (DrawsNothing, "no distribution"),
        (NamesWholeTimesAtFirst, "not a whole number for each state"),
        (NeedsEverything, "needs 'everything'"),
    ],
)
def test_a_cheat_is_caught(cheat, finding):
    assert check_rule(Honest()) == []
    found = check_rule(cheat())
    assert any(finding in str(each) for each in found), found


@pytest.mark.parametrize(
    "cheat", [HoldsTheWorld, PeeksAtTheNextBound, PlansWithTheWorld, ProfileIsNotTheWorld]
)
def test_a_rule_made_from_the_mission_is_made_anew_in_every_world(cheat):
    found = check_rule(lambda mission: cheat(mission))
    assert any("looks ahead" in str(each) for each in found), found


class PeeksForSeveral(Honest):
    """Peeks only where exact evaluation asks, which `decide` does not show."""

    def updates(self, context, states):
        bounds = self.held.world.drift_bounds
        ahead = bounds[min(context.time, len(bounds) - 1)]
        return np.full(len(states), bool(ahead > 0.02))


class PeeksWhenEvaluated(PeeksForSeveral):
    """As above, and a robot that asks finds the same."""

    def decide(self, context):
        return Decision(bool(self.updates(context, np.zeros(1))[0]), "")


@pytest.mark.parametrize(
    ("cheat", "finding"),
    [(PeeksForSeveral, "exact evaluation than for one robot"), (PeeksWhenEvaluated, "looks ahead")],
)
def test_a_rule_that_peeks_in_updates_is_caught(cheat, finding):
    found = check_rule(lambda mission: cheat(mission))
    assert any(finding in str(each) for each in found), found


class SeesTheState(Honest):
    needs = frozenset({Need.STATE})

    def decide(self, context):
        return Decision(context.state % 2 == 0, "")


class DecidesOtherwiseForSeveral(SeesTheState):
    def updates(self, context, states):
        return states % 2 == (1 if len(states) > 1 else 0)


class DecidesForTheFirst(SeesTheState):
    def updates(self, context, states):
        return np.full(len(states), context.state % 2 == 0)


class NamesOtherwiseForSeveral(SeesTheState):
    def next_update(self, context, states):
        return np.full(len(states), context.time + (2 if len(states) > 1 else 1))


class DrawsOtherwiseForSeveral(SeesTheState):
    def next_update(self, context, states):
        chosen = context.time + (1 if len(states) == 1 else 2)
        return np.repeat(np.eye(1, context.horizon + 1, chosen), len(states), axis=0)


@pytest.mark.parametrize(
    "cheat",
    [
        DecidesOtherwiseForSeveral,
        DecidesForTheFirst,
        NamesOtherwiseForSeveral,
        DrawsOtherwiseForSeveral,
    ],
)
def test_a_rule_that_answers_otherwise_for_several_states_is_caught(cheat):
    assert check_rule(SeesTheState()) == []
    found = check_rule(cheat())
    assert {each.what for each in found} == {
        "answers differently for several states at once than for one robot"
    }


class AnswersNumbers(Honest):
    def updates(self, context, states):
        return np.full(len(states), np.nan)


class AnswersForOne(SeesTheState):
    def updates(self, context, states):
        return np.array([True])


@pytest.mark.parametrize("cheat", [AnswersNumbers, AnswersForOne])
def test_updates_must_answer_true_or_false_for_each_state(cheat):
    assert "not True or False for each of" in str(check_rule(cheat())[0])
    mission = Mission(rover(3, np.linspace(0.1, 0.4, 8)), Robot(planning_horizon=4), Spending.exactly(3))
    with pytest.raises(InputError, match="not True or False for each of"):
        evaluate(mission, cheat())


class ComputesItsNeeds(Honest):
    @property
    def needs(self):
        return frozenset() if len(self.calls) < 1_000 else frozenset({Need.DRIFT_AHEAD})


class FindsItsNeeds(Honest):
    def __getattribute__(self, name):
        return frozenset() if name == "needs" else super().__getattribute__(name)


class AnswersForItsNeeds(Honest):
    class Odd(frozenset):
        def __iter__(self):
            return iter(())

    needs = Odd({Need.DRIFT_AHEAD})


@pytest.mark.parametrize("cheat", [ComputesItsNeeds, FindsItsNeeds, AnswersForItsNeeds])
def test_needs_that_are_computed_are_refused(cheat):
    (found,) = check_rule(cheat())
    assert (
        str(found) == "needs must be a plain frozenset of the class, or set in __post_init__: it is computed"
    )


class ChangesItsNeeds(Honest):
    def decide(self, context):
        self.needs = frozenset({Need.DRIFT_AHEAD})
        return Decision(False, "")


def test_needs_that_change_are_refused():
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
        names, frame = set(), sys._getframe()
        while frame is not None:
            names.add(frame.f_code.co_name)
            frame = frame.f_back
        ahead = context.drift_bounds.base[context.time :].sum()
        return Decision(bool("evaluate" in names and ahead > 0.1), "")


@pytest.mark.parametrize("cheat", [WalksUpTheStack, IsHonestWhenChecked])
def test_a_rule_that_inspects_the_stack_is_caught(cheat):
    assert any("looks ahead" in str(each) for each in check_rule(cheat()))


SEEN: dict[bytes, float] = {}


class Remembers(Honest):
    """Keeps the kernels of every update in its module, and knows them when the same world comes again."""

    def decide(self, context):
        first = context.reward(0).next_state.tobytes() + bytes([context.horizon])
        here = float((context.kernel.general().probabilities ** 2).sum())
        known = SEEN.setdefault(first, here)
        SEEN[first] = min(known, here)
        return Decision(bool(known < here - 0.1), "")


def test_a_rule_that_remembers_in_its_module_is_caught():
    assert any("asked again" in str(each) for each in check_rule(Remembers()))


class RemembersInTheCache(Honest):
    """Leaves later drift bounds in the cache of the update, where earlier questions find them."""

    needs = frozenset({Need.DRIFT_SO_FAR})

    def decide(self, context):
        known = context.cache.get("known", context.drift_bounds)
        context.cache["known"] = max(known, context.drift_bounds, key=len)
        return Decision(bool(known[context.time :].sum() > 0.05), "")


class FollowsTheClosures(Honest):
    """Reaches the knowledge of the mission through the functions that its context holds."""

    def decide(self, context):
        bounds = knowledge_behind(context).drift.bounds
        return Decision(bool(bounds[context.time - 1 :].max() > 0.02), "")


@pytest.mark.parametrize("cheat", [RemembersInTheCache, FollowsTheClosures])
def test_a_look_ahead_through_what_a_context_holds_is_caught(cheat):
    assert any("looks ahead" in str(each) for each in check_rule(cheat()))


def knowledge_behind(context):
    """The knowledge of the mission, through the functions that a context holds."""
    return context.update.expect.__wrapped__.func.__self__.knowledge


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


class TakesMoreThanItsEstimate(TakesTheCurrentKernel):
    """P_t, where the running estimate is P_{t-1}."""

    needs = frozenset({Need.RUNNING_ESTIMATE})


@pytest.mark.parametrize(
    "cheat", [TakesTheCurrentKernel, TakesTheKernelBefore, TakesTheDriftSoFar, TakesMoreThanItsEstimate]
)
def test_what_is_past_but_was_not_told_may_not_matter(cheat):
    found = check_rule(cheat())
    assert found and all("uses what it does not declare" in str(each) for each in found), found


def test_what_is_declared_may_matter():
    class Declares(TakesTheCurrentKernel):
        needs = frozenset({Need.CURRENT_KERNEL})

    class DeclaresItsEstimate(TakesTheKernelBefore):
        needs = frozenset({Need.RUNNING_ESTIMATE})

    class DeclaresDrift(TakesTheDriftSoFar):
        needs = frozenset({Need.DRIFT_SO_FAR})

    for kind in (Declares, DeclaresItsEstimate, DeclaresDrift):
        assert check_rule(kind()) == []


class HasNoNumberAmongItsTerms(Honest):
    def decide(self, context):
        return Decision(False, "", score=0.5, terms={"unknown": float("nan"), "known": 0.5})


def test_terms_may_be_nan_but_scores_may_not():
    assert check_rule(HasNoNumberAmongItsTerms()) == []
    mission = Mission(rover(3, np.linspace(0.1, 0.4, 8)), Robot(planning_horizon=4), Spending.exactly(3))
    with pytest.raises(InputError, match=r"^the rule scores-nothing: its score is not a number at t=2$"):
        evaluate(mission, ScoresNothing())
    with pytest.raises(InputError, match="decides 'maybe', not True or False, at t=2"):
        evaluate(mission, SaysMaybe())


def test_a_class_in_place_of_a_rule_is_refused():
    with pytest.raises(InputError, match=r"an instance: Periodic\(\)"):
        check_rule(Periodic)
    with pytest.raises(InputError, match=r"an instance: Periodic\(\)"):
        evaluate(Mission(rover(3, np.full(8, 0.1)), Robot(planning_horizon=4), Spending.exactly(2)), Periodic)


UNTOLD = (
    "uses what it does not declare: decides differently where kernels and drift bounds that it was not told "
    "of differ"
)


def test_looking_ahead_is_told_of_every_time_and_with_what_was_changed():
    mission = Mission(rover(3, np.linspace(0.1, 0.4, 8)), Robot(planning_horizon=4), Spending.exactly(2))
    found = check_rule(lambda mission: HoldsTheWorld(mission), mission)
    still = "looks ahead: decides differently where the world stands still afterwards"
    assert [each.time for each in found if each.what == still] == [2, 3, 4, 5, 6]
    assert [(each.what, each.time) for each in found if each.what != still] == [
        (UNTOLD, 7)
    ]  # nothing follows


@pytest.mark.parametrize("cheat", [DrawsTheUpdateItself, DrawsOneTooLate, DrawsNoUpdate])
def test_probabilities_outside_of_the_budget_are_caught_at_the_first_update(cheat):
    assert check_rule(DrawsTheLatest()) == []
    found = check_rule(cheat())
    assert "after an update at 1 break the budget: the next update must lie in 2 to" in found[0].what


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
@pytest.mark.parametrize("every", [2, 3])
@pytest.mark.parametrize("kind", [Noted, NotedNames])
def test_a_rule_is_asked_what_a_robot_asks_it_and_nothing_else(kind, every, spending):
    mission = Mission(rover(3, np.linspace(0.1, 0.4, 12)), Robot(planning_horizon=4), spending)
    checked, asked = kind(every=every), kind(every=every)
    assert check_rule(checked, mission) == []
    run_agent(mission, asked)
    assert set(checked.calls) == set(asked.calls)


def test_a_future_that_stands_still_is_not_the_only_other_one():
    found = check_rule(lambda mission: LooksAtTheKindOfKernel(mission))
    assert {each.what for each in found} == {
        "looks ahead: decides differently where another world follows",
        UNTOLD,
    }


def test_the_same_look_is_allowed_to_a_rule_that_declares_it():
    class Declares(PlansWithTheWorld):
        needs = frozenset({Need.DRIFT_AHEAD})

        def next_update(self, context, states):
            return np.full(
                len(states), int(np.argmax(context.drift_bounds[context.time :])) + context.time + 1
            )

    assert check_rule(Declares()) == []


def test_a_rule_may_name_the_end_of_the_horizon():
    assert check_rule(NamesTheEnd()) == []


def test_findings_are_told_once_and_no_more_than_asked_for():
    found = check_rule(Counts())
    assert len(found) == len(set(found)) == 20
    assert check_rule(Counts(), most=2) == found[:2]
    assert str(found[0]) == f"answers differently when it is asked again at t={found[0].time}"


def test_what_is_no_rule_is_named():
    assert "is no rule" in str(check_rule(lambda mission: 3)[0])  # type: ignore[arg-type]


def test_faults_on_given_missions_are_found():
    class FailsLate(Honest):
        def decide(self, context):
            return Decision(False, "", score=float("nan") if context.time > 15 else 0.0)

    assert check_rule(FailsLate()) == []
    longer = Mission(rover(3, np.full(20, 0.1)), Robot(planning_horizon=3), Spending.exactly(2))
    assert "score is not a number at t=16" in str(check_rule(FailsLate(), longer)[0])
