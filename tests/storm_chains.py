"""Missions as models of the Storm model checker, which knows nothing of replan.

`chain_of` unrolls the loop of an `Agent` in time: a node is the time, the true state and all that the agent
remembers. The chain ends after T steps, so Storm's values are exact up to rounding.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import stormpy

from replan import Agent, Rule
from replan.certificates.uncertainty import RowBoxes
from replan.execute.mission import Mission
from replan.model.world import World

Chance = float | tuple[float, float]  # a probability, or the least and the greatest
Choice = tuple[float, dict[Any, Chance]]  # expected reward, and the chance of each next node
Step = Callable[[int, int, int], Choice]  # of a time, a state and an action; next nodes are states

END = "end"


@dataclass(frozen=True)
class StormModel:
    """Nodes with their choices; one choice each makes a Markov chain. Rewards may have either sign."""

    choices: dict[Any, list[Choice]]
    """The first node is the start."""
    horizon: int
    boxed: bool = False
    """Whether chances are intervals."""

    @property
    def chain(self) -> bool:
        return all(len(each) == 1 for each in self.choices.values())

    @property
    def shift(self) -> float:
        """Added to the reward of every step, so that none is negative."""
        return max(0.0, -min(reward for each in self.choices.values() for reward, _ in each))

    def drn(self) -> str:
        """Return the model in Storm's own format."""
        index = {node: k for k, node in enumerate([*self.choices, END])}
        lines = ["@type: " + ("DTMC" if self.chain else "MDP")]
        lines += ["@value_type: double-interval"] * self.boxed
        lines += ["@parameters", "", "@reward_models", "gain", "@nr_states", str(len(index))]
        lines += ["@nr_choices", str(sum(map(len, self.choices.values())) + 1), "@model"]
        rest: list[Choice] = [(-self.shift, {END: (1.0, 1.0) if self.boxed else 1.0})]
        for node, number in index.items():
            label = {0: " init", index[END]: " end"}.get(number, "")
            lines.append(f"state {number} [0]{label}")
            for k, (reward, following) in enumerate(self.choices.get(node, rest)):
                lines.append(f"\taction {k} [{reward + self.shift!r}]")
                reached = sorted((index[to], chance) for to, chance in following.items())
                lines += [f"\t\t{to} : {list(p) if self.boxed else p!r}" for to, p in reached]
        return "\n".join(lines) + "\n"

    def expected_reward(self, path: Path) -> float:
        """Return Storm's expected reward from the start, the greatest one if there are choices.

        `path` is a file to write. Raises `AssertionError` if Storm does not vouch for 1e-10.
        """
        found = self._checked(path, "" if self.chain else "max")
        assert found.get_upper_bound(0) - found.get_lower_bound(0) < 1e-10
        return found.get_value(0) - self.shift * self.horizon

    def extreme_reward(self, path: Path, *, best: bool) -> float:
        """Return the expected reward with the best choices, in the best or the worst of the worlds."""
        modes = stormpy.UncertaintyResolutionMode
        if self.chain:
            found = self._checked(path, "", modes.MAXIMIZE if best else modes.MINIMIZE)
        else:
            found = self._checked(path, "max", modes.COOPERATIVE if best else modes.ROBUST)
        return found.get_value(0) - self.shift * self.horizon

    def _checked(self, path: Path, operator: str, mode: Any = None) -> Any:
        path.write_text(self.drn())
        build: Any = stormpy.build_model_from_drn
        model = (build[stormpy.Interval] if self.boxed else build)(str(path))
        formula = stormpy.parse_properties(f'R{{"gain"}}{operator}=? [F "end"]')[0]
        sound = None if self.boxed else stormpy.environments.sound()
        return stormpy.model_checking(model, formula, environment=sound, uncertainty_resolution_mode=mode)


