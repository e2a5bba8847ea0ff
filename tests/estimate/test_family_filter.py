"""The filter over a model family is Bayes' rule over parameters, paces and ways; its intervals hold."""

from dataclasses import replace
from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.learning import learning

from replan.errors import InputError
from replan.estimate.estimator import Observation
from replan.estimate.family_filter import FamilyFilter
from replan.estimate.movement import PACES as BY_NUMBER
from replan.estimate.movement import RENEWAL, Movement
from replan.estimate.slip_evidence import UNLIKELY
from replan.evaluation.exact import evaluate
from replan.model.family import Family
from replan.model.general_kernel import GeneralKernel
from replan.model.slip import SlipKernel
from replan.planning.backward_induction import plan
from replan.schedule.periodic import Periodic, periodic_times
from replan.worlds.crosswind import Crosswind
from replan.worlds.settings import load_setting, make_mission, parse_setting
from replan.worlds.thin_ice import failure_rates

PACES, PRIOR = BY_NUMBER[1]
SLIP = Family("slip", {"slip": np.linspace(0, 1, 41)}, lambda slip: SlipKernel((6, 6), slip), linear=True)


def small_family(seed=0, values=4):
    """Three states, two actions, kernels on a line."""
    ends = np.random.default_rng(seed).dirichlet(np.ones(3), size=(2, 3, 2))

    def member(share):
        return GeneralKernel.from_dense((1 - share) * ends[0] + share * ends[1])

    return Family("a line", {"share": np.linspace(0, 1, values)}, member, linear=True)


def transitions_between_hypotheses(family, bound):
    """(H, H) by the words of the module, for one parameter."""
    (along,), n, g = family.positions, len(PACES), len(family.points)
    matrix = np.zeros((n * g, n * g))
    for p, i in product(range(n), range(g)):
        to, pace = along[i] + PACES[p] * bound, p
        if to < 0 or to > along[-1]:
            to, pace = -to if to < 0 else 2 * along[-1] - to, n - 1 - p
        weights = np.array([np.interp(to, along, row) for row in np.eye(g)])
        matrix[p * g + i, pace * g : (pace + 1) * g] += (1 - RENEWAL) * weights
        for q in range(n):
            matrix[p * g + i, q * g : (q + 1) * g] += RENEWAL * PRIOR[q] * weights
    return matrix


def enumerated(family, bounds, updates):
    """(G,) posterior of the member at the last step, over all hypotheses and all states in between."""
    g, members = len(family.points), [family.member(*point).general().dense() for point in family.points]
    belief, time = np.multiply.outer(PRIOR, np.full(g, 1 / g)).reshape(-1), 0
    for start, actions, end, begin in updates:
        for t in range(time, begin):
            belief = belief @ transitions_between_hypotheses(family, bounds[t])
        total, free = np.zeros_like(belief), belief
        for way in product(range(3), repeat=len(actions) - 1):
            states, weights = (start, *way, end), belief
            for k, action in enumerate(actions):
                if k:
                    weights = weights @ transitions_between_hypotheses(family, bounds[begin + k - 1])
                step = np.array([member[states[k], action, states[k + 1]] for member in members])
                weights = weights * np.tile(step, len(PACES))
            total += weights
        for k in range(len(actions) - 1):
            free = free @ transitions_between_hypotheses(family, bounds[begin + k])
        belief = (1 - UNLIKELY) * total + UNLIKELY * free
        belief, time = belief / belief.sum(), begin + len(actions) - 1
    return belief.reshape(len(PACES), g).sum(axis=0)


@given(st.integers(0, 2**32 - 1), st.booleans())
def test_the_filter_is_bayes_rule_over_all_hypotheses_and_ways(seed, sees_the_last_step):
    rng, family = np.random.default_rng(seed), small_family(seed)
    bounds = rng.uniform(1.0, 1.5, 9) * np.diff(family.positions[0]).max()
    filter_, stretches = learning(FamilyFilter, family, bounds), []
    last = (1, int(rng.integers(3)))
    filter_.estimate(Observation(*last))
    for length in (3, 4):
        actions = tuple(int(a) for a in rng.integers(2, size=length))
        before, state = (int(s) for s in rng.integers(3, size=2))
        time = last[0] + length
        if sees_the_last_step:
            stretches += [(last[1], actions[:-1], before, last[0]), (before, actions[-1:], state, time - 1)]
            kernel = filter_.estimate(Observation(time, state, before, actions[-1], actions))
        else:
            stretches.append((last[1], actions, state, last[0]))
            kernel = filter_.estimate(Observation(time, state, commanded=actions))
        last = (time, state)
    expected = enumerated(family, bounds, stretches)
    assert filter_.weights() == pytest.approx(expected, abs=1e-10)
    mean = sum(w * family.member(*p).general().dense() for w, p in zip(expected, family.points, strict=True))
    assert kernel.general().dense() == pytest.approx(mean, abs=1e-9)


