"""Small fields of currents and their NetCDF files, for tests."""

from __future__ import annotations

import numpy as np
import xarray

HOURS = np.arange(0, 10 * 24 + 1, 24)
LATITUDES, LONGITUDES = -32 + 0.25 * np.arange(9), -1 + 0.25 * np.arange(11)  # on both sides of Greenwich
STEP = 1 / 1024
"""Of stored speeds, in m/s: short integers hold them exactly."""
MISSION = {"start_time": "2020-03-02", "start": [1, 1], "goal": [6, 8], "horizon": 8, "noise": 5_000.0}


def currents(hours: np.ndarray = HOURS) -> xarray.Dataset:
    """A field that is linear in time, with an island in it."""
    east = 256 * np.cos(np.pi * LATITUDES)[None, :, None] + hours[:, None, None] // 6
    north = 128 * np.sin(np.pi * LONGITUDES)[None, None, :] - hours[:, None, None] // 6
    shape = (len(hours), len(LATITUDES), len(LONGITUDES))
    parts = [np.broadcast_to(np.round(part) * STEP, shape).copy() for part in (east, north)]
    for part in parts:
        part[:, 4:6, 4] = np.nan
    axes = ("time", "lat", "lon")
    attributes = {"units": "m s-1"}
    named = ("eastward_sea_water_velocity", "northward_sea_water_velocity")
    return xarray.Dataset(
        {
            key: (axes, part, attributes | {"standard_name": name})
            for key, part, name in zip(("a", "b"), parts, named, strict=True)
        },
        {
            "time": ("time", hours, {"units": "hours since 2020-03-01"}),
            "lat": ("lat", LATITUDES, {"units": "degrees_north"}),
            "lon": ("lon", LONGITUDES, {"units": "degrees_east"}),
        },
    )
