"""Maps, their cells and the worlds on them, as `replan.robots` exports them."""

from replan.worlds.cell_map import CellMap
from replan.worlds.map_file import OccupancyMap, read_map
from replan.worlds.map_world import Closure, cell_world

__all__ = ["CellMap", "Closure", "OccupancyMap", "cell_world", "read_map"]
