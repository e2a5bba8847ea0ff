"""The rules by name, and their parameters from text such as "alpha=0.9"."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import MISSING, Field, fields, is_dataclass
from functools import cache
from importlib import import_module
from inspect import formatannotation
from pathlib import Path
from pkgutil import iter_modules
from typing import TYPE_CHECKING, Any, get_type_hints

import numpy as np

from replan.errors import InputError, did_you_mean
from replan.schedule.rule import RULES, Rule

if TYPE_CHECKING:
    from pydantic import TypeAdapter

for _module in iter_modules([str(Path(__file__).parent)]):  # each registers the rules that it defines
    if _module.name != "registry":
        import_module(f"replan.schedule.{_module.name}")


def make_rule(name: str, **parameters: Any) -> Rule:
    """Return the registered rule of that name; parameters given as text are read as the field's type."""
    return build_rule(registered_rule(name), **parameters)


def registered_rule(name: str) -> type[Rule]:
    """Return the rule class of that name."""
    if name not in RULES:
        raise InputError(f"unknown rule {name!r}{did_you_mean(name, sorted(RULES))}")
    return RULES[name]


def build_rule(kind: type[Rule], /, **parameters: Any) -> Rule:
    """Return a rule of that class. Text is read as the field's type, any other value must be of that type."""
    known = rule_parameters(kind)
    read = {}
    for key, value in parameters.items():
        if key not in known:
            raise InputError(f"{kind.name} has no parameter {key!r}{did_you_mean(key, known)}")
        read[key] = _read(key, value, known[key])
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


def _read(key: str, value: Any, hint: Any) -> Any:
    """Return the value as the type of a parameter; numbers must be finite."""
    from pydantic import ValidationError

    text = isinstance(value, str)
    for reading in _readings(value):
        try:
            return _adapter(hint).validate_python(reading, strict=not text)
        except ValidationError:
            continue
    raise InputError(f"{key!r} cannot be {value!r}: it takes {formatannotation(hint)}")


def _readings(value: Any) -> Iterator[Any]:
    """Yield the value, then the other values that a text or a list may stand for."""
    yield value.item() if isinstance(value, np.generic) else value
    if isinstance(value, list):
        yield tuple(value)
    if isinstance(value, str):
        parts = [part.strip() for part in value.split(",")]
        yield from [None] if value.lower() == "none" else []
        yield from [parts] if all(parts) else []


@cache
def _adapter(hint: Any) -> TypeAdapter[Any]:
    from pydantic import ConfigDict, TypeAdapter

    config = ConfigDict(allow_inf_nan=False, arbitrary_types_allowed=True)
    return TypeAdapter(tuple[float, ...] if hint is tuple else hint, config=config)
