"""How close times that are fixed in advance come in measured wind.

`python -m benchmarks.past_schedules [tune|test] [EVERY]` prints total exact regret, score and number of
worlds worse than `periodic`, for blind robots on their belief that expect no change, over every EVERY-th of
the suite's flights of a part. "Past" are the times that are best on average over the futures of `Archive(8)`
at the first update, chosen for each flight: what eight stretches of the past would have brought, and no
change. "Hindsight" are the times that are best in total over all flights: no times that are the same for all
flights do better.
"""

from __future__ import annotations

import sys
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import combinations

import numpy as np

from replan import Archive, Mission
from replan.evaluation.optimal_schedule import feedback_regrets
from replan.evaluation.visits import ways_in_world
from replan.forecast.base import KernelAt
from replan.model.kernel import Array
from replan.planning.optimal_values import oracle_return
from replan.schedule.periodic import even_times, periodic_times
from replan.suite import suite_worlds

BUDGETS = (3, 4, 6)
EVOLUTIONS = 8


@dataclass(frozen=True)
class Intervals:
    """Skip intervals of a mission between all pairs of update times, for robots in every state."""

    gained: list[Array]
    """(S, T - u + 1) of an update at each u: expected reward of the first k steps."""
    reached: list[Array]
    """(T - u + 1, S, S) of an update at each u: the true state after k steps."""

    @classmethod
    def of(cls, mission: Mission) -> Intervals:
        """Walk all intervals."""
        world, horizon = mission.world, mission.horizon
        everyone, found, ways = np.arange(world.states), cls([], []), ways_in_world(mission)
        for u in range(horizon):
            walk = ways.walk(u, mission.update(u), everyone)
            reached = np.zeros((world.states, horizon + 1, world.states))
            for state, out in enumerate(reached):
                walk.reach(np.eye(1, world.states, state)[0], np.ones(horizon + 1, dtype=bool), out)
            found.gained.append(walk.gained)
            found.reached.append(reached[:, u:].swapaxes(0, 1))
        return found

    def returns(self, start: int, budget: int) -> Array:
        """(N,) expected returns of the schedules that `schedules` lists, in its order."""
        horizon = len(self.gained)
        first = np.array([[1]]), self.reached[0][1][[start]], self.gained[0][[start], 1]
        ending: dict[int, tuple[Array, ...]] = {
            1: first
        }  # times, where robots are and their gain, by last time
        for _ in range(budget - 2):
            longer: dict[int, list[tuple[Array, ...]]] = defaultdict(list)
            for u, (times, masses, so_far) in ending.items():
                for v in range(u + 1, horizon):
                    onward = masses @ self.reached[u][v - u], so_far + masses @ self.gained[u][:, v - u]
                    longer[v].append((_with(times, v), *onward))
            ending = {v: tuple(map(np.concatenate, zip(*parts, strict=True))) for v, parts in longer.items()}
        last = [
            (_with(times, v), so_far + masses @ self._to_the_end(u, v))
            for u, (times, masses, so_far) in ending.items()
            for v in range(u + 1, horizon)
        ]
        listed, total = map(np.concatenate, zip(*last, strict=True))
        return total[np.lexsort(listed.T[::-1])]

    def _to_the_end(self, u: int, v: int) -> Array:
        """(S,) expected reward from an update at u to the end, with one more at v."""
        return self.gained[u][:, v - u] + self.reached[u][v - u] @ self.gained[v][:, -1]


def _with(times: Array, last: int) -> Array:
    return np.insert(times, times.shape[1], last, axis=1)


def schedules(horizon: int, budget: int) -> list[tuple[int, ...]]:
    """Return all times of a budget, the first at 1."""
    return [(1, *rest) for rest in combinations(range(2, horizon), budget - 1)]


def past_evolutions(mission: Mission) -> Sequence[KernelAt]:
    """Return what stretches of the past would have brought from the start on, and no change."""
    forecast = Archive(EVOLUTIONS).informed_by(mission.world.knowledge, None)
    expecting = replace(mission, robot=replace(mission.robot, forecast=forecast))
    return [future.kernel for future in expecting.update(1).futures]


def main(part: str = "test", every: str = "1") -> None:
    """Print the table for every EVERY-th flight of a part."""
    regrets = {budget: [] for budget in BUDGETS}
    chosen = {budget: [] for budget in BUDGETS}
    floors = []
    for world in [each for each in suite_worlds(part) if each.family == "wind"][:: int(every)]:
        mission = world.mission("belief")
        start, best = mission.world.start, float(oracle_return(mission.world)[mission.world.start])
        truth = Intervals.of(mission)
        expected = [
            Intervals.of(replace(mission, world=replace(mission.world, kernel=kernel, past=None)))
            for kernel in past_evolutions(mission)
        ]
        floors.append(feedback_regrets(mission, max(BUDGETS)))
        for budget in BUDGETS:
            regrets[budget].append(best - truth.returns(start, budget))
            if budget == mission.limit:
                place = schedules(mission.horizon, budget).index(even_times(mission.horizon, budget))
                assert abs(regrets[budget][-1][place] - world.even["belief"]) < 1e-6
            average = np.mean([each.returns(start, budget) for each in expected], axis=0)
            chosen[budget].append(int(average.argmax()))
        print(f"{world.name} done", file=sys.stderr, flush=True)
    for budget in BUDGETS:
        found, listed = np.stack(regrets[budget]), schedules(mission.horizon, budget)
        periodic = found[:, listed.index(periodic_times(mission.horizon, budget))]
        floor = np.array([each[budget - 1] for each in floors])
        together = int(found.sum(axis=0).argmin())
        rows = {
            "periodic": periodic,
            "even": found[:, listed.index(even_times(mission.horizon, budget))],
            "past": found[np.arange(len(found)), chosen[budget]],
            f"hindsight {listed[together]}": found[:, together],
            "best fixed times of each flight": found.min(axis=1),
            "best possible": floor,
        }
        for name, regret in rows.items():
            score = (periodic.sum() - regret.sum()) / (periodic.sum() - floor.sum())
            worse = int((regret > periodic + 1e-9).sum())
            print(
                f"B = {budget}  {name:<36} regret {regret.sum():7.2f}  score {score:5.2f}  worse in {worse}"
            )


if __name__ == "__main__":
    main(*sys.argv[1:])
