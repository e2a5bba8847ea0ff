"""Planning against brute force over all policies, against QuantEcon, and against the tie rules' own words."""

import itertools
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import numpy as np
import pytest
import quantecon
from hypothesis import given
from hypothesis import strategies as st

from replan import GeneralKernel, InputError, Reward, SlipKernel, Ties, World, constant, oracle
from replan.model.sizes import DEFAULT_SIZES
from replan.planning.backward_induction import check_plan, plan, plan_ahead
from replan.planning.optimal_values import grid_over_time_of, oracle_return, require_oracle_memory, swept_grid
from replan.worlds.slip_grid import rover
from tiny_worlds import random_kernel, random_world

LARGE = DEFAULT_SIZES.whole_world


def best_by_enumeration(world, start, t):
    """The best expected return from (t, start) over every deterministic time-varying policy."""
    remaining = world.horizon - t
    kernels = [world.kernel(t + h).general().dense() for h in range(remaining)]
    rewards = [world.reward(t + h).expected(world.kernel(t + h)) for h in range(remaining)]
    policies = list(itertools.product(range(world.actions), repeat=world.states))
    best = -np.inf
    for choice in itertools.product(policies, repeat=remaining):
        mass, total = np.eye(world.states)[start], 0.0
        for h, policy in enumerate(choice):
            rows = np.arange(world.states)
            total += mass @ rewards[h][rows, policy]
            mass = mass @ kernels[h][rows, policy]
        best = max(best, total)
    return best


@given(st.integers(0, 10_000), st.booleans())
def test_oracle_is_the_best_of_all_policies(seed, next_state_reward):
    world = random_world(
        np.random.default_rng(seed), states=2, actions=2, horizon=3, next_state_reward=next_state_reward
    )
    best = oracle(world)
    for t, s in itertools.product(range(3), range(2)):
        assert best.values[t, s] == pytest.approx(best_by_enumeration(world, s, t), abs=1e-12)
    np.testing.assert_allclose(oracle_return(world), best.values[0], atol=1e-12)
    for t in range(3):
        assert best.loss(t).min(axis=1) == pytest.approx(0, abs=1e-12)


@pytest.mark.parametrize("seed", range(5))
def test_plan_and_oracle_equal_quantecon_on_constant_kernels(seed):
    rng = np.random.default_rng(seed)
    kernel, reward = random_kernel(rng, 6, 3), Reward(state_action=rng.normal(size=(6, 3)))
    with pytest.warns(UserWarning, match="infinite horizon"):
        problem = quantecon.markov.DiscreteDP(reward.state_action, kernel.dense(), 1.0)
    values, policies = quantecon.markov.backward_induction(problem, 7)
    made = plan(kernel, constant(reward), time=0, horizon=7)
    np.testing.assert_allclose(made.q_values.max(axis=1), values[0], atol=1e-10)
    np.testing.assert_allclose(made.next_values, values[1], atol=1e-10)
    np.testing.assert_array_equal(made.policy, policies[0])
    best = oracle(World(7, constant(kernel), constant(reward)))
    np.testing.assert_allclose(best.values, values, atol=1e-10)


@given(
    st.integers(0, 10_000),
    st.sampled_from(["first", "last"]),
    st.booleans(),
    st.sampled_from(["neither", "kernels", "rewards"]),
)
def test_a_plan_for_every_time_is_backward_induction_over_the_kernels_and_rewards_to_come(
    seed, ties, slip, stays
):
    rng = np.random.default_rng(seed)
    kernels = [SlipKernel((2, 3), rng.random()) if slip else random_kernel(rng, 6, 5) for _ in range(4)]
    rewards = [Reward(rng.normal(size=(6, 5)), rng.normal(size=6)) for _ in range(4)]
    kernels = kernels[:1] * 4 if stays == "kernels" else kernels
    rewards = rewards[:1] * 4 if stays == "rewards" else rewards
    given_times = {"kernel_at": kernels.__getitem__, "reward": rewards.__getitem__}
    made = plan_ahead(**given_times, time=1, end=4, horizon=2, ties=Ties(ties))
    assert [made.time, *(each.time for each in made.later)] == [1, 2, 3]
    for t in (1, 2, 3):
        values = np.zeros(6)
        for later in (t + 1, t):
            if later < 4:
                ahead = kernels[later].general().dense() @ (rewards[later].next_state + values)
                q_values = rewards[later].state_action + ahead
                values = q_values.max(axis=1) if later > t else values
        np.testing.assert_array_equal(made.at(t).policy, q_values.argmax(axis=1))
        np.testing.assert_allclose(made.at(t).next_values, values, atol=1e-12)
        np.testing.assert_allclose(made.at(t).q_values_at(np.array([4, 1])), q_values[[4, 1]], atol=1e-12)
        np.testing.assert_allclose(made.at(t).q_values, q_values, atol=1e-12)


