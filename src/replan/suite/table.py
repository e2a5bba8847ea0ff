"""Make the table of the suite: `python -m replan.suite.table FILE.csv`, once for a version.

Values that the table of the package has are kept, so that an earlier version stays as it is. A seed is drawn
again until `periodic` and the floor lie apart for blind robots. The columns `even_map` and `even_belief` hold
`periodic`, which was the zero of the score when the versions were frozen; their hashes depend on it.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping, Sequence
from itertools import count
from pathlib import Path
from typing import Any

from replan import Periodic, make_mission, regret
from replan.evaluation.optimal_schedule import feedback_regrets
from replan.schedule.periodic import Even
from replan.suite.catalogue import (
    BLIND,
    BUILT_IN,
    EXECUTIONS,
    FIRST_SEED,
    LEAST_RANGE,
    WORLDS_OF_A_FAMILY,
    Part,
    built_in_families,
    parameters_hash,
    row_data,
    table_rows,
)
from replan.suite.families import Data
from replan.typing import Execution
from replan.worlds.settings import parse_setting

DECIMALS = 10
"""Decimals of the reference values."""


def reference_values(data: Mapping[str, Any], executions: Sequence[Execution] = EXECUTIONS) -> Data:
    """Return the columns of the table that hold regrets of a setting."""
    setting, values = parse_setting(dict(data)), {}
    for execution in executions:
        mission = make_mission(setting, execution=execution)
        evenly = Even() if mission.robot.sees else Periodic()
        values[f"even_{execution}"] = _rounded(regret(mission, evenly))
        values[f"floor_{execution}"] = _rounded(feedback_regrets(mission, mission.limit)[-1])
    return values


def new_row(name: str, part: Part, family: str) -> Data:
    """Return the row of a world: the first draw of its seed that blind robots can be scored on."""
    for draw in count():
        drawn = {"world": name, "part": part, "family": family, "draw": "" if family in BUILT_IN else draw}
        data = row_data(drawn)
        values = reference_values(data, BLIND)
        if family in BUILT_IN or all(
            values[f"even_{kind}"] - values[f"floor_{kind}"] >= LEAST_RANGE for kind in BLIND
        ):
            return {**drawn, "parameters": parameters_hash(data), **values}
    raise AssertionError


def suite_names() -> Iterator[tuple[str, Part, str]]:
    """Yield name, part and family of every world."""
    for part, families in WORLDS_OF_A_FAMILY.items():
        for family, worlds in families.items():
            for seed in range(FIRST_SEED[part], FIRST_SEED[part] + worlds):
                yield f"{family}-{seed}", part, family
    for name, family in built_in_families():
        yield name, "test", family


def rows(known: Mapping[str, Data]) -> Iterator[Data]:
    """Yield the rows of the table; what is known of a world, by its name, is kept."""
    for name, part, family in suite_names():
        row = known.get(name) or new_row(name, part, family)
        missing: list[Execution] = [kind for kind in EXECUTIONS if f"floor_{kind}" not in row]
        yield {**row, **reference_values(row_data(row), missing)}


def _rounded(value: float) -> float:
    return round(float(value), DECIMALS) + 0.0  # never -0.0


def main(path: str) -> None:
    """Write the table."""
    lines: list[str] = []
    for row in rows({row["world"]: row for row in table_rows()}):
        lines = lines or [",".join(row)]
        lines.append(",".join(map(str, row.values())))
        print(lines[-1], file=sys.stderr, flush=True)
    Path(path).write_text("\n".join(lines) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main(*sys.argv[1:])
