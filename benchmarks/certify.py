"""Certificates: what one takes, after the fact and in advance, with one slip and without.

Run `python -m benchmarks certify` for this topic only. Nobody else computes one, so there is no peer.
"""

from __future__ import annotations

from functools import partial

from benchmarks.timing import Row, compare
from replan.certificates.certificate import certify
from replan.certificates.in_advance import certify_ahead
from replan.schedule.periodic import periodic_times
from replan.worlds.settings import load_setting, make_mission

SETTINGS = ("two-burst", "thin-ice-medium", "crosswind-medium", "terrain-medium")


def rows() -> list[Row]:
    found = []
    for name in SETTINGS:
        mission = make_mission(load_setting(name))
        times = periodic_times(mission.horizon, mission.spending.limit)
        at = f"{name}, S={mission.world.states} T={mission.horizon} B={mission.spending.limit}"
        for when, make in (("after the fact", certify), ("in advance", certify_ahead)):
            found.append(compare(f"certificate {when}, {at}", partial(make, mission, times), repeat=3))
    return found
