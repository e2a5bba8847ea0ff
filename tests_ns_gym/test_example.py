"""The example's table: no rule beats what is possible, and seeing pays."""

import runpy
from pathlib import Path

EXAMPLE = Path(__file__).parents[1] / "examples" / "ns_gym_frozen_lake.py"


def test_its_table_has_a_line_for_each_environment_and_execution(capsys):
    runpy.run_path(str(EXAMPLE))["main"]()
    _, _, *lines = capsys.readouterr().out.splitlines()
    rows = {tuple(line.split()[:2]): [float(part) for part in line.split()[2:]] for line in lines}
    names = ("FrozenLake", "CliffWalking", "Bridge")
    assert list(rows) == [(name, execution) for name in names for execution in ("map", "belief")]
    for _, *regrets, possible in rows.values():
        assert 0 < possible <= min(regrets) + 0.0005
    for name in names:
        assert rows[name, "belief"][-1] < rows[name, "map"][-1]
