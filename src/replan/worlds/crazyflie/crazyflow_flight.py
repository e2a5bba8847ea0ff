"""Flights in simulated physics: crazyflow's cf2x with its Mellinger controller, N drones as one batch.

Between updates a drone has no localisation. At the end of a move it takes its setpoint for its position, so
what wind has added to the move stays unnoticed, and the next move starts from there. An update shows it where
it is; its next setpoint is then the middle of the neighbouring cell. docs/crazyflie.md has the parameters.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from replan.errors import InputError
from replan.model.kernel import Array, Indices
from replan.model.slip import MOVES
from replan.worlds.crazyflie.flight import FlightLog
from replan.worlds.crazyflie.layouts import CELL_SIZE, GRID, START, cells_at, centres, state_of
from replan.worlds.crazyflie.wind import FORCES_PER_MOVE, MOVE_SECONDS, Wind

HEIGHT = 0.5  # m
RAMP_SECONDS = 1.2  # the setpoint travels in this time; the rest of the move is for settling
FREQUENCY = 500  # Hz, physics and attitude control; position control runs at 100
STEPS_PER_FORCE = round(FREQUENCY * MOVE_SECONDS / FORCES_PER_MOVE)
WALL = CELL_SIZE / 2  # m; the walls are felt, so a setpoint stays this far from them


class Physics:
    """The simulator for a fixed number of drones. Building and compiling it takes seconds: keep it."""

    def __init__(self, drones: int) -> None:
        try:
            from crazyflow.sim import Sim
        except ImportError as error:
            raise InputError(
                f"simulated flights need the extra: pip install 'replan[crazyflow]' ({error})"
            ) from None
        from crazyflow.control import Control
        from crazyflow.drones import Drone
        from crazyflow.dynamics import Dynamics

        self.drones = drones
        self._simulator = Sim(
            n_worlds=drones,
            n_drones=1,
            drone=Drone.cf2x_L250,
            dynamics=Dynamics.first_principles,
            control=Control.state,
            freq=FREQUENCY,
            attitude_freq=FREQUENCY,
            force_torque_freq=FREQUENCY,
            state_freq=100,
        )
        self._move = _compiled_move(tuple(self._simulator.step_pipeline.values()))

    def at(self, positions: Array):
        """The state of drones at rest at (N, 3) positions."""
        import jax.numpy as jnp

        data = self._simulator.default_data
        pos = jnp.asarray(positions[:, None, :], dtype=data.states.pos.dtype)
        return data.replace(states=data.states.replace(pos=pos))

    def move(self, data, begin: Array, end: Array, force: Array):
        """Setpoints from (N, 3) begin to end under (K, N, 2) forces: the state, and (K, N, 3) positions."""
        data, positions = self._move(data, begin, end, force)
        return data, np.asarray(positions, dtype=float)


def _compiled_move(pipeline):
    """One move as a single scan; a Python loop over steps would be a thousand times slower."""
    import jax
    import jax.numpy as jnp
    from crazyflow.sim.functional import state_control

    def command(begin, end, seconds):
        """(N, 1, 16) a minimum-jerk setpoint; its quaternion must not be zero, which would give NaN."""
        u = jnp.clip(seconds / RAMP_SECONDS, 0.0, 1.0)
        way = end - begin
        position = begin + way * (10 * u**3 - 15 * u**4 + 6 * u**5)
        velocity = way * (30 * u**2 - 60 * u**3 + 30 * u**4) / RAMP_SECONDS
        acceleration = way * (60 * u - 180 * u**2 + 120 * u**3) / RAMP_SECONDS**2
        attitude = jnp.zeros((len(begin), 7)).at[:, 3].set(1.0)
        return jnp.concatenate([position, velocity, acceleration, attitude], axis=1)[:, None, :]

    @jax.jit
    def move(data, begin, end, force):
        integral = data.controls.state.pos_err_i
        fresh = data.controls.state.replace(pos_err_i=jnp.zeros_like(integral))
        data = data.replace(controls=data.controls.replace(state=fresh))
        upward = jnp.zeros((*force.shape[:2], 1))
        force = jnp.concatenate([force, upward], axis=2)[:, :, None, :]

        def one_step(data, seconds):
            data = state_control(data, command(begin, end, seconds))
            for stage in pipeline:
                data = stage(data)
            return data, None

        def one_force(data, at):
            first, now = at
            data = data.replace(states=data.states.replace(force=now))
            seconds = (first * STEPS_PER_FORCE + jnp.arange(STEPS_PER_FORCE)) / FREQUENCY
            data, _ = jax.lax.scan(one_step, data, seconds)
            return data, data.states.pos[:, 0]

        return jax.lax.scan(one_force, data, (jnp.arange(len(force)), force))

    def checked(data, begin, end, force):
        arguments = (jnp.asarray(part, dtype=jnp.float32) for part in (begin, end, force))
        return move(data, *arguments)

    return checked


class CrazyflowFlight:
    """A `Flight` of simulated drones, each in its own world and wind."""

    def __init__(self, physics: Physics, winds: Sequence[Wind], *, start: Array | None = None) -> None:
        """Drone k flies in winds[k], from start[k] (x, y) where given; spare places idle along."""
        if not 1 <= len(winds) <= physics.drones:
            raise InputError(f"{len(winds)} winds do not fit a batch of {physics.drones} drones")
        self._physics = physics
        self._winds = np.stack([wind.force for wind in winds], axis=2)  # (T, FORCES_PER_MOVE, W, 2)
        self._drones = len(winds)
        self._positions = np.tile([*centres(state_of(START)), 0.0], (physics.drones, 1))
        if start is not None:
            self._positions[: self._drones, :2] = start
        self._state = physics.at(self._positions)
        self._knows_place = np.full(physics.drones, start is None)
        self._samples: list[tuple[Array, Array, Array, Indices]] = []
        self._seconds = 0.0
        self._moves = 0
        self._in_air = False

    @property
    def drones(self) -> int:
        """N."""
        return self._drones

    def take_off(self) -> None:
        """Up, in still air, and a moment to settle."""
        above = self._positions.copy()
        above[:, 2] = HEIGHT
        self._in_air = True
        for _ in range(2):
            self._fly_to(above, np.zeros((FORCES_PER_MOVE, self._drones, 2)), number=-1)

    def localise(self, which: Sequence[int]) -> Array:
        """(len(which), 2) positions; these drones' next setpoint is made from where they are."""
        self._knows_place[list(which)] = True
        return self._positions[list(which), :2]

    def move(self, actions: Indices) -> None:
        """One move of every drone; a setpoint beyond the walls is moved to the outermost cell's middle."""
        padded = np.concatenate([actions, np.full(self._physics.drones - len(actions), 4)])
        here = self._positions[:, :2]
        base = np.where(self._knows_place[:, None], centres(cells_at(here)), here)
        target = np.clip(base + MOVES[padded][:, ::-1] * CELL_SIZE, WALL, GRID * CELL_SIZE - WALL)
        end = np.column_stack([target, np.full(len(target), HEIGHT)])
        self._knows_place[:] = False
        self._fly_to(end, self._winds[self._moves], number=self._moves)
        self._moves += 1

    def land(self) -> None:
        """Down to the floor in still air."""
        if self._in_air:
            below = self._positions.copy()
            below[:, 2] = 0.0
            self._fly_to(below, np.zeros((FORCES_PER_MOVE, self._drones, 2)), number=self._moves, keep=False)
            self._in_air = False

    def log(self) -> FlightLog:
        """Samples at 10 Hz, take-off included and landing not."""
        times, positions, setpoints, moves = (
            np.concatenate(part) for part in zip(*self._samples, strict=True)
        )
        return FlightLog(times, moves, positions, setpoints)

    def _fly_to(self, end: Array, force: Array, *, number: int, keep: bool = True) -> None:
        spare = self._physics.drones - force.shape[1]
        force = np.concatenate([force, np.repeat(force[:, -1:], spare, axis=1)], axis=1)
        begin = np.column_stack([self._positions[:, :2], end[:, 2]]) if number >= 0 else self._positions
        self._state, path = self._physics.move(self._state, begin, end, force)
        self._positions = path[-1]
        times = self._seconds + np.arange(1, len(path) + 1) * MOVE_SECONDS / FORCES_PER_MOVE
        self._seconds = float(times[-1])
        if keep:
            told = np.repeat(end[None, : self._drones], len(path), axis=0)
            self._samples.append((times, path[:, : self._drones], told, np.full(len(path), number)))
