"""Worlds from plain arrays, drift profiles by hand, and the checker."""

import re
from dataclasses import replace

import numpy as np
import pytest
from scipy.sparse import csr_array

from replan import (
    GeneralKernel,
    InputError,
    Mission,
    Periodic,
    Reward,
    Robot,
    Spending,
    World,
    check_world,
    constant,
    evaluate,
    evaluate_times,
    from_arrays,
    load_npz,
)
from replan.model.drift import linear, piecewise, sinusoidal
from tiny_worlds import random_kernel


def dense(seed, states=4, actions=2):
    return random_kernel(np.random.default_rng(seed), states, actions).dense()


def test_linear_profile_is_clipped():
    np.testing.assert_allclose(linear(5, slip=0.5, rate=0.04), [0.5, 0.54, 0.58, 0.6, 0.6])


def test_sinusoidal_profile():
    profile = sinusoidal(11, slip=0.1, amplitude=0.08, period=10)
    np.testing.assert_allclose(profile[[0, 5, 10]], 0.1, atol=1e-12)
    assert profile[2] == pytest.approx(0.1 + 0.08 * np.sin(0.4 * np.pi))


def test_piecewise_profile_climbs_within_bursts_only():
    profile = piecewise(10, slip=0.03, quiet=0.001, bursts=[(0.2, 0.45, 0.02)])
    np.testing.assert_allclose(np.diff(profile), [0.001, 0.001, 0.02, 0.02] + [0.001] * 5)


def test_burst_ends_do_not_suffer_from_rounding():
    assert 0.58 * 50 < 29, "in floating point"
    profile = piecewise(50, slip=0, quiet=0, bursts=[(0.0, 0.58, 0.01)])
    assert profile[-1] == pytest.approx(0.29)


def test_one_kernel_or_t_of_them_dense_or_sparse():
    many = np.stack([dense(t) for t in range(3)])
    rewards = np.arange(8.0).reshape(4, 2)
    worlds = [
        from_arrays(many, rewards),
        from_arrays([[csr_array(step[:, a]) for a in range(2)] for step in many], rewards),
    ]
    for t in range(3):
        for world in worlds:
            np.testing.assert_allclose(world.kernel(t).general().dense(), many[t], atol=1e-15)
    assert from_arrays(many[0], rewards, horizon=7).kernel(6) is not None


@pytest.mark.parametrize(
    ("rewards", "part"),
    [(np.zeros(4), "next_state"), (np.zeros((4, 2)), "state_action"), (np.zeros((3, 4)), "next_state"),
     (np.zeros((3, 4, 2)), "state_action")],
)  # fmt: skip
def test_rewards_are_told_apart_by_their_shape(rewards, part):
    world = from_arrays(np.stack([dense(t) for t in range(3)]), rewards)
    assert getattr(world.reward(2), part) is not None


def test_npz_files(tmp_path):
    many = np.stack([dense(t) for t in range(3)])
    np.savez(tmp_path / "dense.npz", kernels=many, rewards=np.zeros(4), start=2)
    assert load_npz(tmp_path / "dense.npz").start == 2
    kernel = GeneralKernel.from_dense(many[0])
    np.savez(
        tmp_path / "lists.npz",
        successors=kernel.successors,
        probabilities=np.stack([kernel.probabilities] * 3),
        rewards=np.zeros((4, 2)),
        drift_bounds=np.array([0.1, 0.2]),
    )
    world = load_npz(tmp_path / "lists.npz")
    np.testing.assert_allclose(world.kernel(1).general().dense(), many[0])
    np.testing.assert_array_equal(world.drift_bounds, [0.1, 0.2])
    np.testing.assert_array_equal(world.declared_successors, kernel.successors)


def test_possible_successors_are_read_and_sorted(tmp_path):
    given = [[1, 0, 3, 3], [1, 2, 0, 3], [2, 2, 3, 3], [3, 3, 3, 3]]
    stays = np.tile(np.eye(4)[:, None, :], (1, 2, 1))
    np.savez(tmp_path / "own.npz", kernels=stays, rewards=np.zeros(4), possible_successors=given)
    lists = load_npz(tmp_path / "own.npz", horizon=3).declared_successors
    np.testing.assert_array_equal(lists, [[0, 1, 3, 3], [0, 1, 2, 3], [2, 3, 3, 3], [3, 3, 3, 3]])


