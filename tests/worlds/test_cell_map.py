"""Maps as cells: where poses, paths and uncertain poses lie, and what the cells keep of the map."""

import math
from collections import deque

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from replan.errors import InputError
from replan.model.slip import MOVES
from replan.worlds.cell_map import CellMap
from replan.worlds.map_file import OccupancyMap, read_map

FREE = np.zeros((40, 60), dtype=np.int8)


def free_map(*, cell=0.5, yaw=0.0, inflation=0.0, occupied=()):
    pixels = FREE.copy()
    for row, column in occupied:
        pixels[row, column] = 100
    return CellMap.cut(OccupancyMap(pixels, 0.1, (-1.0, 2.0, yaw)), cell=cell, inflation=inflation)


@given(st.floats(0.05, 5.9), st.floats(0.05, 3.9), st.floats(-3.1, 3.1), st.sampled_from([0.1, 0.25, 0.5]))
def test_a_position_and_the_centre_of_its_cell_are_near(u, v, yaw, cell):
    cells = free_map(cell=cell, yaw=yaw)
    x = -1.0 + u * math.cos(yaw) - v * math.sin(yaw)
    y = 2.0 + u * math.sin(yaw) + v * math.cos(yaw)
    state = int(cells.states_at((x, y)))
    assert state >= 0
    assert np.linalg.norm(cells.positions_of(state) - (x, y)) <= cells.position_error * (1 + 1e-6)
    assert int(cells.states_at(cells.positions_of(state))) == state


def test_up_is_the_y_axis_and_right_the_x_axis_of_a_map_without_yaw():
    cells = free_map()
    here = np.array([1.25, 3.25])
    state = int(cells.states_at(here))
    for (rows, columns), step in zip(MOVES[:4], [(0.5, 0), (-0.5, 0), (0, -0.5), (0, 0.5)], strict=True):
        assert int(cells.states_at(here + step)) == state + rows * cells.shape[1] + columns


def test_outside_the_map_there_is_no_cell():
    cells = free_map()
    assert cells.states_at([(-1.1, 2.5), (5.1, 2.5), (0, 1.9), (0, 6.1), (math.nan, 3)]).tolist() == [-1] * 5


def test_a_cell_is_blocked_by_any_pixel_in_it_and_around_by_inflation():
    cells = free_map(occupied=[(7, 12)])  # x from 0.2 to 0.3, y from 2.7 to 2.8
    assert np.flatnonzero(cells.blocked).tolist() == [int(cells.states_at((0.25, 2.75)))]
    wider = free_map(occupied=[(7, 12)], inflation=0.55)
    centres = wider.positions_of(np.flatnonzero(wider.blocked))
    away = np.linalg.norm(centres - (0.25, 2.75), axis=1)
    assert len(centres) > 1
    assert away.max() <= 0.55 + 0.1
    free = wider.positions_of(np.flatnonzero(~wider.blocked))
    assert np.linalg.norm(free - (0.25, 2.75), axis=1).min() >= 0.55


@pytest.mark.parametrize("cell", [0.2, 0.3, 0.5])
@pytest.mark.parametrize("inflation", [0.0, 0.2, 0.4])
@pytest.mark.parametrize("shift", range(0, 20, 3))
def test_a_passage_as_wide_as_stated_stays_open(cell, inflation, shift):
    width = math.ceil((2 * max(inflation, cell / 2) + cell) / 0.1 - 1e-9)
    occupied = [(row, column) for row in range(40) for column in (3 + shift, 4 + shift + width)]
    cells = free_map(cell=cell, inflation=inflation, occupied=occupied)
    inside = cells.positions_of(np.flatnonzero(~cells.blocked))[:, 0] + 1.0
    assert ((inside > 0.1 * (4 + shift)) & (inside < 0.1 * (4 + shift + width))).any()


def walls(draw):
    blocked = draw.random((7, 9)) < 0.3
    return CellMap(1.0, (7, 9), blocked.reshape(-1))


def by_queue(cells, goal):
    found = {goal: 0}
    waiting = deque([goal])
    while waiting:
        state = waiting.popleft()
        i, j = divmod(state, cells.shape[1])
        for di, dj in MOVES[:4]:
            k, m = i + di, j + dj
            to = int(k * cells.shape[1] + m)
            inside = 0 <= k < cells.shape[0] and 0 <= m < cells.shape[1]
            if inside and not cells.blocked[to] and to not in found:
                found[to] = found[state] + 1
                waiting.append(to)
    return [found.get(s, math.inf) for s in range(cells.states)]


@pytest.mark.parametrize("seed", range(20))
def test_moves_to_a_goal_are_those_of_a_plain_search(seed):
    cells = walls(np.random.default_rng(seed))
    goal = int(np.flatnonzero(~cells.blocked)[seed % 5])
    assert cells.moves_to(goal).tolist() == by_queue(cells, goal)


POSES = st.tuples(st.floats(-0.9, 4.9), st.floats(2.1, 5.9))


@given(st.lists(POSES, min_size=1, max_size=6), st.floats(-0.4, 0.4))
def test_the_cells_along_a_path_share_edges_and_hold_its_poses_in_order(path, yaw):
    cells = free_map(yaw=yaw)
    way = cells.states_along(path)
    rows, columns = np.divmod(way, cells.shape[1])
    assert (np.abs(np.diff(rows)) + np.abs(np.diff(columns)) == 1).all()
    at = [int(s) for s in cells.states_at(path) if s >= 0]
    remaining = iter(way.tolist())
    assert all(state in remaining for state, last in zip(at, [-1, *at], strict=False) if state != last)


