import runpy
from pathlib import Path

EXAMPLE = Path(__file__).parents[2] / "examples" / "where_regret_comes_from.py"


def test_its_tables_have_a_line_for_each_setting_and_execution():
    example = runpy.run_path(str(EXAMPLE))
    header, *lines = example["shares_table"](("thin-ice-hard", "crosswind-hard"))
    assert header.split()[-1] == "plan+model"
    assert [line.split()[:2] for line in lines] == [
        [name, execution] for name in ("thin-ice-hard", "crosswind-hard") for execution in ("map", "belief")
    ]
    _, terrain = example["bounds_table"](("hard",), (0,))
    assert terrain.startswith("terrain-hard")
