import numpy as np
import pytest

from replan.errors import InputError
from replan.schedule.navigation_triggers import DistanceTravelled, FixedRate, PathExpired
from replan.schedule.registry import make_rule

HORIZON, STATES = 8, 5


def times(mission, rule):
    context = mission.context(rule, mission.progress(2, 2), 0)
    return rule.next_update(context, np.arange(STATES)).tolist()


@pytest.mark.parametrize(
    ("rule", "expected"),
    [
        (FixedRate(), [3, 3, 3, 3, 3]),
        (FixedRate(4), [6, 6, 6, 6, 6]),
        (DistanceTravelled(), [3, 3, 3, 3, HORIZON]),  # who stands at the end believes to stand still
        (DistanceTravelled(3), [5, 5, HORIZON, HORIZON, HORIZON]),
        (PathExpired(), [5, 5, 4, 3, 5]),  # at the end the wait of a planning horizon expires
        (PathExpired(0.5), [4, 4, 3, 3, 4]),
        (PathExpired(3), [HORIZON, HORIZON, HORIZON, 5, HORIZON]),
    ],
)
def test_a_trigger_fires_after_its_time_its_distance_or_its_path(corridor, rule, expected):
    assert times(corridor, rule) == expected


def test_a_distance_that_the_mission_ends_before_is_never_travelled(corridor):
    rule = DistanceTravelled(3)
    context = corridor.context(rule, corridor.progress(6, 1), 0)
    assert rule.next_update(context, np.arange(STATES)).tolist() == [HORIZON] * STATES


def test_robots_that_saw_other_states_have_travelled_at_other_times(corridor):
    rule = DistanceTravelled(1)
    context = corridor.context(rule, corridor.progress(2, 2), 0)
    assert rule.next_update(context, np.array([4, 0])).tolist() == [HORIZON, 3]
    assert rule.next_update(context, np.array([0, 4])).tolist() == [3, HORIZON]


def test_a_decision_is_that_of_the_state_seen(corridor):
    rule, progress = PathExpired(), corridor.progress(2, 2)
    due = [rule.decide(corridor.context(rule, progress, state, 4)).update for state in range(STATES)]
    assert due == [False, False, True, True, False]  # at 5, 5, 4, 3 and 5
    assert rule.decide(corridor.context(rule, progress, 3, 4)).reason == "the trigger (share 1.0) fires at 3"


def test_triggers_are_tuned_over_rates_up_to_twenty_and_a_few_distances_and_shares():
    assert [rule.every for rule in FixedRate.candidates()] == list(range(1, 21))
    assert [rule.cells for rule in DistanceTravelled.candidates()] == [1, 2, 4, 6, 8, 12, 16]
    assert [rule.share for rule in PathExpired.candidates()] == [0.5, 1.0, 1.5, 2.0]


def test_a_decision_agrees_with_the_time_named(corridor):
    rule = DistanceTravelled(2)
    due = [rule.decide(corridor.context(rule, corridor.progress(2, 2), 1, t)).update for t in range(3, 8)]
    assert due == [False, True, True, True, True]


@pytest.mark.parametrize(
    ("name", "parameters"),
    [
        ("fixed-rate", {"every": "0"}),
        ("distance-travelled", {"cells": "0"}),
        ("path-expired", {"share": "0"}),
    ],
)
def test_a_trigger_that_would_never_wait_is_refused(name, parameters):
    with pytest.raises(InputError, match=next(iter(parameters))):
        make_rule(name, **parameters)
