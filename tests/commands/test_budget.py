import json

import pytest

from replan.cli import run


def answer(capsys, *arguments):
    assert run(["budget", *arguments, "--json"]) == 0
    return json.loads(capsys.readouterr().out)


def test_every_budget_has_its_regret_its_floor_and_the_worth_of_one_more(capsys):
    found = answer(capsys, "nsbridge-05", "--rule", "periodic", "--regret", "0.3", "--price", "0.01")
    assert [row["budget"] for row in found["budgets"]] == list(range(1, 9))  # T - 1 is less than 12
    regrets = [row["regret"] for row in found["budgets"]]
    assert all(row["regret"] >= row["floor"] - 1e-9 for row in found["budgets"])
    assert found["budgets"][0]["worth"] == pytest.approx(regrets[0] - regrets[1])
    assert found["budgets"][-1]["worth"] is None
    enough = [b for b, value in enumerate(regrets, start=1) if value <= 0.3]
    assert found["smallest_budget"] == (enough[0] if enough else None)
    losses = [found["never_updating"], *regrets]
    assert found["budget_at_price"] == min(range(9), key=lambda updates: losses[updates] + 0.01 * updates)


def test_parameters_are_chosen_anew_for_each_budget_unless_given(capsys):
    found = answer(capsys, "nsbridge-0", "--rule", "measuring-value", "--most", "3", "--no-floor")
    assert {row["floor"] for row in found["budgets"]} == {None}
    assert all("threshold" in row["parameters"] for row in found["budgets"])
    given = answer(
        capsys,
        "nsbridge-0",
        "--rule",
        "measuring-value",
        "--most",
        "3",
        "--no-floor",
        "--set",
        "threshold=0.5",
    )
    assert {row["parameters"]["threshold"] for row in given["budgets"]} == {0.5}


def test_the_figure_is_written_and_the_lines_are_for_people(capsys, tmp_path):
    picture = tmp_path / "curve.png"
    assert run(["budget", "nsbridge-1", "--most", "2", "--regret", "0", "--out", str(picture)]) == 0
    assert picture.read_bytes().startswith(b"\x89PNG")
    assert "more than 2 updates" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "word"),
    [
        (["nsbridge-0", "--most", "9"], "--most must lie between"),
        (["nsbridge-0", "--price", "inf"], "--price"),
        (["nsbridge-0", "--regret", "-1"], "--regret"),
        (["nsbridge-0", "--price", "nan"], "--price"),
        (["nsbridge-0", "--most", "1", "--out", "curve.svg"], ".png"),
    ],
)
def test_what_cannot_be_is_one_line(capsys, arguments, word):
    assert run(["budget", *arguments]) == 2
    assert word in capsys.readouterr().err


def test_budgets_end_where_late_updates_leave_no_room(capsys):
    found = answer(capsys, "nsbridge-05", "--rule", "periodic", "--update-steps", "3")
    assert [row["budget"] for row in found["budgets"]] == [1, 2, 3]  # at 1, 4 and 7 of 9 steps
    drawn = answer(capsys, "nsbridge-05", "--rule", "drift-threshold", "--update-steps", "1:0.5,4:0.5")
    assert [row["budget"] for row in drawn["budgets"]] == [1, 2]
    assert all(row["regret"] >= row["floor"] - 1e-9 for row in drawn["budgets"])


def test_the_best_possible_by_steps_is_known_for_every_forecast(capsys):
    asked = "nsbridge-05", "--rule", "periodic", "--most", "2", "--by-steps", "0,2", "--execution", "belief"
    for forecast in ("frozen", "trend"):
        for steps in answer(capsys, *asked, "--forecast", forecast)["by_update_steps"]:
            assert all(
                floor <= regret + 1e-9
                for floor, regret in zip(steps["floors"], steps["regrets"], strict=True)
            )
