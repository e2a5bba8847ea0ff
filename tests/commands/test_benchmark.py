"""`replan benchmark`: from a rule to table, card and page, and back by `verify`."""

import json
import shutil
from contextlib import redirect_stdout
from io import StringIO

import pytest

from replan.cli import run
from replan.suite.cards import read_card, reference_cards
from suite_worlds import OWN_RULE

pytestmark = pytest.mark.usefixtures("small_suite", "in_process")


def answer(capsys, *arguments) -> tuple[int, dict]:
    status = run(["benchmark", *map(str, arguments), "--json"])
    return status, json.loads(capsys.readouterr().out)


@pytest.fixture(scope="module")
def scored(small_suite, in_process, tmp_path_factory):
    """The folder of a scored rule: card.json and out."""
    folder, said = tmp_path_factory.mktemp("scored"), StringIO()
    (folder / "my_rule.py").write_text(OWN_RULE)
    path = str(folder / "card.json")
    arguments = [f"{folder / 'my_rule.py'}:Mine", "--tune", "--card", path, "--out", str(folder / "out")]
    with redirect_stdout(said):
        assert run(["benchmark", *arguments, "--json"]) == 0
    assert json.loads(said.getvalue())["card"] == path
    return folder


@pytest.fixture
def card(scored, tmp_path):
    return shutil.copy(scored / "card.json", tmp_path / "card.json")


def test_a_rule_of_ones_own_gets_a_card_and_a_page_beside_the_reference_rules(scored):
    found = read_card(scored / "card.json")
    assert found.stated_by_author.tuning.on == "tune" and found.source is not None
    page = (scored / "out" / "report.html").read_text()
    assert "<svg" in page and "mine" in page and "worst tenth" in page
    assert all(each.name in page for each in reference_cards())


def test_verify_says_whose_code_it_runs_and_names_what_differs(card, own_rule, capsys):
    assert run(["benchmark", "verify", str(card)]) == 2
    assert "--run-source" in capsys.readouterr().err
    assert run(["benchmark", "verify", str(card), "--run-source"]) == 0
    said = capsys.readouterr()
    assert "running the source that" in said.err and "holds" in said.out
    assert "stated by the author, not recomputed: tuning on tune, mean score" in said.out
    entry = read_card(card).worlds[0]
    card.write_text(card.read_text().replace(str(entry.regret), str(round(entry.regret + 0.001, 8)), 1))
    status, found = answer(capsys, "verify", card, "--rule", f"{own_rule}:Mine")
    assert status == 1 and not found["cards"][0]["holds"]
    assert entry.name in found["cards"][0]["findings"][0]


def test_people_get_tables_and_the_leaderboard_is_made_from_cards(card, tmp_path, capsys):
    assert run(["benchmark", "leaderboard", str(card), "--out", str(tmp_path / "board")]) == 0
    said = capsys.readouterr().out
    assert "best to worst" in said and "mine" in said
    assert (tmp_path / "board" / "leaderboard.md").exists() and (tmp_path / "board" / "profile.svg").exists()


def test_the_leaderboard_refuses_a_card_of_another_suite(card, capsys):
    card.write_text(card.read_text().replace(read_card(card).suite.hash, "0" * 64))
    assert run(["benchmark", "leaderboard", str(card)]) == 2
    assert "suite" in capsys.readouterr().err


def test_faults_are_one_line(tmp_path, capsys):
    for arguments in (
        ["nonsense"],
        ["verify", str(tmp_path / "none.json")],
        ["periodic", "--set", "a=1"],
        ["last-moment", "--execution", "belief"],
        ["last-moment", "--execution", "map", "--execution", "belief"],
        ["last-moment", "--execution", "localised", "--execution", "guess"],
    ):
        assert run(["benchmark", *arguments]) == 2
        assert len(capsys.readouterr().err.splitlines()) == 1
