"""Draws the worlds of the suite, computes their reference values and writes the frozen table.

`python -m replan.suite.freeze FILE.csv`, once for a version: a seed is drawn again until even spacing and the
floor lie apart under both executions.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from itertools import count
from pathlib import Path
from typing import Any

from replan.evaluation.exact import regret
from replan.evaluation.optimal_schedule import feedback_regrets
from replan.schedule.periodic import Periodic
from replan.skip.propagation import EXECUTIONS
from replan.suite.catalogue import (
    COLUMNS,
    FIRST_SEED,
    LEAST_RANGE,
    WORLDS_OF_A_FAMILY,
    built_in_data,
    built_in_families,
    draw_data,
    parameters_hash,
)
from replan.worlds.settings import make_mission, parse_setting

DIGITS = 10
Row = dict[str, Any]


def reference_values(data: Mapping[str, Any]) -> Row:
    """Return `even` and `floor` of a setting by execution, as columns of the table."""
    setting, values = parse_setting(dict(data)), {}
    for execution in EXECUTIONS:
        mission = make_mission(setting, execution=execution)
        values[f"even_{execution}"] = _rounded(regret(mission, Periodic()))
        values[f"floor_{execution}"] = _rounded(feedback_regrets(mission, mission.limit)[-1])
    return values


def drawn_row(family: str, seed: int) -> Row:
    """Return draw, hash and reference values of the first draw of a seed that can be scored."""
    for draw in count():
        data = draw_data(family, seed, draw)
        values = reference_values(data)
        if all(values[f"even_{kind}"] - values[f"floor_{kind}"] >= LEAST_RANGE for kind in EXECUTIONS):
            return {"draw": draw, "parameters": parameters_hash(data), **values}
    raise AssertionError


def rows() -> Iterator[Row]:
    """Yield the rows of the table."""
    for part, families in WORLDS_OF_A_FAMILY.items():
        for family, worlds in families.items():
            for seed in range(FIRST_SEED[part], FIRST_SEED[part] + worlds):
                named = {"world": f"{family}-{seed}", "part": part, "family": family}
                yield {**named, **drawn_row(family, seed)}
    for name, family in built_in_families():
        data = built_in_data(name)
        named = {"world": name, "part": "test", "family": family, "draw": ""}
        yield {**named, "parameters": parameters_hash(data), **reference_values(data)}


def _rounded(value: float) -> float:
    return round(float(value), DIGITS) + 0.0  # never -0.0


def main(path: str) -> None:
    """Write the table."""
    lines = [",".join(COLUMNS)]
    for row in rows():
        lines.append(",".join(str(row[column]) for column in COLUMNS))
        print(lines[-1], file=sys.stderr, flush=True)
    Path(path).write_text("\n".join(lines) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main(*sys.argv[1:])
