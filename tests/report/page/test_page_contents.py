"""What the page says, checked against where it comes from."""

import re
from dataclasses import dataclass, replace
from itertools import permutations
from math import inf
from typing import get_args

import numpy as np
import pytest

from full_disk import full_disk
from page_data import SMALL, data_of
from replan import Spending
from replan.errors import InputError
from replan.evaluation.exact import regret
from replan.evaluation.optimal_schedule import optimum
from replan.evaluation.rollouts import rollout
from replan.report.page.assemble import assemble, glossary
from replan.report.page.run_page import write_page
from replan.report.page.setting_view import Shown, setting_view
from replan.report.regret_words import headline
from replan.report.reports import paper_regrets, paper_rules
from replan.report.world_drawing import CELL, GridDrawing
from replan.results.table import note_html
from replan.schedule.lookahead import Lookahead
from replan.schedule.periodic import Even, Periodic
from replan.schedule.rule import Decision, Rule
from replan.skip.acting import Execution
from replan.suite.catalogue import suite_worlds
from replan.worlds.settings import load_setting, make_mission
from study_runs import computed


@pytest.fixture
def small(tmp_path):
    path = tmp_path / "small.toml"
    path.write_text(SMALL)
    return load_setting(path)


def test_the_page_is_one_file_under_eight_megabytes_with_plotly_once(report):
    text = report.read_text()
    assert report.stat().st_size < 8_000_000
    assert text.count('id="plotly"') == 1 and text.count("plotly.js v") == 1
    ours = text.split('id="plotly"')[0]
    assert not re.search(r'(src|href)="(?!data:|#)', ours)
    assert [path.name for path in report.parent.iterdir()] == ["report.html"]


def test_regret_stands_beside_the_papers(report, run):
    text = report.read_text()
    for record in run.records:
        assert f"{record['exact_regret']:.3f}" in text
        assert f"paper {paper_regrets()[record['setting']][record['rule']]:.2f}" in text
    assert "Ties between equally good actions: first." in text


def test_past_the_paper_the_page_has_the_profile_and_the_reference_tables(report):
    text = report.read_text()
    assert f"On the {len(suite_worlds('test'))} worlds of the benchmark" in text
    assert "What the robot expects" in text
    svg = text[text.index('<div class="figures"') :].split("</div>")[0]
    assert svg.count("<svg") == len(get_args(Execution))
    assert set(re.findall("(?:stroke|fill): (#[0-9a-f]{6})", svg)) == set()  # all from the theme


def test_views_hold_what_the_library_computes(small):
    mission = make_mission(small)
    rules = {"periodic": Periodic(), "lookahead": Lookahead()}
    view = setting_view("small", small, {name: Shown(rule) for name, rule in rules.items()})
    for budget in (1, 3, 8):
        spending = replace(mission, spending=Spending.exactly(budget))
        curves = {name: curve[budget - 1] for name, curve in view["budgets"]["curves"].items()}
        assert curves["even"] == pytest.approx(regret(spending, Even()), rel=1e-4)
        assert curves["best possible"] == pytest.approx(optimum(spending).feedback_regret, rel=1e-4)
    for part in view["parts"]:
        whole = regret(mission, rules[part["rule"]])
        assert part["state"] + part["plan"] + part["model"] == pytest.approx(whole)
    for name, rule in rules.items():
        walked = rollout(mission, rule, [0], trace=True)
        assert view["rules"][name]["states"] == walked.states[0].tolist()
        assert view["rules"][name]["believed"] == walked.beliefs[0].tolist()
        assert view["rules"][name]["times"] == np.flatnonzero(walked.updates[0]).tolist()
    drawn = {name: view["grid"][name] for name in ("rows", "columns", "cell", "ground")}
    assert drawn == {"rows": 4, "columns": 4, "cell": CELL, "ground": GridDrawing.of(mission.world).svg()}


