"""Rules that studies compare with others."""

import pytest
from tests.tiny_worlds import late_mission

from replan import InputError, evaluate, load_setting, make_mission, make_rule
from replan.schedule.measuring_value import MeasuringValue
from replan.study.study_rules import AccumulatedValue, Unaware


def test_the_accumulated_value_is_the_sum_since_the_last_update():
    mission = make_mission(load_setting("two-burst"))
    contexts = [mission.context(MeasuringValue(), mission.progress(5, 2), 0, t) for t in (6, 7, 8, 9)]
    scores = [MeasuringValue().decide(context).score for context in contexts]
    assert AccumulatedValue().decide(contexts[-1]).score == pytest.approx(sum(scores))
    assert scores[-1] > 0


def test_a_study_rule_goes_by_its_name():
    assert make_rule("accumulated-value", threshold=0.3) == AccumulatedValue(0.3)


@pytest.mark.parametrize(("name", "execution"), [("lookahead", "belief"), ("last-moment", "localised")])
def test_a_rule_that_is_unaware_decides_as_if_updates_took_no_time(name, execution):
    mission = late_mission(1, execution, 0, "go-on", horizon=7)
    aware, unaware = make_rule(name), Unaware(name)
    assert evaluate(mission, unaware).regret == evaluate(mission, aware).regret
    late = [late_mission(seed, execution, 3, "go-on", horizon=12) for seed in range(4)]
    assert any(evaluate(each, unaware).regret != evaluate(each, aware).regret for each in late)
    with pytest.raises(InputError, match="unknown rule"):
        Unaware("nothing")
