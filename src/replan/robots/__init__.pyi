from .maps import (
    CellMap as CellMap,
    Closure as Closure,
    OccupancyMap as OccupancyMap,
    cell_world as cell_world,
    read_map as read_map,
)
from .planar_transforms import cells_shown as cells_shown
from .ros2.floor import KnownFloor as KnownFloor
