"""The page of a benchmark run, the leaderboard's files, and the performance profile of cards."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from replan.report.benchmark_tables import SUITE, card_scores, card_tables, regret_table, summary
from replan.report.leaderboard import LOCALISED, leaderboard_tables
from replan.report.page.assemble import assemble, figure_panel
from replan.report.regret_words import WORDS
from replan.report.style import (
    BLACK,
    LINES,
    ORANGE,
    PRINT_WIDTH,
    arrange,
    new_figure,
    rule_colour,
    save,
    style,
    svg_text,
)
from replan.results.table import write_whole
from replan.skip.propagation import Execution
from replan.suite.cards import Card
from replan.suite.catalogue import EXECUTIONS
from replan.suite.score import THRESHOLDS, performance_profile

if TYPE_CHECKING:
    from matplotlib.figure import Figure

PROFILE = "Performance profile"
NAMED = {"lookahead": "-", "regret-guided": "--", "last-moment": "-."}
"""Reference rules that the profile names, with their line styles; the others are grey."""
NOTE = (
    "The share of worlds in which a rule reaches a score, for each score: higher is better. Score 0 is even "
    "spacing (solid line), 1 the best possible (dotted). Grey: the other cards of `replan benchmark "
    "leaderboard`."
)


def profile_figure(
    cards: Sequence[Card], *, own: Card | None = None, executions: Sequence[Execution] = EXECUTIONS
) -> Figure:
    """Draw the share of worlds in which a rule reaches each score; `own` stands out."""
    with style():
        figure = new_figure(height=3.4, width=PRINT_WIDTH / 2 * len(executions))
        for axes, kind in zip(
            figure.subplots(1, len(executions), sharey=True, squeeze=False)[0], executions, strict=True
        ):
            column = EXECUTIONS.index(kind)
            for card in sorted(cards, key=lambda card: (card is own, card.name in NAMED)):
                if kind not in card.executions:
                    continue
                named = card is own or card.name in NAMED
                colour = ORANGE if card is own else rule_colour(card.name) if named else LINES
                axes.plot(
                    THRESHOLDS,
                    performance_profile(card_scores(card)[:, column]),
                    color=colour,
                    linewidth=1.8 if named else 0.9,
                    linestyle=NAMED.get(card.name, "-"),
                    label=card.name if named else None,
                )
            axes.axvline(0, color=BLACK, linewidth=0.8)
            axes.axvline(1, color=BLACK, linewidth=0.8, linestyle=":")
            axes.set_title(WORDS[kind])
            axes.set_xlabel("score (0 even spacing, 1 floor)")
            axes.set_xlim(THRESHOLDS[0], THRESHOLDS[-1])
            axes.grid(visible=True)
            if axes.get_legend_handles_labels()[0]:
                axes.legend()
        figure.axes[0].set_ylabel("share of worlds that reach it")
        return arrange(figure)


def profile_svg(cards: Sequence[Card], *, own: Card | None = None) -> list[str]:
    """Return the profile for a page, a figure for each execution."""
    return [svg_text(profile_figure(cards, own=own, executions=[kind])) for kind in EXECUTIONS]


def result_words(card: Card) -> str:
    """Return the result of a card in one sentence."""
    found = summary(card) or summary(card, execution=LOCALISED)
    if found is None:
        return "No world was scored."
    return (
        f"{card.name} goes {found.iqm.value:.0%} of the way from even spacing to the best schedule there is "
        f"(mean of the middle half of {found.scored} worlds and ways to act), and does worse than even "
        f"spacing in {found.worse.value:.0%} of them."
    )


def write_benchmark_page(cards: Sequence[Card], folder: Path, *, own: Card) -> Path:
    """Write report.html of one card beside others; its path."""
    others = [card for card in cards if card.name != own.name or card is own]
    tables = [*card_tables(own), *leaderboard_tables(others), regret_table(own)]
    panel = figure_panel(PROFILE, profile_svg(others, own=own), NOTE)
    return assemble(folder, f"{own.name} on {SUITE}", result_words(own), tables, [], panels=[panel])


def leaderboard_markdown(cards: Sequence[Card]) -> str:
    """Return the leaderboard as Markdown, the tables after the first one a level below a page's sections."""
    return "\n".join(table.markdown() for table in leaderboard_tables(cards)).replace("\n# ", "\n### ")


def write_leaderboard(cards: Sequence[Card], folder: Path) -> list[Path]:
    """Write leaderboard.md, the profile as PNG and SVG, and report.html; their paths."""
    tables, markdown = leaderboard_tables(cards), leaderboard_markdown(cards)
    best = next(card for card in cards if card.name == tables[0].cells[0][0].text)
    page = assemble(
        folder, f"Leaderboard of {SUITE}", result_words(best), tables, [],
        panels=[figure_panel(PROFILE, profile_svg(cards), NOTE)],
    )  # fmt: skip
    return [
        write_whole(folder / "leaderboard.md", markdown),
        *save(profile_figure(cards), folder, "profile"),
        page,
    ]
