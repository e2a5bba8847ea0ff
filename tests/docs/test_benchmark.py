"""The benchmark's page: the leaderboard is that of the cards, and what the text says of it is so."""

from doc_pages import ROOT
from replan.report.benchmark_page import leaderboard_markdown
from replan.report.benchmark_tables import summary
from replan.study import rule_source
from replan.suite import reference_cards
from replan.suite.catalogue import VERSION, WORLDS_OF_A_FAMILY, suite_hash

PAGE = (ROOT / "docs" / "benchmark.md").read_text()


def test_the_leaderboard_is_made_from_the_cards():
    made = (ROOT / "docs" / "tables" / "leaderboard.md").read_text()
    assert made == leaderboard_markdown(reference_cards())


def test_every_registered_rule_has_a_card_and_every_card_is_of_this_suite():
    cards = reference_cards()
    for_localised = {"even", "last-moment", "gain"}  # they are scored where robots see where they are
    assert set(rule_source.RULES) - for_localised <= {card.rule for card in cards}
    assert {card.suite.hash for card in cards} == {suite_hash()}
    assert {card.suite.version for card in cards} == {VERSION}
    assert all(card.hash == card.content_hash() for card in cards)
    assert len({card.name for card in cards}) == len(cards)


def test_what_the_page_says_of_the_rules_is_on_their_cards():
    cards = {card.name: card for card in reference_cards()}
    text = " ".join(PAGE.split())
    told = {name: f"{summary(cards[name]).iqm.value:.2f}" for name in ("lookahead", "regret-guided")}
    assert f"Look-ahead has {told['lookahead']} of the range" in text
    assert (
        f"worse than even spacing in {summary(cards['lookahead']).worse.value:.0%}".replace("%", " %") in text
    )
    kernels = [summary(cards["lookahead"], "kernels", kind).iqm.value for kind in ("map", "belief")]
    assert "`kernels`: {:.2f} with the likeliest cell, {:.2f} with a belief".format(*kernels) in text
    mixture, given = (summary(cards[f"lookahead, {name}"]) for name in ("mixture", "given"))
    assert (
        f"it has {mixture.iqm.value:.2f} and is worse than even spacing in {mixture.worse.value:.0%}".replace(
            "%", " %"
        )
        in text
    )
    rivals = [summary(cards[f"{name}, tuned"]).iqm.value for name in ("accumulated-value", "measuring-value")]
    assert "`accumulated-value` has {:.2f} with its threshold tuned".format(*rivals) in text
    assert f"`measuring-value` {rivals[1]:.2f}." in text
    assert f"true future it has {given.iqm.value:.2f}" in text
    worse = f"worse in {summary(cards['regret-guided']).worse.value:.0%}".replace("%", " %")
    assert f"({told['regret-guided']}, {worse} of the worlds)" in text
    assert f"on the tune part it has {summary(cards['regret-guided, tuned']).iqm.value:.2f}" in text
    assert f"on each world itself, has {summary(cards['best-offset']).iqm.value:.2f}" in text
    assert f"{summary(cards['drift-threshold, tuned']).iqm.value:.2f} with one threshold" in text
    assert f"has {summary(cards['fixed-rate, tuned']).iqm.value:.2f}: even spacing" in text


def test_the_page_counts_the_worlds():
    for family, worlds in WORLDS_OF_A_FAMILY["tune"].items():
        counts = f"{worlds} / {WORLDS_OF_A_FAMILY['test'][family]}"
        assert any(counts in line for line in PAGE.splitlines() if family.split("-")[-1] in line), family


def test_the_citation_names_the_version():
    import replan

    for path in ("CITATION.cff", "README.md", "docs/benchmark.md"):
        assert replan.__version__ in (ROOT / path).read_text()
