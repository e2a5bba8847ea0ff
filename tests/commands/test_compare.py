"""`replan compare` and `replan list`."""

import json

import pytest

from page_data import data_of
from replan import InputError, evaluate, load_setting, make_mission, make_rule, optimum
from replan.cli import run
from replan.worlds.settings import PAPER_SETTINGS, list_names

pytestmark = pytest.mark.usefixtures("in_process")

OWN = """
from dataclasses import dataclass
from replan import Decision, Rule

@dataclass(frozen=True)
class Every(Rule):
    steps: int = 16

    def decide(self, context):
        return Decision(context.time - context.last_update >= self.steps, "enough steps")
"""


def answer(capsys, *arguments: str) -> dict:
    assert run([*arguments, "--json"]) == 0
    return json.loads(capsys.readouterr().out)


def test_every_rule_on_every_setting_is_exact_and_never_below_the_best_possible(
    capsys, tmp_path, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "own.py").write_text(OWN)
    settings = ("two-burst", "narrow-late")
    rules = ("periodic", "drift-threshold", "own.py:Every")
    found = answer(capsys, "compare", *rules, "--settings", ",".join(settings))
    assert [row["setting"] for row in found["settings"]] == list(settings)
    for row in found["settings"]:
        mission = make_mission(load_setting(row["setting"]))
        assert row["best_possible"] == pytest.approx(optimum(mission).feedback_regret)
        assert row["results"][-1]["rule"] == "even"
        for rule, result in zip((*rules, "even"), row["results"], strict=True):
            made = make_rule(rule, **result["parameters"])
            assert result["regret"] == pytest.approx(evaluate(mission, made).regret)
            assert result["regret"] >= row["best_possible"] - 1e-9
    chosen = [
        result["validation"]["candidates"] for row in found["settings"] for result in row["results"][1:2]
    ]
    assert chosen == [48, 48]


def test_even_spacing_stands_beside_the_rules_where_there_is_a_budget(capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for spending, rules in (
        ([], ["front-loaded", "even"]),
        (["--price", "0.02", "--budget", "2"], ["front-loaded", "even"]),
        (["--price", "0.02"], ["lookahead"]),
    ):
        found = answer(capsys, "compare", rules[0], "--settings", "nsbridge-05", *spending)
        assert found["rules"] == rules
    again = answer(capsys, "compare", "even", "front-loaded", "--settings", "nsbridge-05")
    assert again["rules"] == ["even", "front-loaded"]


def test_people_get_a_table_and_a_page(capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert run(["compare", "periodic", "front-loaded", "--settings", "narrow-late"]) == 0
    out = capsys.readouterr().out
    assert all(word in out for word in ("narrow-late", "periodic", "front-loaded", "best possible"))
    assert "Parameters of rules that come with replan are chosen" in out
    assert list(data_of(tmp_path / "runs" / "compare" / "report.html")) == ["narrow-late"]
    assert [path.name for path in (tmp_path / "runs" / "compare").iterdir()] == ["report.html"]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["compare", "periodc"], "did you mean periodic"),
        (["compare", "periodic", "--settings", "two-brst"], "did you mean two-burst"),
        (["compare", "periodic", "--settings", "two-burst,,x"], "commas"),
        (["compare", "periodic", "--execution", "guess"], "'--execution': 'guess' is not one of"),
        (["compare", "two-burst"], "two-burst is a setting, not a rule: --settings two-burst"),
        (["compare", "periodic", "gain"], "the rule gain is for localised robots"),
        (["list", "ruls"], "did you mean rules"),
        (["regret", "two-brst", "--rule", "periodic"], "did you mean two-burst"),
    ],
)
def test_what_is_wrong_is_one_line_and_status_2(capsys, arguments, words):
    assert run(arguments) == 2
    error = capsys.readouterr().err
    assert words in error and error.count("\n") == 1


def test_an_unknown_rule_is_named_without_the_command_or_its_place(capsys):
    assert run(["compare", "periodic", "periodc"]) == 2
    assert capsys.readouterr().err == "replan: unknown rule 'periodc': did you mean periodic?\n"


def test_one_cell_that_fails_is_not_several(capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "own.py").write_text(OWN.replace("return Decision(", "raise ValueError("))
    assert run(["compare", "own.py:Every", "--settings", "narrow-late", "--json"]) == 2
    assert capsys.readouterr().err.startswith(
        "replan: 1 cell failed, the first is own.py:Every on narrow-late"
    )


def test_list_names_everything_with_its_parameters(capsys):
    found = answer(capsys, "list")
    assert [row["name"] for row in found["settings"]] == list_names("settings")
    assert [row["name"] for row in found["rules"]] == list_names("rules")
    assert [row["name"] for row in found["worlds"]] == list_names("worlds")
    assert all(row["description"] for rows in found.values() for row in rows)
    periods = {row["name"]: row for row in found["rules"]}["drift-threshold"]["parameters"]
    assert periods[0] == {"name": "threshold", "required": False, "default": 0.1}
    worlds = {row["name"]: row["parameters"] for row in found["worlds"]}
    ice = {row["name"]: row["default"] for row in worlds["thin-ice"]}
    assert ice["ice.slip"] == 0.04 and ice["horizon"] == 40
    assert all(row["description"] for world in found["worlds"] for row in world["parameters"])


def test_one_kind_is_listed_alone(capsys):
    assert list(answer(capsys, "list", "estimators")) == ["estimators"]
    assert run(["list", "settings"]) == 0
    assert capsys.readouterr().out.startswith(f"{PAPER_SETTINGS[0]} ")


def test_the_version(capsys):
    import replan

    assert run(["--version"]) == 0
    assert capsys.readouterr().out == f"replan {replan.__version__}\n"


def test_unknown_settings_are_refused_with_a_suggestion():
    with pytest.raises(InputError, match="did you mean two-burst"):
        load_setting("two-brst")
