"""The rules by name, and their parameters from text such as "alpha=0.9"."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import fields
from difflib import get_close_matches
from functools import cache
from math import isnan
from types import NoneType
from typing import Any, TypeVar, get_args, get_origin, get_type_hints

from replan.errors import InputError
from replan.schedule.best_offset import BestOffset
from replan.schedule.drift_threshold import DriftThreshold
from replan.schedule.lazy_value import LazyValue
from replan.schedule.loaded import BackLoaded, FrontLoaded
from replan.schedule.lookahead import Lookahead
from replan.schedule.periodic import Periodic
from replan.schedule.random import Random
from replan.schedule.regret_guided import RegretGuided
from replan.schedule.rule import Rule
from replan.schedule.self_triggered import SelfTriggered

RuleClass = TypeVar("RuleClass", bound=type[Rule])
RULES: dict[str, type[Rule]] = {}
"""Rule classes by name. `certified` is registered by `replan.certificates`."""


def register(rule: RuleClass) -> RuleClass:
    """Add a rule class by its name; a decorator or a call."""
    RULES[rule.name] = rule
    return rule


for _rule in (
    RegretGuided,
    Periodic,
    BestOffset,
    Random,
    FrontLoaded,
    BackLoaded,
    DriftThreshold,
    SelfTriggered,
    LazyValue,
    Lookahead,
):
    register(_rule)


def make_rule(name: str, **parameters: Any) -> Rule:
    """The rule of that name. Values given as text are read as what the parameter takes."""
    if name not in RULES:
        raise InputError(f"unknown rule {name!r}{_suggestion(name, RULES)}")
    kind = RULES[name]
    known = rule_parameters(kind)
    read = {}
    for key, value in parameters.items():
        if key not in known:
            raise InputError(f"{name} has no parameter {key!r}{_suggestion(key, known)}")
        read[key] = _read(key, value, known[key]) if isinstance(value, str) else value
    return kind(**read)


@cache
def rule_parameters(kind: type) -> dict[str, Any]:
    """The parameters of a rule class and the types that they take."""
    hints = get_type_hints(kind)
    return {field.name: hints[field.name] for field in fields(kind) if field.init}


def parse_parameters(texts: Iterable[str]) -> dict[str, str]:
    """{"alpha": "0.9"} from ["alpha=0.9"]."""
    parameters: dict[str, str] = {}
    for text in texts:
        key, equals, value = (part.strip() for part in text.partition("="))
        if not (key and equals and value):
            raise InputError(f"a parameter is written key=value, not {text!r}")
        if key in parameters:
            raise InputError(f"the parameter {key!r} is given twice")
        parameters[key] = value
    return parameters


def _read(key: str, text: str, hint: Any) -> Any:
    """The text as the first of the types that can read it."""
    for option in get_args(hint) or (hint,):
        option = get_origin(option) or option
        try:
            if option is NoneType and text.lower() == "none":
                return None
            if option is tuple:
                return tuple(float(part) for part in text.split(","))
            if option in (int, float) and not isnan(number := option(text)):
                return number
            if option is str or option == text:
                return text
        except ValueError:
            continue
    raise InputError(f"{key} cannot be {text!r}: it takes {_in_words(hint)}")


def _in_words(hint: Any) -> str:
    words = {
        int: "a whole number",
        float: "a number",
        tuple: "numbers with commas between",
        Callable: "a function (from Python)",
        NoneType: "none",
    }
    options = (get_origin(option) or option for option in get_args(hint) or (hint,))
    return " or ".join(str(words.get(option, option)) for option in options)


def _suggestion(word: str, known: Mapping[str, Any]) -> str:
    if close := get_close_matches(word, known, n=2):
        return f": did you mean {' or '.join(close)}?"
    return f" (there are {', '.join(known)})" if known else " (it has none)"
