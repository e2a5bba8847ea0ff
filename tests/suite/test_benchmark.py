"""The benchmark of a rule: exact regrets of suite worlds, one parameter set, and no rule that cheats."""

import numpy as np
import pytest

from replan import InputError, make_rule, regret
from replan.evaluation.exact import regret as exact_regret
from replan.report.benchmark_tables import regret_table, score_notes
from replan.report.leaderboard import leaderboard_tables
from replan.schedule.registry import find_rule, rule_names
from replan.study.protocol import Bench, choose
from replan.suite import catalogue, suite_worlds
from replan.suite.benchmark import make_card
from replan.suite.catalogue import BLIND, EXECUTIONS, SuiteRobot, suite_executions
from replan.suite.score import mean_score, score_matrix
from replan.suite.verification import verify_card
from replan.worlds.settings import make_mission

pytestmark = pytest.mark.usefixtures("small_suite")


def scores_of(rule, part="tune"):
    worlds = suite_worlds(part)
    regrets = {(w.name, kind): regret(w.mission(kind), rule) for w in worlds for kind in EXECUTIONS}
    return score_matrix(worlds, regrets)


def test_a_card_holds_the_exact_regret_of_every_world(compute):
    card = make_card(find_rule("periodic"), {}, compute)
    for world in suite_worlds("test"):
        for kind in EXECUTIONS:
            found = exact_regret(world.mission(kind), make_rule("periodic"))
            assert card.regrets[world.name, kind] == pytest.approx(found, abs=1e-8)
    assert (card.name, card.rule, card.needs, card.stated_by_author.tuning, card.source) == (
        "periodic",
        "periodic",
        ["budget"],
        None,
        None,
    )
    assert card.hash == card.content_hash()


def test_the_card_of_even_holds_the_zero_of_the_score_of_every_robot(compute):
    card = make_card(find_rule("even"), {}, compute)
    assert card.executions == EXECUTIONS
    for world in suite_worlds("test"):
        for kind in EXECUTIONS:
            assert card.regrets[world.name, kind] == pytest.approx(world.even[kind], abs=1e-8)
    assert verify_card(card, compute) == []


def test_rules_have_the_columns_that_they_apply_to():
    found = {name: suite_executions(find_rule(name).kind()) for name in rule_names()}
    others = {name: kinds for name, kinds in found.items() if kinds != EXECUTIONS}
    seeing = dict.fromkeys(["gain", "last-moment"], ("localised",))
    blind = dict.fromkeys(["accumulated-value", "measuring-value"], BLIND)
    assert others == seeing | blind
    for name, kinds in found.items():
        for kind in kinds:
            suite_worlds("test")[0].mission(kind).require(find_rule(name).kind())


def test_a_card_may_hold_some_of_the_columns(compute):
    card = make_card(find_rule("periodic"), {}, compute, executions=["localised"])
    assert card.executions == ("localised",) and verify_card(card, compute) == []
    world = suite_worlds("test")[0]
    expected = regret(world.mission("localised"), make_rule("periodic"))
    assert card.regrets[world.name, "localised"] == pytest.approx(expected, abs=1e-8)
    with pytest.raises(InputError, match="last-moment does not apply to execution map or belief"):
        make_card(find_rule("last-moment"), {}, compute, executions=BLIND)


def test_given_parameters_are_used_and_named(compute):
    card = make_card(find_rule("drift-threshold"), {"threshold": "0.3"}, compute)
    world = suite_worlds("test")[0]
    expected = regret(world.mission("belief"), make_rule("drift-threshold", threshold=0.3))
    assert card.regrets[world.name, "belief"] == pytest.approx(expected, abs=1e-8)
    assert card.parameters == {"threshold": 0.3, "pace_weight": 0.0}
    assert card.name == "drift-threshold threshold=0.3"


