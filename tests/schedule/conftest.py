"""Contexts with numbers small enough to work out by hand."""

import numpy as np
import pytest

from replan import Robot, Spending
from replan.execute.mission import Mission
from replan.forecast.base import Frozen, Future
from replan.model.array_worlds import from_arrays
from replan.model.general_kernel import GeneralKernel
from replan.model.kernel import constant
from replan.model.reward import Reward
from replan.model.world import DriftBounds
from replan.planning.backward_induction import plan
from replan.schedule.rule import Context, Need
from replan.skip.acting import Update, make_propagation

TWO_STATES = GeneralKernel.from_dense([[[0.5, 0.5]], [[0.5, 0.5]]])
DRIFT = np.array([0.5, 0.01, 0.02, 0.03, 0.04, 0.5, 0.5, 0.5, 0.5, 0.5])
REWARD = Reward(next_state=np.array([0.0, 1.0]))


def make_context(**fields) -> Context:
    """A context in a two-state world; every field can be given."""
    information = {
        Need.STATE: fields.pop("state", 0),
        Need.DRIFT_SO_FAR: DriftBounds.of(fields.pop("drift_bounds", DRIFT[: fields.get("time", 5)])),
        Need.EARLIER_ESTIMATE: fields.pop("earlier", None),
    }
    if "current_kernel" in fields:
        information[Need.CURRENT_KERNEL] = fields.pop("current_kernel")
    spending = Spending(fields.pop("budget", 4), exact=fields.pop("exact", True))
    given = {
        "time": 5,
        "horizon": 11,
        "planning_horizon": 3,
        "spending": spending,
        "budget_left": 2,
        "last_update": 2,
        "forecast": Frozen(),
        "reward": lambda t: REWARD,
        "given": information,
    }
    last_update, kernel = fields.get("last_update", given["last_update"]), fields.pop("kernel", TWO_STATES)
    made = fields.pop("plan", None) or plan(TWO_STATES, lambda t: REWARD, time=last_update, horizon=3)
    acting = make_propagation(fields.get("execution", "map"), made, kernel)
    expect = lambda now: (Future("stays", 1.0, constant(kernel)),)  # noqa: E731
    given["update"], given["surprise"] = Update(last_update, kernel, made, acting, expect=expect), last_update
    return Context(**{**given, **fields})


@pytest.fixture
def context():
    return make_context


@pytest.fixture(scope="session")
def context_factory():
    return make_context


@pytest.fixture
def corridor():
    """Cells 0 to 4 in a row; the only action that pays goes right, so the way is 0, 1, 2, 3, 4, 4, ..."""
    right, stay = np.minimum(np.arange(5) + 1, 4), np.arange(5)
    kernel = np.eye(5)[np.stack([right, stay], axis=1)]
    return Mission(
        from_arrays(kernel, np.arange(5), horizon=8), Robot(planning_horizon=3), Spending.exactly(2)
    )
