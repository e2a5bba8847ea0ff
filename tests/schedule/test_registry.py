"""Rules by name, and their parameters from text."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Literal
from unittest.mock import patch

import numpy as np
import pytest

from replan.errors import InputError
from replan.schedule.drift_threshold import DriftThreshold
from replan.schedule.fixed import Random
from replan.schedule.periodic import BestOffset, Periodic
from replan.schedule.registry import (
    TABLE,
    build_rule,
    make_rule,
    parse_parameters,
    registered_rule,
    rule_names,
)
from replan.schedule.regret_guided import RegretGuided
from replan.schedule.rule import RULES, Decision, Rule, register


def test_the_nine_rules_of_the_paper_are_there():
    assert set(rule_names()) >= {
        "regret-guided",
        "periodic",
        "best-offset",
        "random",
        "front-loaded",
        "back-loaded",
        "drift-threshold",
        "self-triggered",
        "lazy-value",
    }


def test_every_name_of_the_table_is_that_of_its_class():
    assert all(registered_rule(name).name == name for name in TABLE)


def test_a_class_is_registered_by_its_name():
    class Mine(Periodic):
        name = "mine"

    with patch.dict(RULES):
        assert register(Mine) is Mine
        assert make_rule("mine") == Mine()


def test_text_is_read_as_what_the_parameter_takes():
    given = parse_parameters(
        ["score=gap", "alpha=0.9", "m = 3", "weights=1,0,2", "threshold=none", "phi=sqrt"]
    )
    assert make_rule("regret-guided", **given) == RegretGuided("gap", 0.9, 3, weights=(1, 0, 2), phi="sqrt")
    assert make_rule("drift-threshold", threshold="1e-2") == DriftThreshold(0.01)
    assert make_rule("best-offset", offset="5") == BestOffset(5)
    assert make_rule("random") == Random()
    assert make_rule("periodic") == Periodic()


@pytest.mark.parametrize(
    ("name", "parameters", "line"),
    [
        ("perodic", {}, "unknown rule 'perodic': did you mean periodic?"),
        ("regret-guided", {"alhpa": "1"}, "regret-guided has no parameter 'alhpa': did you mean alpha?"),
        ("periodic", {"x": 1}, "periodic has no parameter 'x' (there are none)"),
        (
            "drift-threshold",
            {"x": 1},
            "drift-threshold has no parameter 'x' (there are threshold, pace_weight)",
        ),
        ("drift-threshold", {"threshold": "big"}, "'threshold' cannot be 'big': it takes float"),
        ("drift-threshold", {"threshold": "nan"}, "'threshold' cannot be 'nan': it takes float"),
        ("best-offset", {"offset": "1.5"}, "'offset' cannot be '1.5': it takes int"),
        ("best-offset", {"period": "x"}, "'period' cannot be 'x': it takes int | None"),
        (
            "regret-guided",
            {"score": "gaps"},
            "'score' cannot be 'gaps': it takes Literal['gap', 'drift', 'gap+drift', 'theorem']",
        ),
        (
            "regret-guided",
            {"weights": "1,x,1"},
            "'weights' cannot be '1,x,1': it takes tuple[float, float, float] | None",
        ),
        ("regret-guided", {"alpha": "2"}, "alpha must lie between 0 and 1, not 2.0"),
    ],
)
def test_what_cannot_be_read_is_one_line_that_names_it(name, parameters, line):
    with pytest.raises(InputError) as error:
        make_rule(name, **parameters)
    assert str(error.value) == line


@pytest.mark.parametrize("value", [True, "inf", [1.0], None])
def test_values_that_are_no_text_must_be_of_the_type_and_numbers_finite(value):
    with pytest.raises(InputError, match=r"'threshold' cannot be .*: it takes float"):
        make_rule("drift-threshold", threshold=value)
    assert make_rule("drift-threshold", threshold=np.float64(0.5)) == DriftThreshold(0.5)


def test_an_unknown_rule_unlike_any_other_lists_them_all():
    with pytest.raises(InputError, match=r"there are .*back-loaded, best-offset"):
        make_rule("zzz")


def test_a_value_may_hold_an_equals_sign():
    assert parse_parameters(["label=a=b"]) == {"label": "a=b"}


@dataclass(frozen=True)
class Weighs(Rule):
    weight: Callable[[float], float] = abs
    other: Callable[[float], float] | None = None
    ends: tuple[float, float] = (0.0, 1.0)
    way: Literal["up", "down"] | None = None
    flag: bool = False
    words: tuple[str, ...] = ()
    places: tuple[int, ...] = ()
    named: tuple[str, int] = ("", 0)
    plain: tuple = ()
    table: dict[str, int] | None = None
    label: str = "none"

    def decide(self, context):
        return Decision(False, "")


def test_numbers_with_commas_and_words_are_read_whether_or_not_there_is_another_type():
    assert build_rule(Weighs, ends="2,3", way="up") == Weighs(ends=(2.0, 3.0), way="up")
    assert build_rule(Weighs, way="none") == Weighs()


@pytest.mark.parametrize(
    ("name", "text", "value"),
    [
        ("flag", "true", True),
        ("flag", "False", False),
        ("words", "left, right", ("left", "right")),
        ("words", "left", ("left",)),
        ("places", "1,17", (1, 17)),
        ("named", "left,3", ("left", 3)),
        ("plain", "1,2.5", (1.0, 2.5)),
        ("label", "", ""),
        ("label", "none", "none"),
        ("ends", [2, 3], (2.0, 3.0)),
    ],
)
def test_values_are_read_as_the_type_of_their_parameter(name, text, value):
    assert repr(getattr(build_rule(Weighs, **{name: text}), name)) == repr(value)


@pytest.mark.parametrize(
    ("name", "text", "takes"),
    [
        ("weight", "3", "collections.abc.Callable[[float], float]"),
        ("other", "abs", "collections.abc.Callable[[float], float] | None"),
        ("ends", "2,x", "tuple[float, float]"),
        ("ends", "2", "tuple[float, float]"),
        ("flag", "maybe", "bool"),
        ("words", "a,,b", "tuple[str, ...]"),
        ("places", "1,2.5", "tuple[int, ...]"),
        ("named", "3,a", "tuple[str, int]"),
        ("plain", "1,x", "tuple"),
        ("table", "a", "dict[str, int] | None"),
        ("way", "left", "Optional[Literal['up', 'down']]"),
    ],
)
def test_a_value_that_does_not_fit_is_refused_with_the_type_of_its_parameter(name, text, takes):
    with pytest.raises(InputError) as error:
        build_rule(Weighs, **{name: text})
    assert str(error.value) == f"{name!r} cannot be {text!r}: it takes {takes}"


@dataclass(frozen=True)
class Chooses(Rule):
    amount: float
    places: list[int] = field(default_factory=list)

    def decide(self, context):
        return Decision(False, "")


def test_a_parameter_without_a_default_must_be_given():
    assert build_rule(Chooses, amount="2") == Chooses(2.0, [])
    with pytest.raises(InputError, match="chooses needs a value for its parameter 'amount'"):
        build_rule(Chooses)


def test_a_rule_that_is_no_dataclass_has_no_parameters():
    class Plain(Rule):
        def decide(self, context):
            return Decision(False, "")

    assert isinstance(build_rule(Plain), Plain)
    with pytest.raises(InputError, match="plain has no parameter 'x'"):
        build_rule(Plain, x="1")


@pytest.mark.parametrize("text", ["alpha", "=3", "alpha=", ""])
def test_a_parameter_is_key_equals_value(text):
    with pytest.raises(InputError, match="key=value"):
        parse_parameters([text])


def test_a_parameter_is_given_once():
    with pytest.raises(InputError, match="'m' is given twice"):
        parse_parameters(["m=1", "m=2"])


def test_a_rule_is_named_after_its_class_unless_it_has_a_name_of_its_own():
    class EveryTen2Steps(Rule):
        def decide(self, context):
            return Decision(False, "")

    class Other(EveryTen2Steps):
        name = "mine"

    assert (EveryTen2Steps.name, Other.name) == ("every-ten2-steps", "mine")
    with pytest.raises(TypeError):
        Rule()  # type: ignore[abstract]
