"""The simulator, in a process of its own: `python -m replan.robots.crazyflie.physics DRONES`.

crazyflow insists on being imported before SciPy, under a switch that changes how SciPy works everywhere. A
process of its own keeps that, and JAX, out of the caller's. `Physics` starts it and talks to it over pipes.
"""

from __future__ import annotations

import importlib.util
import os
import pickle
import subprocess
import sys
import tempfile
import weakref
from contextlib import suppress
from typing import Any

import numpy as np

from replan.errors import InputError
from replan.robots.crazyflie.craft import minimum_jerk
from replan.typing import Array

RAMP_SECONDS = 1.2  # the setpoint travels in this time; the rest of the move is for settling
FREQUENCY = 500  # Hz, physics and attitude control; position control runs at 100


class Physics:
    """The simulator for a fixed number of drones. Building and compiling it takes seconds: keep it."""

    def __init__(self, drones: int) -> None:
        if importlib.util.find_spec("crazyflow") is None:
            raise InputError(
                "simulated flights need the extra: pip install -e '.[crazyflow]' in the checkout"
            )
        self.drones = drones
        self._errors = tempfile.TemporaryFile()  # noqa: SIM115
        environment = os.environ | {
            "PYTHONPATH": os.pathsep.join(map(os.path.abspath, sys.path)),
            "SCIPY_ARRAY_API": "1",
        }
        self._process = subprocess.Popen(
            [sys.executable, "-m", "replan.robots.crazyflie.physics", str(drones)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._errors,
            env=environment,
            start_new_session=True,  # Ctrl-C is for the caller, who still has to land
            cwd=tempfile.gettempdir(),  # MuJoCo writes a log of its warnings to where it runs
        )
        self._end = weakref.finalize(self, _stop, self._process)

    def place(self, positions: Array) -> None:
        """Place the drones at rest at (N, 3) positions."""
        self._say(("place", np.asarray(positions, dtype=np.float32)))
        self._hear()

    def begin_move(self, begin: Array, end: Array, force: Array, seconds: float) -> None:
        """Start to move setpoints from (N, 3) begin to end under (K, N, 2) forces; returns at once."""
        arrays = [np.asarray(part, dtype=np.float32) for part in (begin, end, force)]
        self._say(("move", *arrays, seconds))

    def end_move(self) -> Array:
        """Return (K, N, 3) positions, one at the end of each force."""
        return np.asarray(self._hear(), dtype=float)

    def close(self) -> None:
        """End the process."""
        self._end()

    def _say(self, question) -> None:
        assert self._process.stdin is not None
        try:
            pickle.dump(question, self._process.stdin)
            self._process.stdin.flush()
        except OSError:
            raise self._ended() from None

    def _hear(self):
        assert self._process.stdout is not None
        try:
            return pickle.load(self._process.stdout)
        except (EOFError, OSError, pickle.UnpicklingError):
            raise self._ended() from None

    def _ended(self) -> RuntimeError:
        self._process.wait()
        self._errors.seek(0)
        lines = self._errors.read().decode(errors="replace").strip().splitlines()
        return RuntimeError(f"the flight simulator ended: {lines[-1] if lines else 'no reason given'}")


def _stop(process: subprocess.Popen) -> None:
    for pipe in (process.stdin, process.stdout):
        if pipe is not None:
            with suppress(OSError):  # closing writes what a dead process did not take
                pipe.close()
    try:
        process.wait(5)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def serve(drones: int) -> None:
    """Answer questions until the caller closes the pipe."""
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # what libraries print must not get between the answers
    simulator = _simulator(drones)
    move = compiled_move(tuple(simulator.step_pipeline.values()))
    state = simulator.default_data
    while True:
        try:
            what, *arguments = pickle.load(sys.stdin.buffer)
        except EOFError:
            return
        answer = None
        if what == "place":
            rest: Any = simulator.default_data
            state = rest.replace(states=rest.states.replace(pos=arguments[0][:, None, :]))
        else:
            state, path = move(state, *arguments)
            answer = np.asarray(path)
        pickle.dump(answer, answers)
        answers.flush()


def _simulator(drones: int):
    from crazyflow.control import Control
    from crazyflow.drones import Drone
    from crazyflow.dynamics import Dynamics
    from crazyflow.sim import Sim

    return Sim(
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


def compiled_move(pipeline):
    """One move as a single compiled scan; a Python loop over steps would be a thousand times slower."""
    from functools import partial

    import jax
    import jax.numpy as jnp
    from crazyflow.sim.functional import state_control

    def command(begin, end, seconds):
        """(N, 1, 16) a minimum-jerk setpoint; its quaternion must not be zero, which would give NaN."""
        share, speed, push = minimum_jerk(jnp.clip(seconds / RAMP_SECONDS, 0.0, 1.0))
        way = end - begin
        position = begin + way * share
        velocity, acceleration = way * speed / RAMP_SECONDS, way * push / RAMP_SECONDS**2
        attitude = jnp.zeros((len(begin), 7)).at[:, 3].set(1.0)
        return jnp.concatenate([position, velocity, acceleration, attitude], axis=1)[:, None, :]

    @partial(jax.jit, static_argnames="seconds")
    def move(data, begin, end, force, seconds):
        controls = data.controls.state
        fresh = controls.replace(pos_err_i=jnp.zeros_like(controls.pos_err_i))
        data = data.replace(controls=data.controls.replace(state=fresh))
        force = jnp.pad(force, ((0, 0), (0, 0), (0, 1)))[:, :, None, :]
        steps = round(FREQUENCY * seconds / len(force))  # for each force

        def one_step(data, now):
            data = state_control(data, command(begin, end, now))
            for stage in pipeline:
                data = stage(data)
            return data, None

        def one_force(data, given):
            number, now = given
            data = data.replace(states=data.states.replace(force=now))
            data, _ = jax.lax.scan(one_step, data, (number * steps + jnp.arange(steps)) / FREQUENCY)
            return data, data.states.pos[:, 0]

        return jax.lax.scan(one_force, data, (jnp.arange(len(force)), force))

    return move


if __name__ == "__main__":
    serve(int(sys.argv[1]))
