"""Worlds on cells beside the continuous simulator behind them."""

import numpy as np
import pytest
from scipy.integrate import solve_ivp
from tests.worlds.field_files import MISSION, currents

from replan import (
    InputError,
    Lookahead,
    Mission,
    Periodic,
    Robot,
    Spending,
    evaluate,
    oracle,
    rollout,
    rover,
)
from replan.worlds.field import MeasuredField, field_world
from replan.worlds.field_file import to_field
from replan.worlds.simulation import discretisation_loss, simulated_regret, step_moments
from replan.worlds.vector_field import VectorField

DAY = 86_400.0


def turning(rate=1e-5, side=10_000.0, count=21, land=None):
    """A field in metres that turns about its middle, with a velocity that is linear in x and y."""
    axis = side * (np.arange(count) - count // 2)
    y, x = np.meshgrid(axis, axis, indexing="ij")
    velocity = np.broadcast_to(np.stack([-rate * y, rate * x], axis=-1), (3, count, count, 2)).copy()
    land = np.zeros((count, count), dtype=bool) if land is None else land
    velocity[:, land] = 0.0
    return VectorField("turning", DAY * np.array([0.0, 10.0, 40.0]), axis, axis, velocity, land, False)


def world_in(flow, **changes):
    options = {"start_time": "1970-01-02", "start": (10, 14), "goal": (5, 6), "horizon": 12}
    return MeasuredField(**(options | {"noise": 4_000.0, "speed": 0.1} | changes)).world_in(flow)


def test_a_drifting_vehicle_goes_round_in_a_circle():
    world = world_in(turning())
    begin = np.array([[50_000.0, 20_000.0], [-30_000.0, 60_000.0]])
    reached = world.simulation.step(begin, np.array([8, 8]), 3, np.zeros((2, 2)))
    angle = 1e-5 * 43_200
    turned = begin @ np.array([[np.cos(angle), np.sin(angle)], [-np.sin(angle), np.cos(angle)]])
    assert reached == pytest.approx(turned, abs=1.0)  # metres


def test_the_way_in_a_changing_field_is_that_of_another_integrator():
    flow = to_field(currents())
    vehicle = MeasuredField(**MISSION).vehicle(flow)
    begin, sailing = vehicle.cells.centres[[12, 70]], vehicle.sailing[[2, 5]]

    def rate(time, place, own):
        return ((flow.at(place[None], time) + own) / flow.metres(place[1:]))[0]

    for place, own, action in zip(begin, sailing, (2, 5), strict=True):
        first = vehicle.start_time + 3 * vehicle.step
        span = (first, first + vehicle.step)
        way = solve_ivp(rate, span, place, args=(own,), rtol=1e-10, atol=1e-12, max_step=600)
        reached = vehicle.carry(place[None], np.array([action]), 3)[0]
        assert reached == pytest.approx(way.y[:, -1], abs=2e-4)  # degrees; the field has kinks


def test_a_thousand_random_steps_have_the_mean_and_the_variance_of_the_simulator():
    world = field_world(currents(), **(MISSION | {"horizon": 18, "cell": 0.1, "noise": 3_000.0}))
    rows, columns = world.grid
    rng, samples, count = np.random.default_rng(5), 400, 1_000
    land = np.argwhere(world.kernel(0).land.reshape(rows, columns))
    row, column = np.divmod(np.arange(world.states), columns)
    away = np.minimum.reduce([row, column, rows - 1 - row, columns - 1 - column])
    from_land = np.abs(np.stack([row, column], axis=1)[:, None] - land[None]).max(axis=2).min(axis=1)
    cells = rng.choice(np.flatnonzero(np.minimum(away, from_land) >= 6), count)
    times, actions = rng.integers(18, size=count), rng.integers(9, size=count)
    late = {"mean": 0, "variance": 0}
    for t in np.unique(times).tolist():
        chosen = np.flatnonzero(times == t)
        begin = np.repeat(world.simulation.centres[cells[chosen]], samples, axis=0)
        noise = rng.standard_normal((len(begin), 2))
        reached = world.simulation.step(begin, np.repeat(actions[chosen], samples), t, noise)
        moves = ((reached - begin) / 0.1).reshape(len(chosen), samples, 2)
        mean, variance = step_moments(world, t, cells[chosen], actions[chosen])
        spread = moves.var(axis=1, ddof=1)
        off = np.abs(mean - moves.mean(axis=1)) / np.sqrt(spread / samples)
        late["mean"] += int((off > 3).sum())
        split = (mean % 1) * (1 - mean % 1)  # of the displacement onto the two cells around it
        expected = variance - split
        off = np.abs(expected - spread) / (expected * np.sqrt(2 / (samples - 1)))
        late["variance"] += int((off > 3).sum())
    assert late["mean"] <= 0.01 * 2 * count and late["variance"] <= 0.01 * 2 * count, late  # along two axes


def test_particles_never_enter_land_nor_leave_the_cells():
    land = np.zeros((21, 21), dtype=bool)
    land[8:13, 12] = land[17, :] = True
    world = world_in(turning(2e-5, land=land), noise=8_000.0)
    mission = Mission(world, Robot(planning_horizon=6), Spending.exactly(3))
    particles = world.particles(np.arange(300))
    rollout(mission, Periodic(), np.arange(300), motion=particles)
    visited = world.simulation.find(particles.path.reshape(-1, 2))
    assert visited.min() >= 0 and not world.kernel(0).land[visited].any()
    assert np.isfinite(particles.path).all()


def test_without_noise_and_with_whole_cells_both_are_the_same():
    calm = turning(0.0)
    # 1 cell of 10 km in 43,200 s, in four directions
    world = world_in(calm, headings=4, speed=10_000 / 43_200, noise=0.0, start=(10, 10), goal=(4, 7))
    mission = Mission(world, Robot(planning_horizon=12), Spending.exactly(3))
    seeds = np.arange(5)
    particles = world.particles(seeds)
    found = rollout(mission, Lookahead(), seeds, motion=particles, trace=True)
    assert found.returns == pytest.approx(rollout(mission, Lookahead(), seeds).returns)
    assert (world.simulation.find(particles.path[-1]) == found.states[:, -1]).all()
    assert simulated_regret(mission, Lookahead(), seeds).regret == pytest.approx(0.0, abs=1e-12)
    loss = discretisation_loss(world, missions=5)
    assert loss.return_on_cells == pytest.approx(loss.return_simulated)
    assert loss.standard_error == pytest.approx(0, abs=1e-12)


def test_the_loss_is_the_spread_of_splitting():
    world = world_in(turning(0.0, count=41), headings=1, speed=0.5 * 10_000 / 43_200, noise=3_000.0)
    loss = discretisation_loss(world, steps=300, samples=500)
    heading = 0.5 * 0.5  # f (1 - f) along one axis for one of the two actions; the other drifts nowhere
    assert loss.extra_spread == pytest.approx((heading / 4) ** 0.5, rel=0.1)
    assert loss.mean_error < 0.05


def test_regret_in_the_water_is_near_that_on_cells():
    world = field_world(currents(), **MISSION)
    mission = Mission(world, Robot(planning_horizon=6, execution="belief"), Spending.exactly(2))
    found = simulated_regret(mission, Periodic(), np.arange(400))
    exact = evaluate(mission, Periodic()).regret
    assert 0 < found.standard_error < 0.01
    assert abs(found.regret - exact) < 0.25 * exact + 4 * found.standard_error
    assert oracle(world).values[0][world.start] < 0


def test_a_world_without_a_simulator_is_one_line():
    mission = Mission(rover(4, np.full(6, 0.1)), Robot(planning_horizon=3), Spending.exactly(2))
    with pytest.raises(InputError, match="this world has no simulator"):
        simulated_regret(mission, Periodic(), [0, 1])
