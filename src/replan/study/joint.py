"""Measures whose cells are computed several at a time, such as flights of many drones in one simulator.

The folder that computes such a measure registers it here. A cell carries its measure along, so a worker
process imports that folder by itself.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import TYPE_CHECKING, Any, Protocol

from replan.errors import InputError

if TYPE_CHECKING:
    from replan.study.cells import Cell


class JointMeasure(Protocol):
    """A measure of several cells at once; instances must be picklable."""

    def check(self, setting: dict[str, Any]) -> None:
        """Raise `InputError` if a cell cannot have this setting."""
        ...

    def group(self, cell: Cell) -> Hashable:
        """Return a key that is equal for cells that can be computed together."""
        ...

    def batch_size(self, cell: Cell) -> int:
        """Return the number of such cells in a batch of work."""
        ...

    def compute(self, cells: Sequence[Cell]) -> list[dict[str, Any]]:
        """Return the columns of the store's `results` of each cell of one group."""
        ...


_measures: dict[str, JointMeasure] = {}


def register_joint_measure(name: str, measure: JointMeasure) -> None:
    """Make a measure known under the name that study files use."""
    _measures[name] = measure


def joint_measure(name: str) -> JointMeasure:
    """Return the measure of that name."""
    if name not in _measures:
        raise InputError(f"measure {name!r} is computed by a package that is not imported yet")
    return _measures[name]
