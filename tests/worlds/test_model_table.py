"""What a model table becomes: merged, absorbing, and paid as it says."""

import numpy as np
import pytest

from replan.errors import InputError
from replan.planning.optimal_values import oracle
from replan.worlds.model_table import ModelTable, world_of_tables

STAY = [(1.0, 0, 0.0, False)]
FROM_ZERO = np.array([1.0, 0.0, 0.0])


def three_states(*, goal_pays=1.0, row=None):
    """A corridor 0, 1, 2 with one way on and one way back; 2 is the goal, whose own row is nonsense."""
    return {
        0: {
            0: row or [(0.5, 1, 0.0, False), (0.25, 0, 0.0, False), (0.25, 0, 0.0, False)],
            1: STAY,
        },
        1: {0: [(1.0, 2, goal_pays, True)], 1: [(1.0, 0, 0.0, False)]},
        2: {0: [(1.0, 0, 7.0, False)], 1: [(1.0, 2, 7.0, True)]},
    }


def read(table):
    return ModelTable.read(table, states=3, actions=2)


def world(*tables, horizon=4):
    return world_of_tables(
        [read(table) for table in tables], horizon=horizon, start=None, start_probabilities=FROM_ZERO
    )


def test_outcomes_that_lead_to_one_state_are_one_entry():
    kernel = read(three_states()).kernel()
    assert kernel.dense()[0, 0] == pytest.approx([0.5, 0.5, 0.0])
    assert kernel.successors.tolist() == [[0, 1], [0, 2], [2, 2]]


def test_the_end_is_absorbing_and_pays_nothing():
    made = world(three_states())
    assert made.kernel(0).dense()[2] == pytest.approx(np.array([[0, 0, 1.0], [0, 0, 1.0]]))
    assert made.reward(0).expected(made.kernel(0))[2] == pytest.approx([0.0, 0.0])


def test_the_best_value_by_hand():
    # Three steps from 0: one of two tries must leave 0 (3/4), then the goal pays 1, once.
    made = world(three_states(), horizon=3)
    assert oracle(made).values[0] == pytest.approx([0.75, 1.0, 0.0])


def test_a_reward_of_arrival_is_expected_under_the_kernel_at_hand():
    made = world(three_states())
    stale = read(three_states(row=[(1.0, 2, 1.0, True)])).kernel()
    assert made.reward(0).expected(made.kernel(0))[0, 0] == pytest.approx(0.0)
    assert made.reward(0).expected(stale)[0, 0] == pytest.approx(1.0)


def test_a_reward_that_depends_on_the_way_is_the_expectation_under_the_true_table():
    fall = three_states(row=[(0.5, 1, -1.0, False), (0.25, 0, -1.0, False), (0.25, 0, -100.0, False)])
    made = world(fall)
    stale = read(three_states(row=[(1.0, 2, 1.0, True)])).kernel()
    for kernel in (made.kernel(0), stale):
        assert made.reward(0).expected(kernel)[0, 0] == pytest.approx(-25.75)


def test_rewards_that_drift_are_those_of_their_time():
    tables = [three_states(goal_pays=pay) for pay in (1.0, 2.0, 3.0)]
    made = world(*tables, horizon=3)
    assert [made.reward(t).expected(made.kernel(t))[1, 0] for t in range(3)] == pytest.approx([1, 2, 3])


def test_a_state_that_ends_only_sometimes_ends_in_a_state_of_its_own():
    """A fall from 1 ends the episode in 0, where it began."""
    table = three_states()
    table[1][1] = [(1.0, 0, -5.0, True)]
    made = world(table)
    assert made.states == 4
    assert made.kernel(0).dense()[1, 1] == pytest.approx([0, 0, 0, 1.0])
    assert made.kernel(0).dense()[0, 0] == pytest.approx([0.5, 0.5, 0, 0])
    assert made.kernel(0).dense()[3] == pytest.approx(np.array([[0, 0, 0, 1.0]] * 2))
    assert made.reward(0).expected(made.kernel(0)) == pytest.approx(
        np.array([[0.0, 0.0], [1.0, -5.0], [0.0, 0.0], [0.0, 0.0]])
    )


def test_rows_that_do_not_sum_to_one_are_named():
    with pytest.raises(InputError, match=r"sum to 0\.5.* s=0, a=0"):
        world(three_states(row=[(0.5, 1, 0.0, False)]))


def test_a_missing_row_is_named():
    table = three_states()
    del table[1][1]
    with pytest.raises(InputError, match="no row for s=1, a=1"):
        read(table)


def test_a_successor_that_is_no_state_is_named():
    with pytest.raises(InputError, match="from s=0, a=0 to 9"):
        read(three_states(row=[(1.0, 9, 0.0, False)]))


def test_too_few_tables_are_counted():
    with pytest.raises(InputError, match="2 tables do not fit a horizon of 4"):
        world(three_states(), three_states())
