from .calibration import calibrate as calibrate
from .flights import Job as Job, Scene as Scene, fly_one as fly_one
from .layouts import layout as layout
from .wind import make_wind as make_wind
from .world import crazyflie_world as crazyflie_world
