"""The paper's hardware experiment: a Crazyflie among poles, in wind (section 4.2)."""

from replan.worlds.crazyflie.calibration import Calibration, calibrate, read_calibration
from replan.worlds.crazyflie.flight import Flight, FlightAborted, FlightLog, FlightStopped, Flown, fly
from replan.worlds.crazyflie.landing import Landing
from replan.worlds.crazyflie.layouts import DENSITIES, Density, Layout, layout
from replan.worlds.crazyflie.metrics import Outcome, outcome
from replan.worlds.crazyflie.wind import Wind
from replan.worlds.crazyflie.world import crazyflie_mission, crazyflie_world

__all__ = [
    "DENSITIES",
    "Calibration",
    "Density",
    "Flight",
    "FlightAborted",
    "FlightLog",
    "FlightStopped",
    "Flown",
    "Landing",
    "Layout",
    "Outcome",
    "Wind",
    "calibrate",
    "crazyflie_mission",
    "crazyflie_world",
    "fly",
    "layout",
    "outcome",
    "read_calibration",
]
