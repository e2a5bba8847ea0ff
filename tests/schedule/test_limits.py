"""Parameters of rules are accepted up to their limits and refused just beyond."""

from math import inf, nan

import pytest

from replan.errors import InputError
from replan.schedule.drift_threshold import DriftThreshold, SelfTriggered
from replan.schedule.lazy_value import LazyValue
from replan.schedule.lookahead import Lookahead
from replan.schedule.periodic import BestOffset
from replan.schedule.regret_guided import RegretGuided

ACCEPTED = {
    BestOffset: [{"offset": 0}, {"period": 1}],
    DriftThreshold: [{"pace_weight": 0.0}, {"threshold": 0.0}],
    RegretGuided: [
        {"alpha": 0},
        {"alpha": 1},
        {"m": 1},
        {"diameter": 0},
        {"weights": (0, 0, 0)},
        {"threshold": inf},
    ],
    Lookahead: [{"tolerance": 0.0}, {"tolerance": 0.0099}, {"effort": 1e-9}, {"effort": 1e-300}],
}
REFUSED = {
    BestOffset: [{"offset": -1}, {"period": 0}],
    DriftThreshold: [{"pace_weight": -1e-9}, {"pace_weight": nan}, {"threshold": -1.0}, {"threshold": nan}],
    LazyValue: [{"threshold": -1.0}],
    SelfTriggered: [{"threshold": -1.0}],
    RegretGuided: [
        {"alpha": -1e-9},
        {"alpha": 1 + 1e-9},
        {"m": 0},
        {"weights": (1, 1, 1, 1)},
        {"threshold": -1.0},
    ],
    Lookahead: [{"tolerance": 0.01}, {"tolerance": -1e-9}, {"effort": 0.0}],
}


@pytest.mark.parametrize(("rule", "given"), [(rule, each) for rule in ACCEPTED for each in ACCEPTED[rule]])
def test_a_parameter_at_its_limit_is_accepted(rule, given):
    ((name, value),) = given.items()
    assert getattr(rule(**given), name) == value


@pytest.mark.parametrize(("rule", "given"), [(rule, each) for rule in REFUSED for each in REFUSED[rule]])
def test_a_parameter_beyond_its_limit_is_refused_by_its_name(rule, given):
    with pytest.raises(InputError, match=next(iter(given))):
        rule(**given)
