"""Pooled slip: exact likelihoods, the profile by enumeration, intervals that hold their promise."""

from itertools import pairwise, product

import numpy as np
import pytest
from tests.learning import learning

from replan.errors import InputError
from replan.estimate.estimator import Observation
from replan.estimate.slip_evidence import CELLS, GRID, NO_EVIDENCE, Stretch, slip_evidence
from replan.estimate.slip_mle import PooledSlip
from replan.model.drift import piecewise
from replan.model.slip import SlipKernel

UNIFORM = np.full(5, 0.2)
GROUND = SlipKernel((12, 12), 0.05)
TWO_BURST = piecewise(50, slip=0.03, quiet=0.001, bursts=[(0.2, 0.34, 0.018), (0.62, 0.82, 0.018)])
UPDATES = (1, 13, 26, 38)


def fly(rng, slips, updates, kernel=GROUND):
    """What updates reveal on a random walk right and down, as observations."""
    destinations, states, actions, seen, last = kernel.destinations(), [0], [], [], 0
    for t, slip in enumerate(slips):
        actions.append(int(rng.choice([0, 2])))
        move = actions[-1] if rng.random() >= slip else int(rng.choice(5, p=kernel.law))
        states.append(int(destinations[states[-1], move]))
        if t + 1 in updates:
            seen.append(Observation(t + 1, states[-1], states[-2], actions[-1], tuple(actions[last:])))
            last = t + 1
    return seen


def intervals(slips, updates, missions, evidence, seed=0):
    """(missions, 3) low, slip and high after the last update, drift being exactly at its bound."""
    rng = np.random.default_rng(seed)
    bounds = 0.8 * np.abs(np.diff(slips))
    rows = []
    for _ in range(missions):
        estimator = learning(PooledSlip, GROUND, bounds, evidence=evidence)
        for observation in fly(rng, slips, updates):
            estimator.estimate(observation)
        rows.append([estimator.slips()[0].low, estimator.slips()[0].value, estimator.slips()[0].high])
    return np.array(rows)


@pytest.mark.parametrize("slip", [0.05, 0.4, 0.9])
def test_interval_likelihood_is_what_the_kernel_says(slip):
    kernel = SlipKernel((4, 5), slip, law=[0.4, 0.1, 0.2, 0.2, 0.1])
    actions, start = (0, 2, 2, 4, 0, 1), 7
    belief = np.zeros((1, 20))
    belief[0, start] = 1
    for action in actions:
        belief = kernel.push(belief, np.array([action]))
    for end in np.flatnonzero(belief[0]):
        evidence = slip_evidence(kernel.destinations(), kernel.law, Stretch(0, start, actions, int(end)))
        assert evidence.log_likelihood(np.array([slip])) == pytest.approx(np.log(belief[0, end]))


def test_a_stretch_that_no_slip_explains_says_nothing():
    grid = SlipKernel((4, 5), 0.1)
    impossible = slip_evidence(grid.destinations(), UNIFORM, Stretch(3, 0, (0, 0), 19))
    assert impossible.is_contradiction and np.ptp(impossible.profile) == 0
    against_all_commands = slip_evidence(GROUND.destinations(), UNIFORM, Stretch(0, 11, (0,) * 11, 0))
    assert against_all_commands.log_likelihood(GRID).max() < np.log(1e-4)
    assert against_all_commands.is_contradiction


def test_profile_is_the_best_path():
    # Three single transitions; every path on a coarse grid, by enumeration.
    destinations = GROUND.destinations()
    drift = np.array([0.0, 0.1, 0.15])
    pieces = [(13, 0, 14), (14, 0, 2), (2, 2, 14)]
    evidence = [
        slip_evidence(destinations, UNIFORM, Stretch(t, s, (a,), end)) for t, (s, a, end) in enumerate(pieces)
    ]
    profile = NO_EVIDENCE
    for piece in evidence:
        profile = profile.add(piece, drift)
    coarse = np.arange(0, CELLS, 10)
    terms = [piece.log_likelihood(GRID[coarse]) for piece in evidence]
    for last in range(0, len(coarse), 7):
        best = max(
            terms[0][i] + terms[1][j] + terms[2][last]
            for i, j in product(range(len(coarse)), repeat=2)
            if abs(GRID[coarse[i]] - GRID[coarse[j]]) <= 0.1 + 1e-9
            and abs(GRID[coarse[j]] - GRID[coarse[last]]) <= 0.05 + 1e-9
        )
        assert profile.values[coarse[last]] == pytest.approx(best)


