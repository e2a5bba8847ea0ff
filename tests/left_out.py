"""The lines at the end of a test run that say what was left out, and why."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable


def left_out_lines(reasons: Iterable[str], *, chosen: str) -> list[str]:
    """Return a line for each reason to skip tests, the commonest first; `chosen` is pytest's -m."""
    counts = Counter(reason.removeprefix("Skipped: ").removeprefix("left out: ") for reason in reasons)
    lines = [f"{count} test{'s' * (count > 1)}: {reason}" for reason, count in counts.most_common()]
    if "not slow" in chosen:
        lines.append("proofs that take minutes: `make test-slow` runs them")
    return lines or ["nothing"]
