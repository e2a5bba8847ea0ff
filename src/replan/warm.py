"""`python -m replan.warm` compiles every loop once, so that the first real use does not wait.

Compiled code is cached on disk (see `replan._loops.compiler`); `make setup` runs this after installing.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np


def main() -> None:
    """Run a small mission through every compiled part, on both kinds of kernel and with both executions."""
    from replan.certificates.certificate import certify
    from replan.estimate.drift_bounded_mle import DriftBoundedMLE
    from replan.estimate.family_filter import FamilyFilter
    from replan.estimate.observations import Transitions
    from replan.estimate.slip_mle import PooledSlip
    from replan.evaluation.agent_runs import learned_samples
    from replan.evaluation.exact import evaluate
    from replan.evaluation.optimal_schedule import optimum
    from replan.evaluation.rollouts import rollout
    from replan.execute.mission import Mission
    from replan.execute.robot import Robot
    from replan.model.drift import linear
    from replan.model.slip import SlipKernel
    from replan.schedule.periodic import Periodic
    from replan.schedule.registry import make_rule
    from replan.skip.spending import Spending
    from replan.worlds.slip_grid import rover

    slippery = rover(4, linear(9, slip=0.05, rate=0.01))
    general = replace(slippery, kernel=lambda t: slippery.kernel(t).general())
    for world in (slippery, general):
        for execution in ("map", "belief"):
            robot = Robot(planning_horizon=4, execution=execution)
            mission = Mission(world, robot, Spending.exactly(3))
            for rule in (Periodic(), make_rule("lookahead")):
                evaluate(mission, rule)
                rollout(mission, rule, np.arange(3))
            optimum(mission)
            certify(mission, (1, 4, 8))
    mission = Mission(slippery, Robot(planning_horizon=4), Spending.exactly(3))
    nominal, bounds = SlipKernel((4, 4), 0.05), slippery.drift_bounds
    assert slippery.family is not None
    FamilyFilter(slippery.family, bounds)
    estimator = DriftBoundedMLE(nominal, bounds)
    estimator.learn(Transitions.of_rows([[0, 5, 0, 6], [1, 5, 0, 5], [3, 5, 0, 6], [4, 5, 0, 9]]))
    estimator.kernel(5)
    learned_samples(mission, Periodic(), lambda _: PooledSlip(nominal, bounds), np.arange(3))


if __name__ == "__main__":
    main()
