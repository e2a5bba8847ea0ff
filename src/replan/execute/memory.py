"""What an agent holds in mid-mission, and the lines of its log."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from replan.execute.mission import Update
from replan.model.kernel import Kernel
from replan.schedule.rule import Decision


@dataclass(frozen=True)
class Event:
    """One line of the agent's log."""

    time: int
    what: str  # start, update, kept plan, refused update, failed rule, act
    why: str = ""
    state: int | None = None
    action: int | None = None
    decision: Decision | None = None


@dataclass
class Memory:
    """Everything that changes while the mission runs."""

    time: int
    budget_left: int
    last_update: int
    state: int  # seen last
    in_force: Update
    estimate: Any  # of the propagation
    planned_update: int | None = None
    commanded: list[int] = field(default_factory=list)  # since the last look
    earlier_update: int = 0  # the one whose plan was in force before; 0: none
    earlier_kernel: Kernel | None = None  # its estimate
