"""A card holds where it can be recomputed, and says in one line where it cannot."""

import json
import re
from pathlib import Path

import pytest

from replan import InputError
from replan.schedule.registry import find_rule
from replan.suite import suite_world, suite_worlds
from replan.suite.benchmark import make_card
from replan.suite.cards import AuthorStatement, SuiteName, Tuning, parse_card, read_card
from replan.suite.catalogue import BLIND, SuiteRobot, suite_hash
from replan.suite.verification import incomparable, verify_card
from suite_worlds import OWN_RULE

pytestmark = pytest.mark.usefixtures("small_suite")


@pytest.fixture(scope="module")
def card(small_suite, compute):
    return make_card(find_rule("periodic"), {}, compute)


@pytest.fixture(scope="module")
def own_card(small_suite, compute, tmp_path_factory):
    path = tmp_path_factory.mktemp("rule") / "my_rule.py"
    path.write_text(OWN_RULE)
    return make_card(find_rule(f"{path}:Mine"), {"every": "4"}, compute)


def changed(card, pattern: str, replacement: str):
    text, count = re.subn(pattern, replacement, card.text(), count=1)
    assert count == 1 and text != card.text()
    return parse_card(text, where="card")


def test_a_card_that_was_just_made_holds(card, compute):
    assert verify_card(card, compute) == []


def test_a_card_survives_being_written_and_read(card, tmp_path):
    path = tmp_path / "card.json"
    path.write_text(card.text())
    assert read_card(path) == card
    assert json.loads(card.text())["worlds"][0]["name"] == card.worlds[0].name


def as_first_version(card):
    """The card as suite v1 had it: blind robots in worlds that were not measured."""
    names = {world.name for world in suite_worlds("test", "v1")}
    kept = [world for world in card.worlds if world.execution in BLIND and world.name in names]
    return sealed_again(card, suite=SuiteName(version="v1", hash=suite_hash("v1")), worlds=kept)


def test_a_card_of_version_1_holds_too(card, compute):
    first = as_first_version(card)
    assert len(first.worlds) < len(card.worlds)
    assert verify_card(first, compute) == []
    (line,) = verify_card(first.model_copy(update={"worlds": first.worlds[1:]}), compute)
    assert first.worlds[0].name in line


def test_a_card_of_version_1_that_was_released_is_still_whole():
    first = read_card(Path(__file__).parent / "periodic-v1.json")
    assert first.hash == first.content_hash()
    assert first.suite == SuiteName(version="v1", hash=suite_hash("v1"))


@pytest.mark.parametrize(
    ("steps", "meanwhile"), [(2, "go-on"), (2, "wait"), ({"1": 0.5, "3": 0.5}, "go-on")], ids=str
)
def test_a_card_of_updates_that_take_time_holds_and_another_duration_does_not(compute, steps, meanwhile):
    robot = SuiteRobot(update_steps=steps, meanwhile=meanwhile)
    card = make_card(find_rule("periodic"), {}, compute, robot=robot, executions=["map"])
    card = parse_card(card.text(), where="card")
    assert verify_card(card, compute) == []
    for changes in ({"update_steps": 1}, {"update_steps": 0, "meanwhile": "go-on"}):
        (line,) = verify_card(sealed_again(card, **changes), nothing_computed)
        assert line.startswith(("the card is named", "the card lacks"))
        other = sealed_again(card, **changes)
        words = ["periodic", *other.robot.unusual()]
        if len(card.worlds) == len(suite_worlds("test")):
            (line,) = verify_card(sealed_again(other, name=", ".join(words)), compute)
            assert "the card says" in line and "recomputed" in line


def test_a_card_without_latency_reads_as_one_of_instant_updates(card):
    assert '"update_steps"' not in card.text() and '"meanwhile"' not in card.text()
    assert card.robot == SuiteRobot()
    with pytest.raises(InputError, match=r"not a card: .*update_steps"):
        parse_card(card.text().replace('"forecast"', '"update_steps": -1, "forecast"', 1), where="card")


def test_a_column_that_the_rule_does_not_apply_to_does_not_hold(compute):
    card = make_card(find_rule("gain"), {}, compute)
    blind = [world.model_copy(update={"execution": "map", "regret": 9.0}) for world in card.worlds]
    (line,) = verify_card(sealed_again(card, worlds=[*card.worlds, *blind]), nothing_computed)
    assert line == "gain does not apply to execution map, which the card has"


@pytest.mark.parametrize("decimal", [1, 4, 7])
def test_a_regret_changed_by_one_digit_names_its_world(card, compute, decimal):
    entry = next(world for world in card.worlds if len(f"{world.regret:.8f}".rstrip("0")) == 10)
    digits = list(f"{entry.regret:.8f}")
    at = digits.index(".") + decimal
    digits[at] = str((int(digits[at]) + 5) % 10)
    (line,) = verify_card(changed(card, re.escape(f"{entry.regret:.8f}"), "".join(digits)), compute)
    assert entry.name in line and entry.execution in line


def test_a_change_of_what_the_author_states_breaks_the_hash(card, compute):
    (line,) = verify_card(changed(card, r'("numba": )"[^"]*"', r'\1"9.9"'), compute)
    assert "hash" in line


