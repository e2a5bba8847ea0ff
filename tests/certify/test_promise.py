"""The smallest budget that keeps a promise, checked by spending it."""

from dataclasses import replace

import numpy as np
import pytest

from replan.certify import certify_ahead, promise
from replan.errors import InputError
from replan.evaluate import regret
from replan.execute import Mission
from replan.schedule import FixedTimes
from replan.worlds.rover import rover


def small():
    slips = np.concatenate([np.full(5, 0.05), np.linspace(0.05, 0.4, 7)])
    return Mission(rover(4, slips), budget=1, planning_horizon=4)


@pytest.mark.parametrize("amount", [0.4, 0.1, 0.02])
def test_a_promise_is_kept_and_certified(amount):
    mission = small()
    found = promise(mission, amount)
    spent = replace(mission, budget=found.budget)
    assert len(found.times) == found.budget
    assert found.certificate.value <= amount
    assert regret(spent, FixedTimes(found.times)) <= found.certificate.value
    assert certify_ahead(spent, found.times).value == found.certificate.value
    assert all(found.tried[b] > amount for b in found.tried if b < found.budget)


def test_a_smaller_promise_needs_no_smaller_budget():
    budgets = [promise(small(), amount).budget for amount in (0.4, 0.1, 0.02)]
    assert budgets == sorted(budgets)
    assert budgets[0] < budgets[-1]


def test_what_cannot_be_promised_is_refused():
    with pytest.raises(InputError, match="no budget was found"):
        promise(small(), -1.0)
