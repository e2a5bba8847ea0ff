"""Sizes from which work is done in parts, otherwise or not at all; and the memory that there is for it."""

from __future__ import annotations

import os
from dataclasses import dataclass

from replan.errors import InputError, require_numbers

SHARE = 0.9
"""Share of the memory that one piece of work may take."""
NUMBER = 8
"""Bytes of a float or an index."""


@dataclass(frozen=True)
class Sizes:
    """Sizes of a mission from which it is worked on in another way.

    They settle time and memory, and which figures are left out because they would take too long. All figures
    that are computed are the same with any sizes, but for one: beyond `compared_floor` the look-ahead of a
    blind robot whose updates take time does not weigh the delay, and its regret is another.

    Parameters
    ----------
    whole_world : int
        States up to which a world is left whole, and distributions are dense; beyond, evaluation, look-ahead
        and certificates work on the states that can be reached.
    part_share : float
        Largest share of the world that such a part may have; a larger one gains nothing.
    all_starts : int
        States up to which regret is evaluated from every start: that costs O(S^2 T).
    updates_kept : int
        States up to which a mission keeps all of its updates; beyond, the last two.
    rows_at_once : int
        States seen at an update from which distributions are pushed together; bounds memory at that many
        times S numbers.
    floor : int
        States times steps up to which the best possible regret is shown beside others.
    shown_compared_floor : int
        States times steps^2 up to which it is shown for a forecast that compares two updates.
    compared_floor : int
        States times steps^2 up to which it is computed for a forecast that compares two updates, and up to
        which a mission keeps the updates of every two times.
    schedules : int
        Partial schedules that branch and bound extends before it gives up the proof.
    states_asked : int
        States up to which a rule is asked about all states at once.
    entries_at_once : int
        Probabilities in a block of rows of look-ahead's programme.
    entries_kept : int
        Probabilities that it keeps for the second of two passes; 12 bytes each.
    entries_in_tree : int
        Probabilities of all plans together up to which it walks them as one tree where nothing moves; 0:
        every plan by itself.
    certified_starts : int
        States up to which certificates are of every start, and the theorem is computed.
    legs_at_once : int
        States seen at an update that a certificate follows at once.
    """

    whole_world: int = 2_500
    part_share: float = 0.7
    all_starts: int = 2_500
    updates_kept: int = 10_000
    rows_at_once: int = 512
    floor: int = 40_000
    shown_compared_floor: int = 400_000
    compared_floor: int = 1_000_000
    schedules: int = 20_000
    states_asked: int = 1_000
    entries_at_once: int = 20_000_000
    entries_kept: int = 30_000_000
    entries_in_tree: int = 30_000_000
    certified_starts: int = 1_000
    legs_at_once: int = 256

    def __post_init__(self) -> None:
        require_numbers(**vars(self))

    def keeps_pairs(self, states: int, horizon: int) -> bool:
        """Return whether work on every pair of update times is done, and its results kept."""
        return states * horizon**2 <= self.compared_floor


DEFAULT_SIZES = Sizes()


def require_memory(numbers: float, purpose: str, instead: str = "") -> None:
    """Raise `InputError` if that many floats and indices do not fit into memory.

    The message ends with `instead`, which names work that would fit.
    """
    needed = NUMBER * numbers
    if needed > SHARE * (there := memory_bytes()):
        raise InputError(
            f"{purpose} needs about {_shown(needed)} of memory, and this machine has {_shown(there)}{instead}"
        )


def require_pairs(states: int, tables: float, purpose: str) -> None:
    """Raise `InputError` if that many tables of all pairs of states do not fit into memory."""
    fit = int((SHARE * memory_bytes() / NUMBER / tables) ** 0.5)
    require_memory(
        tables * states**2, f"{purpose}, all pairs of {states} states,", f": about {fit} states would fit"
    )


def memory_bytes() -> float:
    """Return the memory of this machine."""
    try:
        return float(os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE"))
    except (ValueError, OSError, AttributeError):  # not told on this system
        return float("inf")


def _shown(size: float) -> str:
    for unit in ("bytes", "kB", "MB", "GB", "TB"):
        if size < 1000 or unit == "TB":
            return f"{size:.3g} {unit}"
        size /= 1000
    return ""
