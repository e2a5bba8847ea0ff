"""The cards that come with replan can be recomputed."""

import pytest

from replan.suite import reference_cards
from replan.suite.verification import verify_card


@pytest.mark.slow
@pytest.mark.parametrize("card", reference_cards(), ids=lambda card: card.name)
def test_a_reference_card_holds(card, compute):
    assert verify_card(card, compute) == []
