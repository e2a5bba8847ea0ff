"""A wrapper in which observations are limited, so that an agent can learn when to observe.

An action is a pair: a move, and whether to look at the state it leads to. At most `budget` looks are granted;
in between the observation holds the state last seen, its age, and the number of looks left. The look of step
t shows the state at t + 1, so it is the paper's update at t + 1; deciding one step earlier loses nothing,
since nothing is seen in between.

With `flat=True` the action is one number, 2 * move + look, and the observation one vector in which every part
that counts is one-hot, as stable-baselines3 and other learners take them.
"""

from __future__ import annotations

from copy import deepcopy
from math import inf
from numbers import Integral, Real
from typing import Any

import gymnasium
import numpy as np
from gymnasium import spaces
from gymnasium.utils import RecordConstructorArgs

from replan.errors import InputError

DO_NOT_LOOK, LOOK = 0, 1


class BudgetedObservation(gymnasium.Wrapper, RecordConstructorArgs):
    """A wrapper in which an action is (action, look) and observations are limited.

    The observation holds the state last `seen`, its `age` and the `budget_left`. The observation after
    `reset` is free, as the paper's first step is. A look beyond the budget is refused: the step is taken,
    nothing is shown, and `info["looked"]` is False. The environment's own `info` is passed on only with a
    look, since it may reveal the state.

    Parameters
    ----------
    env : gymnasium.Env
        The environment.
    budget : int
        Looks that are granted in an episode.
    price : float
        Subtracted from the reward of each granted look.
    longest : int, optional
        Steps of an episode at most. Defaults to the environment's own limit.
    flat : bool
        Whether action and observation are a number and a vector.
    """

    def __init__(
        self,
        env: gymnasium.Env,
        *,
        budget: int,
        price: float = 0.0,
        longest: int | None = None,
        flat: bool = False,
    ) -> None:
        """Subtract `price` from the reward of each granted look; `longest` bounds the steps of an episode."""
        RecordConstructorArgs.__init__(self, budget=budget, price=price, longest=longest, flat=flat)
        gymnasium.Wrapper.__init__(self, env)
        self.budget = _whole_number("budget", budget, least=0)
        if not (isinstance(price, Real) and 0 <= price < inf):
            raise InputError(f"price must be a number and not negative, not {price!r}")
        self.price = float(price)
        self.longest = _whole_number("longest", _longest(env) if longest is None else longest, least=1)
        self._shown = spaces.Dict(
            seen=env.observation_space,
            age=spaces.Discrete(self.longest + 1),
            budget_left=spaces.Discrete(self.budget + 1),
        )
        self.flat = flat
        if flat:
            self.action_space = spaces.Discrete(2 * _moves(env))
            self.observation_space = _flat_space(self._shown)
        else:
            self.action_space = spaces.Tuple((env.action_space, spaces.Discrete(2)))
            self.observation_space = self._shown
        self._seen: Any = None
        self._age, self._left = 0, self.budget

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Any, dict[str, Any]]:
        """Reset the environment; the first observation is free."""
        self._seen, info = self.env.reset(seed=seed, options=options)
        self._age, self._left = 0, self.budget
        return self._observation(), {**info, "looked": True}

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        """Take a step, and look at the state if the action says so and a look is left."""
        move, look = divmod(int(action), 2) if self.flat else action
        observation, reward, terminated, truncated, info = self.env.step(move)
        reward = float(reward)
        looked = int(look) == LOOK and self._left > 0
        if looked:
            self._seen, self._age = observation, 0
            self._left -= 1
            reward -= self.price
        else:
            self._age = min(self._age + 1, self.longest)
        shown = {**info, "looked": True} if looked else {"looked": False}
        return self._observation(), reward, terminated, truncated, shown

    def _observation(self) -> Any:
        shown = {
            "seen": deepcopy(self._seen),
            "age": np.int64(self._age),
            "budget_left": np.int64(self._left),
        }
        return np.asarray(spaces.flatten(self._shown, shown), dtype=np.float32) if self.flat else shown


def _moves(env: gymnasium.Env) -> int:
    """Return the number of actions of an environment, which must be numbered from 0 on."""
    space = env.action_space
    if not isinstance(space, spaces.Discrete) or space.start != 0:
        raise InputError(f"flat=True needs actions that are numbered from 0 on, not {space}")
    return int(space.n)


def _flat_space(shown: spaces.Dict) -> spaces.Box:
    """Return the space of flat observations."""
    flat = spaces.flatten_space(shown) if shown.is_np_flattenable else None
    if not isinstance(flat, spaces.Box):
        raise InputError(f"flat=True needs observations of a fixed size, not {shown['seen']}")
    return spaces.Box(flat.low.astype(np.float32), flat.high.astype(np.float32), dtype=np.float32)


def _longest(env: gymnasium.Env) -> int:
    """Return the number of steps of an episode, from the environment or from its registration."""
    if env.has_wrapper_attr("horizon"):
        return env.get_wrapper_attr("horizon")
    if env.spec is not None and env.spec.max_episode_steps is not None:
        return env.spec.max_episode_steps
    raise InputError("this environment does not say how long an episode is: give longest")


def _whole_number(name: str, value: Any, *, least: int) -> int:
    """Return the value. Raises `InputError` if it is not a whole number of at least `least`."""
    if isinstance(value, bool) or not isinstance(value, Integral) or value < least:
        raise InputError(f"{name} must be a whole number of at least {least}, not {value!r}")
    return int(value)
