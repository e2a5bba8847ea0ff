"""The rules on NS-Gym's own environments: its frozen lake, cliff and bridge, each growing more slippery.

NS-Gym says when an environment changes; replan says when to look again. Needs the extra `ns-gym`; `make
test-ns-gym` runs it in an environment of its own.
"""

from __future__ import annotations

import gymnasium
from ns_gym.schedulers import PeriodicScheduler
from ns_gym.update_functions import DistributionDecrementUpdate
from ns_gym.wrappers import NSBridgeWrapper, NSCliffWalkingWrapper, NSFrozenLakeWrapper

from replan import Lookahead, Mission, Periodic, Robot, Spending, evaluate, from_ns_gym, optimum, oracle
from replan.study import Bench, choose

HORIZON, BUDGET = 30, 5


def environments():
    """Fresh ones: every third step the intended move becomes less likely."""

    def drift(by):
        return {"P": DistributionDecrementUpdate(PeriodicScheduler(period=3), k=by)}

    lake = gymnasium.make("FrozenLake-v1", is_slippery=False)
    cliff, bridge = gymnasium.make("CliffWalking-v1"), gymnasium.make("ns_gym/Bridge-v0")
    return {
        "FrozenLake": NSFrozenLakeWrapper(lake, drift(0.04), initial_prob_dist=[1, 0, 0]),
        "CliffWalking": NSCliffWalkingWrapper(cliff, drift(0.01), initial_prob_dist=[1, 0, 0, 0]),
        "Bridge": NSBridgeWrapper(bridge, drift(0.04), initial_prob_dist=[1, 0, 0]),
    }


def table() -> list[str]:
    """Exact regret of each rule, by execution."""
    columns = ("periodic", "drift-threshold", "regret-guided", "lookahead", "possible")
    lines = [f"{'':<13} {'acts on':<8}" + "".join(f"{name:>16}" for name in ("oracle return", *columns))]
    for name, environment in environments().items():
        world = from_ns_gym(environment, horizon=HORIZON)
        best = oracle(world)
        for execution in ("map", "belief"):
            mission = Mission(
                world, Robot(planning_horizon=HORIZON, execution=execution), Spending.exactly(BUDGET)
            )
            bench = Bench(mission)
            chosen = [choose(bench, rule).rule for rule in ("drift-threshold", "regret-guided")]
            regrets = [
                evaluate(mission, rule, best=best).regret for rule in (Periodic(), *chosen, Lookahead())
            ]
            figures = (best.values[0][world.start], *regrets, optimum(mission).feedback_regret)
            lines.append(f"{name:<13} {execution:<8}" + "".join(f"{figure:16.3f}" for figure in figures))
    return lines


def main() -> None:
    print(f"exact regret with {BUDGET} updates in {HORIZON} steps; possible: the best of any rule")
    print("\n".join(table()))


if __name__ == "__main__":
    main()