def test_tuning_takes_the_best_mean_score_on_the_tune_part_for_all_worlds(compute, own_rule):
    source = find_rule(f"{own_rule}:Mine")
    card = make_card(source, {}, compute, tune=True)
    means = {rule.every: mean_score(scores_of(rule)) for rule in source.kind.candidates()}
    best = max(means, key=lambda every: means[every])
    assert card.parameters == {"every": best}
    tuning = card.stated_by_author.tuning
    assert tuning.candidates == 3
    assert tuning.mean_score == pytest.approx(means[best], abs=1e-6)
    world = suite_worlds("test")[2]
    assert card.regrets[world.name, "map"] == pytest.approx(
        regret(world.mission(), source.make(every=best)), abs=1e-8
    )


def test_a_card_holds_the_source_of_a_rule_of_ones_own(compute, own_rule):
    card = make_card(find_rule(f"{own_rule}:Mine"), {}, compute)
    assert card.source == own_rule.read_text()
    assert card.rule == "my_rule.py:Mine" and card.name == "mine"


def test_best_offset_is_tuned_on_its_own_world_and_says_so(compute):
    card = make_card(find_rule("best-offset"), {}, compute)
    assert card.own_world and card.parameters == {}
    world = suite_worlds("test")[0]
    bench = Bench(world.mission())
    expected = exact_regret(bench.mission, choose(bench, "best-offset").rule, best=bench.best)
    assert card.regrets[world.name, "map"] == pytest.approx(expected, abs=1e-8)


def test_a_rule_without_candidates_cannot_be_tuned(compute, own_rule):
    with pytest.raises(InputError, match="candidates"):
        make_card(find_rule(f"{own_rule}:Plain"), {}, compute, tune=True)


def test_tuning_and_given_parameters_exclude_each_other(own_rule):
    with pytest.raises(InputError, match="leave --set out"):
        make_card(find_rule(f"{own_rule}:Mine"), {"every": "2"}, lambda study: pytest.fail("run"), tune=True)


def test_a_rule_that_looks_at_a_future_it_did_not_declare_is_refused(cheat):
    with pytest.raises(InputError, match="looks ahead"):
        make_card(find_rule(f"{cheat}:Cheat"), {}, lambda study: pytest.fail("it was scored"))


def test_a_rule_in_two_files_is_refused(own_rule):
    own_rule.write_text("import beside\n" + own_rule.read_text())
    (own_rule.parent / "beside.py").write_text("")
    with pytest.raises(InputError, match=r"beside\.py"):
        make_card(find_rule(f"{own_rule}:Mine"), {}, lambda study: pytest.fail("it was scored"))


def test_a_rule_with_nan_among_its_terms_is_scored(compute, own_rule):
    text = own_rule.read_text().replace('"it is time")', '"it is time", terms={"lost": float("nan")})')
    assert "nan" in text
    own_rule.write_text(text)
    card = make_card(find_rule(f"{own_rule}:Mine"), {}, compute)
    assert verify_card(card, compute, rule=f"{own_rule}:Mine") == []


def test_a_rule_whose_score_is_nan_is_one_line(own_rule):
    own_rule.write_text(own_rule.read_text().replace('"it is time")', '"it is time", score=float("nan"))'))
    with pytest.raises(InputError, match=r"^mine: .*the rule mine: its score is not a number at t=2$"):
        make_card(find_rule(f"{own_rule}:Mine"), {}, lambda study: pytest.fail("it was scored"))


def test_a_robot_that_expects_the_true_future_has_a_card_of_its_own(compute):
    card = make_card(find_rule("periodic"), {}, compute, robot=SuiteRobot(forecast="given"))
    assert (card.name, card.forecast) == ("periodic, given", "given")
    (world,) = (world for world in suite_worlds("test") if world.family == "kernels")
    expected = regret(world.mission("map", SuiteRobot(forecast="given")), make_rule("periodic"))
    assert card.regrets[world.name, "map"] == pytest.approx(expected, abs=1e-8)
    assert card.regrets[world.name, "map"] != pytest.approx(
        regret(world.mission("map"), make_rule("periodic"))
    )


