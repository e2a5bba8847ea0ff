from replan.worlds.arrays import Arrays as Arrays
from replan.worlds.crosswind import Crosswind as Crosswind, Wind as Wind
from replan.worlds.gymnasium_adapter import from_gymnasium as from_gymnasium
from replan.worlds.ns_gym_adapter import from_ns_gym as from_ns_gym
from replan.worlds.ns_bridge import NSBridge as NSBridge
from replan.worlds.mars_rover import (
    LinearDrift as LinearDrift,
    PiecewiseDrift as PiecewiseDrift,
    Rover as Rover,
    SinusoidalDrift as SinusoidalDrift,
)
from replan.worlds.random_kernels import RandomKernels as RandomKernels
from replan.worlds.settings import (
    PAPER_SETTINGS as PAPER_SETTINGS,
    Setting as Setting,
    builtin_settings as builtin_settings,
    load_setting as load_setting,
    make_mission as make_mission,
    parse_setting as parse_setting,
)
from replan.worlds.slip_grid import rover as rover
from replan.worlds.terrain import Ground as Ground, Patch as Patch, Terrain as Terrain
from replan.worlds.thin_ice import Ice as Ice, ThinIce as ThinIce
