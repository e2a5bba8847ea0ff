"""The leaderboard of benchmark cards and the page of a benchmark run.

The leaderboard ranks blind and localised robots, and shows the way to the floor; the page has the performance
profile of cards.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from replan import Need, find_rule, list_names
from replan.commands import write_whole
from replan.report.benchmark_tables import (
    STATISTICS,
    SUITE,
    card_scores,
    card_tables,
    estimate,
    known,
    regret_table,
    score_notes,
    summary,
)
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
from replan.results.table import MISSING, Table, TableCell, number
from replan.schedule.periodic import Even
from replan.suite.cards import Card
from replan.suite.catalogue import BLIND, EXECUTIONS, VERSION, SuiteRobot, suite_worlds
from replan.suite.score import THRESHOLDS, performance_profile, world_groups
from replan.typing import Execution

if TYPE_CHECKING:
    from matplotlib.figure import Figure


LOCALISED: Execution = "localised"
WIND = "IQM, wind"
SHOWN_BESIDE_THE_FLOOR = 3
AHEAD = {Need.DRIFT_AHEAD, Need.CURRENT_KERNEL}
HINDSIGHT = (
    "Best in hindsight: in each world the best of the {} rules that know nothing of what is to come, a "
    "choice that none of them can make. The floor knows the future."
)


def leaderboard_tables(cards: Sequence[Card]) -> list[Table]:
    """Return all cards best to worst, blind and localised robots apart, and those that know the same."""
    fair = _fair(cards)
    blind, seeing = _ranked(fair), _ranked(fair, LOCALISED)
    tables = [
        _blind_ranking(
            f"{SUITE.capitalize()}, blind robots, best to worst", blind, "leaderboard", score_notes()
        ),
        _seeing_ranking(seeing, [card for card in blind if LOCALISED not in card.executions]),
    ]
    for words in sorted({known(card) for card in blind}, key=lambda words: (words.count(","), words)):
        same = [card for card in blind if known(card) == words]
        if len(same) > 1:
            tables.append(
                _blind_ranking(f"Blind robots, rules that know {words}", same, f"knows-{len(tables)}")
            )
    if own := _ranked([card for card in cards if card.own_world and card.suite.version == VERSION]):
        note = (
            "Its parameters are chosen on each world that is scored, so it does not compare with the others."
        )
        tables.append(_blind_ranking("Tuned on its own world", own, "own-world", [note]))
    if older := _ranked([card for card in cards if card.suite.version != VERSION]):
        note = "These cards lack the measured worlds and the robots that see; they compare among themselves."
        tables.append(_blind_ranking("Cards of earlier versions of the suite", older, "earlier", [note]))
    return [
        *tables,
        floor_table([card for card in blind if _is_totalled(card, BLIND)]),
        total_table([card for card in seeing if _is_totalled(card, [LOCALISED])]),
    ]


def _fair(cards: Sequence[Card]) -> list[Card]:
    return [card for card in cards if not card.own_world and card.suite.version == VERSION]


def _ranked(cards: Sequence[Card], execution: Execution | None = None) -> list[Card]:
    """Return the cards that have a score, best first."""
    found = [(card, summary(card, execution=execution)) for card in cards]
    scored = [(each.iqm.value, card) for card, each in found if each is not None]
    return [card for _, card in sorted(scored, key=lambda each: -each[0])]


def _blind_ranking(title: str, cards: Sequence[Card], name: str, notes: Sequence[str] = ()) -> Table:
    shown = [f"IQM, {WORDS[kind]}" for kind in BLIND]
    columns = ("rule", "knows", "IQM, both", *shown, *STATISTICS, WIND, "ms")
    rows = []
    for card in cards:
        both, *others = _ranking_cells(card)
        iqms = [_iqm(card, execution=kind) for kind in BLIND]
        rows.append([TableCell(card.name), known(card), both, *iqms, *others])
    return Table(title, columns, rows, notes, labels=2, name=name)


def _seeing_ranking(cards: Sequence[Card], others: Sequence[Card]) -> Table:
    """Return the ranking of robots that see their state; rules that were not measured on them come last."""
    columns = ("rule", "knows", "IQM", *STATISTICS, WIND, "ms")
    rows = [[TableCell(card.name), known(card), *_ranking_cells(card, LOCALISED)] for card in cards]
    for card in others:
        weighs = card.rule in list_names("rules") and find_rule(card.rule).kind.weighs_the_state
        why = "does not apply" if weighs else "not measured"
        rows.append([TableCell(card.name), known(card), TableCell(why), *[TableCell(MISSING)] * 5])
    notes = [
        "Even spacing is here at T/(B+1), 2T/(B+1), ..., that of a blind robot at 1, 1 + (T-1)/B, ...; "
        "`periodic` spends an update at 1 and one at T - 1. Tuned parameters were chosen for blind robots.",
        "Milliseconds are those of a blind robot; of `gain` and `last-moment` those of one step.",
    ]
    title = f"{SUITE.capitalize()}, robots that see their state, best to worst"
    return Table(title, columns, rows, notes, labels=2, name="leaderboard-localised")


def _ranking_cells(card: Card, execution: Execution | None = None) -> list[TableCell]:
    """Return interquartile mean, the other statistics, the mean on wind and the time of a decision."""
    found = summary(card, execution=execution)
    assert found is not None
    return [
        estimate(found.iqm),
        number(found.median.value, ".2f"),
        number(found.worst_tenth.value, ".2f"),
        number(found.worse.value, ".0%"),
        _iqm(card, "wind", execution),
        number(1000 * card.stated_by_author.decision_seconds, ".3g"),
    ]


def _iqm(card: Card, group: str = "all", execution: Execution | None = None) -> TableCell:
    found = summary(card, group, execution)
    return estimate(None if found is None else found.iqm)


def floor_table(cards: Sequence[Card]) -> Table:
    """Return total regrets of blind robots in units of the floor."""
    rows = []
    for group in list(world_groups(suite_worlds("test")))[1:]:
        for kind in BLIND:
            count, *totals, floor = _totals(cards, group, kind)
            scaled = [number(one / floor, ".3f") for one in totals]
            rows.append([group, WORDS[kind], str(int(count)), *scaled])
    columns = ("worlds", "acts by", "n", *_total_columns(cards))
    title = "Blind robots: total regret in units of the floor"
    return Table(title, columns, rows, [HINDSIGHT.format(len(cards))], labels=2, name="floors")


def total_table(cards: Sequence[Card]) -> Table:
    """Return total regrets of robots that see their state, beside the floor."""
    rows = []
    for group in list(world_groups(suite_worlds("test")))[1:]:
        count, *totals = _totals(cards, group, LOCALISED)
        rows.append([group, str(int(count)), *(number(one, ".2f") for one in totals)])
    columns = ("worlds", "n", *_total_columns(cards), "floor")
    title = "Robots that see their state: total regret"
    return Table(title, columns, rows, [HINDSIGHT.format(len(cards))], name="totals-localised")


def _total_columns(cards: Sequence[Card]) -> list[str]:
    return ["even", *(card.name for card in _shown(cards)), "best in hindsight"]


def _shown(cards: Sequence[Card]) -> list[Card]:
    return [card for card in cards if card.rule != Even.name][:SHOWN_BESIDE_THE_FLOOR]


def _totals(cards: Sequence[Card], group: str, execution: Execution) -> list[float]:
    """Return the worlds of a group, and total regrets: even, first cards, best in hindsight, floor."""
    worlds = suite_worlds("test")
    here = [worlds[i] for i in world_groups(worlds)[group]]
    hindsight = [min(card.regrets[world.name, execution] for card in cards) for world in here]
    return [
        len(here),
        sum(world.even[execution] for world in here),
        *(sum(card.regrets[world.name, execution] for world in here) for card in _shown(cards)),
        sum(hindsight),
        sum(world.floor[execution] for world in here),
    ]


def _is_totalled(card: Card, executions: Sequence[Execution]) -> bool:
    """Return whether totals may stand beside the floor's: of every world, and of what was seen by then."""
    ahead = card.forecast == "given" or not AHEAD.isdisjoint(card.needs)
    worlds = {(world.name, kind) for world in suite_worlds("test") for kind in executions}
    return not ahead and card.robot.latency == SuiteRobot().latency and worlds <= card.regrets.keys()


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
                axes.legend(loc="lower left")
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
    page = assemble(
        folder, f"Leaderboard of {SUITE}", result_words(_ranked(_fair(cards))[0]), tables, [],
        panels=[figure_panel(PROFILE, profile_svg(cards), NOTE)],
    )  # fmt: skip
    return [
        write_whole(folder / "leaderboard.md", markdown),
        *save(profile_figure(cards), folder, "profile"),
        page,
    ]
