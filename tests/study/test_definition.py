"""STUDY.toml: what it spells out to, and one line for every fault."""

import json
import os
import subprocess
import sys

import pytest

from replan.cli import run
from replan.errors import InputError
from replan.report.reports import paper_rules
from replan.study.cells import entries
from replan.study.definition import builtin_studies, load_study, parse_study
from replan.suite.catalogue import suite_worlds
from replan.worlds.settings import PAPER_SETTINGS

SMALL = {"name": "small", "settings": ["two-burst"], "rules": ["periodic"]}


LAZY = 'settings = ["two-burst"]\nrules = [{ rule = "lazy-value",'
HUNDRED = {"from": 0.0, "to": 1.0, "count": 100}


def grid(**values):
    return {"rules": [{"rule": "regret-guided", "grid": values}]}


def study_of(**changes):
    return parse_study({**SMALL, **changes})


def labels(study):
    return [(entry.key.setting, entry.key.label) for entry in entries(study, version="1")]


def test_a_range_of_settings_and_a_grid_of_rules_are_all_combinations():
    study = study_of(
        settings=[{"base": "two-burst", "vary": {"budget": {"from": 2, "to": 4}, "drift.slip": [0.0, 0.1]}}],
        rules=[
            {"rule": "regret-guided", "set": {"score": "gap"}, "grid": {"alpha": [0.5, 0.9], "m": [1, 2]}}
        ],
        executions=["map", "belief"],
    )
    found = labels(study)
    assert len(found) == 3 * 2 * 2 * 4
    assert found[0] == ("two-burst budget=2 drift.slip=0.0", "regret-guided score=gap alpha=0.5 m=1")
    assert len(set(found)) == 3 * 2 * 4


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ({"from": 2, "to": 5}, [2, 3, 4, 5]),
        ({"from": 0.1, "to": 0.3, "step": 0.1}, [0.1, 0.2, 0.3]),
        ({"from": 0.0, "to": 1.0, "count": 3}, [0.0, 0.5, 1.0]),
        ({"from": 1, "to": 100_000}, range(1, 100_001)),
    ],
)
def test_ranges_include_both_ends(given, expected):
    study = study_of(rules=[{"rule": "regret-guided", "grid": {"diameter": given}}])
    assert study.blocks[0].rules[0].grid["diameter"] == pytest.approx(expected)


