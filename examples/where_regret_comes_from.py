"""Where the regret of a periodic schedule comes from, in the worlds where a plan goes stale.

For each built-in setting and both executions: the regret, and how much of it is the state not being seen,
the stale plan and the wrong model. Then, for `terrain`, a threshold on drift with one bound for the whole
grid beside one with a bound for every state and action, over worlds that differ only in when far-off dunes
shift.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from replan import (
    Context,
    Decision,
    Need,
    Periodic,
    Rule,
    decompose,
    load_setting,
    local_drift_bounds,
    make_mission,
    oracle,
    regret,
)

WORLDS = ("thin-ice", "crosswind", "terrain")
SETTINGS = tuple(f"{world}-{degree}" for world in WORLDS for degree in ("mild", "medium", "hard"))
THRESHOLDS = (0.05, 0.55, 1.05)


@dataclass(frozen=True, eq=False)
class LocalDrift(Rule):
    """Update when some cell on the planned way has drifted by the threshold, or at the pacing limit.

    The way is the likeliest one under the stale plan, from where the robot is taken to be to H steps ahead.
    The drift ends at the kernel that an update would reveal, P_{t-1}.
    """

    bounds: np.ndarray  # (T-1, S, A) epsilon_t(s, a); the rule reads those of the past alone
    threshold: float

    needs = frozenset({Need.STATE, Need.BUDGET})

    def decide(self, context: Context) -> Decision:
        """Decide by the drift from P_{tau-1} to P_{t-1} on the way ahead."""
        states, actions = planned_way(context)
        since = self.bounds[context.estimate_time : context.time - 1]
        drift = float(since[:, states, actions].sum(axis=0).max())
        late = (context.time - context.last_update) * context.budget_left >= context.steps_left
        return Decision(late or drift >= self.threshold, "drift on the planned way", drift, self.threshold)


def planned_way(context: Context) -> tuple[np.ndarray, np.ndarray]:
    """Return the likeliest states and actions of the stale plan from now to H steps ahead (or T)."""
    policy, path = context.plan.policy, [context.state]
    following = context.kernel.most_likely()[np.arange(len(policy)), policy]
    last = min(context.time + context.planning_horizon, context.horizon)
    for _ in range(last - context.last_update - 1):
        path.append(following[path[-1]])
    states = np.array(path[context.time - context.last_update :])
    return states, policy[states]


def shares_table(names=SETTINGS) -> list[str]:
    lines = ["setting           acts on  regret   state    plan   model  plan+model"]
    for name in names:
        for execution in ("map", "belief"):
            parts = decompose(make_mission(load_setting(name), execution=execution), Periodic())
            share = parts.shares["plan"] + parts.shares["model"]
            lines.append(
                f"{name:<17} {execution:<7} {parts.regret:7.3f} {parts.state:7.3f} {parts.plan:7.3f} "
                f"{parts.model:7.3f} {share:11.0%}"
            )
    return lines


def shift_dunes(setting, by: int):
    """The setting with the drift of every patch but the first moved in time."""
    sand, *dunes = setting.terrain.patches
    begins = [(dune.begin + by) % 36 for dune in dunes]
    moved = [
        dune.model_copy(update={"begin": t, "end": t + 3}) for dune, t in zip(dunes, begins, strict=True)
    ]
    ground = setting.terrain.model_copy(update={"patches": [sand, *moved]})
    return setting.model_copy(update={"terrain": ground})


def bounds_table(degrees=("medium", "hard"), shifts=range(0, 36, 6)) -> list[str]:
    lines = [f"{'setting':<17} {'one bound':>10} {'per state and action':>21}   regret, best of {THRESHOLDS}"]
    for degree in degrees:
        regrets = np.zeros((2, len(shifts), len(THRESHOLDS)))
        for i, by in enumerate(shifts):
            mission = make_mission(shift_dunes(load_setting(f"terrain-{degree}"), by))
            world, best = mission.world, oracle(mission.world)
            local = local_drift_bounds(world.kernel, world.horizon)
            uniform = np.broadcast_to(world.drift_bounds[:, None, None], local.shape)
            for b, bounds in enumerate((uniform, local)):
                regrets[b, i] = [regret(mission, LocalDrift(bounds, at), best=best) for at in THRESHOLDS]
        one, each = regrets.mean(axis=1).min(axis=1)
        lines.append(f"{'terrain-' + degree:<17} {one:10.3f} {each:21.3f}")
    return lines


def main() -> None:
    print("\n".join(shares_table()), end="\n\n")
    print("\n".join(bounds_table()))


if __name__ == "__main__":
    main()
