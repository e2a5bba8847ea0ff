"""The figure of a study shows its regrets, is written as PDF or SVG, and comes out the same twice."""

import pytest

from replan.errors import InputError
from replan.report.curves import regret_figure, write_study_figures
from replan.study.definition import parse_study
from study_runs import computed

SETTINGS = ["nsbridge-0", "nsbridge-05"]


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    study = {"name": "two", "settings": SETTINGS, "rules": ["periodic", "front-loaded"],
             "executions": ["map", "belief"], "measure": ["exact", "optimum"]}  # fmt: skip
    return computed(parse_study(study), tmp_path_factory.mktemp("run"))


def test_bars_are_the_regrets_of_the_run_and_lines_its_floors(run):
    records = [record for record in run.records if record["execution"] == "map"]
    axes = regret_figure(records).axes[0]
    regrets = {(each["rule"], each["setting"]): each["exact_regret"] for each in records}
    drawn = {
        (bars.get_label(), setting): bar.get_height()
        for bars in axes.containers
        for setting, bar in zip(SETTINGS, bars, strict=True)
    }
    floors = {key: regret for key, regret in regrets.items() if key not in drawn}
    assert drawn == {key: regrets[key] for key in drawn} and len(drawn) == 4
    assert [line[0][1] for line in axes.collections[0].get_segments()] == list(floors.values())
    assert [label.get_text() for label in axes.get_xticklabels()] == SETTINGS


@pytest.mark.parametrize(("form", "begin"), [("pdf", b"%PDF"), ("svg", b"<?xml")])
def test_each_way_of_acting_is_a_file_that_comes_out_the_same_twice(run, tmp_path, form, begin):
    files = write_study_figures(run, tmp_path, form)
    assert [path.name for path in files] == [f"regret-1.{form}", f"regret-2.{form}"]
    before = [path.read_bytes() for path in files]
    assert all(content.startswith(begin) for content in before)
    assert [path.read_bytes() for path in write_study_figures(run, tmp_path, form)] == before


def test_names_with_dollars_are_drawn_as_they_are(run, tmp_path):
    records = [{**record, "rule": "a$b_$", "setting": "$\\x$"} for record in run.records]
    for path in write_study_figures(type(run)("two", records, run.settings), tmp_path, "svg"):
        assert "a$b_$" in path.read_text() and "$\\x$" in path.read_text()


def test_a_run_without_regrets_is_refused(run, tmp_path):
    bare = [{**record, "exact_regret": None, "sampled_regret": None} for record in run.records]
    with pytest.raises(InputError, match="two: no regret was measured"):
        write_study_figures(type(run)("two", bare, run.settings), tmp_path, "pdf")