def test_what_lies_past_the_paper_is_shown_where_it_is_given(run, tmp_path):
    study = {
        "settings": ["narrow-late"],
        "rules": ["periodic", "lookahead"],
        "executions": ["map", "belief"],
        "measure": ["decomposition", "optimum"],
    }
    beyond = computed(study, tmp_path / "beyond")
    alone = replace(run, settings={"narrow-late": run.settings["narrow-late"]})
    page = write_page(alone, tmp_path, past=beyond, beyond=beyond)
    view = data_of(page)["narrow-late"]
    assert {"lookahead", "lookahead, belief", "periodic, belief"} <= set(view["rules"])
    text = page.read_text()
    assert "best possible, belief" in text and f"{beyond.records[0]['exact_regret']:.3f}" in text
    assert [part["rule"] for part in view["parts"]] == [name for name in view["rules"] if name != "random"]
    known = {
        record["label"]: record["decomposition"] for record in beyond.records if record["execution"] == "map"
    }
    shown = {part["rule"]: part for part in view["parts"]}
    assert shown["lookahead"] == {"rule": "lookahead", **known["lookahead"]}
    assert view["rules"]["lookahead"]["times"] == beyond.records[2]["times"]


@dataclass(frozen=True)
class Endless(Rule):
    """A rule whose score is infinite at every third time, where it updates."""

    name = "endless"

    def decide(self, context):
        score = inf if context.time % 3 == 0 else 0.5
        return Decision(score > 1, "because", score, 1.0, {"bound": score})


def test_a_score_that_is_infinite_leaves_a_gap(small, tmp_path):
    view = setting_view("small", small, {"endless": Shown(Endless())})
    page = assemble(tmp_path, "title", "sentence", [], [view])
    score = data_of(page)["small"]["rules"]["endless"]["score"]
    assert score["terms"]["bound"] == [None if t % 3 == 0 else 0.5 for t in score["times"]]
    assert 3 in score["times"]


class Sometimes(Rule):
    """Weighs a second term at some times only."""

    def decide(self, context):
        terms = {"loss": 0.5} | ({"gain": 2.0} if context.time % 3 == 0 else {})
        return Decision(False, "because", 0.5, 1.0, terms)


def test_a_term_that_some_decisions_lack_has_gaps(small):
    score = setting_view("small", small, {"sometimes": Shown(Sometimes())})["rules"]["sometimes"]["score"]
    assert score["terms"]["gain"] == [2.0 if t % 3 == 0 else None for t in score["times"]]
    assert {t % 3 for t in score["times"]} == {0, 1, 2}


def test_a_page_that_does_not_fit_on_the_disk_leaves_the_one_before(small, tmp_path):
    view = setting_view("small", small, {"periodic": Shown(Periodic())})
    page = assemble(tmp_path, "before", "sentence", [], [view])
    before = page.read_bytes()
    with full_disk(1_000_000), pytest.raises(InputError, match=r"report\.html: cannot be written"):
        assemble(tmp_path, "after", "sentence", [], [view])
    assert page.read_bytes() == before
    assert list(tmp_path.glob("*.part")) == []


def test_every_rule_and_every_term_is_told_in_plain_words(report):
    text = report.read_text()
    told = re.findall(r"<dt>(.*?)</dt>", text)
    assert set(paper_rules()) <= set(told)
    assert {*paper_rules(), "lookahead"} <= set(re.findall(r"<dt>(.*?)</dt>", glossary()))
    assert {"n, T, H, B", "residual R", "immediate I", "accumulated A"} <= set(told)
    assert "keeps the hyper-parameters that were chosen for this setting's own budget" in text


def test_code_in_notes_is_marked_as_such():
    assert note_html("fly `replan fly` & see") == (
        '<p class="note">fly <code>replan fly</code> &amp; see</p>'
    )


def test_the_sentence_is_true_for_its_figures():
    regrets = {
        "a": {"regret-guided": 0.5, "even": 1.0, "best-offset": 0.6, "drift-threshold": 0.5},
        "b": {"regret-guided": 0.9, "even": 1.0, "best-offset": 1.0, "drift-threshold": 1.0},
        "c": {"regret-guided": 1.1, "even": 1.0, "best-offset": 1.2, "drift-threshold": 1.3},
    }
    floors = dict.fromkeys(regrets, 0.5)
    said = headline(regrets, floors=floors)
    assert "regret-guided loses least of 4 rules: 17% less than evenly spaced updates" in said
    assert "on average over 3 settings, 67% above the best possible" in said
    assert "does at least as well in 1 of 3" in said
    with_winner = {name: rules | {"mine": 0.4} for name, rules in regrets.items()}
    said = headline(with_winner, floors=floors, belief={name: {"mine": 0.1} for name in regrets})
    assert "mine loses least of 5 rules: 60% less" in said and "regret-guided, loses 17% less" in said
    assert "a robot with mine loses 90% less" in said and said.count(".") == 1


