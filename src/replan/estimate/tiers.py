"""Small estimates are interpreted, many or large ones compiled, by the same functions and to the same bits.

To compile `interior_point` takes seconds, to load it compiled from the disk most of one; dozens of small
estimates are done by then without. A robot that cannot wait in mid-mission calls `compile_loops` before it.
"""

from __future__ import annotations

from inspect import isfunction
from types import SimpleNamespace
from typing import Any

import numpy as np

from replan.estimate import interior_point

INTERPRETED = 3_000  # nodes x coordinates^2 that a process interprets before it compiles: about half a second

_plain = SimpleNamespace(
    reduce=interior_point.reduce,
    build=interior_point.build,
    solve=np.errstate(all="ignore")(interior_point.solve),  # it looks for itself whether rounding has won
)
_work = 0


def loops(nodes: int, coordinates: int) -> Any:
    """`reduce`, `build` and `solve` of `interior_point` for a chain of this size."""
    global _work
    _work += nodes * coordinates**2
    if _work <= INTERPRETED:
        return _plain
    compile_loops()
    return interior_point


def compile_loops() -> None:
    """Replace the functions of `interior_point` by compiled ones, once, and use them from now on."""
    global _work
    _work = INTERPRETED + 1
    if not isfunction(interior_point.solve):
        return
    from replan._loops.compiler import jit

    for name, function in list(vars(interior_point).items()):
        if isfunction(function):  # without a check of each division: half the time to compile
            setattr(interior_point, name, jit(function, error_model="numpy"))
