"""The words of a page: those that every page has, and the rules of its run that are not among them."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterable, Mapping, Sequence
from html import escape
from importlib import resources
from typing import Any

from replan.errors import InputError
from replan.results.key import BEST_POSSIBLE, Record
from replan.study.work import rule_of


def glossary(records: Sequence[Record] = ()) -> str:
    """Return the glossary as HTML, with the rules of the records that it lacks."""
    text = (resources.files("replan.report.page") / "assets" / "glossary.html").read_text(encoding="utf-8")
    told = set(re.findall(r"<dt>(.*?)</dt>", text))
    return text.replace("{{of this run}}", _listed("Further rules of this run:", _rules(records, told)))


def _rules(records: Iterable[Record], told: set[str]) -> dict[str, str]:
    """Return the first line on each rule that is not among `told`, by the name that the page shows."""
    found: dict[str, str] = {}
    for record in records:
        name = str(record["rule"])
        if name == BEST_POSSIBLE or name in found or name.partition(" ")[0] in told:
            continue
        try:
            rule = rule_of(record)
        except InputError:
            found[name] = "A rule that cannot be made again on this machine."
            continue
        source = str(record.get("registered_rule") or "")
        own = f" A rule of your own, {source}." if ":" in source else ""
        given = f" It is {rule.name} under another name." if rule.name in told else ""
        found[name] = (_first_line(type(rule)) if not given else given.strip()) + own
    return found


def _first_line(thing: Any) -> str:
    return (inspect.getdoc(thing) or "").partition("\n")[0].replace("`", "")


def _listed(heading: str, words: Mapping[str, str]) -> str:
    if not words:
        return ""
    lines = "".join(f"<dt>{escape(name)}</dt><dd>{escape(text)}</dd>\n" for name, text in words.items())
    return f"<p>{escape(heading)}</p>\n<dl>\n{lines}</dl>\n"