def test_the_sentence_of_robots_that_see_compares_with_even_spacing():
    regrets = {"a": {"even": 1.0, "last-moment": 0.2}, "b": {"even": 0.5, "last-moment": 0.2}}
    said = headline(regrets, floors=dict.fromkeys(regrets, 0.1), sees=True)
    assert said == (
        "With at most the same number of updates, last-moment loses least of 2 rules: 70% less than evenly "
        "spaced updates on average over 2 settings, 100% above the best possible."
    )
    assert "above" not in headline(regrets, floors=dict.fromkeys(regrets, 1e-6), sees=True)


def test_settings_in_which_replanning_makes_no_difference_are_not_compared():
    regrets = {"a": {"even": 1.0, "mine": 0.2}, "b": {"even": 1e-6, "mine": 3e-6}}
    said = headline(regrets, sees=True, same={"b"})
    assert "mine loses least of 2 rules: 80% less than evenly spaced updates in 1 of 2 settings." in said
    same = headline({"b": regrets["b"]}, sees=True, same={"b"})
    assert same == "Replanning makes no difference here: no rule loses anything worth counting."


def test_a_rule_that_ran_on_some_settings_only_is_not_the_winner():
    regrets = {"a": {"even": 1.0, "mine": 0.1}, "b": {"even": 1.0, "other": 0.9}}
    assert "no rule loses less than evenly spaced" in headline(regrets)


@pytest.mark.parametrize("names", list(permutations(["even", "mine", "mine, trend"])))
def test_of_rules_that_lose_the_same_the_order_names_none(names):
    less = {"even": 1.0, "mine": 0.5 + 1e-12, "mine, trend": 0.5}
    assert "updates, mine loses least" in headline({"a": {name: less[name] for name in names}})
    same, mine = {"a": dict.fromkeys(names, 1.0)}, [name for name in names if name != "even"]
    belief = {"a": dict.fromkeys(mine, 0.5)}
    said = headline(same, belief=belief)
    assert "no rule loses less" in said and "a robot with mine loses 50% less" in said
    assert "Of 2 rules, mine loses least" in headline(belief)


def test_only_rivals_that_ran_are_named():
    rules = {"even": 1.0, "regret-guided": 0.8, "lookahead": 0.5}
    for rival, lost in (("best-offset", 0.9), ("drift-threshold", 0.7)):
        said = headline({"a": {**rules, rival: lost}})
        other = {"best-offset": "drift-threshold", "drift-threshold": "best-offset"}[rival]
        assert rival in said and other not in said


def test_settings_without_even_spacing_are_not_said_to_be_compared():
    regrets = {"a": {"even": 1.0, "mine": 0.2}, "b": {"mine": 0.1}, "c": {"mine": 0.3}}
    assert headline(regrets) == (
        "With the same number of updates, mine loses least of 2 rules: 80% less than evenly spaced updates "
        "in 1 of 3 settings."
    )
    assert "on average over 2 of 3 settings" in headline(regrets | {"b": regrets["a"]})


@pytest.mark.parametrize(
    ("regrets", "words"),
    [
        ({"a": {"regret-guided": 1.2, "even": 1.0}}, "regret-guided, loses 20% more"),
        ({"a": {"regret-guided": 0.8, "even": 1.0, "best-offset": 0.9}}, "no tuned rival"),
        ({"a": {"fixed": 1.0, "random": 2.0}, "b": {"fixed": 1.0}}, "any, in 2 of 2 settings."),
        ({}, "No regret was measured"),
    ],
)  # fmt: skip
def test_the_sentence_does_not_claim_what_is_not_so(regrets, words):
    assert words in headline(regrets)
