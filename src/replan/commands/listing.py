"""`replan list`: the settings, rules, worlds, estimators, forecasts and executions that can be named."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from dataclasses import MISSING, fields
from typing import Annotated, Any

import typer

from replan.commands import PlainAnswer
from replan.errors import InputError, did_you_mean
from replan.forecast.archive import Archive
from replan.forecast.base import Frozen
from replan.forecast.from_family import FromFamily
from replan.forecast.given import Given
from replan.forecast.mixture import Mixture
from replan.forecast.trend import Trend
from replan.schedule.registry import registered_rule
from replan.skip.acting import Execution
from replan.worlds.estimators import ESTIMATORS
from replan.worlds.parameters import Parameters, field_docs
from replan.worlds.settings import list_names, load_setting, world_type

FORECASTS = {
    "frozen": Frozen,
    "trend": Trend,
    "mixture": Mixture,
    "given": Given,
    "archive": Archive,
    "family": FromFamily,
}
AHEAD = "As family, with the drift bounds of the steps ahead."
"""Description of the forecast `family-ahead`, which is `FromFamily` too."""
EXECUTIONS: dict[Execution, str] = {
    "map": "Blind between updates: act on the likeliest state, as in the paper.",
    "belief": "Blind between updates: act on the whole distribution of the state.",
    "localised": "See the state at every step; an update is an estimate and a plan.",
}
ListEntry = dict[str, Any]
"""Name, description, and parameters if there are any."""


def list_all(
    kind: Annotated[
        str | None,
        typer.Argument(
            help="settings, rules, worlds, estimators, forecasts or executions; all if not given."
        ),
    ] = None,
) -> PlainAnswer:
    """Print names with one line each, and their parameters with the defaults."""
    if kind is not None and kind not in KINDS:
        raise InputError(f"there is no list of {kind!r}{did_you_mean(kind, KINDS)}")
    listed = {name: list(entries()) for name, entries in KINDS.items() if kind in (None, name)}
    lines: list[str] = []
    for name, entries in listed.items():
        lines += [f"{name}:"] if kind is None else []
        width = max(18, *(len(entry["name"]) + 1 for entry in entries))
        lines += [line for entry in entries for line in _lines(entry, width)]
    return PlainAnswer(listed, lines)


def _settings() -> Iterator[ListEntry]:
    for name in list_names("settings"):
        setting = load_setting(name)
        sizes = {key: value for key, value in setting if isinstance(value, int)}
        words = {"n": "n", "horizon": "T", "planning_horizon": "H", "budget": "B"}
        shown = ", ".join(f"{words[key]} {sizes[key]}" for key in words if key in sizes)
        yield {"name": name, "description": f"{setting.world}: {shown}", "world": setting.world, **sizes}


def _rules() -> Iterator[ListEntry]:
    for name in list_names("rules"):
        kind = registered_rule(name)
        parameters = [
            _parameter(field.name, field.default, required=field.default is MISSING)
            for field in fields(kind)  # pyright: ignore[reportArgumentType]
            if field.init
        ]
        yield {"name": name, "description": _first_line(kind), "parameters": parameters}


def _worlds() -> Iterator[ListEntry]:
    for name in list_names("worlds"):
        world = world_type(name)
        yield {"name": name, "description": _first_line(world), "parameters": list(_fields(world))}


def _fields(model: type[Parameters], prefix: str = "") -> Iterator[ListEntry]:
    """Return the parameters of a world; those of a section have its name before theirs."""
    docs = field_docs(model)
    for name, field in model.model_fields.items():
        if isinstance(field.default, Parameters):
            yield from _fields(type(field.default), f"{name}.")
        else:
            required = field.is_required()
            yield _parameter(prefix + name, field.default, required=required) | {
                "description": docs.get(name)
            }


def _parameter(name: str, default: Any, *, required: bool) -> ListEntry:
    return {"name": name, "required": required, "default": None if required else default}


def _estimators() -> Iterator[ListEntry]:
    for name, make in ESTIMATORS.items():
        yield {"name": name, "description": _first_line(make)}


def _forecasts() -> Iterator[ListEntry]:
    for name, forecast in FORECASTS.items():
        yield {"name": name, "description": _first_line(forecast)}
    yield {"name": "family-ahead", "description": AHEAD}


def _executions() -> Iterator[ListEntry]:
    for name, description in EXECUTIONS.items():
        yield {"name": name, "description": description}


KINDS: dict[str, Callable[[], Iterator[ListEntry]]] = {
    "settings": _settings,
    "rules": _rules,
    "worlds": _worlds,
    "estimators": _estimators,
    "forecasts": _forecasts,
    "executions": _executions,
}


def _first_line(thing: Any) -> str:
    return (inspect.getdoc(thing) or "").partition("\n")[0]


def _lines(entry: ListEntry, width: int) -> list[str]:
    lines = [f"{entry['name']:<{width}} {entry['description']}"]
    given = [
        each["name"] if each["required"] else f"{each['name']} {_shown(each['default'])}"
        for each in entry.get("parameters", [])
    ]
    return lines + ([f"{'':<{width}} {', '.join(given)}"] if given else [])


def _shown(default: Any) -> str:
    return "none" if default is None or default == [] else str(default)
