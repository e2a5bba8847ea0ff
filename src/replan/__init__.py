"""When should a robot replan? Update scheduling in time-varying Markov decision processes.

Names are loaded when they are first used, so that `import replan` costs next to nothing.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from replan.errors import InputError
    from replan.estimate import Estimator, Observation, TrueKernel
    from replan.evaluation import Evaluation, evaluate_times, regret, rollout
    from replan.execute import Agent, Event, Mission
    from replan.model import (
        TVMDP,
        GeneralKernel,
        Kernel,
        Reward,
        SlipKernel,
        check_tvmdp,
        constant,
        from_arrays,
        load_npz,
    )
    from replan.planning import Plan, Ties, oracle
    from replan.schedule import Context, Decision, FixedTimes, Periodic, Rule
    from replan.worlds.settings import load_setting, make_mission

__version__ = "0.1.0"

_HOME = {
    "errors": ["InputError"],
    "estimate": ["Estimator", "Observation", "TrueKernel"],
    "evaluation": ["Evaluation", "evaluate_times", "regret", "rollout"],
    "execute": ["Agent", "Event", "Mission"],
    "model": [
        "TVMDP",
        "GeneralKernel",
        "Kernel",
        "Reward",
        "SlipKernel",
        "check_tvmdp",
        "constant",
        "from_arrays",
        "load_npz",
    ],
    "planning": ["Plan", "Ties", "oracle"],
    "schedule": ["Context", "Decision", "FixedTimes", "Periodic", "Rule"],
    "worlds.settings": ["load_setting", "make_mission"],
}
_MODULE_OF = {name: module for module, names in _HOME.items() for name in names}


def __getattr__(name: str) -> Any:
    if name not in _MODULE_OF:
        raise AttributeError(f"module 'replan' has no attribute {name!r}")
    return getattr(import_module(f"replan.{_MODULE_OF[name]}"), name)


__all__ = [
    "TVMDP",
    "Agent",
    "Context",
    "Decision",
    "Estimator",
    "Evaluation",
    "Event",
    "FixedTimes",
    "GeneralKernel",
    "InputError",
    "Kernel",
    "Mission",
    "Observation",
    "Periodic",
    "Plan",
    "Reward",
    "Rule",
    "SlipKernel",
    "Ties",
    "TrueKernel",
    "check_tvmdp",
    "constant",
    "evaluate_times",
    "from_arrays",
    "load_npz",
    "load_setting",
    "make_mission",
    "oracle",
    "regret",
    "rollout",
]
