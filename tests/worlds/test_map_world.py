"""A map server's map as the world of a setting."""

import numpy as np
import pytest

from replan import make_rule, optimum
from replan.errors import InputError
from replan.evaluation.exact import regret
from replan.model.checks import require_valid
from replan.model.slip import ACTIONS
from replan.model.world import drift_bounds
from replan.schedule.periodic import Periodic
from replan.worlds.settings import load_setting, make_mission

TEXT = """
world = "map"
file = "hall.yaml"
cell = 0.5
start = [1.25, 1.25]
goal = [8.75, 1.25]
planning_horizon = 8
budget = 4
[drift]
kind = "table"
slip = [0.05, 0.06, 0.07]
"""


@pytest.fixture
def folder(tmp_path):
    pixels = np.full((100, 100), 254, dtype=np.uint8)
    pixels[20:, 50] = 0  # a wall at x = 5 m from y = 0 to 8 m: the image's rows begin at the top
    (tmp_path / "hall.pgm").write_bytes(b"P5 100 100 255\n" + pixels.tobytes())
    (tmp_path / "hall.yaml").write_text("image: hall.pgm\nresolution: 0.1\norigin: [0, 0, 0]\nnegate: 0\n")
    return tmp_path


def setting(folder, text=TEXT):
    (folder / "setting.toml").write_text(text)
    return load_setting(folder / "setting.toml")


def test_a_map_is_a_world_like_any_other(folder):
    made = setting(folder)
    mission = make_mission(made)
    moves = 14 + 15 + 14  # up to the passage at y = 8 m, across, and down
    assert mission.world.reward(0).next_state[mission.world.start] == pytest.approx(-moves / 20)
    assert mission.horizon == 65
    assert [float(mission.world.kernel(t).slip[0]) for t in (0, 1, 2, 64)] == [0.05, 0.06, 0.07, 0.07]
    assert made.step_seconds == 1.0
    assert regret(mission, Periodic()) >= 0
    require_valid(mission.world)


def test_without_a_stated_bound_rules_are_given_the_true_drift(folder):
    world = make_mission(setting(folder)).world
    assert world.drift_bounds == pytest.approx(drift_bounds(world.kernel, world.horizon), abs=1e-12)
    assert world.drift_bounds[0] > 0


def test_a_stated_bound_holds_at_every_step(folder):
    stated = make_mission(setting(folder, TEXT.replace("cell", "drift_bound = 0.1\ncell")))
    assert stated.world.drift_bounds.tolist() == [0.1] * (stated.horizon - 1)


PATCHES = """
[[patches]]
corners = [9.0, 6.0, 6.0, 0.0]
slip = 0.1
final_slip = 0.9
begin = 10
end = 14
[[patches]]
corners = [6.0, 0.0, 7.0, 1.0]
slip = 0.3
"""


def test_patches_of_floor_have_a_slip_of_their_own(folder):
    world = make_mission(setting(folder, TEXT + PATCHES)).world
    cells = setting(folder).cells()
    where = [int(cells.states_at(p)) for p in ((1.25, 1.25), (8.75, 1.25), (6.25, 0.25), (9.25, 1.25))]
    slips = [[round(float(world.kernel(t).slip[s]), 9) for s in where] for t in (0, 12, 30)]
    assert slips == [[0.05, 0.1, 0.3, 0.05], [0.07, 0.5, 0.3, 0.07], [0.07, 0.9, 0.3, 0.07]]
    assert world.drift_bounds == pytest.approx(drift_bounds(world.kernel, world.horizon), abs=1e-12)
    assert world.kernel(3) is world.kernel(4)
    require_valid(world)


CLOSURES = """
[[closures]]
corners = [4.5, 8.0, 5.5, 9.0]
begin = 20
[[closures]]
corners = [0.0, 9.0, 1.0, 10.0]
begin = 30
"""


def test_a_closure_blocks_its_cells_from_its_time_on_and_no_others(folder):
    world, cells = make_mission(setting(folder, TEXT + CLOSURES)).world, setting(folder).cells()
    x, y = cells.positions_of(np.arange(cells.states)).T
    door, corner = (abs(x - 5) < 0.5) & (y > 8) & (y < 9), (x < 1) & (y > 9)
    assert door.sum() == corner.sum() == 4
    for t in range(world.horizon):
        blocked = cells.blocked | (door & (t >= 20)) | (corner & (t >= 30))
        assert np.array_equal(world.kernel(t).blocked, blocked), t
    assert world.kernel(21) is world.kernel(29)
    require_valid(world)


def test_the_drift_bounds_cover_what_gets_blocked(folder):
    world = make_mission(setting(folder, TEXT + CLOSURES)).world
    assert world.drift_bounds == pytest.approx(drift_bounds(world.kernel, world.horizon), abs=1e-12)
    dense = [world.kernel(t).general() for t in range(world.horizon)]
    for t, eps in enumerate(world.drift_bounds):
        change = max(
            float(abs(row_after - row).max())
            for row, row_after in zip(rows(dense[t]), rows(dense[t + 1]), strict=True)
        )
        assert eps == pytest.approx(change, abs=1e-12), t
    # two neighbours of a cell close: it stays there by the commanded move to one, and by a slip to either
    assert world.drift_bounds[[19, 29]] == pytest.approx([0.93 + 2 * 0.07 / 5] * 2)
    assert world.drift_bounds[20:29].max() == 0


