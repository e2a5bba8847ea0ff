import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from replan.errors import InputError
from replan.robots.crazyflie.layouts import (
    CELL_SIZE,
    DENSITIES,
    GOAL,
    GRID,
    GUST_DEVIATION,
    GUST_SECONDS,
    OBSTACLES,
    SAFETY_RADIUS,
    START,
    STRENGTH,
    Layout,
    cells_at,
    centres,
    constant_wind,
    layout,
    make_wind,
    ornstein_uhlenbeck,
    state_of,
)


def way(made: Layout) -> list[int]:
    """A shortest way by always stepping to a cell that is one move nearer."""
    states = [state_of(START)]
    while states[-1] != state_of(GOAL):
        i, j = divmod(states[-1], GRID)
        beside = [(i + 1, j), (i, j + 1), (i - 1, j), (i, j - 1)]
        inside = [state_of(cell) for cell in beside if 0 <= cell[0] < GRID and 0 <= cell[1] < GRID]
        states.append(min(inside, key=lambda s: made.distances[s]))
    return states


@settings(max_examples=40, deadline=None)
@given(st.sampled_from(DENSITIES), st.integers(0, 2_000_000))
def test_a_drone_with_its_safety_radius_gets_through_every_layout(density, number):
    made = layout(density, number)
    states = way(made)
    assert len(made.obstacles) == OBSTACLES[density]
    assert made.reference_length == pytest.approx((len(states) - 1) * CELL_SIZE)
    corners = centres(states)
    steps = np.linspace(0, 1, 13)[:, None, None]
    path = (corners[:-1] + steps * (corners[1:] - corners[:-1])).reshape(-1, 2)
    assert made.pole_distance(path).min() > SAFETY_RADIUS + 0.1


def test_the_same_number_is_the_same_layout_and_another_is_another():
    assert layout("dense", 3) == layout("dense", 3)
    assert len({layout("dense", k).obstacles for k in range(50)}) == 50
    assert layout("sparse", 3).obstacles != layout("dense", 3).obstacles


def test_the_reference_length_of_an_open_field_is_the_l1_distance():
    assert layout("none", 0).reference_length == pytest.approx(22 * CELL_SIZE)


def test_a_wall_of_poles_is_refused():
    with pytest.raises(InputError, match="no way"):
        Layout("dense", 0, tuple((5, j) for j in range(GRID)))


def test_a_wall_with_one_gap_makes_a_detour():
    made = Layout("dense", 0, tuple((5, j) for j in range(1, GRID)) + tuple((7, j) for j in range(GRID - 1)))
    assert made.reference_length == pytest.approx(22 * CELL_SIZE)
    detour = Layout(
        "dense", 0, tuple((5, j) for j in range(GRID - 1)) + tuple((7, j) for j in range(1, GRID))
    )
    assert detour.reference_length == pytest.approx(44 * CELL_SIZE)


def test_cells_and_positions_agree():
    states = np.arange(GRID * GRID)
    assert (cells_at(centres(states)) == states).all()
    assert centres(state_of((2, 5))) == pytest.approx([5.5 * CELL_SIZE, 2.5 * CELL_SIZE])
    assert cells_at([-0.2, 99.0]) == state_of((GRID - 1, 0))


@pytest.mark.parametrize(("density", "number"), [("thick", 0), ("none", -1)])
def test_what_is_no_layout_is_named(density, number):
    with pytest.raises(InputError, match=r"density|number"):
        layout(density, number)


def test_the_mean_grows_as_the_drift_profile_and_turns_slowly():
    made = make_wind("sparse", 4)
    strength = np.linalg.norm(made.mean, axis=1)
    assert strength[0] == pytest.approx(0.03 * STRENGTH)
    rise = np.diff(strength) / STRENGTH
    assert rise[7:13] == pytest.approx(0.016) and rise[0:7] == pytest.approx(0.001)
    angles = np.unwrap(np.arctan2(made.mean[:, 1], made.mean[:, 0]))
    assert np.abs(np.diff(angles)).max() <= np.deg2rad(2.0) + 1e-9


def test_layout_and_trial_fix_the_wind():
    assert (make_wind("dense", 2).force == make_wind("dense", 2).force).all()
    for other in (make_wind("dense", 3), make_wind("sparse", 2), make_wind("dense", 2, trial=1)):
        assert not np.allclose(make_wind("dense", 2).force, other.force)


def test_gusts_have_the_stated_deviation_and_correlation_time():
    step = 0.1
    gusts = ornstein_uhlenbeck(40_000, deviation=0.02, step=step, seed=1)
    assert gusts.std() == pytest.approx(0.02, rel=0.05)
    assert abs(gusts.mean()) < 0.001
    lag = round(GUST_SECONDS / step)
    correlation = (gusts[lag:] * gusts[:-lag]).mean() / gusts.var()
    assert correlation == pytest.approx(np.exp(-1), abs=0.05)
    assert abs(np.corrcoef(gusts.T)[0, 1]) < 0.05


def test_gusts_blow_about_the_mean():
    made = constant_wind(np.array([0.03, -0.01]), horizon=400, seed=3)
    assert made.force.mean(axis=(0, 1)) == pytest.approx([0.03, -0.01], abs=0.002)
    assert (made.force - made.mean[:, None]).std() == pytest.approx(GUST_DEVIATION, rel=0.1)
