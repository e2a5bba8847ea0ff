"""Backward induction over a large open grid, several steps in one pass over memory."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from replan import _loops
from replan.model.bands import in_bands
from replan.model.kernel import Array
from replan.model.slip import SlipKernel
from replan.model.slip_course import SlipCourse, slip_course
from replan.model.tvmdp import TVMDP

STEPS = 8  # of one pass; three rows of values for each must fit into a core's cache


def open_course(world: TVMDP) -> SlipCourse | None:
    """The world's course if no cell is blocked, each time has one slip and all have one reward, else None."""
    kernel = world.kernel(0)
    if not isinstance(kernel, SlipKernel) or kernel.blocked.size > 1 or kernel.slip.size > 1:
        return None
    course = slip_course(world)
    return course if course is not None and len(course.reward) == 1 else None


def sweep(course: SlipCourse, values: Array, out: Array, *, begin: int, end: int) -> None:
    """From (S,) V*_end to `out`: (end - begin, S) V*_begin to V*_{end-1}, or (1, S) V*_begin alone."""
    rows, columns = course.shape
    in_bands(
        _loops.open_stencil.backups,
        rows,
        rows * columns,
        np.repeat(course.slip[begin:end], columns, axis=1),
        course.law[begin:end],
        values.reshape(course.shape),
        course.reward.reshape(course.shape),
        out.reshape(-1, rows, columns),
    )


def passes(horizon: int) -> Iterator[tuple[int, int]]:
    """The times [begin, end) of each pass, from the last back to the first."""
    for end in range(horizon, 0, -STEPS):
        yield max(end - STEPS, 0), end