def test_a_named_rule_is_tuned_and_a_grid_is_not_unless_asked():
    study = study_of(
        rules=[
            "self-triggered",
            {"rule": "regret-guided", "grid": {"m": [1]}},
            {"rule": "regret-guided", "name": "both", "grid": {"m": [1]}, "tune": True},
        ]
    )
    assert [entry.cell.search for entry in entries(study, version="1")] == ["paper", None, "paper"]


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"ruels": []}, "unknown key 'ruels'"),
        ({"rules": []}, "'rules'"),
        ({"settings": [{"base": "two-burst", "vari": {}}]}, "unknown key 'settings.0.vari'"),
        ({"rules": ["perodic"]}, "unknown rule 'perodic'"),
        ({"rules": [{"rule": "periodic", "set": {"alpha": 1}}]}, "periodic has no parameter 'alpha'"),
        (
            {"rules": [{"rule": "regret-guided", "grid": {"alpha": [0.5, 7]}}]},
            "alpha must lie between 0 and 1",
        ),
        (
            {"rules": [{"rule": "regret-guided", "grid": {"alpha": [[1]]}}]},
            "'alpha' cannot be [1]: it takes float",
        ),
        ({"rules": [{"rule": "regret-guided", "grid": {"alpha": {"from": 0}}}]}, "missing key 'to'"),
        ({"rules": [{"rule": "regret-guided", "grid": {"alpha": []}}]}, "alpha: has no value"),
        ({"executions": ["mpa"]}, "'executions.0'"),
        ({"estimators": ["oracle"]}, "unknown estimator 'oracle'"),
        ({"measure": ["regret"]}, "'measure.0'"),
        ({"seeds": {"count": 1}}, "'seeds.count'"),
        ({"seeds": {"count": 10_000_000_000}}, "'seeds.count' should be less than or equal to 1000000"),
        ({"seeds": {"first": 2**63 - 1}}, "'seeds.first' should be less than or equal to"),
        ({"seeds": 1000}, "'seeds'"),
        (grid(alpha={"from": 0.0, "to": 1.0, "step": 1e-9}), "alpha: a range has at most 100000 points"),
        (grid(alpha={"from": 0.0, "to": 1.0, "count": 10**9}), "alpha: 'count' should be less than or equal"),
        (grid(alpha={"from": 0.0, "to": float("inf")}), "alpha: 'to' should be a finite number"),
        (grid(alpha=HUNDRED, diameter=HUNDRED, m=HUNDRED), "alpha, diameter, m: more than 100000 combin"),
        (
            {
                "settings": [{"base": "two-burst", "vary": {"drift.slip": HUNDRED, "drift.quiet": HUNDRED}}],
                **grid(alpha=HUNDRED, m=[1, 2]),
            },
            "a study has at most 1000000 cells, not 2000000",
        ),
        ({"name": "../elsewhere"}, "'name'"),
    ],
)
def test_a_fault_is_one_line_that_names_the_key(changes, said):
    with pytest.raises(InputError) as caught:
        study_of(**changes)
    assert said in str(caught.value)
    assert str(caught.value).startswith("study: ")
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("axis", "said"),
    [
        ({"base": "two-brust"}, "'two-brust' is neither"),
        ({"base": "two-burst", "vary": {"budgt": [2]}}, "unknown key 'budgt'"),
        ({"base": "two-burst", "vary": {"drfit.slip": [2]}}, "no table 'drfit'"),
        ({"base": "two-burst", "vary": {"drift.slip": [2.0]}}, "drift.slip"),
    ],
)
def test_a_fault_of_a_setting_is_one_line_too(axis, said):
    with pytest.raises(InputError, match=said):
        entries(study_of(settings=[axis]), version="1")


def test_two_lines_of_a_table_never_share_a_name():
    with pytest.raises(InputError, match="stands twice"):
        entries(study_of(rules=["periodic", "periodic"]), version="1")


def test_settings_lie_beside_the_study(tmp_path):
    keys = "world='rover'", "n=3", "horizon=6", "planning_horizon=3", "budget=2"
    drift = "[drift]", "kind='linear'", "slip=0.1", "rate=0.0"
    (tmp_path / "mine.toml").write_text("\n".join([*keys, *drift]))
    (tmp_path / "study.toml").write_text('settings = ["mine.toml"]\nrules = ["periodic"]')
    study, text = load_study(tmp_path / "study.toml")
    assert study.name == "study"
    assert text.startswith("settings")
    assert labels(study) == [("mine", "periodic")]


def test_what_cannot_be_read_is_one_line(tmp_path):
    (tmp_path / "bad.toml").write_text("settings = [")
    for source, said in (("bad.toml", "not valid TOML"), ("none.toml", "cannot be read"), ("x", "neither")):
        with pytest.raises(InputError, match=said):
            load_study(tmp_path / source)


