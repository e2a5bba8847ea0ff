"""The benchmark's page: the leaderboard is that of the cards, and what the text says of it is so."""

from doc_pages import ROOT
from replan.report.benchmark_tables import summary
from replan.report.leaderboard import leaderboard_markdown
from replan.schedule.registry import rule_names
from replan.suite import reference_cards, suite_worlds
from replan.suite.catalogue import WORLDS_OF_A_FAMILY
from replan.suite.verification import incomparable

PAGE = (ROOT / "docs" / "benchmark.md").read_text()


def test_the_leaderboard_is_made_from_the_cards():
    made = (ROOT / "docs" / "tables" / "leaderboard.md").read_text()
    assert made == leaderboard_markdown(reference_cards())


def test_every_registered_rule_has_a_card_and_every_card_is_of_this_suite():
    cards = reference_cards()
    assert set(rule_names()) <= {card.rule for card in cards}
    assert [finding for card in cards for finding in incomparable(card)] == []
    assert all(card.hash == card.content_hash() for card in cards)
    assert len({card.name for card in cards}) == len(cards)


def test_what_the_page_says_of_the_rules_is_on_their_cards():
    cards = {card.name: card for card in reference_cards()}
    text = " ".join(PAGE.split())

    def iqm(name, group="drawn", execution=None):
        return f"{summary(cards[name], group, execution).iqm.value:.2f}"

    def worse(name):
        return f"{summary(cards[name], 'drawn').worse.value:.0%}".replace("%", " %")

    told = [
        f"On generated worlds look-ahead scores {iqm('lookahead')} without any tuning",
        f"is worse than even spacing on {worse('lookahead')} of them",
        f"`kernels`: {iqm('lookahead', 'kernels', 'map')} with the likeliest cell",
        f"{iqm('lookahead', 'kernels', 'belief')} with a belief",
        f"it scores {iqm('lookahead, mixture')} and is worse than even spacing on "
        f"{worse('lookahead, mixture')}",
        f"true future it scores {iqm('lookahead, given')}, and "
        f"{iqm('lookahead, given', 'wind')} in measured wind",
        f"In measured wind look-ahead scores {iqm('lookahead', 'wind')}",
        f"tuned `fixed-rate` ({iqm('fixed-rate, tuned', 'wind')})",
        f"({iqm('regret-guided')}, worse on {worse('regret-guided')} of the generated worlds)",
        f"it scores {iqm('regret-guided, tuned')} there and {iqm('regret-guided, tuned', 'wind')} in wind",
        f"{iqm('drift-threshold, tuned')} with one threshold for all generated worlds",
        f"and {iqm('drift-threshold, tuned', 'wind')} in wind",
        f"`accumulated-value` scores {iqm('accumulated-value, tuned')} on generated worlds",
        f"`measuring-value` {iqm('measuring-value, tuned')}.",
        f"on each world itself, scores {iqm('best-offset', 'all')}",
        f"`last-moment`, untuned, scores {iqm('last-moment', 'all', 'localised')}:",
        f"{iqm('last-moment', 'drawn', 'localised')} on generated worlds",
        f"and {iqm('last-moment', 'wind', 'localised')} in wind",
    ]
    assert [words for words in told if words not in text] == []


def test_the_page_counts_the_worlds_in_which_a_robot_that_sees_is_scored():
    scored = sum(world.scored("localised") for world in suite_worlds("test"))
    assert f"in {scored} of the {len(suite_worlds('test'))} worlds" in " ".join(PAGE.split())


def test_the_page_counts_the_worlds():
    for family, worlds in WORLDS_OF_A_FAMILY["tune"].items():
        counts = f"{worlds} / {WORLDS_OF_A_FAMILY['test'][family]}"
        assert any(counts in line for line in PAGE.splitlines() if family.split("-")[-1] in line), family


def test_the_citation_names_the_version():
    import replan

    for path in ("CITATION.cff", "README.md", "docs/benchmark.md"):
        assert replan.__version__ in (ROOT / path).read_text()
