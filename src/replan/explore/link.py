"""The explorer's screen as the query of a link or as a TOML file, and back.

The file is a setting with a section [screen]; other commands read the setting and ignore the section.
The query holds the same keys, nested ones with dots between and values as JSON. Both hold the setting itself,
so that another person opens them with `replan explore FILE` or `replan explore '?QUERY'`.
"""

from __future__ import annotations

import json
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any
from urllib.parse import parse_qsl, urlencode

import tomli_w
from pydantic import Field, field_validator

from replan import Parameters, Setting, Spending, list_names, load_setting, make_mission
from replan.errors import InputError
from replan.schedule.periodic import periodic_times
from replan.skip.spending import FIRST_UPDATE
from replan.typing import Execution
from replan.worlds.parameters import Fraction
from replan.worlds.settings import parse_setting, setting_type

SCREEN = "screen"
LARGEST = {"n": 40, "horizon": 500}  # beyond which dragging a mark takes many seconds


@dataclass(frozen=True)
class Screen:
    """Everything chosen on the screen."""

    setting: Setting
    times: tuple[int, ...]  # of the B updates
    execution: Execution = "map"
    rule: str = "periodic"  # the one that is offered beside the times
    points: tuple[float, ...] | None = None  # drawn slips; None for a drift by formula

    def record(self) -> dict[str, Any]:
        """Return plain data in the shape of the file."""
        screen = {"times": list(self.times), "execution": self.execution, "rule": self.rule}
        if self.points is not None:
            screen["points"] = list(self.points)
        return {**setting_record(self.setting), SCREEN: screen}


class ScreenSection(Parameters):
    """The section [screen] of a file."""

    times: list[int] | None = None
    """Update times; left out, those of `periodic`."""
    execution: Execution = "map"
    rule: str = "periodic"
    points: Annotated[list[Fraction], Field(min_length=2)] | None = None
    """Drawn slips."""

    @field_validator("rule")
    @classmethod
    def _known_rule(cls, value: str) -> str:
        if value not in list_names("rules"):
            raise ValueError(f"must be one of {', '.join(list_names('rules'))}, not {value!r}")
        return value


class _File(Parameters):
    screen: ScreenSection


def setting_record(setting: Setting) -> dict[str, Any]:
    """Return the plain data of a setting's file."""
    return setting.model_dump(mode="json", exclude_none=True)


def check_size(setting: Setting) -> None:
    """Raise an `InputError` for a world too large to be explored by hand."""
    for key, most in LARGEST.items():
        value = dict(setting).get(key)
        if value is not None and value > most:
            raise InputError(f"{key} = {value} is too large to explore by hand: at most {most}")


def open_screen(source: str | Path) -> Screen:
    """Return the screen in a setting or saved screen (a TOML file), in a link or of a built-in setting."""
    if is_link(source):
        return from_query(dict(parse_qsl(str(source).partition("?")[2], keep_blank_values=True)))
    setting, built_in = load_setting(source), str(source) in list_names("settings")
    shown = {} if built_in else tomllib.loads(Path(source).read_text()).get(SCREEN, {})
    return _screen(setting, shown, where=str(source))


def is_link(source: str | Path) -> bool:
    """Return whether the source is a link, or the query of one with its question mark."""
    return str(source).startswith(("?", "http://", "https://"))


def parse_screen(record: Mapping[str, Any], *, where: str = "screen") -> Screen:
    """Return the screen in plain data in the shape of the file."""
    return _screen(parse_setting(dict(record), where=where), record.get(SCREEN, {}), where=where)


def to_toml(screen: Screen) -> str:
    """Return the text of the file; a file that the setting names is looked for beside it."""
    record = screen.record()
    if "file" in record:
        record["file"] = Path(record["file"]).name
    return tomli_w.dumps(record)


def to_query(screen: Screen) -> str:
    """Return the query of the link, without its question mark."""
    return urlencode(
        {
            key: value if isinstance(value, str) else json.dumps(value, separators=(",", ":"))
            for key, value in _flatten(screen.record())
        }
    )


def from_query(query: Mapping[str, str]) -> Screen:
    """Return the screen in a link's query. A link never loads a file."""
    record: dict[str, Any] = {}
    for key, text in query.items():
        *path, last = key.split(".")
        table = record
        for part in path:
            table = table.setdefault(part, {})
            if not isinstance(table, dict):
                raise InputError(f"link: {key!r} and {part!r} cannot both be given")
        table[last] = _value(text)
    known = {SCREEN}.union(*(setting_type(name).model_fields for name in list_names("worlds")))
    if unknown := [key for key in record if key not in known]:
        raise InputError(f"link: unknown key {unknown[0]!r}")
    if "file" in record:
        raise InputError("link: a world from a file is opened with replan explore FILE")
    return parse_screen(record, where="link")


def read_numbers(text: str, kind: type, *, name: str) -> tuple:
    """Return the numbers of a text with commas between them."""
    try:
        return tuple(kind(part) for part in text.split(","))
    except ValueError:
        raise InputError(f"{name} are numbers with commas between, not {text!r}") from None


def _screen(setting: Setting, shown: Any, *, where: str) -> Screen:
    try:
        section = _File(screen=shown).screen
        check_size(setting)
        horizon = setting.horizon or make_mission(setting).horizon
        spending = Spending.exactly(setting.required_budget)
        times = section.times or periodic_times(horizon, spending.most(horizon))
        times = spending.check_times(times, horizon)
    except InputError as error:
        raise InputError(f"{where}: {error}") from None
    points = None if section.points is None else tuple(section.points)
    return Screen(setting, times, section.execution, section.rule, points)


def fit_times(times: Iterable[int], *, budget: int, horizon: int) -> tuple[int, ...]:
    """Return times that fit another budget and horizon, as near to the given ones as possible.

    Each missing time is put into the middle of the widest gap.
    """
    kept = sorted({FIRST_UPDATE} | {t for t in times if FIRST_UPDATE <= t < horizon})[:budget]
    while len(kept) < min(budget, horizon - 1):
        ends = [*kept, horizon]
        widest = max(range(len(kept)), key=lambda i: ends[i + 1] - ends[i])
        kept.insert(widest + 1, (ends[widest] + ends[widest + 1]) // 2)
    return tuple(kept)


def _flatten(record: Mapping[str, Any], prefix: str = "") -> Iterable[tuple[str, Any]]:
    for key, value in record.items():
        if isinstance(value, dict):
            yield from _flatten(value, f"{prefix}{key}.")
        else:
            yield f"{prefix}{key}", value


def _value(text: str) -> Any:
    """Return the JSON value of the text, or the text itself."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return text
