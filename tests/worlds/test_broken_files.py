"""A broken table or NetCDF file is one line, or is read as a plain reading has it."""

from itertools import product

import numpy as np
import pytest
from tests.worlds.broken_files import (
    break_field,
    break_table,
    velocities_of,
    wind_table,
    winds_of,
    write_field,
)

from replan import InputError
from replan.worlds.field_file import read_field
from replan.worlds.wind_table import read_wind

MANY = [pytest.param(50), pytest.param(1_000, marks=pytest.mark.slow)]


def table_is_right(path) -> bool:
    """Whether the table is read, and then as a plain reading has it; a refusal must be one line."""
    try:
        table = read_wind(path)
    except InputError as error:
        return one_line(error, path)
    expected = winds_of(path)
    assert table.times.tolist() == sorted(expected)
    assert table.wind == pytest.approx(np.array([expected[time] for time in table.times]), abs=1e-9)
    return True


def field_is_right(path) -> bool:
    """The same of a field: land is where a value is missing at a time at which others are not."""
    try:
        field = read_field(path)
    except InputError as error:
        return one_line(error, path)
    expected, y_of, x_of = velocities_of(path), field.y.round(9).tolist(), field.x.round(9).tolist()
    times = {time for (time, _), velocity in expected.items() if velocity is not None}
    assert field.times.tolist() == sorted(times)
    assert {place for _, place in expected} == set(product(y_of, x_of))
    for (time, (y, x)), velocity in expected.items():
        place = (y_of.index(y), x_of.index(x))
        land = None in [expected[other, (y, x)] for other in times]
        assert field.land[place] == land
        if time in times:
            found = field.velocity[(field.times.tolist().index(time), *place)]
            assert found == pytest.approx((0, 0) if land else velocity, abs=1e-9)
    return True


def one_line(error: InputError, path) -> bool:
    assert "\n" not in str(error) and str(error).startswith(str(path))
    return False


@pytest.mark.parametrize("count", MANY)
def test_a_broken_wind_table_is_one_line_or_the_right_numbers(count, tmp_path):
    read = 0
    for seed in range(count):
        rng, path = np.random.default_rng(seed), tmp_path / f"{seed}.csv"
        path.write_bytes(break_table(wind_table(rng), rng))
        read += table_is_right(path)
    assert 0 < read < count


@pytest.mark.parametrize("count", MANY)
def test_a_broken_field_is_one_line_or_the_right_numbers(count, tmp_path):
    read = 0
    for seed in range(count):
        rng, path = np.random.default_rng(seed), tmp_path / f"{seed}.nc"
        write_field(path, rng)
        break_field(path, rng)
        read += field_is_right(path)
    assert 0 < read < count
