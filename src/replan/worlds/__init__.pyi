from .arrays import Arrays as Arrays
from .crosswind import Crosswind as Crosswind, Wind as Wind
from .gymnasium_adapter import from_gymnasium as from_gymnasium
from .ns_gym_adapter import from_ns_gym as from_ns_gym
from .ns_bridge import NSBridge as NSBridge
from .mars_rover import (
    LinearDrift as LinearDrift,
    PiecewiseDrift as PiecewiseDrift,
    Rover as Rover,
    SinusoidalDrift as SinusoidalDrift,
)
from .random_kernels import RandomKernels as RandomKernels
from .settings import (
    PAPER_SETTINGS as PAPER_SETTINGS,
    Setting as Setting,
    builtin_settings as builtin_settings,
    load_setting as load_setting,
    make_mission as make_mission,
    parse_setting as parse_setting,
)
from .slip_grid import rover as rover
from .terrain import Ground as Ground, Patch as Patch, Terrain as Terrain
from .thin_ice import Ice as Ice, ThinIce as ThinIce
