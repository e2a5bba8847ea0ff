"""The paper's estimator on whole kernels: separation over pairs, increments, saving, and refusals."""

import json

import numpy as np
import pytest
from tests.learning import learning

from replan.errors import InputError
from replan.estimate.drift_bounded_mle import DriftBoundedMLE, estimate_file
from replan.estimate.estimator import Observation
from replan.estimate.observations import Transitions
from replan.model.general_kernel import GeneralKernel
from replan.model.slip import SlipKernel

KERNEL = SlipKernel((3, 4), 0.3)


def mission(seed, steps=40, kernel=KERNEL):
    rng = np.random.default_rng(seed)
    state, rows = 0, []
    for t in range(steps):
        action = int(rng.integers(kernel.actions))
        after = int(kernel.sample(np.array([state]), np.array([action]), rng.random(1))[0])
        rows.append((t, state, action, after))
        state = after
    return rows


def learned(rows, *, bounds: object = 0.02, **options):
    estimator = DriftBoundedMLE(KERNEL, bounds, **options)
    estimator.learn(Transitions.of_rows(rows))
    return estimator


def test_the_joint_problem_separates():
    import cvxpy

    rows = np.array(mission(0, steps=12))
    distinct = np.unique(rows[:, 0])
    total, constraints = 0, []
    # One program over the entire kernel at every time, as the paper writes it.
    for s in range(12):
        for a in range(5):
            p = cvxpy.Variable((len(distinct), 12), nonneg=True)
            own = np.setdiff1d(np.arange(12), KERNEL.general().successors[s])
            constraints += [cvxpy.sum(p, axis=1) == 1, p[:, own] == 0, cvxpy.abs(p[1:] - p[:-1]) <= 0.02]
            for t, _, _, after in rows[(rows[:, 1] == s) & (rows[:, 2] == a)]:
                total = total + cvxpy.log(p[t, after])
    problem = cvxpy.Problem(cvxpy.Maximize(total), constraints)
    problem.solve(solver="CLARABEL")
    estimator = learned(rows)
    assert estimator.log_likelihood == pytest.approx(problem.value, abs=1e-6)
    assert estimator.gap <= 1e-8


@pytest.mark.parametrize("filling", ["nominal", "maximum-entropy", "pooled"])
def test_one_by_one_equals_all_at_once(filling):
    rows = mission(1)
    step_by_step = learning(DriftBoundedMLE, KERNEL, 0.02, filling=filling)
    for t, s, a, after in rows:
        kernel = step_by_step.estimate(Observation(t + 1, after, s, a))
    at_once = learned(rows, filling=filling)
    solutions = {name: scores for name, scores in step_by_step.learned.items() if name.startswith("scores")}
    assert sum(scores[2] for scores in solutions.values()) == pytest.approx(at_once.log_likelihood, abs=1e-7)
    if filling != "pooled":  # pooling looks at everything seen when a pair was last solved
        assert kernel.probabilities == pytest.approx(at_once.kernel(rows[-1][0]).probabilities, abs=1e-4)


def test_a_new_observation_solves_only_its_own_pair():
    estimator = learned(mission(2))
    before = {(p.state, p.action): p.probabilities for p in estimator.pairs()}
    t, s, a, after = 40, 5, 1, 4
    estimator.learn(Transitions.of_rows([(t, s, a, after)]))
    for pair in estimator.pairs():
        if (pair.state, pair.action) != (s, a):
            assert pair.probabilities is before[pair.state, pair.action] or np.array_equal(
                pair.probabilities, before[pair.state, pair.action]
            )


@pytest.mark.parametrize("filling", ["nominal", "maximum-entropy", "pooled"])
def test_kernels_are_kernels(filling):
    kernel = learned(mission(3), filling=filling).kernel(60)
    assert kernel.probabilities.min() >= 0
    assert kernel.probabilities.sum(axis=2) == pytest.approx(np.ones((12, 5)))
    assert np.array_equal(kernel.successors, KERNEL.general().successors)


def test_pairs_never_seen_are_filled():
    rows = [(0, 0, 0, 1)]
    nominal = KERNEL.general()
    kernel = learned(rows).kernel(0)
    expected = nominal.probabilities.copy()
    expected[0, 0] = nominal.successors[0] == 1
    assert kernel.probabilities == pytest.approx(expected)
    even = learned(rows, filling="maximum-entropy").kernel(0)
    assert even.probabilities[5, 2] == pytest.approx(np.full(5, 0.2))


def test_pooled_filling_carries_a_displacement_to_other_states():
    rows = [(t, 5, 0, 1) for t in range(20)]  # pushed up when told to go right
    pooled = learned(rows, filling="pooled").kernel(19)
    above = pooled.successors[6] == 2
    assert pooled.probabilities[6, 0, above] > 0.9
    assert learned(rows).kernel(19).probabilities[6, 0, above] == pytest.approx(0.06)


def test_after_long_drift_a_pair_is_nominal_again():
    estimator = learned([(0, 5, 0, 1)])
    far = estimator.kernel(200)
    assert far.probabilities[5, 0] == pytest.approx(KERNEL.general().probabilities[5, 0], abs=1e-12)


def test_bounds_may_differ_by_pair():
    rows = [(0, 5, 0, 6), (1, 5, 0, 4), (2, 7, 1, 6), (3, 7, 1, 3)]
    bounds = np.zeros((5, 12, 5))
    bounds[:, 5, 0] = 1.0
    pairs = {(p.state, p.action): p for p in learned(rows, bounds=bounds).pairs()}
    assert pairs[5, 0].log_likelihood == pytest.approx(0, abs=1e-8)
    assert pairs[7, 1].log_likelihood == pytest.approx(2 * np.log(0.5))


