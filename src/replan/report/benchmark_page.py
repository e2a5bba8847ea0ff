"""The page of a benchmark run, and the leaderboard's files."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from replan.report.benchmark_profile import NOTE, profile_figure, profile_svg, result_words
from replan.report.benchmark_tables import card_tables, leaderboard_tables, regret_table
from replan.report.page.assemble import assemble, figure_panel
from replan.report.style import save
from replan.results.table import write_whole
from replan.suite.cards import Card
from replan.suite.catalogue import VERSION

PROFILE = "Performance profile"


def write_benchmark_page(cards: Sequence[Card], folder: Path, *, own: Card) -> Path:
    """Write report.html of one card beside others; its path."""
    others = [card for card in cards if card.name != own.name or card is own]
    tables = [*card_tables(own), *leaderboard_tables(others), regret_table(own)]
    panel = figure_panel(PROFILE, profile_svg(others, own=own), NOTE)
    return assemble(folder, f"{own.name} on suite {VERSION}", result_words(own), tables, [], panels=[panel])


def leaderboard_markdown(cards: Sequence[Card]) -> str:
    """Return the leaderboard as Markdown, the tables after the first one a level below a page's sections."""
    return "\n".join(table.markdown() for table in leaderboard_tables(cards)).replace("\n# ", "\n### ")


def write_leaderboard(cards: Sequence[Card], folder: Path) -> list[Path]:
    """Write leaderboard.md, the profile as PNG and SVG, and report.html; their paths."""
    tables, markdown = leaderboard_tables(cards), leaderboard_markdown(cards)
    best = next(card for card in cards if card.name == tables[0].cells[0][0].text)
    page = assemble(
        folder, f"Leaderboard of suite {VERSION}", result_words(best), tables, [],
        panels=[figure_panel(PROFILE, profile_svg(cards), NOTE)],
    )  # fmt: skip
    return [
        write_whole(folder / "leaderboard.md", markdown),
        *save(profile_figure(cards), folder, "profile"),
        page,
    ]
