"""The benchmark's page: the leaderboard is that of the cards, and what the text says of it is so."""

from doc_pages import ROOT
from replan.report.benchmark_tables import leaderboard_tables
from replan.suite import reference_cards, suite_hash
from replan.suite.catalogue import VERSION, WORLDS_OF_A_FAMILY

PAGE = (ROOT / "docs" / "benchmark.md").read_text()


def test_the_leaderboard_is_made_from_the_cards():
    made = "\n".join(table.markdown() for table in leaderboard_tables(reference_cards()))
    assert (ROOT / "docs" / "tables" / "leaderboard.md").read_text() == made


def test_every_card_is_of_this_suite():
    cards = reference_cards()
    assert {card.suite.hash for card in cards} == {suite_hash()}
    assert {card.suite.version for card in cards} == {VERSION}
    assert all(card.hash == card.content_hash() for card in cards)
    assert len({card.name for card in cards}) == len(cards)


def test_the_page_counts_the_worlds():
    for family, worlds in WORLDS_OF_A_FAMILY["tune"].items():
        counts = f"{worlds} / {WORLDS_OF_A_FAMILY['test'][family]}"
        assert any(counts in line for line in PAGE.splitlines() if family.split("-")[-1] in line), family


def test_the_citation_names_the_version():
    import replan

    for path in ("CITATION.cff", "README.md", "docs/benchmark.md"):
        assert replan.__version__ in (ROOT / path).read_text()
