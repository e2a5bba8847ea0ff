"""Maps, their cells and the worlds on them, and fields, as `replan.robots` exports them."""

from replan.worlds.cell_map import CellMap
from replan.worlds.field import field_world
from replan.worlds.map_file import OCCUPIED, OccupancyMap, read_map
from replan.worlds.map_world import Closure, cell_world

__all__ = ["OCCUPIED", "CellMap", "Closure", "OccupancyMap", "cell_world", "field_world", "read_map"]
