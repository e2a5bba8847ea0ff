"""Whether every exported name says its parameters and what it returns, by numpydoc; `make lint` runs it.

The fields of dataclasses and of pydantic's models are documented below them: such a class needs no section.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import is_dataclass
from enum import Enum
from importlib import import_module
from inspect import isclass, isfunction
from typing import Protocol

from numpydoc.validate import validate
from pydantic import BaseModel

PACKAGES = (
    "replan",
    "replan.suite",
    "replan.study",
    "replan.environments",
    "replan.robots",
)
CHECKS = {
    "GL08",  # no docstring
    "SS01",  # no summary
    "PR01",  # parameters that are not documented
    "PR02",  # parameters that do not exist
    "RT01",  # nothing on what is returned
    "YD01",  # nothing on what is yielded
}


def findings() -> Iterator[str]:
    """Yield one line for each fault."""
    for package in PACKAGES:
        module = import_module(package)
        for name in module.__all__:
            thing = getattr(module, name)
            if isclass(thing) or isfunction(thing):
                skipped = {"PR01"} if _has_documented_fields(thing) else set()
                faults = validate(f"{package}.{name}")["errors"]
                yield from (f"{package}.{name}: {said}" for code, said in faults if code in CHECKS - skipped)


def _has_documented_fields(thing: object) -> bool:
    kind = thing if isinstance(thing, type) else type(thing)
    return is_dataclass(kind) or Protocol in kind.__mro__ or issubclass(kind, (BaseModel, Enum))


if __name__ == "__main__":
    lines = list(findings())
    print("\n".join(lines) or "every exported name is documented")
    sys.exit(bool(lines))
