"""Write your own rule: look when you are no longer sure enough where you are.

A rule is a frozen dataclass that derives from `Rule` and defines `decide`. This one pushes the distribution
of where the robot may be through the last estimate and asks for an update when the likeliest cell is not
likely enough. The checker makes sure that it spends the budget, repeats itself and uses only what it
declares.

On the command line:

    replan regret two-burst --rule examples/own_rule.py:Confidence --set least=0.7
    replan compare lookahead examples/own_rule.py:Confidence
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from replan import (
    Context,
    Decision,
    Need,
    Rule,
    check_rule,
    load_setting,
    make_mission,
    make_rule,
    oracle,
    regret,
)


@dataclass(frozen=True)
class Confidence(Rule):
    """Update when the probability of the likeliest state falls below `least`."""

    least: float = 0.5

    needs = frozenset({Need.STATE})

    def decide(self, context: Context) -> Decision:
        """Push what was seen at the last update through the steps since."""
        propagation = context.propagation
        estimate = propagation.begin(np.array([context.state]))
        believed = np.zeros((1, context.kernel.states))
        believed[0, context.state] = 1.0
        for t in range(context.last_update, context.time):
            actions = propagation.act(estimate, t)
            estimate = propagation.advance(estimate, actions, t)
            believed = context.kernel.push(believed, actions)
        sure = float(believed.max())
        due = sure < self.least
        return Decision(due, f"{sure:.0%} sure of the cell", score=1 - sure, threshold=1 - self.least)


def main() -> None:
    mission = make_mission(load_setting("two-burst"))
    best = oracle(mission.world)
    faults = check_rule(Confidence())
    print(f"the checker found {len(faults)} faults{': ' if faults else ''}{', '.join(map(str, faults))}")
    print(f"{'rule':<24} exact regret on two-burst, {mission.spending.limit} updates")
    for least in (0.6, 0.65, 0.7, 0.8):
        print(f"{f'confidence {least:.0%}':<24} {regret(mission, Confidence(least), best=best):.3f}")
    for name in ("periodic", "lookahead"):
        print(f"{name:<24} {regret(mission, make_rule(name), best=best):.3f}")


if __name__ == "__main__":
    main()