@pytest.mark.parametrize(
    ("lists", "said"),
    [
        ([[0], [1]], "a row of states for each of 4"),
        ([[0], [1], [2], [4]], "successor of s=3 is not a state"),
        ([[0.5], [1], [2], [3]], "whole numbers"),
    ],
)
def test_possible_successors_that_make_no_sense(lists, said):
    with pytest.raises(InputError, match=said):
        from_arrays(dense(0), np.zeros(4), horizon=3, declared_successors=lists)


def test_the_checker_finds_steps_to_states_that_are_not_declared_possible():
    many = np.tile(np.eye(4)[:, None, :], (3, 1, 2, 1))
    many[2, 1, 1] = [0.5, 0.5, 0, 0]
    own = np.arange(4)[:, None]
    with pytest.raises(InputError, match="not declared possible at t=2, s=1, a=1"):
        from_arrays(many, np.zeros(4), declared_successors=own)
    found = check_world(replace(from_arrays(many, np.zeros(4)), declared_successors=own))
    assert [str(each) for each in found] == [
        "a step leads to a state that is not declared possible at t=2, s=1, a=1"
    ]


@pytest.mark.parametrize(
    ("arrays", "said"),
    [
        ({"kernels": dense(0)}, "'rewards' is missing"),
        ({"rewards": np.zeros(4)}, "give 'kernels'"),
        ({"kernels": dense(0), "rewards": np.zeros(4), "other": np.zeros(1)}, "unknown array 'other'"),
        ({"kernels": dense(0)[:, :, :3], "rewards": np.zeros(4)}, "dense kernel has the shape"),
        ({"kernels": dense(0), "rewards": np.zeros(5)}, "fit neither"),
    ],
)
def test_npz_files_that_make_no_sense(tmp_path, arrays, said):
    np.savez(tmp_path / "bad.npz", **arrays)
    with pytest.raises(InputError, match=said):
        load_npz(tmp_path / "bad.npz", horizon=4)


def test_drift_bounds_are_the_true_drift_unless_stated():
    many = np.stack([dense(t) for t in range(4)])
    world = from_arrays(many, np.zeros(4))
    np.testing.assert_allclose(world.drift_bounds, np.abs(np.diff(many, axis=0)).max(axis=(1, 2, 3)))
    stated = from_arrays(many, np.zeros(4), stated_bounds=[0.5, 0.5, 0.5])
    np.testing.assert_array_equal(stated.drift_bounds, 0.5)


@pytest.mark.parametrize("bounds", [[0.1], [0.1, -0.1, 0.1], [0.1, np.nan, 0.1], [0.1, np.inf, 0.1]])
def test_bounds_that_make_no_sense(bounds):
    with pytest.raises(InputError, match="drift bound"):
        from_arrays(np.stack([dense(t) for t in range(4)]), np.zeros(4), stated_bounds=bounds)


def broken(change, *, t=2):
    many = np.stack([dense(0) for _ in range(4)])
    change(many[t])
    kernels = [GeneralKernel.from_dense(step) for step in many]
    return World(4, kernels.__getitem__, constant(Reward(next_state=np.zeros(4))))


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda p: p.__setitem__((1, 1, 0), np.nan), "probability is not a number at t=2, s=1, a=1"),
        (lambda p: p.__setitem__((3, 0), [-0.5, 0.5, 0.5, 0.5]), "negative probability at t=2, s=3, a=0"),
        (
            lambda p: p.__setitem__((0, 1), [0.5, 0.2, 0.2, 0.0]),
            "probabilities sum to 0.9, not 1, at t=2, s=0, a=1",
        ),
    ],
)
def test_the_checker_names_time_state_and_action(change, said):
    assert said in [str(finding) for finding in check_world(broken(change))]


@pytest.mark.parametrize("scale", [0.0, 0.5])
def test_arrays_whose_rows_are_no_distributions_are_refused_where_the_world_is_made(tmp_path, scale):
    said = f"probabilities sum to {scale:g}, not 1, at t=0, s=0, a=0"
    with pytest.raises(InputError, match=said):
        from_arrays(scale * dense(0), np.zeros(4), horizon=4)
    np.savez(tmp_path / "half.npz", kernels=scale * dense(0), rewards=np.zeros(4))
    with pytest.raises(InputError, match=f"half.npz: {said}"):
        load_npz(tmp_path / "half.npz", horizon=4)