@given(st.lists(st.booleans(), min_size=1, max_size=12))
def test_without_drift_transitions_are_counted(slips):
    """From the middle of a grid, right: a slip up has probability slip / 5, the move itself 1 - 0.8 slip."""
    filter_ = learning(FamilyFilter, SLIP, 0.0, evidence="transitions")
    for t, slipped in enumerate(slips):
        filter_.estimate(Observation(t + 1, 8 if slipped else 15, 14, 0, (0,)))
    slip = SLIP.points[:, 0]
    likelihood = (slip / 5) ** sum(slips) * (1 - 0.8 * slip) ** (len(slips) - sum(slips))
    assert filter_.weights() == pytest.approx(likelihood / likelihood.sum(), abs=2e-2)
    assert filter_.parameters()[0].value == pytest.approx(filter_.weights() @ slip)


@given(st.integers(0, 60), st.floats(0, 0.3))
def test_no_kernel_moves_farther_than_its_bound(member, bound):
    family = make_mission(load_setting("crosswind-hard")).world.family
    movement = Movement(family)
    belief = movement.spread(np.eye(len(family.points))[member])
    moved = movement.move(belief[:, None], np.array([bound]), 1)[:, 0]
    along = family.positions[0]
    reached = np.flatnonzero(movement.of_members(moved) > 0)
    cell, apart = np.diff(along).max(), np.abs(along[reached] - along[member])
    assert moved.sum() == pytest.approx(1)
    assert np.minimum(apart, along[-1] - apart).max() <= bound + cell + 1e-12  # the wind is a circle


@pytest.mark.parametrize("turn", [300, -300])
def test_a_wind_is_followed_past_the_end_of_its_range(turn):
    """Where the range of an angle begins makes no difference, and the filter stays near the wind."""
    gusts = {"turn": turn, "turn_begin": 2, "turn_steps": 30, "gusts": 0.9, "lean": 0.95}
    world = Crosswind(horizon=33, wind=gusts).build()
    truth = 90 - turn * np.clip((np.arange(world.horizon) - 2) / 30, 0, 1)
    rng = np.random.default_rng(0)
    parameters = {"angle": world.family.grids[0] + 180.0}
    families = [world.family, replace(world.family, values=parameters)]
    missed = np.zeros((len(families), 5, world.horizon - 1))
    for seed in range(5):
        bounds, start = world.local_drift_bounds, world.kernel(0)
        filters = [learning(FamilyFilter, family, bounds, start=start) for family in families]
        state = world.start
        for t in range(1, world.horizon):
            before, action = state, int(rng.integers(5))
            state = int(world.kernel(t - 1).sample(np.array([before]), np.array([action]), rng.random(1))[0])
            for which, filter_ in enumerate(filters):
                filter_.estimate(Observation(t, state, before, action, (action,)))
                off = filter_.parameters()[0].value - truth[t - 1]
                missed[which, seed, t - 1] = abs((off + 180) % 360 - 180)
    assert missed[0] == pytest.approx(missed[1], abs=1e-6)
    assert missed[0].mean() < 20


def test_a_lasting_pace_is_learned_and_foretold():
    """A slip that grows by its bound is expected to go on growing by it."""
    slips = np.linspace(0.02, 0.9, 60)
    now, later = [], []
    for seed in range(8):
        filter_ = learning(FamilyFilter, SLIP, 0.8 * np.diff(slips), start=SLIP.member(0.02))
        for observation in fly(np.random.default_rng(seed), SLIP.member, slips, range(1, 40)):
            filter_.estimate(observation)
        ahead = filter_.predicted(15) @ SLIP.points[:, 0]
        now.append(ahead[0])
        later.append(ahead[15])
    assert np.mean(now) == pytest.approx(slips[38], abs=0.06)
    assert np.mean(later) - np.mean(now) > (slips[53] - slips[38]) / 2


def test_bounds_elsewhere_do_not_move_a_parameter():
    cells = np.arange(36)
    family = Family(
        "half", {"slip": SLIP.points[:, 0]}, lambda slip: SlipKernel((6, 6), np.where(cells < 18, slip, 0.1))
    )
    bounds = np.zeros((9, 36, 5))
    bounds[:, 18:] = 0.2
    filter_ = learning(FamilyFilter, family, bounds, start=family.member(0.1))
    filter_.estimate(Observation(9, 0))
    assert filter_.weights() == pytest.approx(family.locate(family.member(0.1)))
    bounds[4, 3, 2] = 0.2
    moving = learning(FamilyFilter, family, bounds, start=family.member(0.1))
    moving.estimate(Observation(9, 0))
    assert moving.parameters()[0].high > filter_.parameters()[0].high + 0.1


def test_a_robot_that_was_carried_away_teaches_nothing(caplog):
    filter_ = learning(FamilyFilter, SLIP, 0.0)
    for t in range(10):
        filter_.estimate(Observation(t + 1, 15, 14, 0, (0,)))
    before = filter_.weights()
    assert not caplog.records
    filter_.estimate(Observation(11, 35, 0, 0, (0,)))
    assert filter_.weights() == pytest.approx(before)
    assert "no parameters lead" in caplog.text


