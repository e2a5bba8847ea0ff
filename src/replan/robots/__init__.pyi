from .crazyflie.flight import FlightOutcome as FlightOutcome
from .crazyflie.flight_report import draw_flights as draw_flights
from .crazyflie.flights import (
    FlightScene as FlightScene,
    Job as Job,
    Track as Track,
    fly_batch as fly_batch,
    fly_one as fly_one,
)
from .crazyflie.layouts import layout as layout
from .maps import (
    CellMap as CellMap,
    Closure as Closure,
    OccupancyMap as OccupancyMap,
    cell_world as cell_world,
    read_map as read_map,
)
from .planar_transforms import cells_shown as cells_shown
from .ros2.floor import KnownFloor as KnownFloor
