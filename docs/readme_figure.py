"""The picture of the README: what replans at the right moment save, for both kinds of robots.

Its figures are those of docs/tables. Run `python docs/readme_figure.py` to write docs/images/readme.png.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from statistics import fmean
from typing import TYPE_CHECKING

from replan.report.style import GREEN, LINES, QUIET, arrange, new_figure, save_png, style

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

DOCS = Path(__file__).parent
PATH = DOCS / "images" / "readme.png"
PAPER = (
    "late-burst",
    "two-burst",
    "alternating",
    "sinusoidal-medium",
    "narrow-late",
    "sparse-late-60",
    "sparse-late-50",
    "three-short",
)


def table(name: str) -> list[dict[str, str]]:
    """Return the rows of the first table of a file; an empty first cell repeats the one above."""
    text = (DOCS / "tables" / f"{name}.md").read_text()
    lines = text.partition("\n\n")[2].partition("\n\n")[0].splitlines()
    head, _, *rows = [[cell.strip(" *") for cell in line.strip("|").split("|")] for line in lines]
    first = ""
    for row in rows:
        first = row[0] = row[0] or first
    return [dict(zip(head, row, strict=True)) for row in rows]


def robot_that_sees() -> dict[str, float]:
    """Return the total regret on the nine hand-made settings by number of replans."""
    found = {row["rule"]: row for row in table("localised")}
    return {
        "1 replan, halfway": float(found["even"]["at most 1"]),
        "4 replans, evenly spaced": float(found["even"]["at most 4"]),
        "39 replans, every step": float(found["even"]["no limit"]),
        "1 replan, at the right moment": float(found["last-moment"]["at most 1"]),
    }


def blind_robot() -> dict[str, float]:
    """Return the mean regret on the paper's eight settings, in per cent of that of even spacing."""
    rows = {row["setting"]: row for row in table("beyond") if row[""] == "map"}
    rules = {
        "evenly spaced": "even",
        "the paper's rule, tuned": "regret-guided",
        "look-ahead": "lookahead",
        "best possible": "best feedback",
    }
    return {
        label: 100 * fmean(float(rows[name][rule]) / float(rows[name]["even"]) for name in PAPER)
        for label, rule in rules.items()
    }


def readme_figure() -> Figure:
    """Draw the robot that sees on the left, the one that is blind between updates on the right."""
    with style():
        figure = new_figure(width=9.0, height=2.4)
        left, right = figure.subplots(1, 2)
        _bars(left, robot_that_sees(), ours="1 replan, at the right moment", form="%.1f")
        left.set_title("A robot that sees where it is")
        left.set_xlabel("reward lost in nine worlds")
        _bars(right, blind_robot(), ours="look-ahead", form="%.0f %%")
        right.set_title("A robot that is mostly blind")
        right.set_xlabel("reward lost with equally many updates (%)")
        return arrange(figure)


def _bars(axes: Axes, values: Mapping[str, float], *, ours: str, form: str) -> None:
    colours = [GREEN if name == ours else QUIET for name in values]
    axes.bar_label(axes.barh(list(values), list(values.values()), color=colours), fmt=form, padding=3)
    axes.invert_yaxis()
    axes.margins(x=0.15)
    axes.tick_params(axis="y", length=0)
    axes.grid(axis="x", color=LINES, linewidth=0.6)
    axes.get_yticklabels()[list(values).index(ours)].set_color(GREEN)


def main() -> None:
    """Write the picture."""
    save_png(readme_figure(), PATH)
    print(PATH)


if __name__ == "__main__":
    main()