def test_a_plan_without_later_ones_is_kept():
    made = plan_of_two_states()
    assert made.at(3) is made and made.at(9) is made


@pytest.mark.parametrize("blocked", [(), ((1, 1), (2, 3))])
def test_slip_and_general_kernel_plan_alike(blocked):
    world = rover(5, np.linspace(0.05, 0.4, 8), obstacles=blocked)
    for t in (0, 5):
        slip = plan(world.kernel(t), world.reward, time=t, horizon=3)
        general = plan(world.kernel(t).general(), world.reward, time=t, horizon=3)
        np.testing.assert_allclose(slip.q_values, general.q_values, atol=1e-12)
        np.testing.assert_array_equal(slip.policy, general.policy)


@pytest.mark.parametrize("shape", [(1, 1), (1, 7), (7, 1), (2, 2), (3, 8), (120, 90)])
@pytest.mark.parametrize("horizon", [1, 2, 8, 9, 10, 27])
@pytest.mark.parametrize("kind", ["open", "one slip per cell", "blocked"])
def test_a_plan_made_in_passes_is_the_one_made_step_by_step(shape, horizon, kind):
    rng = np.random.default_rng(horizon)
    size = shape[0] * shape[1]
    slip = rng.uniform(0, 1, size) if kind == "one slip per cell" else 0.2
    blocked = rng.uniform(size=size) < 0.3 if kind == "blocked" else None
    kernel = SlipKernel(shape, slip, law=rng.dirichlet(np.ones(5)), blocked=blocked)
    reward = Reward(next_state=rng.integers(-3, 3, size).astype(float))
    lists, values = kernel.general(), np.zeros(size)
    for _ in range(horizon - 1):
        values = reward.q_values(lists, values).max(axis=1)
    q_values = reward.q_values(lists, values)
    for planned_on in (kernel, lists):
        made = plan(planned_on, constant(reward), time=0, horizon=horizon)
        np.testing.assert_allclose(made.next_values, values, rtol=0, atol=1e-11)
        chosen = q_values[np.arange(size), made.policy]
        assert (chosen >= q_values.max(axis=1) - 2e-9).all()
        clear = np.abs(np.sort(q_values, axis=1)[:, -1:] - q_values - 1e-9).min(axis=1) > 1e-11
        np.testing.assert_array_equal(made.policy[clear], Ties().choose(q_values)[clear])


def test_large_grids_are_cut_into_bands_without_a_difference():
    rng = np.random.default_rng(0)
    kernel, values = SlipKernel((150, 130), 0.2), rng.normal(size=150 * 130)
    small = kernel.general()
    np.testing.assert_allclose(kernel.expect(values), small.expect(values), atol=1e-12)
    np.testing.assert_allclose(kernel.backup(values), small.expect(values).max(axis=1), atol=1e-12)


def test_tie_rules():
    values = np.array([[1.0, 1.0 - 5e-10, 0.0], [0.0, 2.0, 2.0 + 5e-10], [3.0, 1.0, 2.0]])
    assert Ties("first").choose(values).tolist() == [0, 1, 0]
    assert Ties("last").choose(values).tolist() == [1, 2, 0]
    states = np.arange(3)
    drawn = {tuple(Ties("random", seed).choose(values, states=states)) for seed in range(60)}
    assert drawn == {(a, b, 0) for a in (0, 1) for b in (1, 2)}
    again = [Ties("random", 5).choose(values, plan_time=3, states=states).tolist() for _ in range(2)]
    assert again[0] == again[1]


def test_just_outside_the_tolerance_is_no_tie():
    assert Ties("last").choose(np.array([[1.0, 1.0 - 2e-9]]))[0] == 0


