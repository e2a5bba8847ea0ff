"""Look-ahead and the optimum: what they take, how that grows, and what their approximations cost.

Run `python -m benchmarks lookahead` for this topic only. The peer is the same dynamic programme written with
dense matrices in NumPy, one update time after the other, nothing pruned or shared.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from benchmarks.timing import Row, compare
from replan import Robot, Spending
from replan.evaluation.exact import regret
from replan.evaluation.optimal_schedule import optimum
from replan.execute.mission import Mission
from replan.forecast.given import Given
from replan.forecast.mixture import Mixture
from replan.model import drift
from replan.planning.backward_induction import plan
from replan.schedule.lookahead import Lookahead
from replan.schedule.rule import Context
from replan.skip.acting import make_propagation
from replan.worlds.slip_grid import rover

BURSTS = [(0.20, 0.34, 0.018), (0.62, 0.82, 0.018)]


def mission(
    n: int = 12, horizon: int = 50, budget: int = 4, *, slip: float = 0.03, execution="map"
) -> Mission:
    profile = drift.piecewise(horizon, slip=slip, quiet=0.001, bursts=BURSTS)
    return Mission(
        rover(n, profile), Robot(planning_horizon=7, execution=execution), Spending.exactly(budget)
    )


def first_decision(on: Mission, **options):
    """The decision at the first update, from the start; nothing of an earlier one is reused."""
    rule, states = Lookahead(**options), np.array([on.world.start])
    context = on.context(rule, on.progress(1, on.limit - 1), on.world.start)
    return lambda: rule.next_update(forgetful(context), states)[0]


def forgetful(context: Context) -> Context:
    """The context with nothing kept of earlier decisions."""
    return replace(context, update=replace(context.update, cache={}))


def dense_decision(on: Mission):
    """As `first_decision`, by dense matrices."""
    kernel, reward, horizon, left = on.update(1).kernel, on.world.reward, on.horizon, on.limit - 1
    states = np.arange(on.world.states)

    def decide() -> int:
        values = np.full((horizon + 1, len(states), left + 1), -np.inf)
        chosen = np.zeros((len(states), left + 1), dtype=int)
        for begin in range(horizon - 1, 0, -1):
            made = plan(kernel, reward, time=begin, horizon=min(7, horizon - begin))
            how, gained = make_propagation(on.robot.execution, made, kernel), np.zeros(len(states))
            estimate, places = how.begin(states), np.eye(len(states))
            for t in range(begin, horizon):
                actions = how.act(estimate, t)
                after = kernel.push(places, actions)
                gained = gained + reward(t).along(places, actions, after)
                estimate, places = how.advance(estimate, actions, t), after
                if t + 1 < horizon:
                    room = min(left, horizon - 1 - t)
                    ahead = gained[:, None] + after @ values[t + 1, :, :room]
                    better = ahead > values[begin, :, 1 : room + 1]
                    values[begin, :, 1 : room + 1][better] = ahead[better]
                    chosen[:, 1 : room + 1][better] = t + 1
            values[begin, :, 0] = gained
        return int(chosen[on.world.start, left])

    return decide


def rows() -> list[Row]:
    return [*_against_dense(), *_forecasts(), *_growth(), *_approximations()]


def _against_dense() -> list[Row]:
    found = []
    for execution in ("map", "belief"):
        on = mission(execution=execution)
        assert first_decision(on)() == dense_decision(on)()
        what = f"look-ahead decision, {execution}, n=12 T=50 B=4"
        found.append(compare(what, first_decision(on), "dense NumPy", dense_decision(on), repeat=3))
        what = f"optimum, fixed and feedback, {execution}, n=12 T=50 B=4"
        found.append(compare(what, lambda e=execution: optimum(mission(execution=e)), repeat=3))
    return found


def _forecasts() -> list[Row]:
    """What a robot takes that expects the world to move, beside one that does not."""
    found = []
    for execution in ("map", "belief"):
        frozen = mission(execution=execution)
        given = replace(frozen, robot=replace(frozen.robot, forecast=Given(frozen.world.kernel)))
        what = f"update on a forecast of 50 kernels, {execution}, n=12"
        found.append(compare(what, update_at_once(given), "the same on one kernel", update_at_once(frozen)))
        mixed = replace(frozen, robot=replace(frozen.robot, forecast=Mixture()))
        futures = len(mixed.update(12, mixed.update(1)).futures)
        what = f"look-ahead decision on a mixture of {futures}, {execution}, n=12 T=50"
        found.append(compare(what, decision(mixed), "the same on one kernel", decision(frozen), repeat=3))
    return found


def update_at_once(on: Mission):
    """An update at the first time, with its plan, as an agent makes it."""
    kernel = on.world.kernel(0)
    return lambda: on.make_update(1, kernel, None)


def decision(on: Mission):
    """The decision at the second update, with nothing kept from an earlier one."""
    rule = Lookahead()
    progress = on.after(on.after(on.beginning(), 1), 12)
    context = on.context(rule, progress, on.world.start)
    return lambda: rule.decide(forgetful(context))


def _growth() -> list[Row]:
    """One thing grows at a time; then the largest, where it slips little and where it slips much."""
    shapes = [(n, 50, 4) for n in (6, 24)] + [(12, horizon, 4) for horizon in (25, 100)]
    shapes += [(12, 50, budget) for budget in (2, 8)]
    found = []
    for n, horizon, budget in shapes:
        at = f"n={n} T={horizon} B={budget}"
        found.append(
            compare(f"look-ahead decision, {at}", first_decision(mission(n, horizon, budget)), repeat=2)
        )
        if n <= 12:
            found.append(
                compare(
                    f"optimum, {at}", lambda shape=(n, horizon, budget): optimum(mission(*shape)), repeat=1
                )
            )
    for slip in (0.03, 0.3):
        for execution in ("map", "belief"):
            on = mission(50, 200, 10, slip=slip, execution=execution)
            found.append(
                compare(
                    f"look-ahead decision, {execution}, n=50 T=200 B=10, slip {slip}",
                    first_decision(on),
                    repeat=1,
                )
            )
    return found


def _approximations() -> list[Row]:
    """What the tolerance and thinned-out candidate times cost, in per cent of the optimum's regret."""
    found = []
    for execution in ("map", "belief"):
        on = mission(execution=execution)
        floor = optimum(on).feedback_regret
        exact = regret(on, Lookahead(tolerance=0.0, effort=1e30))
        for name, options in (
            ("exact", {"tolerance": 0.0}),
            ("tolerance 1e-5", {}),
            ("tolerance 1e-4", {"tolerance": 1e-4}),
            ("every 2nd time", {"effort": 4e7}),
            ("every 3rd time", {"effort": 1e7}),
        ):
            cost = 100 * (regret(on, Lookahead(**options)) - exact) / floor
            what = f"look-ahead decision, {execution}, {name}: regret {cost:+.1f} % of the optimum's"
            found.append(compare(what, first_decision(on, **options), repeat=2))
    return found
