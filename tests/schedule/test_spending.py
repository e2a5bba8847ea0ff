"""Every rule, on any mission, spends exactly its budget."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from replan import Robot, Spending
from replan.errors import InputError
from replan.evaluation.exact import from_start
from replan.execute import Mission
from replan.execute.timeline import make_timeline
from replan.model import Reward, SlipKernel, World, constant
from replan.schedule import Need, Random, make_rule
from replan.schedule.registry import RULES
from replan.worlds.slip_grid import distances


@st.composite
def missions(draw):
    horizon = draw(st.integers(3, 14))
    slip = draw(st.lists(st.floats(0, 0.6), min_size=horizon, max_size=horizon))
    world = World(
        horizon=horizon,
        kernel=lambda t: SlipKernel((3, 3), slip[t]),
        reward=constant(Reward(next_state=-distances(3, (2, 2)))),
    )
    return Mission(
        world,
        Robot(planning_horizon=draw(st.integers(1, 4))),
        Spending.exactly(draw(st.integers(1, horizon - 1))),
    )


PARAMETERS = {
    "regret-guided": {
        "score": st.sampled_from(["gap", "drift", "gap+drift", "theorem"]),
        "alpha": st.floats(0, 1),
        "m": st.integers(1, 9),
        "diameter": st.floats(0, 5),
        "threshold": st.none() | st.floats(0, 3),
        "pacing": st.sampled_from(["even", "none"]),
    },
    "best-offset": {"offset": st.integers(0, 20), "period": st.none() | st.integers(1, 20)},
    "drift-threshold": {"threshold": st.floats(0, 2), "pace_weight": st.floats(0, 1)},
    "self-triggered": {"threshold": st.floats(0, 2)},
    "lazy-value": {"threshold": st.floats(0, 2)},
    "fixed-rate": {"every": st.integers(1, 20)},
}


@pytest.mark.parametrize("name", [name for name, rule in RULES.items() if Need.STATE not in rule.needs])
@given(mission=missions(), data=st.data())
def test_exactly_the_budget_is_spent(name, mission, data):
    rule = make_rule(name, **data.draw(st.fixed_dictionaries(PARAMETERS.get(name, {}))))
    made = make_timeline(mission, rule, seed=data.draw(st.integers(0, 2**32)))
    assert len(made.times) == len(set(made.times)) == mission.spending.limit
    assert made.times[0] == 1 and made.times[-1] < mission.horizon
    assert list(made.times) == sorted(made.times)
    assert [t for t, decision in made.decisions if decision.update] == list(made.times)
    for _, decision in made.decisions:
        assert decision.reason
        if decision.terms:
            assert sum(decision.terms.values()) == pytest.approx(decision.score)


@given(mission=missions())
def test_the_random_law_spends_the_budget_in_expectation(mission):
    steps = from_start(mission, Random(), None)[1]
    assert steps.update_probability.sum() == pytest.approx(mission.spending.limit)
    later = steps.update_probability[2:]
    assert later == pytest.approx([(mission.spending.limit - 1) / (mission.horizon - 2)] * len(later))


def test_a_random_rule_has_no_one_timeline():
    world = World(5, constant(SlipKernel((2, 2), 0.1)), constant(Reward(next_state=-distances(2, (1, 1)))))
    with pytest.raises(InputError, match="seed"):
        make_timeline(Mission(world, Robot(planning_horizon=2), Spending.exactly(2)), Random())
