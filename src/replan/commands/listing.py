"""`replan list`: the settings, rules, worlds and estimators that can be named."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from typing import Annotated, Any

import typer

from replan.commands.common import JsonOption
from replan.commands.output import emit
from replan.errors import InputError, did_you_mean
from replan.worlds.parameters import Parameters

Entry = dict[str, Any]  # name, description, and parameters where there are any


def command(
    kind: Annotated[
        str | None, typer.Argument(help="settings, rules, worlds or estimators; all if not given.")
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Print names with one line each, and their parameters with the defaults."""
    if kind is not None and kind not in KINDS:
        raise InputError(f"there is no list of {kind!r}{did_you_mean(kind, KINDS)}")
    answer = {name: list(entries()) for name, entries in KINDS.items() if kind in (None, name)}
    lines: list[str] = []
    for name, entries in answer.items():
        lines += [f"{name}:"] if kind is None else []
        width = max(18, *(len(entry["name"]) for entry in entries))
        lines += [line for entry in entries for line in _lines(entry, width)]
    emit(answer, as_json=as_json, lines=lines)


def _settings() -> Iterator[Entry]:
    from replan.worlds.settings import builtin_settings, load_setting

    for name in builtin_settings():
        setting = load_setting(name)
        sizes = {key: value for key, value in setting if isinstance(value, int)}
        words = {"n": "n", "horizon": "T", "planning_horizon": "H", "budget": "B"}
        shown = ", ".join(f"{words[key]} {sizes[key]}" for key in words if key in sizes)
        yield {"name": name, "description": f"{setting.world}: {shown}", "world": setting.world, **sizes}


def _rules() -> Iterator[Entry]:
    from dataclasses import MISSING, fields

    from replan.study.rule_source import RULES

    for name, kind in RULES.items():
        parameters = [
            _parameter(field.name, field.default, required=field.default is MISSING)
            for field in fields(kind)  # pyright: ignore[reportArgumentType]
            if field.init
        ]
        yield {"name": name, "description": _first_line(kind), "parameters": parameters}


def _worlds() -> Iterator[Entry]:
    from replan.worlds.settings import world_types

    for name, world in world_types().items():
        yield {"name": name, "description": _first_line(world), "parameters": list(_fields(world))}


def _fields(model: type[Parameters], prefix: str = "") -> Iterator[Entry]:
    """Return the parameters of a world; those of a section have its name before theirs."""
    for name, field in model.model_fields.items():
        if isinstance(field.default, Parameters):
            yield from _fields(type(field.default), f"{name}.")
        else:
            required = field.is_required()
            yield _parameter(prefix + name, field.default, required=required) | {
                "description": field.description
            }


def _parameter(name: str, default: Any, *, required: bool) -> Entry:
    return {"name": name, "required": required, "default": None if required else default}


def _estimators() -> Iterator[Entry]:
    from replan.study.estimators import ESTIMATORS

    for name, make in ESTIMATORS.items():
        yield {"name": name, "description": _first_line(make)}


KINDS: dict[str, Callable[[], Iterator[Entry]]] = {
    "settings": _settings,
    "rules": _rules,
    "worlds": _worlds,
    "estimators": _estimators,
}


def _first_line(thing: Any) -> str:
    return (inspect.getdoc(thing) or "").partition("\n")[0]


def _lines(entry: Entry, width: int) -> list[str]:
    lines = [f"{entry['name']:<{width}} {entry['description']}"]
    given = [
        each["name"] if each["required"] else f"{each['name']} {_shown(each['default'])}"
        for each in entry.get("parameters", [])
    ]
    return lines + ([f"{'':<{width}} {', '.join(given)}"] if given else [])


def _shown(default: Any) -> str:
    return "none" if default is None or default == [] else str(default)
