from .gymnasium_adapter import from_gymnasium as from_gymnasium, from_ns_gym as from_ns_gym
from .parameters import WorldParameters as WorldParameters, register_world as register_world
from .settings import (
    Setting as Setting,
    builtin_settings as builtin_settings,
    load_setting as load_setting,
    make_mission as make_mission,
    parse_setting as parse_setting,
)
from .slip_grid import rover as rover
