"""The paper's study: sampled means beside exact values, and what the tables say of them."""

import csv
import re
from dataclasses import replace
from html import escape

import numpy as np
import pytest

from doc_pages import ROOT
from replan import Lookahead, Periodic, optimum, regret
from replan.report.page.run_page import sentence, write_page
from replan.report.reports import paper_regrets, paper_rules, reference, write_reproduction
from replan.report.reports.paper import OBLIVIOUS, as_good, by_rule, differences, table_1, table_2
from replan.results.run import Run
from replan.robots.crazyflie.layouts import DENSITIES
from replan.schedule.drift_threshold import PACE_WEIGHTS
from replan.schedule.periodic import Even
from replan.schedule.regret_guided import ALPHAS, DIAMETERS, MS
from replan.study.candidates import candidates
from replan.study.definition import load_study
from replan.study.protocol import HELD_OUT_SEEDS, VALIDATION_SEEDS, bootstrap_interval
from replan.worlds.settings import PAPER_SETTINGS, load_setting, make_mission
from study_runs import by_setting, computed


@pytest.fixture(scope="module")
def run(tmp_path_factory) -> Run:
    """Study `table1` as it comes with replan."""
    return computed(load_study("table1")[0], tmp_path_factory.mktemp("table1"))


@pytest.fixture(scope="module")
def past(tmp_path_factory) -> Run:
    """Study `lookahead`, with which Table 1 ends."""
    return computed(load_study("lookahead")[0], tmp_path_factory.mktemp("lookahead"))


@pytest.fixture(scope="module")
def two_burst(run):
    return by_setting(run)["two-burst"]


def test_sampled_means_lie_about_the_exact_values(run):
    assert list(run.settings) == list(PAPER_SETTINGS) and run.rules == paper_rules()
    for record in run.records:
        assert record["samples"] == 1000
        gap = abs(record["sampled_regret"] - record["exact_regret"])
        assert gap < 4 * record["standard_error"], (record["setting"], record["rule"])
        assert record["low"] < record["sampled_regret"] < record["high"]


def test_the_adaptive_rule_beats_the_oblivious(run):
    regrets = by_rule(run)
    for row in regrets.rows:
        if row != ("sinusoidal-medium",):
            assert not set(OBLIVIOUS) & set(as_good(regrets, row)), row


def test_validation_and_held_out_seeds_are_disjoint(run):
    assert len(VALIDATION_SEEDS) == 500 and len(HELD_OUT_SEEDS) == 1000
    assert not set(VALIDATION_SEEDS) & set(HELD_OUT_SEEDS)
    assert {(record["first_seed"], record["seeds"]) for record in run.records} == {(0, 1000)}


def test_the_docs_show_the_tables_that_are_computed(run, past):
    for name, table in (("table1", table_1(replace(run, beside=past))), ("table2", table_2(run))):
        assert (ROOT / "docs" / "tables" / f"{name}.md").read_text() == table.markdown()


def test_table_1_shows_the_papers_figure_ours_sampled_ours_exact_and_the_ties(run, two_burst):
    table = table_1(run)
    paper, sampled, exact = table.cells[3:6]
    assert paper[0].text == "two-burst (12/50/7/4)"
    assert [row[1].text for row in (paper, sampled, exact)] == ["paper", "sampled", "exact"]
    assert [float(cell.text) for cell in paper[2:]] == list(paper_regrets()["two-burst"].values())
    assert "Ties: first" in table.notes[0]
    assert exact[3].text == "0.772" and sampled[3].text.startswith("0.75 ± ")
    best = min(record["exact_regret"] for record in two_burst.values())
    assert [cell.text for cell in exact if cell.best] == [f"{best:.3f}"]


def test_table_1_ends_with_look_ahead_the_best_possible_and_acting_on_the_belief(run, past):
    table = table_1(replace(run, beside=past))
    assert list(table.columns[-3:]) == ["even", "lookahead", "best possible"]
    rows = {row[1].text: row for row in table.cells[5:10]}
    assert list(rows) == ["paper", "sampled", "exact", "ties last", "belief"] and rows["paper"][
        0
    ].text.startswith("two-burst")
    for label, execution in (("exact", "map"), ("belief", "belief")):
        mission = make_mission(load_setting("two-burst"), execution=execution)
        assert rows[label][-1].text == f"{optimum(mission).feedback_regret:.3f}"
        assert rows[label][-2].text == f"{regret(mission, Lookahead()):.3f}" and rows[label][-2].best
        assert rows[label][-3].text == f"{regret(mission, Even()):.3f}"
        assert rows[label][3].text == f"{regret(mission, Periodic()):.3f}"
    assert [cell.text for cell in rows["belief"][4:-3]] == [""] * 7


def test_table_1_has_every_rule_under_the_second_tie_rule(run, past):
    """`last` takes `stay` at the goal, where `first` pushes right: about twice the regret."""
    table = table_1(replace(run, beside=past))
    for index, name in enumerate(run.settings):
        row = table.cells[5 * index + 3]
        last = make_mission(load_setting(name), ties="last")
        assert row[1].text == "ties last" and "" not in [cell.text for cell in row[2:]]
        assert row[3].text == f"{regret(last, Periodic()):.3f}"
        assert row[-1].text == f"{optimum(last).feedback_regret:.3f}"
        both = zip(row[2:], table.cells[5 * index + 2][2:], strict=True)
        assert all(tied.value > first.value for tied, first in both)


