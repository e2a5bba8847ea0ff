"""Worlds: kernels, rewards, drift and the time-varying MDP made of them."""

from replan.model.array_worlds import from_arrays, load_npz
from replan.model.checks import Finding, check_world, require_valid
from replan.model.drift import burst_intervals, linear, piecewise, sinusoidal
from replan.model.family import Family
from replan.model.general_kernel import GeneralKernel
from replan.model.kernel import Kernel, constant
from replan.model.reward import Reward
from replan.model.slip import ACTIONS, MOVES, SlipKernel
from replan.model.world import Knowledge, World, drift_bounds, local_drift_bounds

__all__ = [
    "ACTIONS",
    "MOVES",
    "Family",
    "Finding",
    "GeneralKernel",
    "Kernel",
    "Knowledge",
    "Reward",
    "SlipKernel",
    "World",
    "burst_intervals",
    "check_world",
    "constant",
    "drift_bounds",
    "from_arrays",
    "linear",
    "load_npz",
    "local_drift_bounds",
    "piecewise",
    "require_valid",
    "sinusoidal",
]
