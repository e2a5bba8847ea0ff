"""Tables keep odd names as they are, in every form."""

import csv
import html
import io
import json
import re

import pytest
import yaml
from markdown_it import MarkdownIt

from replan.cli import run
from replan.commands import in_spreadsheet
from replan.results.table import Table, TableCell

ODD = [
    "a|b",
    "*bold*",
    "`code`",
    "<b>",
    "two\nlines",
    "back\\slash",
    "[x](y)",
    "~~gone~~",
    "=1+1",
    "100 % & #1_{}$",
]


def rendered(text: str) -> list[str]:
    """The text of every cell, as a reader of the page sees it."""
    page = MarkdownIt("gfm-like", {"linkify": False}).render(text)
    cells = re.findall(r"<t[dh](?: [^>]*)?>(.*?)</t[dh]>", page, re.DOTALL)
    return [html.unescape(re.sub("<[^>]*>", "", cell)) for cell in cells]


@pytest.mark.parametrize("name", ODD)
def test_markdown_shows_a_name_as_it_is(name):
    table = Table("title", ("rule", name), [(name, TableCell("0.5", 0.5, best=True))])
    shown = " ".join(name.split())
    assert rendered(table.markdown()) == ["rule", shown, shown, "0.5"]


def test_a_spreadsheet_takes_no_name_for_a_formula():
    table = Table(
        "title",
        ("rule", "regret"),
        [(name, TableCell("-0.5", -0.5)) for name in ("=1+1", "+1", "-1", "@x", "ok")],
    )
    rows = list(csv.reader(io.StringIO(table.csv())))
    assert [row[0] for row in rows[1:]] == ["'=1+1", "'+1", "'-1", "'@x", "ok"]
    assert {row[1] for row in rows[1:]} == {"-0.5"} and in_spreadsheet(-3) == -3


def test_latex_escapes_what_it_would_read():
    assert (
        TableCell("100 % & #1_{}$ ~^").latex() == r"100 \% \& \#1\_\{\}\$ \textasciitilde{}\textasciicircum{}"
    )


def test_a_schedule_as_csv_yaml_and_json(tmp_path, capsys):
    rule = ["schedule", "two-burst", "--rule", "self-triggered", "--set", "threshold=0.1"]
    assert run([*rule, "--json"]) == 0
    times = json.loads(capsys.readouterr().out)["times"]
    for ending in ("csv", "yaml", "json"):
        assert run([*rule, "--out", str(tmp_path / f"s.{ending}")]) == 0
    with (tmp_path / "s.csv").open() as file:
        assert [int(row["t"]) for row in csv.DictReader(file)] == times
    read = yaml.safe_load((tmp_path / "s.yaml").read_text())
    assert read == json.loads((tmp_path / "s.json").read_text())
    assert [row["t"] for row in read["updates"]] == times == read["times"] and read[
        "rule"
    ] == "self-triggered"
    assert read["updates"][1]["reason"] and run([*rule, "--out", str(tmp_path / "s.txt")]) == 2
