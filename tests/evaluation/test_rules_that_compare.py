"""A rule that compares its last two estimates is told the same ones wherever it is asked."""

from dataclasses import dataclass

import numpy as np
import pytest
from hypothesis import given

from replan import Agent, FixedTimes, InputError, Mission, Robot, Spending
from replan.estimate.estimator import TrueKernel
from replan.evaluation.agent_runs import learned_samples
from replan.evaluation.decomposition import decompose
from replan.evaluation.exact import evaluate, regret
from replan.evaluation.rollouts import rollout
from replan.evaluation.rule_checks import check_rule
from replan.evaluation.visits import Follow
from replan.execute.mission import make_timeline
from replan.model import drift
from replan.model.streams import uniforms
from replan.schedule.rule import Context, Decision, Need, Rule
from replan.worlds.slip_grid import rover
from tiny_worlds import steps_of, tiny_missions

SEEDS = np.arange(12)


def wait(change: float, state: int) -> int:
    return 1 + (int(1000 * change) + state) % 4


@dataclass(frozen=True)
class Comparing(Rule):
    """Wait for a number of steps that depends on how far the estimate has moved, and on the state."""

    by_state: bool = True

    def __post_init__(self):
        needs = {Need.EARLIER_ESTIMATE} | ({Need.STATE} if self.by_state else set())
        object.__setattr__(self, "needs", frozenset(needs))

    def decide(self, context: Context) -> Decision:
        moved = 0.0
        if context.earlier is not None:
            moved = float(context.kernel.entrywise_distance(context.earlier[1]).max())
        state = context.state if self.by_state else 0
        return Decision(context.time - context.last_update >= wait(moved, state), "moved")


def small_grid() -> Mission:
    slip = drift.sinusoidal(20, slip=0.2, amplitude=0.15, period=11)
    return Mission(rover(4, slip), Robot(planning_horizon=4), Spending.exactly(5))


def return_by_recursion(mission: Mission, state: int) -> float:
    """Each update's whole history at hand: nothing is merged."""
    world = mission.world

    def estimate(time):
        return world.kernel(time - 1).general().dense()

    def onward(times, state, left):
        time = times[-1]
        moved = np.abs(estimate(time) - estimate(times[-2])).max() if len(times) > 2 else 0.0
        end = min(time + wait(moved, state), world.horizon - left)
        if time == 0:
            end = 1
        elif left == 0:
            end = world.horizon
        steps = list(steps_of(world, mission.update(time).propagation, [state], time, end))
        total, places = float(sum(reward[0] for _, reward, _ in steps)), steps[-1][2]
        if end == world.horizon:
            return total
        return total + sum(p * onward((*times, end), s, left - 1) for s, p in enumerate(places[0]) if p)

    return onward((0,), state, mission.spending.limit)


@given(tiny_missions(max_horizon=7))
def test_exact_returns_equal_a_recursion_over_whole_histories(mission):
    expected = [return_by_recursion(mission, s) for s in range(mission.world.states)]
    np.testing.assert_allclose(Follow(mission, Comparing()).returns(), expected, atol=1e-10)
    assert evaluate(mission, Comparing()).expected_return == pytest.approx(
        expected[mission.world.start], abs=1e-10
    )


def test_the_parts_add_up_to_the_same_regret():
    mission = small_grid()
    assert decompose(mission, Comparing()).regret == pytest.approx(regret(mission, Comparing()), abs=1e-10)


def test_an_agent_updates_when_a_rollout_does_and_also_when_it_is_restored(tmp_path):
    mission = small_grid()
    traced = rollout(mission, Comparing(), SEEDS, trace=True)
    assert len({tuple(row) for row in traced.updates}) > 3
    for seed, expected in zip(SEEDS, traced.updates, strict=True):
        agent, state = Agent.on(mission, Comparing()), mission.world.start
        agent.start(state)
        updates = []
        while not agent.done:
            agent.save(tmp_path / "agent.npz")
            agent = Agent.on(mission, Comparing())
            agent.restore(tmp_path / "agent.npz")
            if agent.due().update:
                updates.append(agent.time)
                agent.update(state)
            t = agent.time
            row = np.array([state]), np.array([agent.act()]), uniforms([seed], t)
            state = int(mission.world.kernel(t).sample(*row)[0])
        assert updates == np.flatnonzero(expected).tolist()


def test_untraced_rollouts_and_true_kernels_learned_give_the_traced_returns():
    mission = small_grid()
    traced = rollout(mission, Comparing(), SEEDS, trace=True).returns
    np.testing.assert_allclose(rollout(mission, Comparing(), SEEDS).returns, traced, atol=1e-12)
    learned = learned_samples(mission, Comparing(), lambda mission: TrueKernel(mission.world), SEEDS)[0]
    np.testing.assert_allclose(learned, traced, atol=1e-12)


def test_the_timeline_of_a_rule_that_ignores_the_state_is_its_schedule():
    mission, rule = small_grid(), Comparing(by_state=False)
    times = make_timeline(mission, rule).times
    assert len(set(np.diff(times))) > 1
    assert regret(mission, rule) == pytest.approx(regret(mission, FixedTimes(times)), abs=1e-12)


def test_what_it_compares_lies_in_the_past():
    assert check_rule(Comparing()) == []


def test_a_rule_that_does_not_declare_it_gets_no_earlier_estimate():
    mission = small_grid()

    class Unasked(Comparing):
        def __post_init__(self):
            object.__setattr__(self, "needs", frozenset({Need.STATE}))

    with pytest.raises(InputError, match="does not declare that it needs the earlier estimate"):
        rollout(mission, Unasked(), SEEDS)