def test_random_ties_are_drawn_for_each_plan_and_for_each_state_that_is_told():
    tied = np.zeros((40, 4))
    together = Ties("random", 3).choose(tied, plan_time=1)
    assert len(set(together)) == 1, "rows of one plan that are not told apart share the draw"
    assert len({int(Ties("random", 3).choose(tied, plan_time=t)[0]) for t in range(40)}) == 4
    apart = Ties("random", 3).choose(tied, plan_time=1, states=np.arange(40))
    assert set(apart) == {0, 1, 2, 3}
    assert (
        apart[5:9].tolist()
        == Ties("random", 3).choose(tied[:4], plan_time=1, states=np.arange(5, 9)).tolist()
    )


def test_a_seed_of_random_ties_has_the_draws_that_it_always_had():
    drawn = Ties("random", 3).choose(np.zeros((8, 5)), plan_time=2, states=np.arange(8))
    assert drawn.tolist() == [3, 1, 4, 2, 4, 0, 3, 2]


def test_a_plan_with_random_ties_draws_for_each_state():
    found = plan(
        SlipKernel((6, 7), 0.1),
        constant(Reward(next_state=np.zeros(42))),
        time=1,
        horizon=2,
        ties=Ties("random", 3),
    )
    assert set(found.policy) == {0, 1, 2, 3, 4}


@pytest.mark.parametrize("ties", [Ties("first"), Ties("last"), Ties("random", 3)], ids=str)
@pytest.mark.parametrize("kernel", [SlipKernel((2, 3), 0.1), SlipKernel((2, 3), 0.1).general()])
def test_a_plan_tells_its_time_and_its_ties_and_chooses_by_them(kernel, ties):
    made = plan(kernel, constant(Reward(next_state=np.zeros(6))), time=4, horizon=2, ties=ties)
    assert (made.time, made.ties) == (4, ties)
    chosen = ties.choose(np.zeros((6, 5)), plan_time=4, states=np.arange(6))
    np.testing.assert_array_equal(made.policy, chosen)


def test_two_cells_with_a_slip_each_are_no_grid_with_one_slip():
    kernel = SlipKernel((1, 2), [0.1, 0.5])
    world = World(3, constant(kernel), constant(Reward(next_state=np.array([-1.0, 0.0]))), grid=(1, 2))
    assert swept_grid(world) is None
    assert oracle_return(world) == pytest.approx([best_by_enumeration(world, s, 0) for s in (0, 1)])


@pytest.mark.parametrize("ties", ["first", "last"])
def test_a_plan_is_made_of_the_times_of_its_horizon_alone(ties):
    kernel, reward, asked = SlipKernel((2, 3), 0.1), Reward(next_state=np.arange(6.0)), set()

    def at(time):
        asked.add(time)
        return reward

    plan(kernel, at, time=2, horizon=3, ties=Ties(ties))
    assert asked == {2, 3, 4}


def test_the_order_of_preference_is_that_of_the_tie_rule():
    assert Ties("first").preference(0, 4).tolist() == [0, 1, 2, 3]
    assert Ties("last").preference(0, 4).tolist() == [3, 2, 1, 0]
    drawn = [Ties("random", 1).preference(time, 4) for time in range(30)]
    assert all(sorted(order) == [0, 1, 2, 3] for order in drawn)
    assert len({tuple(order) for order in drawn}) > 10, "another order for each plan"
    for time, order in enumerate(drawn):
        assert order[0] == Ties("random", 1).choose(np.zeros((1, 4)), plan_time=time)[0]


def test_the_seeds_of_ties_have_a_limit():
    assert Ties.parse(f"random({2**32 - 1})").seed == 2**32 - 1
    assert Ties.parse("random") == Ties("random", 0)
    with pytest.raises(InputError, match=f"seed below {2**32}"):
        Ties.parse(f"random({2**32})")


def test_a_plan_of_one_step_is_greedy_and_none_has_less():
    rng = np.random.default_rng(0)
    kernel, reward = random_kernel(rng, 4, 3), Reward(state_action=rng.normal(size=(4, 3)))
    made = plan(kernel, constant(reward), time=0, horizon=1)
    np.testing.assert_array_equal(made.policy, reward.state_action.argmax(axis=1))
    with pytest.raises(InputError, match="at least 1, not 0"):
        plan(kernel, constant(reward), time=0, horizon=0)


@pytest.mark.parametrize("text", ["", "best", "first(3)", "random(x)"])
def test_unknown_tie_rules_are_refused(text):
    with pytest.raises(InputError, match="ties must be"):
        Ties.parse(text)