def rows(kernel):
    """Every row of a kernel as probabilities of all states."""
    for state, successors in enumerate(kernel.successors):
        for probabilities in kernel.probabilities[state]:
            row = np.zeros(kernel.states)
            np.add.at(row, successors, probabilities)
            yield row


def test_a_robot_on_a_closure_may_leave_it(folder):
    world, cells = make_mission(setting(folder, TEXT + CLOSURES)).world, setting(folder).cells()
    inside = int(cells.states_at((4.75, 8.75)))
    left = ACTIONS.index("left")
    assert world.kernel(20).most_likely_of(np.array([inside]), np.array([left])) == inside - 1
    assert world.kernel(20).most_likely_of(np.array([inside - 1]), np.array([0])) == inside - 1


def test_a_world_with_a_closure_is_evaluated_and_bounded_like_any_other(folder):
    mission = make_mission(setting(folder, TEXT + CLOSURES), execution="localised")
    floor = optimum(mission).feedback_regret
    assert floor is not None
    assert 0 <= floor <= regret(mission, make_rule("last-moment")) + 1e-9


def test_with_the_objective_time_a_return_counts_the_steps_off_the_goal(folder):
    made = setting(folder, TEXT.replace("cell", 'objective = "time"\ncell'))
    world, cells = make_mission(made).world, made.cells()
    goal = int(cells.states_at(made.goal))
    moves = cells.moves_to(goal)
    draw = np.random.default_rng(0)
    for _ in range(20):
        states = [int(draw.choice(np.flatnonzero(moves < 3)))]
        actions = draw.integers(5, size=60)
        for t in range(60):
            states += (
                world.kernel(t).sample(np.array(states[-1:]), actions[t : t + 1], draw.random(1)).tolist()
            )
        path = np.array(states)
        rewards = world.reward(0).realised(path[:-1], actions, path[1:])
        off = int((path[:-1] != goal).sum())
        assert rewards.sum() == pytest.approx(moves[path[0]] - moves[path[-1]] - off)


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("start = [1.25, 1.25]", "", "missing key 'start'"),
        ("goal = [8.75, 1.25]", "goal = [80, 1]", "outside the map"),
        ("goal = [8.75, 1.25]", "goal = [5.05, 1.0]", "blocked cell"),
        ("cell = 0.5", "cell = -1.0", "cell"),
        ("cell = 0.5", "cell = 0.001", "too many"),
        ("cell = 0.5", "cell = 0.5\ninflation = 2.0", "no way"),
        ('file = "hall.yaml"', "", "file"),
        ('file = "hall.yaml"', 'file = "other.yaml"', "other.yaml"),
        ("slip = [0.05, 0.06, 0.07]", "slip = []", "slip"),
        ("cell = 0.5", "cells = 0.5", "unknown key 'cells'"),
        ("cell = 0.5", 'objective = "speed"', "objective"),
        ("[drift]", "[[patches]]\ncorners = [1, 2]\nslip = 0.1\n[drift]", "corners"),
        (
            "[drift]",
            "[[patches]]\ncorners = [11, 0, 12, 1]\nslip = 0.1\n[drift]",
            r"'patches.0.corners' \[11.0, 0.0, 12.0, 1.0\] contain the centre of no cell",
        ),
        ("[drift]", "[[closures]]\ncorners = [1, 2, 3, 4]\n[drift]", "missing key 'closures.0.begin'"),
        ("[drift]", "[[closures]]\ncorners = [1, 2, 3, 4]\nbegin = 0\n[drift]", "'closures.0.begin'"),
        (
            "[drift]",
            "[[closures]]\ncorners = [-3, 0, -1, 1]\nbegin = 9\n[drift]",
            r"'closures.0.corners' \[-3.0, 0.0, -1.0, 1.0\] contain the centre of no cell",
        ),
    ],
)
def test_what_cannot_be_built_is_one_line(folder, old, new, said):
    with pytest.raises(InputError, match=said) as refusal:
        make_mission(setting(folder, TEXT.replace(old, new)))
    assert "\n" not in str(refusal.value)


def test_cells_larger_than_the_map_are_refused_as_such(folder):
    with pytest.raises(InputError, match=r"^cells of 50 m are larger than the map of 10 x 10 m$"):
        make_mission(setting(folder, TEXT.replace("cell = 0.5", "cell = 50")))
    with pytest.raises(InputError, match=r"start .* blocked cell of 9 m; smaller cells"):
        make_mission(setting(folder, TEXT.replace("cell = 0.5", "cell = 9")))


def test_cells_smaller_than_a_pixel_are_remarked_on(folder):
    assert setting(folder).notes() == []
    (note,) = setting(folder, TEXT.replace("cell = 0.5", "cell = 0.05")).notes()
    assert "0.05 m" in note and "0.1 m" in note


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("cell = 0.5", "cell = 1e-300", "which is too many"),
        ("[1.25, 1.25]", "[1e300, 1e300]", "lies outside the map"),
        ('"hall.yaml"', '"hall\\u0000.yaml"', "'file' should be the name of a file"),
    ],
)
def test_numbers_that_no_map_has_are_one_line(folder, old, new, said):
    with pytest.raises(InputError, match=said):
        setting(folder, TEXT.replace(old, new)).build()
