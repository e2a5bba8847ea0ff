"""Compiled loops are loaded on first use, and those of a mission when its agent is made."""

import subprocess
import sys

import pytest

from replan import _loops

MISSION = """
import sys
import numpy as np
from replan import _loops
from replan.estimate.drift_bounded_mle import DriftBoundedMLE
from replan.estimate.slip_mle import PooledSlip
from replan.execute.agent import Agent
from replan.execute.mission import Mission
from replan.execute.robot import Robot
from replan.model.drift import linear
from replan.model.general_kernel import prepare_kernel
from replan.schedule.periodic import Periodic
from replan.skip.spending import Spending
from replan.worlds.slip_grid import rover

def compiled():
    modules = [getattr(_loops, name) for name in _loops.__all__ if f"replan._loops.{name}" in sys.modules]
    loops = [loop for module in modules for loop in vars(module).values() if hasattr(loop, "signatures")]
    return sum(len(loop.signatures) for loop in loops), len(loops)

world = rover(5, linear(30, slip=0.3, rate=0.001))
mission = Mission(world, Robot(planning_horizon=4), Spending.exactly(29))
learner = {"mle": DriftBoundedMLE, "slip": PooledSlip}[sys.argv[1]](world.kernel(0), world.drift_bounds)
agent = Agent.on(mission, Periodic(), estimator=learner)
agent.start(world.start)
prepare_kernel(world.kernel(0))  # the simulated world below is not the agent's
before = compiled()
state, previous, draws = world.start, None, np.random.default_rng(0).random(30)
while not agent.done:
    if agent.due().update:
        assert agent.update(state, previous)
    previous, action = state, agent.act()
    state = int(world.kernel(0).sample(np.array([state]), np.array([action]), draws[[agent.time - 1]])[0])
print(before[0] > 0, compiled() == before)
"""


@pytest.mark.parametrize("estimator", ["mle", "slip"])
def test_no_update_of_a_mission_compiles_or_loads_a_loop(estimator):
    """In a process of its own, since others of this one may have compiled everything."""
    ran = subprocess.run(
        [sys.executable, "-c", MISSION, estimator], capture_output=True, text=True, check=True
    )
    assert ran.stdout.split() == ["True", "True"]


def test_each_loop_is_reached_by_its_modules_name():
    for name in _loops.__all__:
        assert getattr(_loops, name).__name__ == f"replan._loops.{name}"
    with pytest.raises(AttributeError, match="no attribute 'stencils'"):
        _loops.stencils  # noqa: B018
