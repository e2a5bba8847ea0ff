import numpy as np
import pytest
from examples.where_regret_comes_from import LocalDrift, planned_way

HORIZON, STATES = 8, 5


def context(mission, rule, time):
    return mission.context(rule, mission.progress(1, 1), 0, time)


def test_the_planned_way_runs_from_where_the_robot_is_now_to_the_planning_horizon(corridor):
    rule = LocalDrift(np.zeros((HORIZON - 1, STATES, 2)), threshold=1)
    states, actions = planned_way(context(corridor, rule, 3))
    assert states.tolist() == [2, 3, 4]
    assert actions.tolist() == corridor.update(1).plan.policy[[2, 3, 4]].tolist()


def test_near_the_end_the_way_ends_with_the_mission(corridor):
    rule = LocalDrift(np.zeros((HORIZON - 1, STATES, 2)), threshold=1)
    assert planned_way(context(corridor, rule, 6))[0].tolist() == [4, 4]


@pytest.mark.parametrize(
    ("cell", "action", "first_due"),
    [
        (3, 0, 3),  # ahead at t = 2 and 3, but it takes both changes to reach the threshold
        (2, 0, 3),  # where the robot is at t = 3
        (3, 1, None),  # an action that the plan does not take
        (0, 0, None),  # a cell that lies behind
    ],
)
def test_only_drift_on_the_way_ahead_counts(corridor, cell, action, first_due):
    bounds = np.zeros((HORIZON - 1, STATES, 2))
    bounds[:2, cell, action] = 0.2  # P_0 to P_1 and P_1 to P_2
    rule = LocalDrift(bounds, threshold=0.3)
    due = [t for t in range(2, 5) if rule.decide(context(corridor, rule, t)).update]
    assert (due[0] if due else None) == first_due


def test_the_cell_that_drifts_most_counts_and_not_all_together(corridor):
    bounds = np.zeros((HORIZON - 1, STATES, 2))
    bounds[0, [2, 3, 4]] = [[0.2], [0.3], [0.1]]
    rule = LocalDrift(bounds, threshold=0.5)
    decision = rule.decide(context(corridor, rule, 3))
    assert not decision.update and decision.score == pytest.approx(0.3)


def test_drift_counts_once_an_update_could_reveal_it_and_never_before(corridor):
    bounds = np.zeros((HORIZON - 1, STATES, 2))
    bounds[3] = 1.0  # P_3 to P_4: an update at 5 is the first to be given P_4
    rule = LocalDrift(bounds, threshold=0.5)
    assert [rule.decide(context(corridor, rule, t)).update for t in (3, 4, 5)] == [False, False, True]


def test_without_drift_the_pacing_limit_spends_the_budget(corridor):
    rule = LocalDrift(np.zeros((HORIZON - 1, STATES, 2)), threshold=1)
    decisions = {t: rule.decide(context(corridor, rule, t)) for t in (2, 3, 4, 5)}
    # at t = 5, 4 steps have passed and L_5 = 3; at t = 4 it was 3 steps and L_4 = 4
    assert [t for t, decision in decisions.items() if decision.update] == [5]
