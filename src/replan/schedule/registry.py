"""The rules by name, and their parameters from text such as "alpha=0.9"."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import MISSING, Field, fields, is_dataclass
from functools import cache
from math import isnan
from types import NoneType, UnionType
from typing import Any, Literal, TypeVar, Union, get_args, get_origin, get_type_hints

from replan.errors import InputError, did_you_mean
from replan.schedule.best_offset import BestOffset
from replan.schedule.drift_threshold import DriftThreshold
from replan.schedule.lazy_value import LazyValue
from replan.schedule.loaded import BackLoaded, FrontLoaded
from replan.schedule.lookahead import Lookahead
from replan.schedule.measuring_value import AccumulatedValue, MeasuringValue
from replan.schedule.navigation_triggers import DistanceTravelled, FixedRate, PathExpired
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
    MeasuringValue,
    AccumulatedValue,
    FixedRate,
    DistanceTravelled,
    PathExpired,
):
    register(_rule)


def make_rule(name: str, **parameters: Any) -> Rule:
    """Return the registered rule of that name; parameters given as text are read as the field's type."""
    return build_rule(registered_rule(name), **parameters)


def registered_rule(name: str) -> type[Rule]:
    """Return the rule class of that name."""
    if name not in RULES:
        raise InputError(f"unknown rule {name!r}{did_you_mean(name, RULES)}")
    return RULES[name]


def build_rule(kind: type[Rule], /, **parameters: Any) -> Rule:
    """Return a rule of that class; parameters given as text are read as the field's type."""
    known = rule_parameters(kind)
    read = {}
    for key, value in parameters.items():
        if key not in known:
            raise InputError(f"{kind.name} has no parameter {key!r}{did_you_mean(key, known)}")
        read[key] = _read(key, value, known[key]) if isinstance(value, str) else value
    for field in _fields(kind):
        if field.name not in read and field.default is MISSING and field.default_factory is MISSING:
            raise InputError(f"{kind.name} needs a value for its parameter {field.name!r}")
    return kind(**read)


@cache
def rule_parameters(kind: type[Rule]) -> dict[str, Any]:
    """Return the parameters of a rule class and the types that they take."""
    try:
        hints = get_type_hints(kind)
    except NameError as error:
        raise InputError(f"{kind.name}: the type of a field is unknown: {error}") from None
    return {field.name: hints[field.name] for field in _fields(kind)}


def _fields(kind: type[Rule]) -> list[Field]:
    return [field for field in fields(kind) if field.init] if is_dataclass(kind) else []


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
    for option in _options(hint):
        try:
            if option is NoneType and text.lower() == "none":
                return None
            if option is bool and text.lower() in ("true", "false"):
                return text.lower() == "true"
            if tuple in (option, get_origin(option)):
                return _read_tuple(key, text, _parts(option))
            if option in (int, float) and not isnan(number := option(text)):
                return number
            if option is str or option == text:
                return text
        except ValueError:
            continue
    raise InputError(f"{key} cannot be {text!r}: it takes {_in_words(hint)}")


def _read_tuple(key: str, text: str, types: tuple[Any, ...]) -> tuple[Any, ...]:
    texts = [part.strip() for part in text.split(",")]
    if not all(texts):
        raise ValueError("a part is empty")
    each = types[:1] * len(texts) if ... in types else types
    return tuple(_read(key, part, hint) for part, hint in zip(texts, each, strict=True))


def _options(hint: Any) -> list[Any]:
    """The types that a hint stands for; of a Literal its words."""
    origin = get_origin(hint)
    if origin is Literal:
        return list(get_args(hint))
    if origin in (Union, UnionType):
        return [option for each in get_args(hint) for option in _options(each)]
    return [hint if origin is tuple else origin or hint]


def _parts(hint: Any) -> tuple[Any, ...]:
    """The types of the parts of a tuple, as in tuple[float, ...]; numbers where the hint has none."""
    return get_args(hint) or (float, ...)


def _in_words(hint: Any) -> str:
    return " or ".join(map(_option_in_words, _options(hint)))


def _option_in_words(option: Any) -> str:
    words = {
        int: "a whole number",
        float: "a number",
        bool: "true or false",
        Callable: "a function (from Python)",
        NoneType: "none",
    }
    if tuple in (option, get_origin(option)):
        several = {int: "whole numbers", float: "numbers", str: "words"}
        types = _parts(option)
        kinds = " and ".join(dict.fromkeys(several.get(each, "values") for each in types if each is not ...))
        return f"{'' if ... in types else f'{len(types)} '}{kinds} with commas between"
    if isinstance(option, type):
        return words.get(option, f"a value of type {option.__name__} (from Python)")
    return str(words.get(option, option))
