"""How long updates take, between texts, the data of settings, what a robot takes, and words."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from replan.errors import InputError
from replan.skip.latency import INSTANT, read_durations


def as_durations(value: Any) -> Any:
    """Return `update_steps` as a robot takes them, from data or a text such as "4" or "1:0.5, 3:0.5"."""
    if isinstance(value, str):
        if not set(value) & {":", ","}:
            return _number(value.strip(), int)
        parts = [part.partition(":") for part in value.split(",")]
        pairs = [(steps, _number(probability, float)) for steps, _, probability in parts]
    elif isinstance(value, Mapping):
        pairs = list(value.items())
    else:
        return value
    found: dict[Any, Any] = {}
    for text, probability in pairs:
        steps = _number(text, int)
        if steps in found:
            raise InputError(f"update_steps: the probability of {steps} is given twice")
        found[steps] = probability
    return found


def check_steps(value: Any) -> Any:
    """Return `update_steps` in the data of a setting. Raises `InputError` if they are a text or wrong."""
    read_durations(as_durations(value) if isinstance(value, Mapping) else value)
    return value


def plain_steps(text: str) -> Any:
    """Return the `update_steps` of a text as the plain data of a setting, whose keys are texts."""
    value = as_durations(text)
    return {str(steps): p for steps, p in value.items()} if isinstance(value, Mapping) else value


def describe_latency(update_steps: Any, meanwhile: str | None) -> str:
    """Return how long updates take in words, as in "4 steps, wait"; "instant" if they take no time."""
    durations = read_durations(as_durations(update_steps or 0))
    if durations == INSTANT.durations:
        return "instant"
    steps = " or ".join(str(each) for each, _ in durations)
    chances = "" if len(durations) == 1 else f" ({', '.join(f'{p:g}' for _, p in durations)})"
    return f"{steps} step{'' if steps == '1' else 's'}{chances}, {meanwhile or 'go-on'}"


def _number(text: Any, kind: type) -> Any:
    """Return a text as a number, or as it is if it is none."""
    try:
        return kind(text) if isinstance(text, str) else text
    except ValueError:
        return text
