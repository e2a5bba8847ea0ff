"""An archive applies the changes of the past to the estimate, and sees nothing after the present."""

from dataclasses import dataclass, replace
from functools import partial

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from replan import InputError, Lookahead, Robot, Spending, evaluate, load_setting, make_mission
from replan.execute.mission import Mission
from replan.forecast.archive import Archive
from replan.forecast.base import Evidence, Forecast, Future
from replan.forecast.given import Given
from replan.model.past import RecordedKernels
from replan.planning.backward_induction import plan
from replan.skip.acting import make_propagation
from replan.worlds.wind import MeasuredWind
from tiny_worlds import random_kernel, random_world, steps_of, tiny_missions

START, HORIZON = 60, 6
IMPOSSIBLE = -1e9


def write_wind(path, winds):
    """Hourly rows from 2020-05-01 on, speed and direction."""
    rows = [f"2020-05-{1 + hour // 24:02}T{hour % 24:02}:00,{s},{d}" for hour, (s, d) in enumerate(winds)]
    path.write_text("\n".join(["time,speed,direction", *rows]) + "\n")
    return path


def wind_world(path):
    return MeasuredWind(
        file=str(path), start_time=f"2020-05-{1 + START // 24:02}T{START % 24:02}:00", rows=5, columns=5,
        goal=(4, 4), horizon=HORIZON,
    ).build()  # fmt: skip


def winds(seed, hours):
    rng = np.random.default_rng(seed)
    return np.round(np.column_stack([rng.uniform(0, 10, hours), rng.uniform(0, 360, hours)]), 2)


def evidence_at(world, time):
    bounds = world.drift_bounds[:time]
    return Evidence(time, world.horizon, world.kernel(max(time - 1, 0)), world.kernel(0), bounds)


@given(st.integers(0, 2**32 - 1), st.integers(0, 2))
def test_a_future_is_the_estimate_plus_a_change_of_the_past_or_stays(seed, time):
    rng = np.random.default_rng(seed)
    world, kernels = random_world(rng), [random_kernel(rng, 3, 2, sparse=False) for _ in range(9)]
    world = replace(world, past=RecordedKernels(kernels))
    futures = Archive(3).informed_by(world.knowledge, None).futures(evidence_at(world, time))
    assert [future.weight for future in futures] == pytest.approx([1 / 4] * 4)
    estimate, since = world.kernel(max(time - 1, 0)), max(time - 1, 0)
    assert all(futures[-1].kernel(t).entrywise_distance(estimate).max() == 0 for t in range(world.horizon))
    for future in futures[:-1]:
        start = 9 - int(future.name.split()[1])
        for t in range(since, world.horizon):
            moved = kernels[start + t - since].dense() - kernels[start].dense()
            expected = np.maximum(estimate.dense() + moved, 0)
            expected /= expected.sum(axis=2, keepdims=True)
            np.testing.assert_allclose(future.kernel(t).general().dense(), expected, atol=1e-12)


def test_the_nearest_records_of_the_same_phase_are_chosen():
    rng = np.random.default_rng(1)
    world, kernels = random_world(rng), [random_kernel(rng, 3, 2) for _ in range(12)]
    kernels[3] = kernels[6] = world.kernel(0)
    world = replace(world, past=RecordedKernels(kernels, period=3))
    future, _ = Archive(1).informed_by(world.knowledge, None).futures(evidence_at(world, 1))
    assert future.name == "as 9 steps before"
    shifted = replace(world, past=RecordedKernels(kernels[:-1], period=3))
    future, _ = Archive(1).informed_by(shifted.knowledge, None).futures(evidence_at(world, 1))
    assert future.name not in ("as 8 steps before", "as 5 steps before"), "their phase is another one"


@pytest.mark.parametrize("seed", range(3))
def test_nothing_after_the_present_is_seen(tmp_path, seed):
    """Rows after the start differ between two tables, and so do the futures, but by the estimate only."""
    one = winds(seed, 80)
    other = np.concatenate([one[: START + 1], winds(seed + 100, 80 - START - 1)])
    worlds = [wind_world(write_wind(tmp_path / f"{i}.csv", each)) for i, each in enumerate((one, other))]
    np.testing.assert_array_equal(*(world.past.parameters for world in worlds))
    evidence = evidence_at(worlds[0], 1)
    for first, second in zip(
        *(Archive().informed_by(w.knowledge, None).futures(evidence) for w in worlds), strict=True
    ):
        assert first.name == second.name
        for t in range(1, HORIZON):
            assert first.kernel(t).entrywise_distance(second.kernel(t)).max() == 0


def test_the_past_of_wind_is_the_table_before_the_start(tmp_path):
    world = wind_world(write_wind(tmp_path / "wind.csv", winds(0, 80)))
    past = world.past
    assert (past.length, past.period) == (START, 24)
    before = replace(world, past=None).kernel(0)
    np.testing.assert_allclose(past.parameters_of(before), past.parameters_of(past.changed(before, 3, 0)))
    moved = past.parameters_of(past.changed(before, 3, 5)) - past.parameters_of(before)
    np.testing.assert_allclose(moved, past.parameters[8] - past.parameters[3], atol=1e-9)


