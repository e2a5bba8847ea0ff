"""Reading transitions: what is accepted, and that a refusal names the row."""

import numpy as np
import pytest

from replan.errors import InputError
from replan.estimate.observations import Transitions, read_transitions


def test_a_file_is_read(tmp_path):
    path = tmp_path / "seen.csv"
    path.write_text("t,s,a,next\n0,3,1,4\n0,2,0,2\n7,4,4,4\n")
    seen = read_transitions(path)
    assert len(seen) == 3
    assert seen.times.tolist() == [0, 0, 7]
    assert seen.next_states.tolist() == [4, 2, 4]
    seen.check(states=5, actions=5)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "the first line must be t,s,a,next"),
        ("t,s,next,a\n", "the first line must be t,s,a,next"),
        ("t,s,a,next\n0,1,2\n", "row 1 has 3 values, not 4"),
        ("t,s,a,next\n0,1,2,3\n1,1,nan,3\n", "row 2: a='nan' is not a whole number"),
        ("t,s,a,next\n0,1,2,3\n1,1,0.5,3\n", "row 2: a='0.5' is not a whole number"),
        ("t,s,a,next\n0,1,2," + "9" * 400, "row 1: next='9999.*' is not a whole number"),
        ("t,s,a,next\n0,1,2," + "1" * 140_000, "cannot be read"),
    ],
)
def test_a_bad_file_is_one_line_naming_the_row(tmp_path, text, message):
    path = tmp_path / "seen.csv"
    path.write_text(text)
    with pytest.raises(InputError, match=message) as refusal:
        read_transitions(path)
    assert "\n" not in str(refusal.value)


def test_a_missing_file_is_refused(tmp_path):
    with pytest.raises(InputError, match="cannot be read"):
        read_transitions(tmp_path / "none.csv")


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ([(0, 0, 0, 9)], "row 1: next=9 is out of range"),
        ([(-1, 0, 0, 0)], "row 1: t=-1 is out of range"),
        ([(1_700_000_000_000_000_000, 0, 0, 0)], "row 1: t=1700000000000000000 is out of range"),
        ([(1e30, 0, 0, 0)], "row 1: t=1e[+]30 is not a whole number"),
        ([(2, 0, 0, 0), (1, 0, 0, 0)], "row 2: t=1 comes after t=2"),
        (np.zeros((2, 3)), "four columns"),
    ],
)
def test_bad_rows_are_named(rows, message):
    with pytest.raises(InputError, match=message):
        Transitions.of_rows(rows).check(states=3, actions=2)