def test_a_regret_below_the_floor_is_questioned_before_anything_is_computed(card):
    world = next(each for each in card.worlds if each.regret > 0.01)
    floor = suite_world(world.name).floor[world.execution]
    low = world.model_copy(update={"regret": round(floor - 1e-4, 8)})
    peeked = sealed_again(card, worlds=[low if each is world else each for each in card.worlds])
    (line,) = verify_card(peeked, nothing_computed)
    assert line == (
        f"{world.name}, {world.execution}: the card says {low.regret:.8f}, no rule has less than {floor:.8f}"
    )
    told = sealed_again(peeked, forecast="given", name=f"{card.name}, given")
    assert list(incomparable(told)) == []  # who knows the future may have less than this floor


def nothing_computed(study):
    pytest.fail("nothing need be computed")


def sealed_again(card, **changes):
    return card.model_copy(update=changes).sealed()


def stated(card, **changes) -> AuthorStatement:
    return card.stated_by_author.model_copy(update=changes)


def test_a_renamed_card_that_was_sealed_again_does_not_hold(own_card, own_rule):
    renamed = sealed_again(own_card, name="mine, tuned")
    (line,) = verify_card(renamed, nothing_computed, rule=f"{own_rule}:Mine")
    assert line == "the card is named 'mine, tuned', its rule and parameters 'mine every=4'"


def test_an_invented_tuning_that_was_sealed_again_does_not_hold(own_card, own_rule):
    for candidates, fault in ((50, "has 3 candidates, the card says 50"), (3, "not among the rule's")):
        tuning = Tuning(on="tune", candidates=candidates, mean_score=0.99)
        invented = sealed_again(
            own_card, name="mine, tuned", stated_by_author=stated(own_card, tuning=tuning)
        )
        (line,) = verify_card(invented, nothing_computed, rule=f"{own_rule}:Mine")
        assert fault in line
    everywhere = stated(own_card, tuning=Tuning(on="own world"))
    card = sealed_again(own_card, parameters={}, stated_by_author=everywhere)
    (line,) = verify_card(card, nothing_computed, rule=f"{own_rule}:Mine")
    assert "is tuned on no world of its own" in line


def test_parameters_that_a_card_leaves_out_do_not_hold(own_card, own_rule):
    (line,) = verify_card(
        sealed_again(own_card, parameters={}, name="mine"), nothing_computed, rule=f"{own_rule}:Mine"
    )
    assert line == 'the card lists the parameters {}, the rule has {"every":3}'


def test_a_decoy_in_place_of_the_source_does_not_hold(own_card, own_rule):
    decoy = sealed_again(own_card, source=own_card.source.replace("self.every", "7"))
    for options in ({"rule": f"{own_rule}:Mine"}, {"run_source": True}):
        (line,) = verify_card(decoy, nothing_computed, **options)
        assert "the source that the card holds is not that of its hash" in line


def test_another_rule_than_the_card_names_does_not_hold(card, own_card, own_rule):
    (line,) = verify_card(own_card, nothing_computed, rule=f"{own_rule}:Plain")
    assert "the card is of my_rule.py:Mine, not of" in line
    (line,) = verify_card(card, nothing_computed, rule="random")
    assert line == "the card is of periodic, not of random"
    (line,) = verify_card(sealed_again(own_card, source=None, source_sha256=None), nothing_computed)
    assert line == "the card lacks the source of my_rule.py:Mine, which does not come with replan"
    (line,) = verify_card(sealed_again(own_card, rule="periodic"), nothing_computed, run_source=True)
    assert "the card holds a source, but names periodic" in line


def test_the_name_of_a_rule_of_ours_cannot_be_taken(own_rule):
    own_rule.write_text(
        own_rule.read_text().replace("    every: int", '    name = "lookahead"\n    every: int')
    )
    with pytest.raises(InputError, match="a rule named lookahead comes with replan"):
        make_card(find_rule(f"{own_rule}:Mine"), {}, nothing_computed)


def test_another_suite_is_one_line(card, compute):
    other = changed(card, card.suite.hash, "0" * 64)
    (line,) = verify_card(other, nothing_computed)
    assert "suite" in line and "000000000000" in line


def test_a_card_must_list_every_world_once(card, compute):
    (line,) = verify_card(card.model_copy(update={"worlds": card.worlds[1:]}), compute)
    assert card.worlds[0].name in line
    (line,) = verify_card(card.model_copy(update={"worlds": [*card.worlds, card.worlds[0]]}), compute)
    assert "twice" in line


def test_a_rule_of_ones_own_is_run_only_when_asked_for(own_card, own_rule, compute):
    with pytest.raises(InputError, match="--run-source"):
        verify_card(own_card, compute)
    assert verify_card(own_card, compute, run_source=True) == []
    assert verify_card(own_card, compute, rule=f"{own_rule}:Mine") == []


def test_a_changed_source_is_one_line(own_card, own_rule, compute):
    own_rule.write_text(own_rule.read_text().replace(">= self.every", "> self.every"))
    (line,) = verify_card(own_card, compute, rule=f"{own_rule}:Mine")
    assert "source" in line and own_card.source_sha256[:12] in line
    tampered = own_card.model_copy(update={"source": own_rule.read_text()})
    (line,) = verify_card(tampered, compute, run_source=True)
    assert "source" in line


def test_a_rule_that_needs_more_than_its_card_says_is_found(card, compute):
    (line,) = verify_card(card.model_copy(update={"needs": ["state"]}), compute)
    assert "needs budget" in line


@pytest.mark.parametrize("text", ["", "[]", '{"name": 3}', "{"])
def test_anything_else_is_not_a_card(text, tmp_path):
    path = tmp_path / "card.json"
    path.write_text(text)
    with pytest.raises(InputError, match="not a card"):
        read_card(path)
    with pytest.raises(InputError, match="cannot be read"):
        read_card(tmp_path / "none.json")