@pytest.mark.parametrize("text", ["first", "last", "random(0)", "random(17)"])
def test_tie_rules_print_as_they_parse(text):
    assert str(Ties.parse(text)) == text


def test_right_down_and_stay_tie_at_the_goal():
    world = rover(4, [0.1] * 6)
    for name, action in (("first", 0), ("last", 4)):
        made = plan(world.kernel(0), world.reward, time=0, horizon=3, ties=Ties(name))
        assert made.policy[-1] == action


def step_by_step(world):
    values = np.zeros((world.horizon + 1, world.states))
    for t in range(world.horizon - 1, -1, -1):
        values[t] = world.reward(t).q_values(world.kernel(t), values[t + 1]).max(axis=1)
    return values


@pytest.mark.parametrize("shape", [(1, 1), (1, 6), (6, 1), (2, 3), (7, 5), (130, 110)])
@pytest.mark.parametrize("horizon", [2, 8, 9, 19])
@pytest.mark.parametrize("walls", [0.0, 0.3])
def test_a_pass_gives_the_values_of_every_step(shape, horizon, walls):
    rng = np.random.default_rng(horizon)
    slips, laws = rng.uniform(0, 0.6, horizon), rng.dirichlet(np.ones(5), horizon)
    reward = Reward(next_state=rng.normal(size=shape).reshape(-1))
    blocked = rng.uniform(size=shape) < walls
    world = World(
        horizon, lambda t: SlipKernel(shape, slips[t], law=laws[t], blocked=blocked), constant(reward)
    )
    assert swept_grid(world) is not None
    expected = step_by_step(world)
    np.testing.assert_allclose(oracle(world).values, expected, rtol=0, atol=1e-12)
    np.testing.assert_array_equal(oracle_return(world), oracle(world).values[0])


def test_other_worlds_are_not_swept():
    slip = np.linspace(0.1, 0.3, 9)
    plain, walls = rover(4, slip), rover(4, slip, obstacles=[(1, 1)])
    by_action = Reward(state_action=np.ones((16, 5)))
    others = [
        rover(4, slip, terrain=np.linspace(0.5, 1, 16)),
        replace(plain, kernel=lambda t: plain.kernel(t).general()),
        replace(plain, kernel=lambda t: plain.kernel(t) if t < 5 else walls.kernel(t)),
        replace(plain, reward=lambda t: Reward(next_state=np.arange(16.0) * t)),
        replace(plain, reward=lambda t: plain.reward(t) if t < 5 else by_action),
    ]
    for world in others:
        assert swept_grid(world) is None
        np.testing.assert_allclose(oracle(world).values, step_by_step(world), rtol=0, atol=1e-12)
        np.testing.assert_array_equal(oracle_return(world), oracle(world).values[0])


def test_a_grid_over_time_has_the_slip_of_each_cell_at_each_time():
    slips, reward = np.random.default_rng(0).random((3, 6)), Reward(next_state=np.arange(6.0))
    found = grid_over_time_of(World(3, lambda t: SlipKernel((2, 3), slips[t]), constant(reward)))
    np.testing.assert_array_equal(found.slip, slips)


def test_an_oracle_says_how_many_values_it_has_and_is_refused_where_they_do_not_fit_into_memory():
    world = World(4, constant(SlipKernel((2, 3), 0.1)), constant(Reward(next_state=np.arange(6.0))))
    assert require_oracle_memory(world) == oracle(world).values.size
    with pytest.raises(InputError, match="the oracle's value of every time and state needs about 480 TB"):
        oracle(replace(world, horizon=10**13))


def test_the_first_plan_of_a_thread_may_be_of_one_state():
    kernel, reward = GeneralKernel.from_dense(np.ones((1, 2, 1))), Reward(next_state=np.array([2.0]))
    with ThreadPoolExecutor(1) as thread:
        made = thread.submit(plan, kernel, constant(reward), time=0, horizon=3, ties=Ties("last")).result()
    assert (made.policy.tolist(), made.next_values.tolist()) == ([1], [4.0])


def plan_of_two_states():
    kernel = GeneralKernel.from_dense([[[0.5, 0.5], [1.0, 0.0]], [[0.0, 1.0], [0.25, 0.75]]])
    return plan(kernel, constant(Reward(next_state=np.array([0.0, 1.0]))), time=3, horizon=2)