@pytest.mark.parametrize(
    ("options", "message"),
    [({"evidence": "guesses"}, "evidence must be"), ({"confidence": 1.0}, "confidence must lie")],
)
def test_bad_options_are_refused(options, message):
    with pytest.raises(InputError, match=message):
        learning(FamilyFilter, SLIP, 0.1, **options)


def test_bad_observations_and_bounds_are_refused():
    with pytest.raises(InputError, match="next=99 is not a state"):
        learning(FamilyFilter, SLIP, 0.1).estimate(Observation(1, 99, 0, 0, (0,)))
    with pytest.raises(InputError, match="beyond the drift bounds"):
        learning(FamilyFilter, SLIP, np.zeros(3)).estimate(Observation(9, 0))
    with pytest.raises(InputError, match="negative"):
        learning(FamilyFilter, SLIP, [-0.1])


def fly(rng, member, parameters, updates):
    """The updates of a robot that wanders right and down, and slips."""
    state, before, commanded = 0, None, []
    for t, parameter in enumerate(parameters):
        if t in updates:
            yield Observation(t, state, before, commanded[-1], tuple(commanded))
            commanded = []
        before = state
        commanded.append(int(rng.choice([0, 2] if t % 9 else [1, 3])))
        state = int(member(parameter).sample(np.array([state]), np.array(commanded[-1:]), rng.random(1))[0])


def missions(name, count, *, knows_start=True, seed=0):
    """At each update, the share of missions whose interval holds the parameter, and the intervals' widths.

    The robot acts on the plan of t = 0; widths are (missions, updates).
    """
    setting = load_setting(name)
    mission = make_mission(setting)
    world = mission.world
    times = periodic_times(mission.horizon, mission.spending.limit)
    policy = plan(world.kernel(0), world.reward, time=0, horizon=30).policy
    kernels = [world.kernel(t) for t in range(world.horizon)]
    truth = true_parameters(setting, world)
    filter_ = learning(
        FamilyFilter, world.family, world.local_drift_bounds, start=world.kernel(0) if knows_start else None
    )
    blank, rng = filter_.learned, np.random.default_rng(seed)
    held, widths = np.zeros(len(times)), np.zeros((count, len(times)))
    for mission_number in range(count):
        filter_.learned = blank
        state, before, commanded = world.start, None, []
        for t, kernel in enumerate(kernels):
            if t in times:
                filter_.estimate(Observation(t, state, before, commanded[-1], tuple(commanded)))
                commanded, found = [], filter_.parameters()[0]
                held[times.index(t)] += found.low <= truth[t - 1] <= found.high
                widths[mission_number, times.index(t)] = found.high - found.low
            before = state
            commanded.append(int(policy[state]) if rng.random() < 0.8 else int(rng.integers(5)))
            state = int(kernel.sample(np.array([state]), np.array(commanded[-1:]), rng.random(1))[0])
    return held / count, widths


def true_parameters(setting, world):
    times = np.arange(world.horizon)
    if setting.world == "rover":
        return setting.drift.profile(world.horizon)
    if setting.world == "thin-ice":
        return failure_rates(setting.ice, world.horizon)
    if setting.world == "crosswind":
        wind = setting.wind
        return 90 - wind.turn * np.clip((times - wind.turn_begin) / wind.turn_steps, 0, 1)
    return np.array([setting.terrain.patches[0].slip_at(t) for t in times])


@pytest.mark.parametrize("name", ["two-burst", "thin-ice-medium"])
def test_intervals_hold_the_parameter_in_a_few_missions(name):
    # 60 draws at 95 % fall below 0.87 with probability 0.003.
    held, _ = missions(name, 60)
    assert (held >= 0.87).all()


def test_the_interval_of_the_wind_is_all_angles_from_the_second_update_on():
    _, widths = missions("crosswind-medium", 20)
    assert (widths[:, 0] == 5).all() and (widths[:, 1:] == 360).all()


@pytest.mark.slow
@pytest.mark.parametrize("knows_start", [True, False])
@pytest.mark.parametrize(
    "name", ["two-burst", "sinusoidal-medium", "thin-ice-hard", "crosswind-medium", "terrain-hard"]
)
def test_intervals_hold_the_parameter_in_two_thousand_missions(name, knows_start):
    held, widths = missions(name, 2000, knows_start=knows_start)
    print(name, "start known" if knows_start else "start unknown", held, widths.mean(axis=0))
    assert (held >= 0.95 - 2 * np.sqrt(0.95 * 0.05 / 2000)).all()


@pytest.mark.parametrize("forecast", ["family", "family-ahead"])
def test_a_parameter_that_changes_nothing_is_one_line(forecast):
    calm = {"world": "crosswind", "horizon": 7, "planning_horizon": 5, "budget": 3, "wind": {"lean": 0.0}}
    mission = make_mission(parse_setting({**calm, "forecast": forecast}))
    line = "two neighbouring values of angle give the same kernel"
    with pytest.raises(InputError, match=line):
        evaluate(mission, Periodic())
    world = mission.world
    with pytest.raises(InputError, match=line):
        learning(FamilyFilter, world.family, world.local_drift_bounds)