def test_the_checker_finds_drift_above_its_bound_and_bad_rewards():
    kernels = [GeneralKernel.from_dense(dense(0)), GeneralKernel.from_dense(dense(1))]
    world = World(
        2, kernels.__getitem__, constant(Reward(next_state=np.zeros(4))), stated_bounds=np.array([0.01])
    )
    found = check_world(world)
    change = kernels[0].entrywise_distance(kernels[1])
    assert {(f.s, f.a) for f in found} == {(int(s), int(a)) for s, a in np.argwhere(change > 0.01)}
    assert found[0].t == 0
    world = World(2, constant(kernels[0]), constant(Reward(next_state=np.array([0, np.inf, 0, 0]))))
    assert str(check_world(world)[0]) == "reward is not a number at t=0, s=1"


def test_a_sound_world_has_no_findings():
    assert check_world(from_arrays(np.stack([dense(t) for t in range(4)]), np.zeros((4, 2)))) == []


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"start": np.array([1, 2])}, "'start' must be one state, not \\[1, 2\\]"),
        ({"start": np.array(1.7)}, "'start' must be one state, not 1.7"),
        ({"start": np.array(np.nan)}, "'start' must be one state, not nan"),
        ({"start": np.array(9)}, "start 9 is not a state"),
        ({"kernels": np.array([["a", "b"]])}, "'kernels' holds <U1, not numbers"),
        ({"rewards": np.array(["a"] * 4)}, "'rewards' holds <U1, not numbers"),
        ({"kernels": dense(0) + 0j}, "'kernels' holds complex128, not numbers"),
        ({"kernels": np.zeros((0, 0, 0))}, "'kernels' of the shape \\(0, 0, 0\\) is empty"),
        ({"kernels": np.zeros((4, 0, 4))}, "'kernels' of the shape \\(4, 0, 4\\) is empty"),
    ],
)
def test_arrays_that_cannot_be_a_world_are_named(tmp_path, change, said):
    np.savez(tmp_path / "world.npz", **({"kernels": dense(0), "rewards": np.zeros(4)} | change))
    with pytest.raises(InputError, match=said):
        load_npz(tmp_path / "world.npz", horizon=4)


def test_whatever_is_wrong_in_a_file_the_file_is_named(tmp_path):
    path = tmp_path / "world.npz"
    for kernels, rewards in (
        (0.5 * dense(0), np.zeros(4)),
        (dense(0), np.zeros(7)),
        (np.eye(4), np.zeros(4)),
    ):
        np.savez(path, kernels=kernels, rewards=rewards)
        with pytest.raises(InputError, match=r"world\.npz: "):
            load_npz(path)


