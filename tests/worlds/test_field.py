"""A world from a vector field: every way to write a file gives the same one, and faults are one line."""

import re

import numpy as np
import pytest
from tests.worlds.field_files import HOURS, LATITUDES, LONGITUDES, MISSION, STEP, currents

from replan import InputError, Lookahead, check_world, evaluate, load_setting, make_mission, optimum
from replan.cli import run
from replan.worlds.field import field_world
from replan.worlds.field_file import read_field, to_field

SETTING = """
world = "field"
file = "currents.nc"
start_time = 2020-03-02
start = [1, 1]
goal = [6, 8]
horizon = 8
noise = 5000
planning_horizon = 6
budget = 3
"""


def scaled(dataset):
    packed = {"dtype": "int16", "scale_factor": STEP, "add_offset": 0.5, "_FillValue": -32768}
    for name in ("a", "b"):
        dataset[name].encoding = packed
    return dataset


def without_names(dataset):
    for variable in dataset.variables.values():
        variable.attrs = {"Unit": variable.attrs["units"]}
    return dataset.rename(a="eastward_eulerian_current_velocity", b="northward_eulerian_current_velocity")


def in_centimetres(dataset):
    for name in ("a", "b"):
        attributes = dataset[name].attrs
        dataset[name] = 100 * dataset[name]
        dataset[name].attrs = attributes | {"units": "cm s-1"}
    return dataset


def with_times(dataset, last):
    days = np.concatenate([HOURS[: -len(last)] / 24, last])
    return dataset.assign_coords(time=("time", days, {"units": "days since 2020-03-01"}))


WRITTEN = {
    "axes swapped": lambda d: d.transpose("lon", "time", "lat"),
    "latitudes descending": lambda d: d.isel(lat=slice(None, None, -1)),
    "0 to 360 degrees": lambda d: d.assign_coords(lon=("lon", LONGITUDES % 360, d["lon"].attrs)).sortby(
        "lon"
    ),
    "times backwards": lambda d: d.isel(time=slice(None, None, -1)),
    "every six hours": lambda d: currents(np.arange(0, HOURS[-1] + 1, 6)),
    "scale and offset": scaled,
    "one depth": lambda d: d.expand_dims(depth=[0.5], axis=1),
    "Unit in place of units, and no standard names": without_names,
    "centimetres per second": in_centimetres,
    "one day without any value": lambda d: d.where(d["time"] != HOURS[4]),
    "a variable of something else": lambda d: d.assign(sst=d["a"].assign_attrs(standard_name="sst")),
}


@pytest.fixture
def folder(tmp_path):
    currents().to_netcdf(tmp_path / "currents.nc")
    (tmp_path / "setting.toml").write_text(SETTING)
    return tmp_path


@pytest.fixture(scope="module")
def reference():
    return field_world(currents(), **MISSION)


def same(world, reference):
    assert (world.grid, world.start, world.horizon) == (reference.grid, reference.start, reference.horizon)
    assert world.reward(0).next_state == pytest.approx(reference.reward(0).next_state, abs=1e-9)
    assert (world.kernel(0).land == reference.kernel(0).land).all()
    for t in (0, 3, 7):
        assert np.abs(world.kernel(t).dense() - reference.kernel(t).dense()).max() < 1e-6
    return True


def test_the_world_has_the_cells_of_the_file_land_and_headings(reference):
    assert check_world(reference) == []
    assert reference.grid == (9, 11) and reference.actions == 9
    land = reference.kernel(0).land.reshape(9, 11)
    assert np.argwhere(land).tolist() == [[3, 4], [4, 4]]  # rows go south, latitudes ascend in the file
    entered = reference.kernel(2).dense()[~land.reshape(-1)][:, :, land.reshape(-1)]
    assert entered.max() == 0
    metres = -1e6 * reference.reward(0).next_state[6 * 11 + 9]
    assert metres == pytest.approx(111_195 / 4 * np.cos(np.radians(-31.5)), rel=1e-4)  # one cell to the east


@pytest.mark.parametrize("way", WRITTEN)
def test_however_the_file_is_written_the_world_is_the_same(way, reference, tmp_path):
    WRITTEN[way](currents()).to_netcdf(tmp_path / "field.nc")
    assert same(field_world(tmp_path / "field.nc", **MISSION), reference)