def oracle_of(world: World, step: Step | None = None) -> StormModel:
    """Return the Markov decision process of a robot that sees and knows everything."""
    step = step or partial(_step, world)
    nodes = [(t, s) for t in range(world.horizon) for s in range(world.states)]
    nodes.remove((0, world.start))
    choices = {
        (t, s): [
            _renamed(step(t, s, a), lambda to, t=t: END if t + 1 == world.horizon else (t + 1, to))
            for a in range(world.actions)
        ]
        for t, s in [(0, world.start), *nodes]
    }
    return StormModel(choices, world.horizon, boxed=_is_boxed(choices))


def chain_of(mission: Mission, rule: Rule, step: Step | None = None) -> StormModel:
    """Return the Markov chain of an agent with this rule."""
    world, agent = mission.world, Agent.on(mission, rule, trial=False)
    step = step or partial(_step, world)
    agent.start(world.start)
    waiting: list[tuple[Any, Agent, int]] = [(_node(agent, world.start), agent, world.start)]
    choices: dict[Any, list[Choice]] = {}
    while waiting:
        node, agent, state = waiting.pop()
        if node in choices:
            continue
        agent = _clone(agent)
        sight = (state,) if mission.robot.sees else ()
        if agent.due(*sight).update:
            agent.update(state)
        made = step(agent.time, state, agent.act(*sight))
        choices[node] = [_renamed(made, lambda to, now=agent: END if now.done else _node(now, to))]
        waiting += [] if agent.done else [(_node(agent, to), agent, to) for to in made[1]]
    return StormModel(choices, world.horizon, boxed=_is_boxed(choices))


def _is_boxed(choices: dict[Any, list[Choice]]) -> bool:
    (_, following), *_ = next(iter(choices.values()))
    return isinstance(next(iter(following.values())), tuple)


def boxed_steps(world: World, boxes: RowBoxes) -> Step:
    """Return the steps of all worlds whose kernels lie in the boxes, for rewards of state and action."""
    return partial(_box_step, world, boxes)


def _box_step(world: World, boxes: RowBoxes, t: int, s: int, a: int) -> Choice:
    reward = world.reward(t)
    assert reward.next_state is None and reward.state_action is not None
    low, high = (bound[s, a].tolist() for bound in boxes.bounds(t))
    reached = zip(boxes.successors[s].tolist(), zip(low, high, strict=True), strict=True)
    return float(reward.state_action[s, a]), {to: each for to, each in reached if each[1] > 0}


def _renamed(choice: Choice, name: Callable[[int], Any]) -> Choice:
    """Return a choice that leads to nodes in place of states; the end is certain."""
    reward, following = choice
    named = {name(to): chance for to, chance in following.items()}
    certain = (1.0, 1.0) if isinstance(next(iter(following.values())), tuple) else 1.0
    return reward, {END: certain} if END in named else named


def _node(agent: Agent, state: int) -> Any:
    """Return all that the rest of the mission depends on."""
    now = agent._now
    progress = now.progress
    seen = None if agent.robot.sees else now.state
    return now.time, state, progress.last_update, progress.budget_left, seen


def _clone(agent: Agent) -> Agent:
    other = copy.copy(agent)
    other._memory, other.log = replace(agent._now, commanded=list(agent._now.commanded)), []
    return other


def _step(world: World, t: int, s: int, a: int) -> Choice:
    """Return the expected reward of one step, and the probability of each next state."""
    kernel, reward = world.kernel(t).general(), world.reward(t)
    following = _summed(zip(kernel.successors[s].tolist(), kernel.probabilities[s, a].tolist(), strict=True))
    gain = 0.0 if reward.state_action is None else float(reward.state_action[s, a])
    if reward.next_state is not None:
        gain += sum(p * float(reward.next_state[to]) for to, p in following.items())
    return gain, following


def _summed(pairs: Iterable[tuple[Any, float]]) -> dict[Any, float]:
    total: dict[Any, float] = {}
    for to, p in pairs:
        if p > 0:
            total[to] = total.get(to, 0.0) + p
    scale = sum(total.values())
    assert abs(scale - 1) < 1e-12
    return {to: p / scale for to, p in total.items()}
