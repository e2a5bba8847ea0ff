"""`make bench`: run every topic and print one table of ratios, row by row as topics are done.

`python -m benchmarks TOPIC ...` runs some of them; `python -m benchmarks --write` runs all and also writes
the rows that have a peer into docs/speed.md.
"""

from __future__ import annotations

import importlib
import sys
from pathlib import Path

from benchmarks.timing import Row

SPEED_PAGE = Path(__file__).parents[1] / "docs" / "speed.md"
BEGIN, END = "<!-- speed: written by python -m benchmarks --write -->", "<!-- end of speed -->"
HEAD = "| what | replan | peer | peer's time | ratio |\n|---|---:|---|---:|---:|"


def topics() -> list[str]:
    """The modules of this folder that have rows."""
    files = Path(__file__).parent.glob("[!_]*.py")
    return sorted(path.stem for path in files if "\ndef rows(" in path.read_text())


def lines(rows: list[Row]) -> str:
    """The rows as lines of a Markdown table."""
    found = []
    for row in rows:
        theirs = row["peer_seconds"]
        ratio = f"{theirs / row['ours_seconds']:.1f}x" if theirs else ""
        found.append(
            f"| {row['what']} | {_time(row['ours_seconds'])} | {row['peer'] or ''} | "
            f"{_time(theirs) if theirs else ''} | {ratio} |"
        )
    return "\n".join(found)


def _time(value: float) -> str:
    for unit, scale in (("s", 1.0), ("ms", 1e3)):
        if value * scale >= 1:
            return f"{value * scale:.3g} {unit}"
    return f"{value * 1e6:.3g} us"


def write_page(rows: list[Row]) -> None:
    """Put the rows that have a peer between the two marks of docs/speed.md."""
    text = SPEED_PAGE.read_text()
    before, _, rest = text.partition(BEGIN)
    _, _, after = rest.partition(END)
    with_peer = lines([row for row in rows if row["peer"]])
    SPEED_PAGE.write_text(f"{before}{BEGIN}\n{HEAD}\n{with_peer}\n{END}{after}")


def main(arguments: list[str]) -> None:
    write = "--write" in arguments
    named = [word for word in arguments if word != "--write"]
    if write and named:
        sys.exit("--write writes the table of all topics: name none")
    if unknown := set(named) - set(topics()):
        sys.exit(f"unknown topic {min(unknown)!r}: {', '.join(topics())}")
    rows: list[Row] = []
    print(HEAD, flush=True)
    for topic in named or topics():
        print(f"measuring {topic} ...", file=sys.stderr, flush=True)
        found = importlib.import_module(f"benchmarks.{topic}").rows()
        print(lines(found), flush=True)
        rows += found
    if write:
        write_page(rows)


if __name__ == "__main__":
    main(sys.argv[1:])