def test_page_and_docs_say_the_same_numbers_as_the_table(run, past, tmp_path):
    """Every exact figure of Table 1 stands in the page, and the headline follows from them."""
    table = table_1(replace(run, beside=past))
    text = write_page(replace(run, settings={}), tmp_path, past=past).read_text()  # tables alone
    (shown,) = re.findall(r'<table id="regrets".*?</table>', text, re.DOTALL)
    rows = dict(re.findall(r'<th scope="row">(.*?)</th>(.*?)</tr>', shown, re.DOTALL))
    docs = (ROOT / "docs" / "tables" / "table1.md").read_text()
    named, ratios = "", {"map": [], "paper": [], "belief": []}
    for row in table.cells:
        named = row[0].text.split(" ")[0] or named
        if row[1].text in ("exact", "belief"):
            figures = [cell.text for cell in row[2:] if cell.text]
            assert all(re.search(rf">{figure}[< ]", rows[named]) for figure in figures), (named, figures)
            assert all(f"{figure}" in docs for figure in figures)
            best = dict(zip(table.columns, (cell.value for cell in row), strict=True))
            if row[1].text == "exact":
                even = best["even"]
                ratios["map"].append(best["lookahead"] / even)
                ratios["paper"].append(best["regret-guided"] / even)
            else:
                ratios["belief"].append(best["lookahead"] / even)
    said = sentence(run, past)
    for values in ratios.values():
        assert f"{1 - np.mean(values):.0%} less" in said
    assert escape(said) in text


def test_it_says_plainly_where_the_adaptive_rule_does_not_win(run):
    notes = table_1(run).notes
    for rival in ("best-offset", "drift-threshold"):
        (note,) = [note for note in notes if f"beat {rival}" in note]
        loses = [row[0] for row in by_rule(run).rows if rival in as_good(by_rule(run), row)]
        assert note.endswith(f"in: {', '.join(loses)}.")


def test_table_2_of_a_schedule_without_hyper_parameters(two_burst):
    """Periodic: 17, 33 and 49 with bursts [10, 17) and [31, 41): one of three inside, one of two met."""
    periodic = two_burst["periodic"]
    assert periodic["times"] == [1, 17, 33, 49]
    assert (periodic["updates"], periodic["updates_inside"]) == (3, 1)
    assert (periodic["intervals"], periodic["intervals_met"]) == (2, 1)
    assert 0 < periodic["mean_stale_drift"] < periodic["max_stale_drift"]


def test_the_same_results_give_the_same_files(run, tmp_path):
    for name in ("one", "other"):
        (tmp_path / name).mkdir()
        write_reproduction(run, tmp_path / name)
    files = sorted(path.name for path in (tmp_path / "one").iterdir())
    tables = ["table1.csv", "table1.md", "table1.tex", "table2.md", "table2.tex"]
    figures = [f"{name}.{kind}" for name in ("trajectories", "update-timing") for kind in ("png", "svg")]
    assert files == [*tables, *figures]
    for name in files:
        assert (tmp_path / "one" / name).read_bytes() == (tmp_path / "other" / name).read_bytes()
    with (tmp_path / "one" / "table1.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert [(row["setting"], row["rule"]) for row in rows] == [
        (record["setting"], record["rule"]) for record in run.records
    ]


def test_every_grid_that_validation_searched_is_written_down(two_burst):
    grids = {rule: record["validation"]["grid"] for rule, record in two_burst.items() if record["validation"]}
    adaptive = grids.pop("regret-guided")
    assert [adaptive[name] for name in ("alpha", "m", "diameter")] == [
        list(values) for values in (ALPHAS, MS, DIAMETERS)
    ]
    assert grids["drift-threshold"]["pace_weight"] == list(PACE_WEIGHTS)
    mission = make_mission(load_setting("two-burst"))
    for method, parameter in (
        ("self-triggered", "threshold"),
        ("lazy-value", "threshold"),
        ("best-offset", "offset"),
    ):
        tried = [getattr(rule, parameter) for rule in candidates(method, mission)]
        assert grids[method] == {parameter: tried}


def test_differences_are_paired(run):
    found = dict(zip([(r["setting"], r["rule"]) for r in run.records], differences(run), strict=True))
    rules = by_setting(run)["two-burst"]
    gap = rules["periodic"]["sampled_regret"] - rules["regret-guided"]["sampled_regret"]
    above = found["two-burst", "periodic"]
    assert above["above_adaptive"] == pytest.approx(gap)
    assert above["above_low"] < gap < above["above_high"]
    assert set(found["two-burst", "regret-guided"].values()) == {0.0}


def test_the_bootstrap_interval_is_the_normal_one_for_many_seeds():
    values = np.random.default_rng(0).normal(2.0, 1.0, size=1000)
    low, high = bootstrap_interval(values)
    half = 1.96 * values.std(ddof=1) / 1000**0.5
    assert low == pytest.approx(values.mean() - half, abs=0.01)
    assert high == pytest.approx(values.mean() + half, abs=0.01)


def test_the_papers_third_table_is_complete():
    rows = {(row["density"], row["rule"]): row for row in reference("paper-table3")}
    assert list(rows) == [(density, rule) for density in DENSITIES for rule in paper_rules()]
    dense = rows["dense", "back-loaded"]
    assert (dense["success"], dense["collisions"], dense["cost"]) == ("0.40", "1.33", "3.35")
