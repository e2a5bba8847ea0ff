"""The paper's study: sampled means beside exact values, and what the tables say of them."""

import json
from functools import cache

import numpy as np
import pytest

from doc_pages import ROOT
from replan.report.simulation_tables import placement_figures, records, table_1, table_2, write_tables
from replan.study.candidates import ALPHAS, DIAMETERS, MS, PACE_WEIGHTS, candidates
from replan.study.cells import places
from replan.study.definition import load_study
from replan.study.paper import METHODS, TABLE_1
from replan.study.protocol import HELD_OUT_SEEDS, VALIDATION_SEEDS, bootstrap_interval, parameters
from replan.study.simulation import simulate_setting
from replan.study.versions import code_version
from replan.study.work import Result, compute
from replan.worlds.settings import PAPER_SETTINGS, load_setting, make_mission

simulated = cache(simulate_setting)
OBLIVIOUS = {"periodic", "random", "front-loaded", "back-loaded"}


@pytest.fixture(scope="module")
def two_burst():
    return simulated("two-burst")


@pytest.mark.parametrize("name", PAPER_SETTINGS)
def test_sampled_means_lie_about_the_exact_values_and_the_adaptive_rule_beats_the_oblivious(name):
    result = simulated(name)
    for name, entry in result.entries.items():
        sampled = entry.measured.sampled
        assert sampled.n == 1000
        assert abs(sampled.regret - entry.measured.exact) < 4 * sampled.standard_error, name
        assert entry.measured.low < sampled.regret < entry.measured.high
    if result.name != "sinusoidal-medium":
        assert not OBLIVIOUS & set(result.beaten_by)


def test_validation_and_held_out_seeds_are_disjoint():
    assert len(VALIDATION_SEEDS) == 500 and len(HELD_OUT_SEEDS) == 1000
    assert not set(VALIDATION_SEEDS) & set(HELD_OUT_SEEDS)


@pytest.mark.parametrize("name", PAPER_SETTINGS)
def test_the_docs_show_the_table_that_is_computed(name):
    shown = (ROOT / "docs/tables/table1.md").read_text().splitlines()
    computed = table_1([simulated(name)], search="paper")
    assert computed.notes[1] in shown
    for row in computed.rows:
        assert "| " + " | ".join(row) + " |" in shown


def test_the_study_file_gives_the_numbers_of_the_table(two_burst):
    study, _ = load_study("table1")
    cells = [place.cell for place in places(study, version=code_version()) if place.setting == "two-burst"]
    assert [cell.rule for cell in cells] == list(METHODS)
    for cell in cells:
        found, entry = compute(cell), two_burst.entries[cell.rule]
        assert isinstance(found, Result)
        assert found.values["exact_regret"] == entry.measured.exact
        assert json.loads(found.values["parameters"]) == json.loads(json.dumps(parameters(entry.choice.rule)))
        assert (found.returns == entry.measured.returns).all()
        assert (found.values["low"], found.values["high"]) == (entry.measured.low, entry.measured.high)


def test_table_1_shows_the_papers_figure_ours_sampled_ours_exact_and_the_ties(two_burst):
    table = table_1([two_burst], search="paper")
    paper, sampled, exact = table.rows
    assert paper[0] == "two-burst (12/50/7/4)"
    assert [row[1] for row in table.rows] == ["paper", "sampled", "exact"]
    assert [float(cell) for cell in paper[2:]] == list(TABLE_1["two-burst"].values())
    assert "Ties: first" in table.notes[0]
    assert exact[3] == "0.772" and sampled[3].startswith("0.75 ± ")
    best = min(entry.measured.exact for entry in two_burst.entries.values())
    assert [cell for cell in exact if cell.startswith("**")] == [f"**{best:.3f}**"]


def test_it_says_plainly_where_the_adaptive_rule_does_not_win(two_burst):
    notes = " ".join(table_1([two_burst], search="paper").notes)
    for rival in ("best-offset", "drift-threshold"):
        exact = two_burst.entries[rival].measured.exact
        loses = exact <= two_burst.entries["regret-guided"].measured.exact
        assert (f"does NOT beat {rival}" in notes) == loses


def test_table_2_of_a_schedule_without_hyper_parameters(two_burst):
    """Periodic: 17, 33 and 49 with bursts [10, 17) and [31, 41): one of three inside, one of two met."""
    precision, coverage, mean, greatest = placement_figures([two_burst], "periodic")
    assert precision == pytest.approx(1 / 3) and coverage == pytest.approx(1 / 2)
    assert 0 < mean < greatest
    table = table_2([two_burst])
    assert len(table.rows) == len(METHODS)
    assert table.notes[0].startswith("Ties: first.")


def test_the_same_results_give_the_same_files(two_burst, tmp_path):
    for name in ("one", "other"):
        (tmp_path / name).mkdir()
        write_tables([two_burst], tmp_path / name, search="paper")
    files = sorted(path.name for path in (tmp_path / "one").iterdir())
    tables = [f"table{number}.{kind}" for number in (1, 2) for kind in ("csv", "md", "tex")]
    assert files == ["returns.csv", "run.json", *tables]
    for name in files:
        assert (tmp_path / "one" / name).read_bytes() == (tmp_path / "other" / name).read_bytes()
    rows = (tmp_path / "one" / "returns.csv").read_text().splitlines()
    assert len(rows) == 1001 and rows[0] == "setting,seed,oracle," + ",".join(METHODS)


def test_every_grid_that_validation_searched_is_written_down(two_burst, tmp_path):
    write_tables([two_burst], tmp_path, search="paper")
    chosen = json.loads((tmp_path / "run.json").read_text())["chosen"]["two-burst"]
    grids = {
        method: record["validation"]["grid"] for method, record in chosen.items() if "validation" in record
    }
    adaptive = grids.pop("regret-guided")
    assert (adaptive["alpha"], adaptive["m"], adaptive["diameter"]) == (
        list(ALPHAS),
        list(MS),
        list(DIAMETERS),
    )
    assert grids["drift-threshold"]["pace_weight"] == list(PACE_WEIGHTS)
    mission = make_mission(load_setting("two-burst"))
    for method, parameter in (
        ("self-triggered", "threshold"),
        ("lazy-value", "threshold"),
        ("best-offset", "offset"),
    ):
        assert grids[method] == {
            parameter: [getattr(rule, parameter) for rule in candidates(method, mission)]
        }
    note = table_1([two_burst], search="equal").notes[1]
    assert "m 1, 2, 3, 5, 8; D 0, 0.01" in note and "run-equal.json" in note


def test_differences_are_paired(two_burst):
    mean, low, high = two_burst.difference("periodic")
    entries = two_burst.entries
    gap = entries["periodic"].measured.sampled.regret - entries["regret-guided"].measured.sampled.regret
    assert mean == pytest.approx(gap) and low < mean < high
    assert two_burst.difference("regret-guided") == (0.0, 0.0, 0.0)
    assert {record["method"] for record in records([two_burst])} == set(METHODS)


def test_the_bootstrap_interval_is_the_normal_one_for_many_seeds():
    values = np.random.default_rng(0).normal(2.0, 1.0, size=1000)
    low, high = bootstrap_interval(values)
    half = 1.96 * values.std(ddof=1) / 1000**0.5
    assert low == pytest.approx(values.mean() - half, abs=0.01)
    assert high == pytest.approx(values.mean() + half, abs=0.01)
