"""Short flights for the tests of links and landings."""

from functools import cache

from replan.execute import Agent
from replan.schedule import Periodic
from replan.worlds.crazyflie.cflib_flight import CflibFlight
from replan.worlds.crazyflie.flight import Flown, fly
from replan.worlds.crazyflie.layouts import layout
from replan.worlds.crazyflie.wind import make_wind
from replan.worlds.crazyflie.world import crazyflie_mission

DENSE = layout("dense", 3)


@cache
def _mission(horizon: int):
    calm = make_wind("dense", 3, strength=0.0, horizon=horizon)
    return crazyflie_mission(DENSE, calm, budget=min(6, horizon - 1))


def agent(*, horizon: int = 60, **options) -> Agent:
    return Agent.on(_mission(horizon), Periodic(), **options)


def fly_to(peer, *, horizon: int = 6, progress=None, **options) -> Flown:
    return fly(CflibFlight(peer.uri, **options), [agent(horizon=horizon)], progress=progress)


def after(moves: int, action):
    """Do something once that many moves have been made."""
    return lambda t, flight, agents: action() if t == moves else None
