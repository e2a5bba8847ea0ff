"""The kernel as a localised robot knows it now, and the update that it could begin."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Protocol

from replan.forecast.base import Future
from replan.model.kernel import Kernel
from replan.planning.backward_induction import Plan


class PossibleUpdate(Protocol):
    """What an update that is made now would put in force."""

    @property
    def plan(self) -> Plan:
        """The plan."""
        ...

    @property
    def futures(self) -> tuple[Future, ...]:
        """The kernels expected from now on."""
        ...

    @property
    def cache(self) -> dict[Any, Any]:
        """Results that rules keep with this update."""
        ...


@dataclass(frozen=True, eq=False)
class RunningEstimate:
    """What a localised robot holds for the kernel now, and the update that it could make of it."""

    kernel: Kernel = field(repr=False)
    """The estimate, of the kernel of the step before."""
    make: Callable[[int], PossibleUpdate] = field(repr=False)
    """Steps that an update takes -> the update that could be begun now."""
    plain: bool = False
    """Whether updates plan by backward induction on this kernel, expect it to stay and draw no ties."""

    @cached_property
    def update(self) -> PossibleUpdate:
        """The update that could be made now, if it takes no time; planned on first use."""
        return self.make(0)
