"""Worlds from a user's own simulator: kernels are its motion, and nothing drifts that does not change."""

import numpy as np
import pytest
from scipy.stats import norm

from replan import InputError, Lookahead, Mission, Periodic, Robot, Spending, check_world, evaluate
from replan.worlds.from_simulator import from_simulator
from replan.worlds.simulation import discretisation_loss, simulated_regret, step_moments

MOVES = np.array([[0.0, 0.0], [1.0, 0.3], [-0.5, 1.7]])
CELLS = [(0.0, 12.0, 12), (-6.0, 6.0, 12)]


def drifting(positions, actions, t, numbers):
    """A swimmer in a current that turns, with noise."""
    current = 0.4 * np.array([np.cos(0.3 * t), np.sin(0.3 * t)])
    return positions + MOVES[actions] + current + 0.3 * numbers


def towards(goal):
    return lambda positions: -np.hypot(*(positions - np.array(goal)).T) / 10


def make(step=drifting, samples=256, **options):
    given = {"reward": towards((9.5, 0.5)), "start": (2.5, -3.5), "noise": 2} | options
    return from_simulator(step, CELLS, 3, 8, samples, **given)


def test_the_world_is_sound_and_rules_run_on_it():
    world = make()
    assert check_world(world) == [] and world.grid == (12, 12) and world.actions == 3
    assert world.start == 2 * 12 + 2
    assert world.reward(0).next_state[9 * 12 + 6] == 0.0
    mission = Mission(world, Robot(planning_horizon=6, execution="belief"), Spending.exactly(3))
    exact = evaluate(mission, Lookahead()).regret
    found = simulated_regret(mission, Lookahead(), np.arange(300))
    assert exact >= 0 and found.regret > -4 * found.standard_error


def test_mean_and_variance_are_those_of_the_simulator_and_of_splitting():
    world = make(samples=4096)
    cells, actions = np.repeat(6 * 12 + np.arange(4, 8), 3), np.tile(np.arange(3), 4)
    for t in (0, 5):
        mean, variance = step_moments(world, t, cells, actions)
        expected = MOVES[actions] + 0.4 * np.array([np.cos(0.3 * t), np.sin(0.3 * t)])
        assert mean == pytest.approx(expected, abs=0.01)
        # the sum of a uniform place in the cell, the move and the noise, rounded down
        spread = np.array([[rounded_variance(each, 0.3) for each in pair] for pair in expected])
        assert variance == pytest.approx(spread, abs=0.02)


def rounded_variance(move, sigma):
    """Variance of floor(u + move + sigma z), by summing the chances that it is at least k."""
    edges, u = np.arange(-8, 9), (np.arange(2000) + 0.5) / 2000
    chance = norm.sf((edges[:, None] - u - move) / sigma).mean(axis=1)  # floor >= k
    shares = chance - np.append(chance[1:], 0.0)
    return shares @ edges**2 - (shares @ edges) ** 2


def test_a_simulator_that_does_not_change_has_one_kernel():
    world = make(lambda at, action, t, numbers: drifting(at, action, 3, numbers), samples=32)
    assert world.drift_bounds == pytest.approx(np.zeros(7), abs=0)
    assert make(samples=32).drift_bounds.min() > 0


def test_one_axis_and_three_axes_are_worlds_without_a_grid():
    for axes in (1, 3):
        world = from_simulator(
            lambda at, action, t, numbers: at + action[:, None] - 1.0,
            [(0.0, 4.0, 4)] * axes,
            3,
            5,
            samples=8,
            reward=lambda at: at.sum(axis=1),
            start=[0.5] * axes,
        )
        assert world.states == 4**axes and world.grid is None
        last = world.states - 1
        assert world.kernel(0).dense()[0, 2, world.simulation.find(np.full((1, axes), 1.5))[0]] == 1.0
        assert world.kernel(0).dense()[last, 2, last] == 1.0  # the edge


def test_what_is_blocked_is_never_entered_on_cells_or_off():
    world = make(blocked=lambda at: (at[:, 0] > 5) & (at[:, 0] < 6) & (at[:, 1] < 3), samples=64)
    solid = np.flatnonzero(world.simulation.centres[:, 0] // 1 == 5)[:9]
    free = np.setdiff1d(np.arange(144), solid)
    assert all(world.kernel(t).dense()[free][:, :, solid].max() == 0 for t in range(8))
    mission = Mission(world, Robot(planning_horizon=6), Spending.exactly(3))
    particles = world.particles(np.arange(200))
    from replan import rollout

    rollout(mission, Periodic(), np.arange(200), motion=particles)
    assert not np.isin(world.simulation.find(particles.path.reshape(-1, 2)), solid).any()


def test_the_report_says_what_cells_lose():
    still = make(lambda at, action, t, numbers: at + 0.5 * (action[:, None] == 1), noise=0, samples=256)
    loss = discretisation_loss(still, steps=300)
    # half a cell along both axes for one action of three: f (1 - f) = 1/4, less where the edge stops it
    assert 0.2 < loss.extra_spread <= (0.25 / 3) ** 0.5 * 1.15
    assert loss.return_simulated == pytest.approx(loss.return_on_cells, abs=0.3)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"start": (20.0, 0.0)}, "start [20.0, 0.0] is not a position within the cells"),
        ({"start": (2.0,)}, "start [2.0] is not a position within the cells"),
        ({"blocked": lambda at: at[:, 0] < 3}, "start [2.5, -3.5] is blocked"),
        ({"samples": 0}, "actions and samples must be at least 1"),
        ({"reward": lambda at: 0.0}, "reward must return 144 numbers, not ()"),
        ({"step": lambda at, *_: at[:, :1]}, "finite positions at t=0, not"),
        ({"step": lambda at, *_: at * np.nan}, "positions that are not finite at t=0"),
        ({"step": lambda *_: "x"}, "what the simulator returns must be numbers, not 'x'"),
        ({"step": None}, "step must be a function, not None"),
        ({"reward": 3}, "reward must be a function, not 3"),
        ({"start": (np.nan, 0.0)}, "is not a position within the cells"),
        ({"start": 0.0}, "is not a position within the cells"),
        ({"seed": -1}, "noise and seed at least 0"),
        ({"blocked": lambda at: np.zeros(2, dtype=bool)}, "blocked must return 144 values, not (2,)"),
    ],
)
def test_what_is_wrong_is_one_line(options, said):
    with pytest.raises(InputError) as caught:
        make(**options).kernel(0)
    assert said in str(caught.value) and "\n" not in str(caught.value)


def test_empty_cells_are_refused():
    for cells in ([], [(1.0, 0.0, 4)], [(0.0, 1.0, 0)], [(0.0, 1.0)]):
        with pytest.raises(InputError, match=r"\(low, high, count\)"):
            from_simulator(drifting, cells, 3, 8, reward=towards((0, 0)), start=(0.5,))


def test_cells_and_numbers_of_another_type_are_one_line():
    others = {"reward": towards((9.5, 0.5)), "start": (2.5, -3.5), "noise": 2}
    for cells in (5, ["abc"], [(-np.inf, 1.0, 3)], [(0.0, 1.0, 2.5)]):
        with pytest.raises(InputError, match=r"^cells"):
            from_simulator(drifting, cells, 3, 8, **others)
    with pytest.raises(InputError, match=r"actions must be a whole number, not 2\.5"):
        from_simulator(drifting, CELLS, 2.5, 8, **others)