def test_folders_patterns_and_components_apart_are_the_same_world(reference, tmp_path):
    dataset = currents()
    for day in range(dataset.sizes["time"]):
        for name in ("a", "b"):
            dataset[[name]].isel(time=[day]).to_netcdf(tmp_path / f"{name}{day:02}.nc")
    (tmp_path / "notes.txt").write_text("not a field")
    assert same(field_world(tmp_path, **MISSION), reference)
    assert same(field_world(tmp_path / "*.nc", **MISSION), reference)
    assert same(field_world(str(tmp_path / "[ab]*.nc"), east="a", north="b", **MISSION), reference)


def test_a_zarr_store_is_the_same_world(reference, tmp_path):
    currents().to_zarr(tmp_path / "currents.zarr", zarr_format=2, consolidated=False)
    assert same(field_world(tmp_path / "currents.zarr", **MISSION), reference)


def test_cells_may_be_placed_by_either_longitude_and_are_interpolated(reference):
    part = MISSION | {"start": [0, 0], "goal": [3, 4], "rows": 5, "columns": 6}
    west, east = (field_world(currents(), north_west=(-30.25, x), **part) for x in (-0.75, 359.25))
    assert same(west, east)
    inner = reference.kernel(1).drift.reshape(9, 11, 2)[1:6, 1:7]
    assert west.kernel(1).drift.reshape(5, 6, 2) == pytest.approx(inner, abs=1e-9)
    fine = field_world(currents(), north_west=(-30.25, -0.75), cell=0.125, **part)
    moves = fine.kernel(1).drift.reshape(5, 6, 2)
    assert moves[2, 2] == pytest.approx(2 * inner[1, 1], abs=1e-9)  # the same water in smaller cells


def test_metres_are_metres():
    dataset = currents().rename(lat="y", lon="x")
    axes = {name: (name, 25.0 * np.arange(dataset.sizes[name]), {"units": "km"}) for name in ("x", "y")}
    world = field_world(dataset.assign_coords(axes), **MISSION)
    assert -1e6 * world.reward(0).next_state[6 * 11 + 9] == pytest.approx(25_000)
    field = to_field(dataset.assign_coords(axes))
    assert (field.x[1], field.degrees) == (25_000.0, False)


def test_all_around_the_globe_cells_may_lie_anywhere():
    longitudes = np.arange(0, 360, 10.0)
    dataset = currents().isel(lon=0, drop=True).expand_dims(lon=longitudes, axis=2)
    dataset["a"] = dataset["a"] + 0 * dataset["lon"]
    mission = MISSION | {"rows": 3, "columns": 4, "cell": 1.0, "start": [0, 0], "goal": [2, 2]}
    worlds = [field_world(dataset, north_west=(-30, west), **mission) for west in (175, -185, -5, 355, 80)]
    assert all(same(world, worlds[0]) for world in worlds[1:])


def test_a_setting_runs_in_commands(folder, monkeypatch, capsys):
    setting = load_setting(folder / "setting.toml")
    mission = make_mission(setting, execution="belief")
    assert optimum(mission).feedback_regret - 1e-9 <= evaluate(mission, Lookahead()).regret
    monkeypatch.chdir(folder)
    assert run(["regret", "setting.toml", "--rule", "periodic", "--json"]) == 0
    assert '"regret"' in capsys.readouterr().out
    assert run(["list", "worlds"]) == 0
    assert "NetCDF or Zarr" in capsys.readouterr().out