@pytest.mark.parametrize("belief", [False, True])
def test_a_plan_for_the_time_and_the_kernel_is_accepted(belief):
    made = plan_of_two_states()
    check_plan(made, made.kernel, time=3, belief=belief)
    with pytest.raises(InputError, match="for time 3, not 4"):
        check_plan(made, made.kernel, time=4, belief=belief)


@pytest.mark.parametrize(
    "policy",
    [
        [0, 1],
        np.array([0]),
        np.array([[0], [1]]),
        np.array([0.0, 1.0]),
        np.array([0.5, 1.5]),
        np.array([-1, 0]),
        np.array([0, 2]),
    ],
    ids=["list", "one short", "two dimensions", "floats", "halves", "below the first", "one past the last"],
)
def test_a_policy_that_is_not_one_action_for_each_state_is_refused(policy):
    made = replace(plan_of_two_states(), policy=policy)
    with pytest.raises(InputError, match="policy is not 2 whole numbers from 0 to 1"):
        check_plan(made, made.kernel, time=3, belief=False)


@pytest.mark.filterwarnings("error")
def test_finite_values_are_accepted_though_their_sum_is_not_finite():
    made = replace(plan_of_two_states(), next_values=np.array([1e308, 1e308]))
    check_plan(made, made.kernel, time=3, belief=False)


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize(
    "values",
    [[0.0, 0.0], np.zeros(3), np.zeros((2, 1)), np.array([0.0, np.nan]), np.array([np.inf, -np.inf])],
)
def test_values_that_are_not_one_finite_number_for_each_state_are_refused(values):
    made = replace(plan_of_two_states(), next_values=values)
    with pytest.raises(InputError, match="next_values are not 2 finite numbers"):
        check_plan(made, made.kernel, time=3, belief=False)


def test_values_of_actions_matter_to_belief_execution_alone():
    made = plan_of_two_states()
    vars(made)["q_values"] = np.full((2, 2), np.inf)
    check_plan(made, made.kernel, time=3, belief=False)
    with pytest.raises(InputError, match="q_values are not 2 x 2 finite numbers"):
        check_plan(made, made.kernel, time=3, belief=True)


def test_values_of_actions_matter_in_a_large_world_that_is_no_grid():
    kernel = GeneralKernel(np.arange(LARGE + 1)[:, None], np.ones((LARGE + 1, 2, 1)))
    made = plan(kernel, constant(Reward(next_state=np.zeros(LARGE + 1))), time=3, horizon=1)
    check_plan(made, kernel, time=3, belief=True)
    vars(made)["q_values"] = np.full((LARGE + 1, 2), np.inf)
    with pytest.raises(InputError, match="q_values"):
        check_plan(made, kernel, time=3, belief=True)


def test_values_of_actions_matter_on_a_large_grid():
    kernel = SlipKernel((2, LARGE), 0.1)
    reward, by_action = np.zeros(2 * LARGE), np.zeros((2 * LARGE, 5))
    made = plan(kernel, constant(Reward(by_action, reward)), time=3, horizon=1)
    check_plan(made, kernel, time=3, belief=True)
    others = [
        replace(made, reward=Reward(next_state=reward + np.inf)),
        replace(made, reward=Reward(by_action + np.nan)),
        replace(made, reward=Reward(by_action[:, :4])),
        replace(made, kernel=SlipKernel((3, LARGE), 0.1)),
    ]
    for other in others:
        with pytest.raises(InputError, match="q_values"):
            check_plan(other, kernel, time=3, belief=True)


def test_a_plan_with_other_later_steps_than_needed_or_without_ties_is_refused():
    made = plan(SlipKernel((2, 2), 0.1), constant(Reward(next_state=np.arange(4.0))), time=3, horizon=2)
    for wrong, said in (
        (replace(made, later=(made,)), "must have 0 later steps"),
        (replace(made, ties=None), "not a plan with ties and a reward"),
        (replace(made, reward=None), "not a plan with ties and a reward"),
    ):
        with pytest.raises(InputError, match=said):
            check_plan(wrong, made.kernel, time=3, belief=True)
    with pytest.raises(InputError, match="must have 2 later steps"):
        check_plan(replace(made, later=(replace(made, time=4),)), made.kernel, time=3, later=2, belief=True)
    with pytest.raises(InputError, match="made for time 5, not 4"):
        check_plan(replace(made, later=(replace(made, time=5),)), made.kernel, time=3, later=1, belief=True)