def test_a_robot_whose_updates_take_time_has_a_card_of_its_own(compute):
    card = make_card(find_rule("periodic"), {}, compute, robot=SuiteRobot(update_steps=4), executions=["map"])
    assert (card.name, card.update_steps, card.meanwhile) == ("periodic, 4 steps, go-on", 4, "go-on")
    (world,) = (world for world in suite_worlds("test") if world.family == "crosswind")
    mission = make_mission(world.setting, update_steps=4)
    assert card.regrets[world.name, "map"] == pytest.approx(regret(mission, make_rule("periodic")), abs=1e-8)
    assert card.regrets[world.name, "map"] != pytest.approx(
        regret(world.mission("map"), make_rule("periodic"))
    )
    without = {world.name for world in suite_worlds("test")} - {world.name for world in card.worlds}
    assert "nsbridge-1" in without, "its 9 steps have no room for 3 updates of 4 steps"
    assert regret_table(card).rows


def test_two_cards_of_one_name_are_ranked_by_their_own_regrets(compute):
    card = make_card(find_rule("periodic"), {}, compute)
    worse = card.model_copy(
        update={"worlds": [each.model_copy(update={"regret": each.regret + 0.1}) for each in card.worlds]}
    )
    between = make_card(find_rule("even"), {}, compute)
    for cards in ([worse, between, card], [card, worse, between]):
        ranking = leaderboard_tables(cards)[0]
        assert [row[0].text for row in ranking.cells] == ["even", "periodic", "periodic"]
        scores = [row[2].value for row in ranking.cells]
        assert scores == sorted(scores, reverse=True) and scores[1] > scores[2]


def test_the_leaderboard_counts_the_worlds_that_have_no_score():
    counted = {
        kind: sum(1 for w in suite_worlds("test") if w.even[kind] - w.floor[kind] >= 0.02)
        for kind in EXECUTIONS
    }
    assert 0 < counted["localised"] < counted["belief"] <= len(suite_worlds("test")) - 1
    words = "likeliest cell {map}, belief {belief}, sees its state {localised}.".format(**counted)
    assert any(words in note for note in score_notes())


@pytest.mark.parametrize("execution", EXECUTIONS)
def test_a_card_without_some_worlds_or_columns_stands_beside_others(compute, execution):
    prompt = make_card(find_rule("periodic"), {}, compute)
    late = make_card(
        find_rule("front-loaded"), {}, compute, robot=SuiteRobot(update_steps=4), executions=[execution]
    )
    partial = make_card(find_rule("back-loaded"), {}, compute, executions=[execution])
    tables = {table.name: table for table in leaderboard_tables([prompt, late, partial])}
    for name in ("floors", "totals-localised"):
        assert "periodic" in tables[name].columns and late.name not in tables[name].columns
    assert (partial.name in tables["totals-localised"].columns) == (execution == "localised")


def test_a_robot_that_cannot_wait_in_any_world_is_refused(small_suite, compute, monkeypatch):
    monkeypatch.setattr(catalogue, "_all_worlds", lambda: [w for w in small_suite if w.family == "kernels"])
    with pytest.raises(InputError, match="no drawn world of the suite has room for updates of 2 steps, wait"):
        make_card(find_rule("periodic"), {}, compute, robot=SuiteRobot(update_steps=2, meanwhile="wait"))


@pytest.mark.slow
def test_scores_of_lookahead_lie_between_even_spacing_and_the_floor_on_average(compute):
    card = make_card(find_rule("lookahead"), {}, compute)
    found = score_matrix(suite_worlds("test"), card.regrets)
    assert 0 < mean_score(found) < 1
    assert np.nanmax(found) <= 1 + 1e-6
    assert "state" in card.needs
