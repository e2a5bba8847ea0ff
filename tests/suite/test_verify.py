"""A card holds where it can be recomputed, and says in one line where it cannot."""

import json
import re

import pytest

from replan import InputError
from replan.study.rule_source import find_rule
from replan.suite.benchmark import make_card, verify_card
from replan.suite.cards import parse_card, read_card

pytestmark = pytest.mark.usefixtures("small_suite")


@pytest.fixture
def card(compute):
    return make_card(find_rule("periodic"), {}, compute)


@pytest.fixture
def own_card(compute, own_rule):
    return make_card(find_rule(f"{own_rule}:Mine"), {"every": "4"}, compute)


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


@pytest.mark.parametrize("decimal", [1, 4, 7])
def test_a_regret_changed_by_one_digit_names_its_world(card, compute, decimal):
    entry = next(world for world in card.worlds if len(f"{world.regret:.8f}".rstrip("0")) == 10)
    digits = list(f"{entry.regret:.8f}")
    at = digits.index(".") + decimal
    digits[at] = str((int(digits[at]) + 5) % 10)
    (line,) = verify_card(changed(card, re.escape(f"{entry.regret:.8f}"), "".join(digits)), compute)
    assert entry.name in line and entry.execution in line


def test_a_change_too_small_for_recomputation_still_breaks_the_hash(card, compute):
    (line,) = verify_card(changed(card, r'("name": )"periodic"', r'\1"even"'), compute)
    assert "hash" in line


def test_another_suite_is_one_line(card, compute):
    other = changed(card, card.suite.hash, "0" * 64)
    (line,) = verify_card(other, lambda study: pytest.fail("nothing need be computed"))
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