def test_without_drift_the_estimate_is_the_frequency():
    estimator = learning(PooledSlip, GROUND, 0.0)
    slipped = {3, 8}
    for t in range(10):  # from cell 13, right: 14 unless it slips, here up to cell 1
        estimator.estimate(Observation(t + 1, 1 if t in slipped else 14, 13, 0, (0,)))
    # A slip is seen with probability 0.8 rho, so rho = 0.2 / 0.8.
    assert estimator.slips()[0].value == pytest.approx(0.25, abs=1 / CELLS)


def test_the_kernel_is_the_grid_with_the_estimated_slip():
    estimator = learning(PooledSlip, GROUND, 0.0, evidence="intervals")
    for observation in fly(np.random.default_rng(3), np.full(40, 0.3), UPDATES):
        kernel = estimator.estimate(observation)
    assert isinstance(kernel, SlipKernel)
    assert kernel.slip == pytest.approx([estimator.slips()[0].value])
    assert kernel.shape == GROUND.shape


def test_before_any_evidence_the_nominal_slip_holds():
    estimator = learning(PooledSlip, GROUND, 0.01)
    assert estimator.estimate(Observation(1, 3)).slip == pytest.approx([0.05])
    assert (estimator.slips()[0].low, estimator.slips()[0].high) == (0, 1)


def test_each_class_of_terrain_learns_from_its_own_cells():
    terrain = (np.arange(144) % 12 >= 6).astype(int)
    estimator = learning(PooledSlip, GROUND, 0.0, terrain=terrain)
    for t in range(30):
        estimator.estimate(Observation(2 * t + 1, 14, 13, 0, (0,)))  # class 0 holds its ground
        estimator.estimate(
            Observation(2 * t + 2, 20 if t % 2 else 8, 20, 2, (2,))
        )  # class 1 slips all the time
    assert estimator.slips()[0].high < 0.3 < estimator.slips()[1].low
    assert estimator.estimate(Observation(70, 5)).slip[[13, 20]] == pytest.approx(
        [s.value for s in estimator.slips()]
    )


def test_an_interval_that_may_cross_classes_counts_only_its_last_transition():
    terrain = (np.arange(144) % 12 >= 6).astype(int)
    seen = fly(np.random.default_rng(0), np.full(20, 0.1), (1, 18))
    whole, last = (
        learning(PooledSlip, GROUND, 0.0, evidence=kind, terrain=terrain)
        for kind in ("intervals", "transitions")
    )
    for observation in seen:
        whole.estimate(observation)
        last.estimate(observation)
    assert whole.slips() == last.slips()


@pytest.mark.parametrize("evidence", ["transitions", "intervals"])
def test_interval_covers_in_a_few_missions(evidence):
    rows = intervals(TWO_BURST, UPDATES, 150, evidence)
    truth = TWO_BURST[UPDATES[-1] - 1]
    # 150 draws at 95 % fall below 0.90 with probability 0.004.
    assert ((rows[:, 0] <= truth) & (truth <= rows[:, 2])).mean() >= 0.90


@pytest.mark.slow
@pytest.mark.parametrize("evidence", ["transitions", "intervals"])
@pytest.mark.parametrize(
    "slips",
    [TWO_BURST, np.full(50, 0.1), np.full(50, 0.5), np.linspace(0.3, 0.6, 50), np.linspace(0.4, 0.05, 50)],
    ids=["two-burst", "still-0.1", "still-0.5", "rising", "falling"],
)
def test_interval_covers_in_two_thousand_missions(slips, evidence):
    rows = intervals(slips, UPDATES, 2000, evidence)
    truth = slips[UPDATES[-1] - 1]
    covered = ((rows[:, 0] <= truth) & (truth <= rows[:, 2])).mean()
    assert covered >= 0.95 - 2 * np.sqrt(0.95 * 0.05 / 2000)


def test_whole_intervals_say_more_than_single_transitions():
    single, whole = (intervals(TWO_BURST, UPDATES, 60, kind) for kind in ("transitions", "intervals"))
    assert (whole[:, 2] - whole[:, 0]).mean() < 0.75 * (single[:, 2] - single[:, 0]).mean()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"evidence": "guesses"}, "evidence must be"),
        ({"confidence": 1.0}, "confidence must lie"),
        ({"terrain": [0, 1]}, "terrain takes a class"),
    ],
)
def test_bad_options_are_refused(options, message):
    with pytest.raises(InputError, match=message):
        learning(PooledSlip, GROUND, 0.1, **options)


def test_a_state_off_the_grid_is_refused():
    with pytest.raises(InputError, match="t=0: next=999 is not a state"):
        learning(PooledSlip, GROUND, 0.1).estimate(Observation(1, 999, 0, 0, (0,)))


