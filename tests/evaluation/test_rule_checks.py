"""The checker passes every rule of ours and catches a cheat of every kind."""

from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
import pytest

from replan.errors import InputError
from replan.evaluation.rule_checks import check_rule, require_valid_rule
from replan.schedule import RULES, Decision, RegretGuided


@pytest.mark.parametrize("name", RULES)
def test_our_rules_pass(name):
    assert check_rule(RULES[name]()) == []


def test_the_theorem_score_passes_because_it_declares_the_profile():
    assert check_rule(RegretGuided("theorem", diameter=1.0, threshold=2.0)) == []


@dataclass
class Honest:
    """Never asks for an update by itself; the cheats below change one thing each."""

    held: Any = None
    calls: list = field(default_factory=list)

    name: ClassVar[str] = "honest"
    knows: ClassVar[Any] = "nothing"
    uses_state: ClassVar[bool] = False
    paced: ClassVar[bool] = False

    def decide(self, context):
        return Decision(False, "")


class LooksBehindTheBounds(Honest):
    def decide(self, context):
        return Decision(context.drift_bounds.base[context.time :].sum() > 0.1, "")


class HoldsTheWorld(Honest):
    def decide(self, context):
        t = min(context.time + 1, context.horizon - 1)
        ahead = self.held.world.kernel(t).entrywise_distance(context.kernel).max()
        return Decision(False, "", score=float(ahead))


class PlansWithTheWorld(Honest):
    def next_update(self, context):
        return int(np.argmax(self.held.world.drift_bounds[context.time :])) + context.time + 1


class ProfileIsNotTheWorld(HoldsTheWorld):
    knows = "drift profile"


class ReadsTheCurrentKernel(Honest):
    def decide(self, context):
        return Decision(context.current_kernel.states > 3, "")


class ReadsBeyondTheBounds(Honest):
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
    def next_update(self, context):
        return context.time + 1 + context.state % 2


class SaysMaybe(Honest):
    def decide(self, context):
        return Decision("maybe", "")  # type: ignore[arg-type]


class ScoresNothing(Honest):
    def decide(self, context):
        return Decision(False, "", score=float("nan"))


class NamesHalfASecond(Honest):
    def next_update(self, context):
        return context.time + 1.5


class NamesThePast(Honest):
    def next_update(self, context):
        return context.time - 1


class LawBeyondTheBudget(Honest):
    def next_update_law(self, context):
        law = np.zeros(context.horizon + 1)
        law[context.horizon - 1] = 1.0
        return law

    def with_seed(self, seed):
        return Honest()


class LawThatPeeks(LawBeyondTheBudget):
    def next_update_law(self, context):
        law = np.zeros(context.horizon + 1)
        latest = context.horizon - context.budget_left
        law[context.time + 1 + int(np.argmax(context.drift_bounds.base[context.time : latest]))] = 1.0
        return law


class LawOfNothing(LawBeyondTheBudget):
    def next_update_law(self, context):
        return np.zeros(context.horizon + 1)


class KnowsEverything(Honest):
    knows = "everything"


@pytest.mark.parametrize(
    ("cheat", "finding"),
    [
        (LooksBehindTheBounds, "looks ahead"),
        (ReadsTheCurrentKernel, "raised AttributeError"),
        (ReadsBeyondTheBounds, "raised IndexError"),
        (Counts, "differently when it is asked again"),
        (ThrowsDice, "differently when it is asked again"),
        (ReadsTheState, "uses_state = False"),
        (NamesTheStateUnasked, "uses_state = False"),
        (SaysMaybe, "decides 'maybe'"),
        (ScoresNothing, "score is not a number"),
        (NamesHalfASecond, "not a whole number"),
        (NamesThePast, "names the time 0"),
        (LawBeyondTheBudget, "law breaks the budget"),
        (LawThatPeeks, "looks ahead"),
        (LawOfNothing, "no distribution"),
        (KnowsEverything, "declares knows = 'everything'"),
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


def test_the_same_look_is_allowed_to_a_rule_that_declares_it():
    class Declares(PlansWithTheWorld):
        knows = "drift profile"

        def next_update(self, context):
            return int(np.argmax(context.drift_bounds[context.time :])) + context.time + 1

    assert check_rule(Declares()) == []


def test_what_is_no_rule_is_named():
    assert str(check_rule(3)[0]) == "is no rule: it lacks name, knows, uses_state, paced, decide"  # type: ignore


def test_the_first_fault_can_be_raised():
    require_valid_rule(Honest())
    with pytest.raises(InputError, match="uses_state"):
        require_valid_rule(ReadsTheState())
