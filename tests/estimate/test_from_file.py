"""What `replan estimate` answers, from a file to plain numbers."""

import json

import numpy as np
import pytest

from replan.errors import InputError
from replan.estimate import estimate_file
from replan.model import SlipKernel


def write(folder, text):
    path = folder / "seen.csv"
    path.write_text("t,s,a,next\n" + text)
    return path


def test_estimates_of_a_small_file(tmp_path):
    path = write(tmp_path, "0,0,0,1\n1,0,0,2\n1,2,1,0\n")
    answer = estimate_file(path, states=3, actions=2, drift_bound=0.1)
    assert answer["log_likelihood"] == pytest.approx(2 * np.log(0.55), abs=1e-8)
    assert 0 <= answer["gap"] <= 1e-8
    assert [(entry["t"], entry["s"], entry["a"]) for entry in answer["kernels"]] == [
        (0, 0, 0),
        (1, 0, 0),
        (1, 2, 1),
    ]
    assert answer["kernels"][2]["next"] == [0]
    first = dict(zip(answer["kernels"][0]["next"], answer["kernels"][0]["probabilities"], strict=True))
    assert first[1] == pytest.approx(0.55, abs=1e-4)
    json.dumps(answer)


def test_a_known_kernel_limits_the_successors(tmp_path):
    path = write(tmp_path, "0,0,0,8\n")
    grid = SlipKernel((3, 3), 0.1)
    with pytest.raises(InputError, match=r"seen\.csv: row 1: next=8 is not a successor of s=0"):
        estimate_file(path, states=9, actions=5, drift_bound=0.1, nominal=grid)
    assert estimate_file(path, states=9, actions=5, drift_bound=0.1)["log_likelihood"] == 0


@pytest.mark.parametrize(
    ("text", "options", "message"),
    [
        ("", {}, "no observations"),
        ("0,0,0,5\n", {}, "row 1: next=5 is out of range"),
        ("4,0,0,1\n2,0,0,1\n", {}, "row 2: t=2 comes after t=4"),
        ("0,0,0,1\n", {"drift_bound": -1}, "drift bound 0 is negative"),
        ("0,0,0,1\n", {"drift_bound": float("nan")}, "drift bound 0 is negative or not a number"),
        ("0,0,0,1\n", {"states": 5000}, "give a nominal kernel"),
        ("0,0,0,1\n", {"actions": 0}, "at least one state and one action"),
    ],
)
def test_refusals_are_one_line(tmp_path, text, options, message):
    with pytest.raises(InputError, match=message) as refusal:
        estimate_file(write(tmp_path, text), **({"states": 3, "actions": 2, "drift_bound": 0.1} | options))
    assert "\n" not in str(refusal.value)