def test_without_a_past_or_with_a_short_one_it_is_refused():
    world = random_world(np.random.default_rng(0))
    with pytest.raises(InputError, match="archive needs a world with a past"):
        Mission(world, Robot(planning_horizon=2, forecast=Archive()), Spending.exactly(2)).update(1)
    short = replace(world, past=RecordedKernels([world.kernel(0)] * world.horizon))
    with pytest.raises(InputError, match="more than 4 steps before the mission, not 4"):
        Mission(short, Robot(planning_horizon=2, forecast=Archive()), Spending.exactly(2)).update(1)
    with pytest.raises(InputError, match="needs a world with a past"):
        make_mission(load_setting("two-burst"), forecast="archive")


def test_look_ahead_on_an_archive_spends_its_budget(tmp_path):
    world = wind_world(write_wind(tmp_path / "wind.csv", winds(4, 80)))
    for execution in ("map", "belief"):
        mission = Mission(
            world, Robot(planning_horizon=4, execution=execution, forecast=Archive(2)), Spending.exactly(3)
        )
        assert evaluate(mission, Lookahead()).expected_updates == pytest.approx(3)


@dataclass(frozen=True, eq=False)
class Either(Forecast):
    """The kernels of one or of the other come true; no update tells which."""

    share: float
    kernels: tuple
    reveals = False

    def futures(self, evidence):
        weights = self.share, 1 - self.share
        return tuple(Future(str(w), w, kernel) for w, kernel in zip(weights, self.kernels, strict=True))


def best_on_average(mission, weights, kernels, first, left):
    """The same programme with dense distributions, after an update at 1 that `first` acts on: (S,)."""
    robot, reward, horizon = mission.robot, mission.world.reward, mission.horizon
    states = np.arange(mission.world.states)
    values = np.full((horizon + 1, left + 1, len(states)), IMPOSSIBLE)

    def acting(kernel, begin):
        seen, steps = kernel(begin - 1), min(robot.planning_horizon, horizon - begin)
        made = plan(seen, reward, time=begin, horizon=steps, ties=robot.ties)
        return make_propagation(robot.execution, made, seen)

    for u in range(horizon - 1, 0, -1):
        worth, going_on = np.zeros((horizon + 1, left, len(states))), np.zeros(len(states))
        for weight, kernel in zip(weights, kernels, strict=True):
            world, gained = replace(mission.world, kernel=kernel), np.zeros(len(states))
            how = first if u == 1 else acting(kernel, u)
            for v, (_, gain, places) in enumerate(steps_of(world, how, states, u, horizon), u + 1):
                gained = gained + gain
                worth[v] += weight * (gained + values[v, :left] @ places.T)
            going_on += weight * gained
        values[u, 0] = going_on
        values[u, 1:] = worth[u + 1 : horizon].max(axis=0, initial=IMPOSSIBLE)
    return values[1, left]


@given(tiny_missions(min_horizon=4), st.floats(0.1, 0.9))
def test_times_are_the_best_on_average_at_every_update(mission, share):
    kernels = mission.world.kernel, lambda t: mission.world.kernel(mission.horizon - 1 - t)
    rule, left = Lookahead(tolerance=0.0), min(2, mission.limit - 1)
    if left < 1 or mission.horizon < left + 2:
        return
    mission = replace(mission, robot=replace(mission.robot, forecast=Either(share, kernels)))
    progress = mission.progress(1, left)
    expected = best_on_average(mission, (share, 1 - share), kernels, progress.update.propagation, left)
    for state in range(mission.world.states):
        decision = rule.decide(mission.context(rule, progress, state))
        assert decision.score == pytest.approx(expected[state], abs=1e-9)


class Anew(Given):
    """The same futures as other functions at every update."""

    def futures(self, evidence):
        return tuple(replace(each, kernel=partial(each.kernel)) for each in super().futures(evidence))


@pytest.mark.parametrize("execution", ["map", "belief"])
def test_an_ensemble_that_stays_the_same_is_weighed_as_one_that_is_given_anew(execution):
    rng = np.random.default_rng(5)
    world = random_world(rng, horizon=7)
    courses = [[random_kernel(rng, world.states, world.actions) for _ in range(7)] for _ in range(3)]
    found = []
    for kind in (Given, Anew):
        robot = Robot(
            planning_horizon=3, execution=execution, forecast=kind(courses[0], members=tuple(courses[1:]))
        )
        mission = Mission(world, robot, Spending.exactly(3))
        found.append(evaluate(mission, Lookahead(tolerance=0.0)))
    assert found[0].regret == pytest.approx(found[1].regret, abs=1e-12)
    np.testing.assert_array_equal(found[0].steps.update_probability, found[1].steps.update_probability)
