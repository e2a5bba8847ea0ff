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

from dataclasses import replace

from replan import (
    DistanceTravelled,
    FixedRate,
    Given,
    Lookahead,
    Mission,
    PathExpired,
    Rule,
    load_setting,
    make_mission,
    optimum,
    oracle,
    regret,
)
from replan.study import Bench, choose


def triggers(mission: Mission) -> dict[str, list[Rule]]:
    """Each trigger over its range; the rate of a stack that replans at every step comes first."""
    even = round(mission.horizon / mission.spending.limit)
    return {
        "fixed rate, every step": [FixedRate(1)],
        "fixed rate, best": [FixedRate(every) for every in range(2, even + 3)],
        "distance, best": [DistanceTravelled(cells) for cells in (2, 4, 6, 8, 12, 16)],
        "path expiry, best": [PathExpired(share) for share in (0.5, 1.0, 1.5, 2.0)],
    }


def table(name: str, mission: Mission) -> list[str]:
    """The lines for one mission."""
    lines = [f"{name}: {mission.horizon} steps, {mission.spending.limit} updates"]
    best = oracle(mission.world)
    for label, rules in triggers(mission).items():
        found = {regret(mission, rule, best=best): rule for rule in rules}
        lines.append(f"  {label:<24} regret {min(found):.3f}   {found[min(found)]}")
    bench = Bench(mission)
    rules = {label: choose(bench, label).rule for label in ("drift-threshold", "regret-guided")}
    rules["lookahead"] = Lookahead()
    for label, rule in rules.items():
        lines.append(f"  {label:<24} regret {regret(mission, rule, best=best):.3f}")
    foretold = replace(mission, robot=replace(mission.robot, forecast=Given(mission.world.kernel)))
    lines.append(f"  {'lookahead, future given':<24} regret {regret(foretold, Lookahead(), best=best):.3f}")
    lines.append(f"  {'best possible':<24} regret {optimum(mission).feedback_regret:.3f}")
    return lines


def main() -> None:
    print("\n".join(table("two-burst", make_mission(load_setting("two-burst")))))
    print("\n".join(table("thin ice", make_mission(load_setting("thin-ice-hard")))))


if __name__ == "__main__":
    main()
