"""replan's worlds as Gymnasium environments (extra `gym`); importing this folder registers them.

    import gymnasium, replan.environments
    env = gymnasium.make("replan/Rover-v0", n=8)

or, without the second import, `gymnasium.make("replan.environments:replan/Rover-v0")`.
"""

from importlib.util import find_spec

from replan.errors import missing_extra

if find_spec("gymnasium") is None:
    raise ImportError(missing_extra("replan.environments", "gym"))

from replan.environments.budgeted_observation import BudgetedObservation
from replan.environments.replanning import Replanning
from replan.environments.world_environment import WorldEnvironment, register_environments

register_environments()

__all__ = ["BudgetedObservation", "Replanning", "WorldEnvironment"]
