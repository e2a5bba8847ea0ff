"""State of an agent in mid-mission, and the lines of its log."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from replan.execute.config import Progress
from replan.model.kernel import Kernel
from replan.schedule.rule import Decision


@dataclass(frozen=True)
class Event:
    """One line of the agent's log."""

    time: int
    what: str
    """start, update, look, plan, kept plan, refused update, failed rule or act."""
    why: str = ""
    state: int | None = None
    action: int | None = None
    decision: Decision | None = None


@dataclass
class Memory:
    """State of an agent in mid-mission."""

    time: int
    state: int
    """Seen last."""
    progress: Progress
    estimate: Any
    """State estimate of the propagation: (1,) the likeliest state, or (1, S) the belief."""
    named_update: int | None = None
    """The next update time, if the rule named one."""
    named: bool = False
    """Whether the rule was asked for it since the last update."""
    commanded: list[int] = field(default_factory=list)
    """Actions since the last look."""
    known: Kernel | None = None
    """The last estimate, made at a look or a plan; None before the first."""
