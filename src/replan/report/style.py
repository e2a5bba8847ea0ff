"""One look for all figures, and how they are written: the same figure twice gives the same bytes.

Figures are made without pyplot, so that nothing depends on a display or is kept between calls; matplotlib is
imported when the first figure is drawn.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager
from io import StringIO
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

PRINT_WIDTH = 7.0  # inches, the text width of a paper; no text is below 9 points at this width
DOTS_PER_INCH = 180

# The palette of Okabe and Ito, which the common kinds of colour blindness keep apart.
BLACK = "#000000"
ORANGE = "#E69F00"
SKY = "#56B4E9"
GREEN = "#009E73"
BLUE = "#0072B2"
VERMILLION = "#D55E00"
PURPLE = "#CC79A7"

SHADE = "#F6DFA4"  # orange, lightened: intervals of fast drift
INK = "#222222"
QUIET = "#6B6B6B"  # what stands beside the main thing
LINES = "#D9D9D9"

RULE_COLOURS = {"regret-guided": VERMILLION, "lookahead": GREEN, "periodic": BLUE, "even": PURPLE}

_SETTINGS: dict[Any, Any] = {  # matplotlib's rcParams
    "font.family": "sans-serif",
    "font.sans-serif": ["DejaVu Sans"],  # comes with matplotlib, so every machine draws the same letters
    "font.size": 9,
    "axes.titlesize": 10,
    "axes.titleweight": "bold",
    "axes.titlelocation": "left",
    "axes.labelsize": 9,
    "xtick.labelsize": 9,
    "ytick.labelsize": 9,
    "legend.fontsize": 9,
    "figure.titlesize": 11,
    "figure.titleweight": "bold",
    "figure.facecolor": "white",
    "axes.facecolor": "white",
    "savefig.facecolor": "white",
    "text.color": INK,
    "axes.labelcolor": INK,
    "xtick.color": INK,
    "ytick.color": INK,
    "axes.edgecolor": QUIET,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.axisbelow": True,
    "grid.color": LINES,
    "legend.frameon": False,
    "text.parse_math": False,  # a name may hold dollars
    "svg.fonttype": "none",  # text stays text: searchable, and sharp at any size
    "svg.hashsalt": "replan",
}


def rule_colour(name: str) -> str:
    """Return the colour of a rule, the same in every figure; grey for rules shown for comparison."""
    return RULE_COLOURS.get(name, QUIET)


def style() -> AbstractContextManager[None]:
    """Return a context in which figures are drawn and written with these settings."""
    from matplotlib import rc_context

    return rc_context(_SETTINGS)


def new_figure(*, height: float, width: float = PRINT_WIDTH) -> Figure:
    """Return an empty figure, its size in inches; call it within `style()`."""
    from matplotlib.figure import Figure

    return Figure(figsize=(width, height), layout="constrained")


def arrange(figure: Figure) -> Figure:
    """Lay the figure out once and keep that, so that writing it does not lay it out again."""
    figure.draw_without_rendering()
    figure.set_layout_engine("none")
    return figure


def shade(axes: Axes, intervals: Sequence[tuple[int, int]]) -> None:
    """Shade the intervals [begin, end) of fast drift."""
    for begin, end in intervals:
        axes.axvspan(begin, end, facecolor=SHADE, edgecolor="none", zorder=0, gid="fast drift")


def update_rows(axes: Axes, schedules: dict[str, tuple[int, ...]]) -> None:
    """Draw one row per rule, the first on top, with a vertical mark at each of its updates."""
    for row, (name, times) in enumerate(schedules.items()):
        axes.axhline(row, color=LINES, linewidth=0.8, zorder=1)
        axes.plot(
            times,
            [row] * len(times),
            linestyle="none",
            marker="|",
            markersize=13,
            markeredgewidth=3,
            color=rule_colour(name),
            zorder=3,
            clip_on=False,
            label=name,
        )
    axes.set_yticks(range(len(schedules)), list(schedules))
    axes.set_ylim(len(schedules) - 0.4, -0.6)
    axes.tick_params(axis="y", length=0)
    axes.spines["left"].set_visible(False)


def save(figure: Figure, folder: str | Path, name: str) -> list[Path]:
    """Write NAME.png and NAME.svg without time stamps and return their paths."""
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    png, svg = folder / f"{name}.png", folder / f"{name}.svg"
    save_png(figure, png)
    with style():
        figure.savefig(svg, metadata={"Date": None, "Creator": "replan"})
    return [png, svg]


PAGE_COLOURS = {
    "#ffffff": "ground",
    INK: "ink",
    VERMILLION: "ink",
    GREEN: "ink",
    BLACK: "quiet",
    QUIET: "quiet",
    LINES: "line",
}
"""CSS variables of a page by colour of a figure: a page draws rules in ink, told apart by their dashes."""


def svg_text(figure: Figure) -> str:
    """Return the figure as an SVG element in the colours of a page, light or dark."""
    text = StringIO()
    with style():
        figure.savefig(text, format="svg", metadata={"Date": None, "Creator": "replan"})
    svg = "<svg" + text.getvalue().partition("<svg")[2]
    for colour, name in PAGE_COLOURS.items():
        svg = svg.replace(colour.lower(), f"var(--{name})")
    return svg


def save_png(figure: Figure, path: Path) -> None:
    """Write one PNG without time stamps or the version of the program that drew it."""
    with style():
        figure.savefig(path, dpi=DOTS_PER_INCH, metadata={"Software": None})
