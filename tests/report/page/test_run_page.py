"""The page of a run of `replan run`, or of any records."""

import json
import re

import pytest

from page_data import SMALL, data_of, record
from replan import make_rule
from replan.cli import run
from replan.evaluation.agent_runs import run_agent
from replan.evaluation.decomposition import decompose
from replan.evaluation.exact import evaluate
from replan.report.page.run_page import DRAWINGS, SETTINGS_DRAWN, write_page
from replan.report.study_tables import CELLS_SHOWN, cells_table, rule_table
from replan.results.run import Run
from replan.schedule.drift_threshold import DriftThreshold
from replan.worlds.settings import load_setting, make_mission

pytestmark = pytest.mark.usefixtures("in_process")


@pytest.fixture
def run_page(tmp_path, capsys):
    """Run a study of a small setting and open its page."""
    (tmp_path / "small.toml").write_text(SMALL)

    def make(text: str):
        study = tmp_path / "mine.toml"
        study.write_text(text.replace("SMALL", str(tmp_path / "small.toml")))
        assert run(["run", str(study), "--out", str(tmp_path / "out"), "--workers", "1", "--json"]) == 0
        page = tmp_path / "out" / "report.html"
        assert str(page) in json.loads(capsys.readouterr().out)["tables"]
        return page

    return make


def test_a_run_ends_in_its_page(run_page):
    page = run_page(
        """settings = [{ base = "SMALL", vary = { budget = [2, 3] } }]
        rules = ["periodic", { rule = "regret-guided", set = { diameter = 0.0 } }]
        executions = ["map", "belief"]
        measure = ["exact"]"""
    )
    views = data_of(page)
    assert list(views) == ["small budget=2", "small budget=3"]
    names = ["periodic", "regret-guided diameter=0.0"]
    for budget, view in zip((2, 3), views.values(), strict=True):
        assert list(view["rules"]) == [*names, *(f"{name}, belief" for name in names)]
        assert {len(rule["times"]) for rule in view["rules"].values()} == {budget}
    assert page.read_text().count("<tr>") == (1 + 2) + (1 + 2 * 2 * 2)


def test_belief_estimators_and_rules_with_a_name_are_drawn(run_page, tmp_path):
    page = run_page(
        """settings = ["SMALL"]
        rules = [{ rule = "drift-threshold", name = "my drift", set = { threshold = 0.05 }, tune = false }]
        executions = ["belief"]
        estimators = ["true-kernel", "slip-transitions"]
        measure = ["sampled"]
        seeds = { count = 2 }"""
    )
    view = data_of(page)["small"]
    assert list(view["rules"]) == ["my drift", "my drift, slip-transitions"]
    mission = make_mission(load_setting(tmp_path / "small.toml"), execution="belief")
    walked = run_agent(mission, DriftThreshold(threshold=0.05))
    shown = view["rules"]["my drift"]
    assert (shown["times"], shown["states"]) == (list(walked.times), walked.states.tolist())
    assert view["budgets"]["execution"] == "belief"
    assert [part["rule"] for part in view["parts"]] == ["my drift"]
    assert "Not drawn" not in page.read_text()


def test_late_updates_are_drawn_as_they_were_run(run_page, tmp_path):
    page = run_page(
        """settings = [{ base = "SMALL", vary = { budget = ["no limit"] } }]
        rules = ["last-moment"]
        executions = ["localised"]
        update_steps = [3, 0, { 1 = 0.5, 2 = 0.5 }]
        measure = ["exact"]"""
    )
    (view,) = data_of(page).values()
    assert list(view["rules"]) == ["last-moment, 3 steps, go-on"]
    horizon = view["horizon"]
    late = {"execution": "localised", "update_steps": 3, "budget": horizon - 1}
    walked = run_agent(make_mission(load_setting(tmp_path / "small.toml"), **late), make_rule("last-moment"))
    (shown,) = view["rules"].values()
    assert (shown["times"], shown["states"]) == (list(walked.times), walked.states.tolist())
    (part,) = view["parts"]
    parts = decompose(make_mission(load_setting(tmp_path / "small.toml"), **late), make_rule("last-moment"))
    assert part == {"rule": part["rule"], **parts.parts} and parts.lateness is not None
    assert "Charts are of one forecast and one duration of updates" in page.read_text()


def test_a_rule_of_another_name_that_fails_on_a_setting_does_not_stop_the_page(tmp_path):
    (tmp_path / "small.toml").write_text(SMALL)
    small = load_setting(tmp_path / "small.toml")
    lost = record("s0", "mine", None, registered_rule="lookahead", parameters=None)
    records = [lost, record("s0"), record("s1", "mine", registered_rule="lookahead")]
    page = write_page(Run("run", records, {"s0": small, "s1": small}), tmp_path).read_text()
    assert "<dt>mine</dt><dd>It is lookahead under another name.</dd>" in page


