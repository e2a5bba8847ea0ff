"""The figure of promises shows its numbers in the right order."""

import pytest

from page_data import SMALL
from replan.report.curves import certificate_figure, certificate_table
from study_runs import computed


@pytest.fixture
def promised(tmp_path):
    (tmp_path / "small.toml").write_text(SMALL)

    def run(execution, budgets):
        setting = {
            "base": str(tmp_path / "small.toml"),
            "vary": {"n": [3], "horizon": [8], "budget": budgets},
        }
        study = {
            "settings": [setting],
            "rules": ["periodic"],
            "executions": [execution],
            "measure": ["exact", "certificate"],
        }
        return computed(study, tmp_path / execution)

    return run


def test_each_promise_lies_above_the_regret_and_is_drawn(promised):
    run = promised("map", [1, 3, 7])
    for record in run.records:
        bounds = record["certificate"]
        assert record["exact_regret"] <= bounds["certificate"] + 1e-9
        assert bounds["certificate"] <= min(bounds["in_advance"], bounds["boxes"]) + 1e-9
        assert record["exact_regret"] < bounds["theorem"]
    axes = certificate_figure(run).axes[0]
    assert axes.get_yscale() == "log"
    drawn = {line.get_label(): list(line.get_ydata()) for line in axes.lines}
    assert drawn["true regret"] == [record["exact_regret"] for record in run.records]
    assert drawn["theorem, repaired"] == [record["certificate"]["theorem"] for record in run.records]
    assert [row[:2] for row in certificate_table(run).rows] == [
        (str(budget), f"{record['exact_regret']:z.4f}")
        for budget, record in zip((1, 3, 7), run.records, strict=True)
    ]


def test_belief_execution_has_no_curve_in_advance(promised):
    run = promised("belief", [2])
    labels = [line.get_label() for line in certificate_figure(run).axes[0].lines]
    assert "certificate after the fact" in labels and "certificate in advance" not in labels
    assert len(certificate_table(run).columns) == 1 + len(labels)