def test_times_before_the_mission_have_kernels_too(reference):
    before = field_world(currents(), **(MISSION | {"start_time": "2020-03-01"}))
    assert np.abs(reference.kernel(-2).dense() - before.kernel(0).dense()).max() < 1e-12
    with pytest.raises(InputError, match="the field is known from 2020-03-01T00:00"):
        reference.kernel(-3)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda d: d.isel(time=0, drop=True), "'a' has no time axis among its axes (lat, lon)"),
        (lambda d: d.isel(time=[0]), "'time' has 1 values; two are needed"),
        (lambda d: d.isel(time=[]), "'time' has 0 values; two are needed"),
        (lambda d: d.isel(lat=[]), "'lat' has 0 values; two are needed"),
        (lambda d: d.isel(lon=[]), "'lon' has 0 values; two are needed"),
        (lambda d: d[["a"]], "no northward velocity: name one with 'north'"),
        (lambda d: d.assign(c=d["a"]), "'a' and 'c': name one with 'east'"),
        (lambda d: d.where(d["lat"] > 0), "fewer than two times with a velocity"),
        (lambda d: d.fillna(9.9e20), "a velocity of 9.9e+20 m/s: is a fill value not declared?"),
        (lambda d: d.drop_vars("lat"), "'a' has no values along 'lat'"),
        (lambda d: d.assign_coords(time=("time", HOURS)), "'time' is not dates and times"),
        (
            lambda d: d.assign_coords(time=("time", HOURS, {"units": "moons since then"})),
            "its times cannot be",
        ),
        (lambda d: with_times(d, [np.nan]), "'time' has missing values"),
        (lambda d: with_times(d, [3e6, 1.0]), "'time' goes beyond the year 9999"),
        (lambda d: with_times(d, [2.0**45, 1.0]), "dataset: its times cannot be read"),
        (lambda d: d.assign_coords(lat=1e3 * LATITUDES), "'lat' holds 32000, beyond 360"),
        (lambda d: d.assign_coords(lat=("lat", 0 * LATITUDES)), "'lat' has the same value twice"),
        (lambda d: d.assign(b=d["b"].assign_attrs(units="furlongs")), "'b' is in 'furlongs', not in m s-1"),
        (lambda d: d.assign(b=d["b"].expand_dims(depth=[1.0, 2.0])), "'depth' has 2 values, so no level 5"),
    ],
)
def test_what_is_wrong_with_a_field_is_one_line(change, said):
    level = 5 if "level" in said else 0
    with pytest.raises(InputError, match=re.escape(said)) as caught:
        to_field(change(currents()), level=level)
    assert "\n" not in str(caught.value)


def test_files_that_cannot_be_read_are_one_line(folder):
    whole = (folder / "currents.nc").read_bytes()
    for name, content in {
        "half.nc": whole[: len(whole) // 2],
        "empty.nc": b"",
        "text.nc": b"no field",
    }.items():
        (folder / name).write_bytes(content)
        with pytest.raises(InputError, match=f"{name}: cannot be read") as caught:
            read_field(folder / name)
        assert "\n" not in str(caught.value)
    with pytest.raises(InputError, match=r"nowhere\.nc: no such file"):
        read_field(folder / "nowhere.nc")
    (folder / "none").mkdir()
    with pytest.raises(InputError, match="no NetCDF file or Zarr store in it"):
        read_field(folder / "none")
    currents().isel(lat=slice(3)).to_netcdf(folder / "none" / "one.nc")
    currents().isel(lat=slice(6)).to_netcdf(folder / "none" / "two.nc")
    with pytest.raises(InputError, match="the files do not fit together"):
        read_field(folder / "none")


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (("[1, 1]", "[3, 4]"), "start [3, 4] is land"),
        (("[6, 8]", "[9, 8]"), "goal [9, 8] is not a cell of the 9 x 11 grid"),
        (("03-02", "03-09"), "the field is known from 2020-03-01T00:00 to 2020-03-11T00:00, not from"),
        (
            ("horizon = 8", "rows = 12\nhorizon = 8"),
            "the field covers -32 to -30 north and -1 to 1.5 east, not cells",
        ),
        (('"currents.nc"', '"winds.nc"'), "winds.nc: no such file"),
        (('file = "currents.nc"\n', ""), "missing key 'file'"),
        (("horizon = 8", "speed = 0\nhorizon = 8"), "'speed' should be greater than 0"),
        (("horizon = 8", 'east = "u"\nhorizon = 8'), "no variable 'u' (there are a, b)"),
    ],
)
def test_what_is_wrong_with_a_setting_is_one_line(folder, change, said):
    path = folder / "setting.toml"
    path.write_text(SETTING.replace(*change))
    with pytest.raises(InputError, match=re.escape(said)) as caught:
        make_mission(load_setting(path))
    assert "\n" not in str(caught.value)


def test_a_dataset_is_asked_for():
    with pytest.raises(InputError, match="must be an xarray Dataset, not dict"):
        field_world({}, **MISSION)


def test_a_date_after_2262_among_others_is_that_date():
    """In nanoseconds it would be one before 1970."""
    years = to_field(with_times(currents(), [150_000.0, 9.0])).times / (365.2425 * 86_400) + 1970
    assert years.max() == pytest.approx(2020.16 + 150_000 / 365.2425, abs=0.01)
