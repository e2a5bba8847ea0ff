"""The smallest budget that keeps a promise, checked by spending it."""

from dataclasses import replace
from importlib import import_module
from itertools import combinations

import numpy as np
import pytest

from replan import Robot, Spending
from replan.certificates.in_advance import ADVANCE, certify_ahead
from replan.certificates.promised_budget import promise
from replan.errors import InputError
from replan.evaluation.exact import regret
from replan.execute.mission import Mission
from replan.schedule.fixed import FixedTimes
from replan.worlds.settings import load_setting, make_mission
from replan.worlds.slip_grid import rover


def small():
    slips = np.concatenate([np.full(5, 0.05), np.linspace(0.05, 0.4, 7)])
    return Mission(rover(4, slips), Robot(planning_horizon=4), Spending.exactly(1))


@pytest.mark.parametrize("amount", [0.4, 0.1, 0.02])
def test_a_promise_is_kept_and_certified(amount):
    mission = small()
    found = promise(mission, amount)
    spent = replace(mission, spending=Spending.exactly(found.budget))
    assert len(found.times) == found.budget
    assert found.certificate.value <= amount
    assert regret(spent, FixedTimes(found.times)) <= found.certificate.value
    assert certify_ahead(spent, found.times).value == found.certificate.value
    assert all(found.tried[b] > amount for b in found.tried if b < found.budget)


def test_a_smaller_promise_needs_no_smaller_budget():
    budgets = [promise(small(), amount).budget for amount in (0.4, 0.1, 0.02)]
    assert budgets == sorted(budgets)
    assert budgets[0] < budgets[-1]


def least_certificates(mission):
    """Budget -> the least that any fixed schedule certifies in advance, by trying them all."""
    return {
        budget: min(
            certify_ahead(replace(mission, spending=Spending.exactly(budget)), (1, *later)).value
            for later in combinations(range(2, mission.horizon), budget - 1)
        )
        for budget in range(1, mission.horizon)
    }


@pytest.mark.parametrize(
    "slips", [[0.1, 0.1, 0.22, 0.22, 0.15, 0.3, 0.3, 0.45], [0.3, 0.2, 0.2, 0.3, 0.45, 0.4, 0.55, 0.55]]
)
def test_no_fixed_schedule_of_a_smaller_budget_certifies_the_amount(slips):
    mission = Mission(rover(3, slips), Robot(planning_horizon=3), Spending.exactly(1))
    least = least_certificates(mission)
    for value in least.values():
        amount = value * 1.0001  # just within reach of the best schedule of this budget
        assert promise(mission, amount).budget == min(b for b in least if least[b] <= amount)


@pytest.mark.slow
def test_two_burst_takes_four_updates_for_half_a_unit():
    assert promise(make_mission(load_setting("two-burst")), 0.5).budget == 4


def test_progress_names_every_budget_tried():
    told = []
    found = promise(small(), 0.02, progress=lambda budget, value: told.append((budget, value)))
    assert {budget for budget, _ in told} == set(found.tried)
    assert {budget: min(v for b, v in told if b == budget) for budget, _ in told} == found.tried


def test_without_the_structure_a_promise_needs_more_updates():
    boxes = replace(ADVANCE, structure=False)
    found = promise(small(), 0.15, tightening=boxes)
    assert found.certificate.tightening == boxes
    assert found.budget > promise(small(), 0.15).budget


def test_what_cannot_be_promised_is_refused():
    with pytest.raises(InputError, match="no budget was found"):
        promise(small(), 0.0)


@pytest.mark.parametrize("amount", [-1.0, np.nan])
def test_an_amount_that_no_regret_can_meet_is_refused_before_the_search(amount, monkeypatch):
    monkeypatch.setattr(import_module("replan.certificates.promised_budget"), "Ahead", None)
    with pytest.raises(InputError, match="must be a number and not negative"):
        promise(small(), amount)
