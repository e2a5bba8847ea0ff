"""The checker passes every rule of ours and catches a cheat of every kind."""

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest

from replan.errors import InputError
from replan.evaluation.rule_checks import check_rule, require_valid_rule
from replan.model import SlipKernel
from replan.schedule import RULES, Decision, Need, RegretGuided, Rule


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
        (NeedsEverything, "needs 'everything'"),
    ],
)
def test_a_cheat_is_caught(cheat, finding):
    assert check_rule(Honest()) == []
    found = check_rule(cheat())
    assert any(finding in str(each) for each in found), found


@pytest.mark.parametrize("cheat", [HoldsTheWorld, PlansWithTheWorld, ProfileIsNotTheWorld])
def test_a_rule_made_from_the_mission_is_made_anew_in_every_world(cheat):
    found = check_rule(lambda mission: cheat(mission))
    assert any("looks ahead" in str(each) for each in found), found


def test_a_future_that_stands_still_is_not_the_only_other_one():
    found = check_rule(lambda mission: LooksAtTheKindOfKernel(mission))
    assert found and {each.what for each in found} == {
        "looks ahead: decides differently where another world follows"
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
    found = check_rule(ScoresNothing())
    assert len(found) == len(set(found)) > 2
    assert check_rule(ScoresNothing(), most=2) == found[:2]
    assert str(found[0]) == f"its score is not a number at t={found[0].time}"


def test_what_is_no_rule_is_named():
    assert "is no rule" in str(check_rule(lambda mission: 3)[0])  # type: ignore[arg-type]


def test_the_first_fault_can_be_raised():
    require_valid_rule(Honest())
    with pytest.raises(InputError, match="needs the state"):
        require_valid_rule(ReadsTheState())