def test_an_update_without_its_transition_teaches_nothing():
    kernel = learning(DriftBoundedMLE, KERNEL, 0.02).estimate(Observation(3, 7))
    assert kernel.entrywise_distance(KERNEL).max() == 0


@pytest.mark.parametrize(
    ("rows", "bounds", "message"),
    [
        ([(0, 0, 0, 1), (1, 0, 0, 11)], 0.1, "row 2: next=11 is not a successor of s=0"),
        ([(3, 0, 0, 1), (1, 0, 0, 1)], 0.1, "row 2: t=1 comes after t=3"),
        ([(0, 0, 7, 1)], 0.1, "row 1: a=7 is out of range"),
        ([(0, 40, 0, 1)], 0.1, "row 1: s=40 is out of range"),
        ([(0, 0, 0, np.nan)], 0.1, "row 1: next=nan is not a whole number"),
        ([(0, 0, 0, 1)], [0.1, -0.1], "drift bound 1 is negative"),
        ([(0, 0, 0, 1)], [0.1, np.nan], "drift bound 1 is negative or not a number"),
        ([(9, 0, 0, 1), (9, 0, 0, 0)], [0.1, 0.1], "t=9 lies beyond the drift bounds"),
        ([(0, 0, 0, 1)], np.zeros((2, 3)), "drift bounds are one number"),
    ],
)
def test_bad_input_is_named(rows, bounds, message):
    with pytest.raises(InputError, match=message):
        learned(rows, bounds=bounds).kernel(20)


def test_the_past_cannot_be_asked_for():
    with pytest.raises(InputError, match="before the last observation"):
        learned(mission(5)).kernel(3)


def test_padding_is_never_given_mass():
    # State 0 has one successor, state 1 two: the row of state 0 is padded.
    kernel = GeneralKernel([[0, 0], [0, 1]], [[[1.0, 0.0]], [[0.5, 0.5]]])
    estimator = DriftBoundedMLE(kernel, 0.5, filling="maximum-entropy")
    estimator.learn(Transitions.of_rows([(0, 0, 0, 0), (1, 1, 0, 1)]))
    assert estimator.kernel(5).probabilities[0, 0] == pytest.approx([1, 0])


def test_a_robot_that_was_carried_away_goes_on_learning(caplog):
    one, two = (learning(DriftBoundedMLE, KERNEL, 0.02) for _ in range(2))
    for t, s, a, after in mission(3, steps=6):
        if t == 3:
            two.estimate(Observation(4, 11, 0, 0, (0,)))  # no move leads from s=0 to s=11
            assert "s=11 is no successor of s=0" in caplog.text
            continue
        kernels = [each.estimate(Observation(t + 1, after, s, a)) for each in (one, two)]
        assert np.array_equal(kernels[0].general().probabilities, kernels[1].general().probabilities)


def write(folder, text):
    path = folder / "seen.csv"
    path.write_text("t,s,a,next\n" + text)
    return path


def test_estimates_of_a_small_file(tmp_path):
    path = write(tmp_path, "0,0,0,1\n1,0,0,2\n1,2,1,0\n")
    answer = estimate_file(path, states=3, actions=2, drift_bound=0.1)
    assert answer["log_likelihood"] == pytest.approx(2 * np.log(0.55), abs=1e-8)
    assert 0 <= answer["gap"] <= 1e-8
    assert [(entry["t"], entry["s"], entry["a"]) for entry in answer["kernels"]] == [
        (0, 0, 0),
        (1, 0, 0),
        (1, 2, 1),
    ]
    assert answer["kernels"][2]["next"] == [0]
    first = dict(zip(answer["kernels"][0]["next"], answer["kernels"][0]["probabilities"], strict=True))
    assert first[1] == pytest.approx(0.55, abs=1e-4)
    json.dumps(answer)


def test_a_known_kernel_limits_the_successors(tmp_path):
    path = write(tmp_path, "0,0,0,8\n")
    grid = SlipKernel((3, 3), 0.1)
    with pytest.raises(InputError, match=r"seen\.csv: row 1: next=8 is not a successor of s=0"):
        estimate_file(path, states=9, actions=5, drift_bound=0.1, nominal=grid)
    assert estimate_file(path, states=9, actions=5, drift_bound=0.1)["log_likelihood"] == 0


@pytest.mark.parametrize(
    ("text", "options", "message"),
    [
        ("", {}, "no observations"),
        ("0,0,0,5\n", {}, "row 1: next=5 is out of range"),
        ("4,0,0,1\n2,0,0,1\n", {}, "row 2: t=2 comes after t=4"),
        ("0,0,0,1\n", {"drift_bound": -1}, "drift bound 0 is negative"),
        ("0,0,0,1\n", {"drift_bound": float("nan")}, "drift bound 0 is negative or not a number"),
        ("0,0,0,1\n", {"states": 5000}, "give a nominal kernel"),
        ("0,0,0,1\n", {"actions": 0}, "at least one state and one action"),
    ],
)
def test_refusals_are_one_line(tmp_path, text, options, message):
    with pytest.raises(InputError, match=message) as refusal:
        estimate_file(write(tmp_path, text), **({"states": 3, "actions": 2, "drift_bound": 0.1} | options))
    assert "\n" not in str(refusal.value)
