import numpy as np
import pytest

from replan.errors import InputError
from replan.schedule import DistanceTravelled, FixedRate, PathExpired, make_rule

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
