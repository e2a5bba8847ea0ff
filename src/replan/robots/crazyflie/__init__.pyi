from .crazyflow_flight import calibrate as calibrate
from .flights import Job as Job, FlightScene as FlightScene, fly_one as fly_one
from .layouts import layout as layout
from .layouts import make_wind as make_wind
from .world import crazyflie_world as crazyflie_world