def test_the_slip_may_drift_as_far_as_merged_entries_allow():
    """In a corridor up, down and stay are one cell, and no entry changes by more than 2/3 of the slip."""
    corridor = SlipKernel((1, 40), 0.1, law=[1 / 3, 1 / 3, 1 / 3, 0, 0])
    slips = np.linspace(0.05, 0.95, 60)
    bounds = [
        SlipKernel((1, 40), low, law=corridor.law)
        .entrywise_distance(SlipKernel((1, 40), high, law=corridor.law))
        .max()
        for low, high in pairwise(slips)
    ]
    rng, covered = np.random.default_rng(0), 0
    for _ in range(60):
        estimator = learning(PooledSlip, corridor, bounds)
        for t, slip in enumerate(slips):  # the middle of the corridor, again and again
            move = 0 if rng.random() >= slip else int(rng.choice(5, p=corridor.law))
            end = int(corridor.destinations()[20, move])
            for _ in range(20 if t == 0 else 1):  # the first slip is known well
                estimator.estimate(Observation(t + 1, 21 if t == 0 else end, 20, 0, (0,)))
        covered += estimator.slips()[0].low <= slips[-1] <= estimator.slips()[0].high
    assert covered >= 0.9 * 60


def kidnapped(rng, slips, updates, jump_at, *, land):
    """As `fly`, but the robot is put down at `land` before step `jump_at`."""
    destinations, states, actions, seen, last = GROUND.destinations(), [0], [], [], 0
    for t, slip in enumerate(slips):
        if t == jump_at:
            states[-1] = land
        actions.append(int(rng.choice([0, 2])))
        move = actions[-1] if rng.random() >= slip else int(rng.integers(5))
        states.append(int(destinations[states[-1], move]))
        if t + 1 in updates:
            seen.append(Observation(t + 1, states[-1], states[-2], actions[-1], tuple(actions[last:])))
            last = t + 1
    return seen


def test_a_robot_that_was_carried_away_goes_on_learning(caplog):
    estimator = learning(PooledSlip, GROUND, 0.0, evidence="intervals")
    for observation in kidnapped(np.random.default_rng(0), np.full(60, 0.1), range(5, 60, 5), 24, land=0):
        before = estimator.slips()[0]
        estimator.estimate(observation)
        assert len(caplog.records) == (observation.time >= 25)
        if observation.time > 25:
            assert estimator.slips()[0].width < before.width
    assert "t=20: no slip leads" in caplog.text
    assert estimator.slips()[0].low <= 0.1 <= estimator.slips()[0].high < 0.4


@pytest.mark.parametrize("evidence", ["transitions", "intervals"])
def test_an_impossible_transition_says_nothing(evidence):
    estimator = learning(PooledSlip, GROUND, 0.0, evidence=evidence)
    for t in range(20):
        estimator.estimate(Observation(t + 1, 14, 13, 0, (0,)))
    before = estimator.slips()[0]
    estimator.estimate(Observation(21, 143, 13, 0, (0,)))
    assert (estimator.slips()[0].low, estimator.slips()[0].high) == (before.low, before.high)


def coverage_after_a_jump(missions, slips, evidence, seed=0):
    """(missions, 2) how likely a jump to any cell made the next look, and whether the interval then holds the
    slip at both of the two updates after it.
    """
    rng, rows = np.random.default_rng(seed), []
    for _ in range(missions):
        estimator, inside = learning(PooledSlip, GROUND, 0.8 * np.abs(np.diff(slips)), evidence=evidence), []
        seen = kidnapped(rng, slips, (1, 10, 19, 28, 37), 14, land=int(rng.integers(144)))
        for observation in seen:
            estimator.estimate(observation)
            true = slips[observation.time - 1]
            inside.append(estimator.slips()[0].low <= true <= estimator.slips()[0].high)
        way = Stretch(10, seen[1].state, seen[2].commanded[:-1], seen[2].previous_state)
        found = slip_evidence(GROUND.destinations(), UNIFORM, way)
        rows.append((np.exp(found.log_likelihood(slips[10:18].mean(keepdims=True))[0]), all(inside[3:])))
    return np.array(rows)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("slips", "evidence"),
    [(np.full(50, 0.05), "intervals"), (np.full(50, 0.2), "intervals"), (TWO_BURST, "transitions")],
    ids=["0.05", "0.2", "two-burst, transitions"],
)
def test_a_kidnapped_robot_learns_again(slips, evidence):
    """Jumps after which the look is less likely than 1e-6; of jumps that remain possible it is printed."""
    likelihood, covered = coverage_after_a_jump(2500, slips, evidence).T
    unlikely = likelihood < 1e-6
    assert unlikely.sum() >= 1000
    print(f"coverage {covered[unlikely][:1000].mean():.3f}, possible jumps {covered[~unlikely].mean():.3f}")
    assert covered[unlikely][:1000].mean() >= 0.95 - 2 * np.sqrt(0.95 * 0.05 / 1000)
