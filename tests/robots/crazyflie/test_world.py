import numpy as np
import pytest

from replan.errors import InputError
from replan.model.checks import check_world
from replan.model.slip import MOVES
from replan.planning.optimal_values import oracle
from replan.robots.crazyflie.layouts import GRID, cells_at, centres, layout, make_wind, state_of
from replan.robots.crazyflie.world import (
    COLLISION_COST,
    Calibration,
    crazyflie_mission,
    crazyflie_world,
    displacement_law,
    load_calibration,
    read_calibration,
    shifts,
)


@pytest.fixture
def table() -> Calibration:
    frequency = np.array([[0.1, 0.8, 0.1], [0, 0.7, 0.3], [0, 0.4, 0.6]])
    return Calibration(np.array([0, 0.05, 0.1]), frequency, np.full(3, 100))


def test_the_table_in_the_package_says_that_more_wind_is_more_slip():
    for cuts in (1, 3):
        made = load_calibration(cuts)
        mean = made.frequency @ np.arange(-made.reach, made.reach + 1)
        assert (np.diff(mean) > 0).all()
        assert mean[0] == pytest.approx(0, abs=0.03)


def test_a_table_survives_being_written(tmp_path, table):
    table.write(tmp_path / "table.csv")
    back = read_calibration(tmp_path / "table.csv")
    assert back.frequency == pytest.approx(table.frequency) and back.force == pytest.approx(table.force)


def test_what_is_no_table_is_named(tmp_path, table):
    (tmp_path / "table.csv").write_text("force,along\n0,x\n")
    with pytest.raises(InputError, match=r"table\.csv"):
        read_calibration(tmp_path / "table.csv")
    with pytest.raises(InputError, match="beyond the calibration"):
        table.drift(0.2)


def test_drift_is_interpolated_and_turns_with_the_wind(table):
    assert table.drift(0.075) == pytest.approx([0, 0.55, 0.45])
    assert table.drift(-0.075) == pytest.approx([0.45, 0.55, 0])


def test_a_move_is_the_command_plus_what_the_wind_adds(table):
    law = displacement_law(table, np.array([0.05, -0.1]))
    for a, (i, j) in enumerate(MOVES):
        made = {tuple(shift): p for shift, p in zip(shifts(1).tolist(), law[a], strict=True) if p > 0}
        expected = {
            (i - 1, j + 1): 0.6 * 0.3,
            (i - 1, j): 0.6 * 0.7,
            (i, j + 1): 0.4 * 0.3,
            (i, j): 0.4 * 0.7,
        }
        assert made == pytest.approx(expected)


def test_the_world_is_a_valid_time_varying_decision_process():
    world = crazyflie_world(layout("dense", 1), make_wind("dense", 1))
    assert not check_world(world)
    assert (world.horizon, world.states, world.actions) == (60, GRID * GRID, 5)
    assert world.drift_bounds[7:13].min() > 3 * world.drift_bounds[:7].max()  # the first burst


def test_the_optimal_way_avoids_poles_that_cost():
    made = layout("dense", 1)
    world = crazyflie_world(made, make_wind("dense", 1, strength=0.0), table=_still())
    best = oracle(world)
    state, seen = world.start, []
    for t in range(60):
        q = best.q_values(t)[state]
        state = int(world.kernel(t).most_likely()[state, int(q.argmax())])
        seen.append(state)
    assert seen[-1] == state_of((11, 11))
    assert not made.blocked[seen].any()
    assert seen.index(state_of((11, 11))) + 1 == made.distances[0]


def test_entering_a_pole_costs_what_is_stated():
    made = layout("sparse", 2)
    reward = crazyflie_world(made, make_wind("sparse", 2)).reward(0).next_state
    pole = state_of(made.obstacles[0])
    nearest = min(made.distances[s] for s in _beside(pole) if np.isfinite(made.distances[s]))
    assert reward is not None
    assert reward[pole] == pytest.approx(-(nearest + 1) / 20 - COLLISION_COST)


@pytest.mark.parametrize("cuts", [1, 3])
def test_a_kernel_adds_up_the_shifts_that_end_in_one_cell(cuts):
    air, side = make_wind("dense", 1), GRID * cuts
    kernel = crazyflie_world(layout("dense", 1), air, cuts=cuts).kernel(20)
    law, moved = (
        displacement_law(load_calibration(cuts), air.mean[20], cuts),
        shifts(load_calibration(cuts).reach, cuts),
    )
    for s in (0, side - 1, side * side // 2, side * side - 2):
        wanted = np.zeros((5, side * side))
        for shares, (i, j) in zip(law.T, moved, strict=True):
            wanted[:, np.clip(s // side + i, 0, side - 1) * side + np.clip(s % side + j, 0, side - 1)] += (
                shares
            )
        found = np.zeros_like(wanted)
        np.add.at(found.T, kernel.successors[s], kernel.probabilities[s].T)
        assert found == pytest.approx(wanted, abs=1e-15)


def test_sub_cells_make_a_valid_world_of_moves_of_three():
    world = crazyflie_world(layout("dense", 1), make_wind("dense", 1), cuts=3)
    assert not check_world(world)
    assert (world.states, world.actions, world.start) == (1296, 5, 1 * 36 + 1)
    law, moved = displacement_law(load_calibration(3), np.array([0.03, -0.01]), 3), shifts(2, 3)
    still = law[4] @ moved
    for a, move in enumerate(MOVES):
        assert law[a] @ moved == pytest.approx(3 * move + still)


def test_sub_cells_and_cells_agree_on_how_often_a_drone_anywhere_in_its_cell_slips():
    cells, subcells = load_calibration(), load_calibration(3)
    for k in range(len(cells.force)):
        further = sum(subcells.frequency[k, 2 + d] * min(d, 3) / 3 for d in (1, 2))
        assert further == pytest.approx(cells.frequency[k, 2], abs=0.03)


def test_sub_cells_near_a_pole_cost_their_share_of_its_safety_radius():
    made = layout("sparse", 2)
    reward = crazyflie_world(made, make_wind("sparse", 2), cuts=3).reward(0).next_state
    assert reward is not None
    middles = centres(np.arange(1296), 3)
    cells = cells_at(middles)
    free = np.isfinite(made.distances[cells])
    cost = np.where(free, -made.distances[cells] / 20 - reward, 0.0)
    assert cost[made.pole_distance(middles) > 0.17 + 0.08] == pytest.approx(0.0)
    beside = free & (np.abs(made.pole_distance(middles) - 0.2) < 1e-9)  # in the next cell, at its edge
    assert beside.any()
    assert (cost[beside] > 0.0).all() and (cost[beside] < 0.5).all()
    assert (reward[made.pole_distance(middles) < 0.01] < -COLLISION_COST).all()


def test_the_mission_has_the_papers_numbers():
    mission = crazyflie_mission(layout("none", 0), make_wind("none", 0))
    assert (mission.horizon, mission.robot.planning_horizon, mission.spending.limit) == (60, 7, 6)


def _still() -> Calibration:
    return Calibration(np.array([0, 1.0]), np.array([[0.0, 1.0, 0.0]] * 2), np.ones(2))


def _beside(s: int) -> list[int]:
    i, j = divmod(s, GRID)
    cells = [(i + 1, j), (i - 1, j), (i, j + 1), (i, j - 1)]
    return [state_of(cell) for cell in cells if 0 <= cell[0] < GRID and 0 <= cell[1] < GRID]
