"""The scheduler that a setting file describes: its map and drift, and the section `[scheduler]`."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from replan.errors import InputError
from replan.robots.ros2.nav2_scheduler import PATIENCE, Nav2Scheduler
from replan.skip.propagation import EXECUTIONS
from replan.study.rule_source import make_rule
from replan.worlds.map_world import Map
from replan.worlds.settings import load_setting

_KEYS = {"rule", "parameters", "execution"}


def load_scheduler(
    path: str | Path,
    *,
    rule: str | None = None,
    parameters: Mapping[str, Any] | None = None,
    execution: str | None = None,
    patience: float = PATIENCE,
    read_map: bool = True,
) -> Nav2Scheduler:
    """Return the scheduler of a TOML file with `world = "map"`.

    `rule`, `parameters` and `execution` take precedence over the file's. Without `read_map` the scheduler
    waits for a map.
    """
    setting = load_setting(path)
    if not isinstance(setting, Map):
        raise InputError(f'{path}: a scheduler needs world = "map", not {setting.world!r}')
    section = tomllib.loads(Path(path).read_text()).get("scheduler", {})
    if unknown := sorted(set(section) - _KEYS):
        raise InputError(f"{path}: unknown key 'scheduler.{unknown[0]}'")
    execution = execution or section.get("execution", EXECUTIONS[0])
    if execution not in EXECUTIONS:
        raise InputError(f"execution must be {' or '.join(EXECUTIONS)}, not {execution!r}")
    name = rule or section.get("rule", "lookahead")
    chosen = parameters if rule or parameters else section.get("parameters", {})
    return Nav2Scheduler(
        setting,
        make_rule(name, **(chosen or {})),
        execution=execution,
        patience=patience,
        cells=setting.cells() if read_map else None,
    )