def test_the_papers_table_is_a_study_that_ships():
    import replan.report.reports.drones  # noqa: F401  (registers the measure `flight`)

    study, _ = load_study("table1")
    assert labels(study) == [(setting, rule) for setting in PAPER_SETTINGS for rule in paper_rules()]
    for name in builtin_studies():
        assert entries(load_study(name)[0], version="1")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("settings = " + "[" * 5000 + "]" * 5000, "nested too deeply"),
        ("seeds = { first = " + "1" * 5000 + " }", "not valid TOML"),
        ('name = "' + "a" * 300 + '"\nsettings = ["two-burst"]\nrules = ["periodic"]', "'name'"),
        ('settings = ["' + "a" * 300 + '.toml"]\nrules = ["periodic"]', "cannot be read"),
        ('settings = ["two-burst"]\nrules = ["' + "a" * 300 + '"]', "unknown rule"),
        ('settings = ["two-burst"]\nrules = ["' + "a" * 300 + '.py:Mine"]', "cannot be read"),
        ('settings = [{ base = "two-burst", vary = { n = [2020-01-01] } }]\nrules = ["periodic"]', "date"),
        (LAZY + ' set = { threshold = 2020-01-01 } }]', "date"),
        (LAZY + ' grid = { threshold = [10:00:00] } }]', "date"),
        (LAZY + ' set = { threshold = nan } }]', "threshold"),
        (LAZY + ' set = { threshold = true } }]', "threshold"),
        ('settings = ["two-burst"]\nrules = [{ rule = "regret-guided", set = { m = 2.5 } }]', "'m'"),
        ('settings = ["two-burst"]\nrules = [{ rule = "regret-guided", grid = { m = [1, true] } }]', "'m'"),
        ('settings = ["two-burst"]\nrules = ["periodic"]\nseeds = { first = -1 }', "seeds.first"),
    ],
)  # fmt: skip
def test_whatever_a_file_holds_is_one_line(text, said, tmp_path, capsys):
    path = tmp_path / "study.toml"
    path.write_text(text)
    assert run(["run", str(path), "--out", str(tmp_path / "run")]) == 2
    errors = capsys.readouterr().err
    assert errors.count("\n") == 1 and said in errors


def test_a_name_of_300_characters_is_no_study(capsys):
    assert run(["run", "a" * 300]) == 2
    assert capsys.readouterr().err.count("\n") == 1


def test_a_study_is_read_as_utf_8_whatever_the_locale(tmp_path):
    path = tmp_path / "study.toml"
    path.write_text(
        'settings = [{ base = "two-burst", name = "Δρ" }]\nrules = ["periodic"]', encoding="utf-8"
    )
    script = f"from replan.study.definition import load_study; print(len(load_study({str(path)!r})[1]))"
    environment = {**os.environ, "LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
    done = subprocess.run([sys.executable, "-c", script], env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    path.write_bytes(b'name = "\xff"')
    with pytest.raises(InputError, match="utf-8"):
        load_study(path)


def test_a_setting_may_be_given_as_a_table_with_a_name():
    table = {"world": "thin-ice", "planning_horizon": 9, "budget": 3}
    study = study_of(settings=[{"base": table, "name": "mine", "vary": {"ice.slip": [0.0, 0.1]}}])
    assert [name for name, _ in labels(study)] == ["mine ice.slip=0.0", "mine ice.slip=0.1"]
    with pytest.raises(InputError, match="needs a name"):
        study_of(settings=[{"base": table}])
    with pytest.raises(InputError, match="mine: 'budget'"):
        entries(study_of(settings=[{"base": {**table, "budget": "3"}, "name": "mine"}]), version="1")


def test_a_family_of_the_suite_is_all_of_its_worlds():
    study = study_of(settings=[{"suite": "tune/terrain", "vary": {"budget": [1, "no limit"]}}])
    worlds = [world for world in suite_worlds("tune") if world.family == "terrain"]
    found = {entry.key.setting: json.loads(entry.cell.setting) for entry in entries(study, version="1")}
    assert len(found) == 2 * len(worlds) == 56
    for world in worlds:
        for budget, number in ((1, 1), ("no limit", world.setting.build().horizon - 1)):
            expected = world.setting.model_copy(update={"budget": number})
            assert found[f"{world.name} budget={budget}"] == expected.model_dump(
                mode="json", exclude_none=True
            )
    longer = study_of(settings=[{"base": "two-burst", "vary": {"budget": ["no limit"], "horizon": [30]}}])
    assert [json.loads(entry.cell.setting)["budget"] for entry in entries(longer, version="1")] == [29]
    for axis, said in (
        ({"suite": "test/lava"}, "the suite has no family 'test/lava'"),
        ({"suite": 3}, "may have `vary`, and nothing else"),
        ({"suite": "test/terrain", "base": "two-burst"}, "may have `vary`, and nothing else"),
    ):
        with pytest.raises(InputError, match=said):
            study_of(settings=[axis])