def test_the_glossary_tells_rules_that_do_not_come_with_it(run_page, tmp_path):
    (tmp_path / "calm.py").write_text(
        "from dataclasses import dataclass\nfrom replan import Decision, Rule\n\n\n"
        "@dataclass(frozen=True)\nclass Calm(Rule):\n"
        '    """Update when the budget <makes> it."""\n\n'
        "    def decide(self, context):\n        return Decision(False, 'calm')\n"
    )
    page = run_page(
        f"""settings = ["SMALL"]
        rules = ["periodic", "{tmp_path}/calm.py:Calm", "fixed-rate"]
        measure = ["exact"]"""
    )
    told = dict(re.findall(r"<dt>(.*?)</dt><dd>(.*?)</dd>", page.read_text(), re.DOTALL))
    (own,) = [text for name, text in told.items() if "Calm" in name]
    assert own.startswith("Update when the budget &lt;makes&gt; it. A rule of your own")
    assert told["fixed-rate"] and {"periodic", "frozen", "mixture", "given", "archive"} <= set(told)
    assert not {"regret-guided", "best-offset", "lookahead"} & set(told)


def test_the_page_of_robots_that_see_opens_on_their_regret(run_page):
    page = run_page(
        """settings = ["SMALL"]
        rules = ["even", "last-moment"]
        executions = ["localised"]
        measure = ["exact"]"""
    )
    view, text = data_of(page)["small"], page.read_text()
    assert list(view["rules"]) == ["even", "last-moment"] and "even" in view["budgets"]["curves"]
    assert "Replanning makes no difference here: no rule loses anything worth counting." in text
    assert "All robots: localised, tracked." in text and "No regret was measured" not in text


def test_the_page_says_what_it_does_not_draw(tmp_path):
    (tmp_path / "small.toml").write_text(SMALL)
    small = load_setting(tmp_path / "small.toml")
    names, most = [f"s{k}" for k in range(SETTINGS_DRAWN + 1)], DRAWINGS // SETTINGS_DRAWN
    records = [record(name) for name in names]
    records += [record("s0", f"mine {k}", 1.0 + k, registered_rule="periodic") for k in range(most)]
    records += [record("s1", "of-my-own"), record("s2", "lookahead", None, parameters=None)]
    page = write_page(Run("run", records, dict.fromkeys(names, small)), tmp_path)
    text = page.read_text()
    assert f"Only the first {SETTINGS_DRAWN} of {SETTINGS_DRAWN + 1} settings are drawn." in text
    assert f"Of a setting the {most} rules of least regret are drawn." in text
    assert "Not drawn where they failed or cannot be made again: of-my-own; lookahead." in text
    views = data_of(page)
    assert list(views) == names[:-1]
    assert list(views["s0"]["rules"]) == ["periodic", *(f"mine {k}" for k in range(most - 1))]


def test_regret_stands_first_by_setting_and_rule():
    table = rule_table({"a": {"periodic": 0.5, "random": 0.25}, "b": {"random": 1.0}}, printed={})
    assert table.columns == ("setting", "periodic", "random")
    assert [[cell.text for cell in row] for row in table.cells] == [
        ["a", "0.500", "0.250"],
        ["b", "–", "1.000"],
    ]
    assert [[cell.best for cell in row[1:]] for row in table.cells] == [[False, True], [False, True]]


def test_the_cells_of_a_run_leave_out_what_is_missing_and_end_in_the_parameters():
    records = [
        record(
            label="periodic", execution="map", parameters={"m": 3, "phi": None}, dynamic_regret=None, high=1.0
        ),
        record("b", label="periodic", execution="map", parameters={"m": 1}, dynamic_regret=None, high=None),
    ]
    table = cells_table(records, total=2)
    assert table.columns == [
        "setting",
        "rule",
        "exact regret",
        "execution",
        "estimator",
        "high",
        "parameters",
    ]
    assert [row[-1].text for row in table.cells] == ["m 3", "m 1"]
    assert table.notes == []


def test_ten_thousand_cells_stay_a_small_page_that_says_where_the_rest_is(opened, tmp_path):
    rules = [f"rule-{k}" for k in range(10)]
    records = [
        record(f"setting {k}", rule, k + 0.5, parameters={"alpha": 0.9, "threshold": 1e-3 * k})
        for k in range(1000)
        for rule in rules
    ]
    page = write_page(Run("large", records, {}), tmp_path)
    assert page.stat().st_size < 1_500_000
    assert page.read_text().count("<tr>") < 1000
    shown = opened(page).page
    note = f"{CELLS_SHOWN} of 10000 cells are shown. All are in the tables and the store of the run."
    assert note in shown.locator("details .note").all_text_contents()


def test_where_updates_have_a_price_the_page_adds_it(run_page, opened):
    page = run_page(
        """settings = [{ base = "SMALL", vary = { price = [0.01] } }]
        rules = ["lookahead", { rule = "fixed-rate", name = "often", set = { every = 1 } }]
        measure = ["exact", "optimum"]"""
    )
    shown = opened(page)
    said = shown.with_charts().locator("#sentence").inner_text()
    assert "lookahead loses least" in said and "with the price of updates added" in said
    row = dict(zip(*shown.page.evaluate(
        "['thead th', 'tbody tr:first-child > *'].map(part => "
        "[...document.querySelectorAll('#regrets ' + part)].map(cell => cell.innerText.trim()))"
    ), strict=True))  # fmt: skip
    fixed = make_rule("fixed-rate", every=1)
    mission = make_mission(load_setting(page.parents[1] / "small.toml"), budget=None, price=0.01)
    assert float(row["often"]) == pytest.approx(
        evaluate(mission, fixed, all_starts=False).priced_regret, abs=6e-4
    )
    assert shown.complaints == []
