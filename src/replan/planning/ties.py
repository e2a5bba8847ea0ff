"""The choice among equally good actions.

Two actions within 1e-9 of the best are tied. The choice moves regret more than the choice of an update rule
does, so it is stated with every result.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

import numpy as np

from replan.errors import InputError, require_whole, require_word
from replan.model.kernel import Array, Indices, first_best
from replan.model.streams import TIES, uniforms

TIE_TOLERANCE = 1e-9
MOST_SEEDS = 2**32  # a seed shares one number with the time of the plan


@dataclass(frozen=True)
class Ties:
    """`first` and `last` go by the order of the actions; `random` draws once per plan and state."""

    kind: Literal["first", "last", "random"] = "first"
    """Which of the tied actions is taken."""
    seed: int = 0
    """Seed of the draws of `random`."""

    def __post_init__(self) -> None:
        require_word(("first", "last", "random"), ties=self.kind)
        require_whole(seed=self.seed)
        if not 0 <= self.seed < MOST_SEEDS:
            raise InputError(f"ties must have a seed from 0 to {MOST_SEEDS - 1}, not {self.seed}")

    @classmethod
    def parse(cls, text: str) -> Ties:
        """Return the tie rule of "first", "last", "random" or "random(SEED)"."""
        match = re.fullmatch(r"(first|last|random)(?:\((\d+)\))?", text)
        if match is None or (match[2] and match[1] != "random"):
            raise InputError(f'ties must be "first", "last" or "random(SEED)", not {text!r}')
        if int(match[2] or 0) >= MOST_SEEDS:
            raise InputError(f"ties must have a seed below {MOST_SEEDS}, not {match[2]}")
        return cls(match[1], int(match[2] or 0))  # pyright: ignore[reportArgumentType]

    def __str__(self) -> str:
        return f"random({self.seed})" if self.kind == "random" else self.kind

    def choose(self, values: Array, *, plan_time: int = 0, states: Indices | None = None) -> Indices:
        """(R,) the chosen action for each row of (R, A) values.

        `states` tells rows apart in the random draw; without it all rows of one plan share it.
        """
        if self.kind == "first":
            return first_best(values, TIE_TOLERANCE)
        tied = values >= values.max(axis=1, keepdims=True) - TIE_TOLERANCE
        actions = values.shape[1]
        if self.kind == "last":
            return actions - 1 - tied[:, ::-1].argmax(axis=1)
        key = np.zeros(1, dtype=np.int64) if states is None else states + 1
        draws = uniforms(self.seed + (plan_time << 32), key[:, None] * actions + np.arange(actions), TIES)
        return np.where(tied, draws, -1.0).argmax(axis=1)

    def preference(self, plan_time: int, actions: int) -> Indices:
        """(A,) the actions in the order in which a plan prefers them where all are tied."""
        if self.kind == "first":
            return np.arange(actions)
        open_actions, order = np.zeros((1, actions)), []
        while len(order) < actions:
            order.append(int(self.choose(open_actions, plan_time=plan_time)[0]))
            open_actions[0, order[-1]] = -np.inf
        return np.array(order)