def test_a_file_that_is_not_whole_is_refused(tmp_path):
    path = tmp_path / "world.npz"
    np.savez_compressed(path, kernels=dense(0), rewards=np.zeros(4))
    whole = path.read_bytes()
    damaged = bytearray(whole)
    damaged[60:200] = bytes(140)
    single = tmp_path / "array.npy"
    np.save(single, dense(0))
    for content in (b"", b"junk", whole[:40], whole[: len(whole) // 2], bytes(damaged), single.read_bytes()):
        path.write_bytes(content)
        with pytest.raises(InputError, match=r"world\.npz: not a readable \.npz file"):
            load_npz(path, horizon=4)


@pytest.mark.parametrize(
    "kernels", [[], (), [[]], np.zeros((0, 0, 0)), np.zeros((2, 0, 2)), np.zeros((0, 2, 1, 2))]
)
def test_no_kernel_is_no_world(kernels):
    with pytest.raises(InputError):
        from_arrays(kernels, np.zeros(2), horizon=3)


def square_kernels():
    return np.random.default_rng(0).dirichlet(np.ones(4), (4, 4, 4))  # (T, S, A, S), T = S = A = 4


def test_rewards_that_could_be_of_actions_or_of_times_are_refused(tmp_path):
    rewards = np.arange(16.0).reshape(4, 4)
    with pytest.raises(InputError, match=r"\(4, 4\) can be \(S, A\) or \(T, S\)"):
        from_arrays(square_kernels(), rewards)
    np.savez(tmp_path / "world.npz", kernels=square_kernels(), rewards=rewards)
    with pytest.raises(InputError, match=r"\(S, A\) or \(T, S\)"):
        load_npz(tmp_path / "world.npz")


def test_rewards_whose_meaning_is_stated_are_taken(tmp_path):
    rewards = np.arange(16.0).reshape(4, 4)
    by_action = from_arrays(square_kernels(), rewards[None])
    assert np.array_equal(by_action.reward(3).state_action, rewards)
    np.savez(tmp_path / "world.npz", kernels=square_kernels(), next_state_rewards=rewards)
    stated = from_arrays(square_kernels(), [Reward(next_state=step) for step in rewards])
    for world in (stated, load_npz(tmp_path / "world.npz")):
        for t in range(4):
            assert np.array_equal(world.reward(t).next_state, rewards[t])
    np.savez(tmp_path / "both.npz", kernels=square_kernels(), next_state_rewards=rewards, rewards=rewards)
    with pytest.raises(InputError, match="not both"):
        load_npz(tmp_path / "both.npz")


def test_an_infinite_start_is_refused(tmp_path):
    np.savez(tmp_path / "world.npz", kernels=dense(0), rewards=np.zeros(4), start=np.inf)
    with pytest.raises(InputError, match="'start' must be one state"):
        load_npz(tmp_path / "world.npz", horizon=3)


@pytest.mark.parametrize("flags", [0x1, 0x20])
def test_a_member_that_is_encrypted_or_patched_is_refused(tmp_path, flags):
    path = tmp_path / "world.npz"
    np.savez(path, kernels=dense(0), rewards=np.zeros(4))
    data = bytearray(path.read_bytes())
    for mark, offset in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):
        data[data.index(mark) + offset] |= flags
    path.write_bytes(data)
    with pytest.raises(InputError, match="not a readable"):
        load_npz(path, horizon=3)


@pytest.mark.parametrize("size", [(2, 2), (4, 2), (4000, 2), (3, 1), (3, 4)])
@pytest.mark.parametrize("execution", ["map", "belief", "localised"])
def test_kernels_of_another_size_are_refused_with_their_time(size, execution):
    states, actions = size
    usual, other = (
        GeneralKernel(np.arange(s)[:, None], np.ones((s, a, 1))) for s, a in ((3, 2), (states, actions))
    )
    world = World(8, lambda t: usual if t < 3 else other, constant(Reward(next_state=np.arange(3.0))))
    mission = Mission(world, Robot(planning_horizon=3, execution=execution), Spending.exactly(3))
    with pytest.raises(InputError, match=f"the kernel of time [3-7] has {states} states and {actions} act"):
        evaluate(mission, Periodic())


@pytest.mark.parametrize(
    ("row", "what"),
    [
        ([0.2, 0.2, 0.2], "probabilities sum to 0.6, not 1, at t=0, s=0, a=0"),
        ([0.0, 0.0, 0.0], "probabilities sum to 0, not 1, at t=0, s=0, a=0"),
        ([1.5, -0.5, 0.0], "negative probability at t=0, s=0, a=0"),
        ([1.0, np.nan, 0.0], "probability is not a number at t=0, s=0, a=0"),
    ],
)
def test_a_world_of_rows_that_are_no_distributions_is_refused_and_has_no_regret(row, what):
    right, wrong = (GeneralKernel.from_dense(np.tile(each, (3, 2, 1))) for each in ([1 / 3] * 3, row))
    reward = Reward(next_state=np.arange(3.0))
    with pytest.raises(InputError, match=re.escape(what)):
        World(6, constant(wrong), constant(reward))
    later = World(6, lambda t: wrong if t == 4 else right, constant(reward))
    mission = Mission(later, Robot(planning_horizon=2), Spending.exactly(1))
    with pytest.raises(InputError, match=re.escape(what.replace("t=0", "t=4"))):
        evaluate_times(mission, [1])
    assert str(check_world(later)[0]).startswith(what.split(" at")[0])
