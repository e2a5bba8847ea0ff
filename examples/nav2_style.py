"""Replanning triggers as navigation stacks have them, beside rules that weigh what an update is worth.

A navigation stack replans at a fixed rate, after some distance, or when its path has been used up. Here each
of these is a rule with one parameter, tried over a range and shown at its best, which takes hindsight. The
thresholds are chosen on validation seeds, look-ahead chooses nothing. All spend the same budget; regret is
exact. On the rover look-ahead is as good as can be. On thin ice, where the world changes more than anything
before it hints at, it needs to know the drift: without, it trusts the ice and loses to every trigger but the
one that replans at every step.

The comparison is about the trigger only: here an update also tells the robot where it is.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from replan import Context, Decision, Mission, Need, Rule, load_setting, make_mission
from replan.evaluation import optimum, regret
from replan.planning import oracle
from replan.schedule import Lookahead
from replan.study.protocol import choose, prepare
from replan.worlds import ThinIce


def believed_path(context: Context, steps: int) -> list[int]:
    """The states of the plan in force, each the likeliest successor of the one before."""
    following = context.kernel.most_likely()
    path = [context.state]
    for _ in range(steps):
        path.append(int(following[path[-1], context.plan.policy[path[-1]]]))
    return path


@dataclass(frozen=True)
class FixedRate(Rule):
    """Replan every so many steps."""

    every: int

    name = "fixed rate"

    def due_at(self, context: Context) -> int:
        """So many steps after the last one."""
        return context.last_update + self.every

    def decide(self, context: Context) -> Decision:
        """Whether that is now."""
        return Decision(context.time >= self.due_at(context), f"every {self.every} steps")


@dataclass(frozen=True)
class Distance(Rule):
    """Replan after so many cells of the path."""

    cells: int

    name = "distance"
    needs = frozenset({Need.STATE})

    def due_at(self, context: Context) -> int:
        """When the robot believes that it has gone that far; never if it believes that it stands still."""
        path = believed_path(context, context.horizon - context.last_update)
        gone = np.cumsum(np.diff(path) != 0)
        far = np.flatnonzero(gone >= self.cells)
        return context.last_update + 1 + int(far[0]) if len(far) else context.horizon

    def decide(self, context: Context) -> Decision:
        """Whether it has."""
        return Decision(context.time >= self.due_at(context), f"after {self.cells} cells")


@dataclass(frozen=True)
class PathExpiry(Rule):
    """Replan when a share of the path has been walked; a path ends at rest, or with the planning horizon."""

    share: float

    name = "path expiry"
    needs = frozenset({Need.STATE})

    def due_at(self, context: Context) -> int:
        """When the path, or the wait at its end, is used up so far."""
        path = believed_path(context, context.planning_horizon)
        moving = int((np.diff(path) != 0).sum())
        length = moving or context.planning_horizon
        return context.last_update + max(1, round(self.share * length))

    def decide(self, context: Context) -> Decision:
        """Whether it is."""
        return Decision(context.time >= self.due_at(context), f"{self.share:.0%} of the path walked")


def triggers(mission: Mission) -> dict[str, list[Rule]]:
    """Each trigger over its range; the rate of a stack that replans at every step comes first."""
    even = round(mission.horizon / mission.budget)
    return {
        "fixed rate, every step": [FixedRate(1)],
        "fixed rate, best": [FixedRate(every) for every in range(2, even + 3)],
        "distance, best": [Distance(cells) for cells in (2, 4, 6, 8, 12, 16)],
        "path expiry, best": [PathExpiry(share) for share in (0.5, 1.0, 1.5, 2.0)],
    }


def table(name: str, mission: Mission) -> list[str]:
    """The lines for one mission."""
    lines = [f"{name}: {mission.horizon} steps, {mission.budget} updates"]
    best = oracle(mission.world)
    for label, rules in triggers(mission).items():
        found = {regret(mission, rule, best=best): rule for rule in rules}
        lines.append(f"  {label:<24} regret {min(found):.3f}   {found[min(found)]}")
    bench = prepare(mission)
    rules = {label: choose(bench, label).rule for label in ("drift-threshold", "regret-guided")}
    rules["lookahead"] = Lookahead()
    rules["lookahead, drift known"] = Lookahead("profile", profile=mission.world.kernel)
    for label, rule in rules.items():
        lines.append(f"  {label:<24} regret {regret(mission, rule, best=best):.3f}")
    lines.append(f"  {'best possible':<24} regret {optimum(mission).feedback_regret:.3f}")
    return lines


def main() -> None:
    print("\n".join(table("two-burst", make_mission(load_setting("two-burst")))))
    ice = Mission(ThinIce().build(), budget=4, planning_horizon=30)
    print("\n".join(table("thin ice", ice)))


if __name__ == "__main__":
    main()
