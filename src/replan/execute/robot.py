"""The robot of a mission: how it acts between updates, estimates, forecasts and plans."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import get_args

from replan.errors import InputError, require, require_word
from replan.estimate.estimator import Estimator, require_estimator
from replan.forecast.base import Forecast, Frozen
from replan.model.kernel import Kernel
from replan.model.reward import Reward
from replan.planning.backward_induction import Plan, plan
from replan.planning.ties import Ties
from replan.skip.acting import Execution, check_execution
from replan.skip.latency import Durations, read_durations
from replan.typing import Meanwhile

Planner = Callable[[Kernel, Callable[[int], Reward], int, int, Ties], Plan]
"""(kernel, reward, time, horizon, ties) -> plan."""


def plan_by_induction(kernel: Kernel, reward, time: int, horizon: int, ties: Ties) -> Plan:
    """Plan by backward induction, the default planner of a robot.

    Parameters
    ----------
    kernel : Kernel
        The estimate of the kernel.
    reward : callable
        The reward of each time.
    time : int
        Time of the first step.
    horizon : int
        Number of steps to plan.
    ties : Ties
        Which of equally good actions is taken.

    Returns
    -------
    Plan
        The first-step policy and its Q-values.
    """
    return plan(kernel, reward, time=time, horizon=horizon, ties=ties)


@dataclass(frozen=True, kw_only=True)
class Robot:
    """A robot: its planner, estimator and forecast, and its execution between updates.

    Parameters
    ----------
    planning_horizon : int
        H, the steps that a plan looks ahead.
    execution : {"map", "belief", "localised"}
        Acting between updates: on the likeliest state, on the whole distribution of the state, or on the
        state itself, which a localised robot sees at every step.
    estimator : Estimator, optional
        Estimates the kernel to plan on from the observation at an update, or at every step of a localised
        robot. None stands for the paper's simulator, in which the observation at t reveals P_{t-1}; an agent
        without a world needs an estimator.
    forecast : Forecast
        Predicts the kernels after an update. The paper's robot predicts that they stay the same.
    ties : Ties
        Which of several equally good actions a plan takes.
    planner : callable
        (kernel, reward, time, horizon, ties) -> `Plan`, in place of backward induction. Runs in updates only.
    judge : callable
        A planner in place of backward induction for the decisions of `last-moment` and `gain`, which compare
        the plan in force with the judge's plan at every step. It must be cheap.
    update_steps : int or mapping
        Steps from the beginning of an update until its plan is in force, or {steps: probability}, drawn anew
        for each update.
    meanwhile : {"go-on", "wait"}
        Acting while an update runs: by the old plan, or by the world's action that waits.

    Raises
    ------
    InputError
        If a value is out of range or has the wrong type.
    """

    planning_horizon: int
    execution: Execution = "map"
    estimator: Estimator | None = field(default=None, repr=False)
    forecast: Forecast = field(default_factory=Frozen)
    ties: Ties = field(default_factory=Ties)
    planner: Planner = field(default=plan_by_induction, repr=False)
    judge: Planner = field(default=plan_by_induction, repr=False)
    update_steps: int | Mapping[int, float] = 0
    meanwhile: Meanwhile = "go-on"

    @property
    def sees(self) -> bool:
        """Whether it sees its state at every step."""
        return self.execution == "localised"

    @property
    def durations(self) -> Durations:
        """(steps, probability) of the duration of an update."""
        return read_durations(self.update_steps)

    def __post_init__(self) -> None:
        _ = self.durations  # checked here
        require_word(get_args(Meanwhile), meanwhile=self.meanwhile)
        check_execution(self.execution)
        if type(self.planning_horizon) is not int or self.planning_horizon < 1:
            raise InputError(
                f"planning_horizon must be a whole number of at least 1, not {self.planning_horizon!r}"
            )
        if isinstance(self.forecast, str):
            raise InputError(f"forecast must be a Forecast, such as Mixture(), not {self.forecast!r}")
        require(Forecast, forecast=self.forecast)
        require(Ties, ties=self.ties)
        if self.estimator is not None:
            require_estimator(self.estimator)
        for name, planner in (("planner", self.planner), ("judge", self.judge)):
            if not callable(planner):
                raise InputError(f"{name} must be a function, not {planner!r}")
            if self.forecast.moves and planner is not plan_by_induction:
                raise InputError(f"a {name} of your own plans on one kernel: it needs the forecast frozen")