def test_a_policy_follows_the_path_and_falls_back_beside_it():
    cells = CellMap(1.0, (3, 4), np.zeros(12, dtype=bool))
    way = [8, 9, 5, 6, 7]
    policy = cells.policy_along(way, np.full(12, 1))
    right, up, stay = 0, 3, 4
    assert policy[way].tolist() == [right, up, right, right, stay]
    assert (np.delete(policy, way) == 1).all()
    closed = CellMap(1.0, (3, 4), np.arange(12) == 5)
    assert closed.policy_along(way, np.full(12, 1))[9] == 1


@pytest.mark.parametrize("yaw", [0.0, 0.7])
def test_an_uncertain_pose_keeps_its_mean_and_covariance(yaw):
    cells = CellMap(0.1, (200, 200), np.zeros(40_000, dtype=bool), (0.0, 0.0, 0.0))
    covariance = np.array([[1.0, 0.6], [0.6, 0.8]])
    belief = cells.distribution_at((10.0, 9.0), covariance)
    assert belief.sum() == pytest.approx(1)
    centres = cells.positions_of(np.arange(cells.states))
    mean = belief @ centres
    assert mean == pytest.approx([10.0, 9.0], abs=0.02)
    spread = (centres - mean).T @ ((centres - mean) * belief[:, None])
    assert spread == pytest.approx(covariance, abs=0.05)


def test_an_uncertain_pose_is_nowhere_that_is_blocked_and_always_somewhere():
    cells = free_map(occupied=[(row, column) for row in range(40) for column in range(30)])
    belief = cells.distribution_at((1.9, 4.0), np.eye(2) * 0.2)
    assert belief[cells.blocked].sum() == 0
    assert belief.sum() == pytest.approx(1)
    certain = cells.distribution_at((0.0, 4.0), np.zeros((2, 2)))
    assert certain.max() == 1
    assert certain[cells.free_state_at((0.0, 4.0))] == 1


def write_map(folder, *, yaml="", image=None):
    shades = np.full((4, 5), 254, dtype=np.uint8)
    shades[0, 1], shades[3, 4] = 0, 205
    (folder / "map.pgm").write_bytes(image or b"P5\n# made by hand\n5 4\n255\n" + shades.tobytes())
    text = "image: map.pgm\nresolution: 0.05\norigin: [-1.0, 2.5, 0.1]\nnegate: 0\noccupied_thresh: 0.65\n"
    (folder / "map.yaml").write_text(text + "free_thresh: 0.196\n" + yaml)
    return folder / "map.yaml"


def test_a_map_servers_files_are_read_from_the_bottom_up(tmp_path):
    found = read_map(write_map(tmp_path))
    assert (found.resolution, found.origin) == (0.05, (-1.0, 2.5, 0.1))
    assert found.occupancy[3, 1] == 100
    assert found.occupancy[0, 4] == -1
    assert (found.occupancy == 0).sum() == 18


def test_other_forms_of_the_same_map(tmp_path):
    lines = "image: map.pgm\nresolution: 0.05\norigin:\n- -1.0\n- 2.5\n- 0.1\nnegate: 0\nfree_thresh: 0.196\n"
    first = read_map(write_map(tmp_path))
    shades = np.full((4, 5), 254)
    shades[0, 1], shades[3, 4] = 0, 205
    plain = b"P2\n5 4\n255\n" + b" ".join(str(s).encode() for s in shades.reshape(-1))
    (tmp_path / "map.pgm").write_bytes(plain)
    (tmp_path / "map.yaml").write_text(lines)
    assert (read_map(tmp_path / "map.yaml").occupancy == first.occupancy).all()
    negative = np.where(shades == 0, 255, 255 - shades).astype(np.uint8)
    (tmp_path / "map.pgm").write_bytes(b"P5 5 4 255\n" + negative.tobytes())
    (tmp_path / "map.yaml").write_text(lines.replace("negate: 0", "negate: 1"))
    assert (read_map(tmp_path / "map.yaml").occupancy == first.occupancy).all()


@pytest.mark.parametrize(
    ("yaml", "image", "said"),
    [
        ("mode: colour\n", None, "mode"),
        ("", b"\x89PNG\r\n", "PGM"),
        ("", b"P5\n5 4\n255\nabc", "cut short"),
        ("", b"P5\n5 x\n255\nabc", "damaged"),
        ("", b"", "PGM"),
        ("resolution: wide\n", None, "resolution"),
        ("resolution: 0\n", None, "resolution"),
        ("origin: [1, 2]\n", None, "origin"),
        ("nonsense\n", None, "line 7"),
        ("image: other.pgm\n", None, "other.pgm"),
    ],
)
def test_unusable_maps_are_refused_in_one_line(tmp_path, yaml, image, said):
    path = write_map(tmp_path, yaml=yaml, image=image)
    if image == b"":
        (tmp_path / "map.pgm").write_bytes(b"")
    with pytest.raises(InputError, match=said) as refusal:
        read_map(path)
    assert "\n" not in str(refusal.value)
