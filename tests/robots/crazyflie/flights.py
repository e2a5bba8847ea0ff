"""Short flights for the tests of links and landings."""

from dataclasses import replace
from functools import cache

from replan.execute.agent import Agent
from replan.robots.crazyflie.cflib_flight import CflibFlight
from replan.robots.crazyflie.flight import Flown, fly
from replan.robots.crazyflie.layouts import layout, make_wind
from replan.robots.crazyflie.world import crazyflie_mission
from replan.schedule.periodic import Periodic

DENSE = layout("dense", 3)


@cache
def _mission(horizon: int):
    calm = make_wind("dense", 3, strength=0.0, horizon=horizon)
    return crazyflie_mission(DENSE, calm, budget=min(6, horizon - 1))


def agent(*, horizon: int = 60, **robot) -> Agent:
    mission = _mission(horizon)
    return Agent.on(replace(mission, robot=replace(mission.robot, **robot)), Periodic())


def fly_to(peer, *, horizon: int = 6, progress=None, **options) -> Flown:
    return fly(CflibFlight(peer.uri, **options), [agent(horizon=horizon)], progress=progress)


def after(moves: int, action):
    """Do something once that many moves have been made."""
    return lambda t, flight, agents: action() if t == moves else None
