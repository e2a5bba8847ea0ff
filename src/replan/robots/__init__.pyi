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
    OCCUPIED as OCCUPIED,
    CellMap as CellMap,
    Closure as Closure,
    OccupancyMap as OccupancyMap,
    cell_world as cell_world,
    field_world as field_world,
    read_map as read_map,
)
from .planar_transforms import (
    TransformTree as TransformTree,
    cells_shown as cells_shown,
    occupancy_of as occupancy_of,
)
from .ros2.dds import Bus as Bus
from .ros2.floor import FastestWays as FastestWays, KnownFloor as KnownFloor
from .ros2.nav2_scheduler import Nav2Scheduler as Nav2Scheduler
from .ros2.scheduler_service import (
    SchedulerReport as SchedulerReport,
    SchedulerService as SchedulerService,
    load_scheduler as load_scheduler,
)
