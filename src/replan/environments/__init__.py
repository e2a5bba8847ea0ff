"""replan's worlds as Gymnasium environments; importing this folder registers them.

    import gymnasium, replan.environments
    env = gymnasium.make("replan/Rover-v0", n=8)

or, without the second import, `gymnasium.make("replan.environments:replan/Rover-v0")`.
"""

from replan.environments.budgeted_observation import BudgetedObservation
from replan.environments.registration import SETTINGS, make_environment, register_environments
from replan.environments.world_environment import WorldEnvironment

register_environments()

__all__ = [
    "SETTINGS",
    "BudgetedObservation",
    "WorldEnvironment",
    "make_environment",
    "register_environments",
]
