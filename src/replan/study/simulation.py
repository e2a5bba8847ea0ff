"""The paper's simulation study: every method on every setting, chosen on some seeds, measured on others."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

import numpy as np

from replan.evaluation.placement import Interval, Placement, placement, top_quartile_intervals
from replan.evaluation.rollouts import rollout
from replan.execute.mission import Mission
from replan.model.kernel import Array
from replan.schedule.rule import Rule
from replan.study.candidates import Search
from replan.study.paper import METHODS, TABLE_1
from replan.study.parts import kept_parts, run_parts
from replan.study.protocol import (
    HELD_OUT_SEEDS,
    Choice,
    Measurement,
    bootstrap_interval,
    choose,
    measure,
    prepare,
)
from replan.worlds.mars_rover import PiecewiseDrift
from replan.worlds.settings import PAPER_SETTINGS, Setting, load_setting, make_mission


@dataclass(frozen=True)
class Entry:
    """One method on one setting."""

    method: str
    choice: Choice
    measured: Measurement
    times: tuple[int, ...]  # of the first held-out seed
    placements: tuple[Placement, ...] = field(repr=False)  # one per different schedule of the held-out seeds
    paper: float | None


@dataclass(frozen=True)
class SettingResult:
    """All methods on one setting."""

    name: str
    setting: Setting
    oracle_returns: Array = field(repr=False)  # (N,) on the held-out seeds
    entries: dict[str, Entry]  # by method

    @cached_property
    def beaten_by(self) -> list[str]:
        """The methods whose exact regret is not above the adaptive rule's."""
        adaptive = self.entries["regret-guided"].measured.exact
        return [
            name
            for name, entry in self.entries.items()
            if name != "regret-guided" and entry.measured.exact <= adaptive + 1e-9
        ]

    def difference(self, method: str) -> tuple[float, float, float]:
        """Sampled regret of a method minus the adaptive rule's: mean and 95 % interval over paired seeds."""
        paired = self.entries["regret-guided"].measured.returns - self.entries[method].measured.returns
        return float(paired.mean()), *bootstrap_interval(paired)


def simulate(
    names: Sequence[str] = PAPER_SETTINGS,
    *,
    search: Search = "paper",
    workers: int = 2,
    kept: Path | None = None,
) -> Iterator[SettingResult]:
    """The settings in the order given, as they are done; see `run_parts`."""
    return run_parts(simulate_setting, [(name, search) for name in names], workers=workers, kept=kept)


def kept_simulation(
    names: Sequence[str] = PAPER_SETTINGS, *, search: Search = "paper", kept: Path
) -> list[SettingResult]:
    """What `simulate` has kept."""
    return kept_parts(simulate_setting, [(name, search) for name in names], kept=kept)


def simulate_setting(name: str, search: Search = "paper") -> SettingResult:
    """All nine methods on one setting."""
    setting = load_setting(name)
    bench = prepare(make_mission(setting))
    intervals = high_drift_intervals(setting, bench.mission)
    entries = {}
    for method in METHODS:
        choice = choose(bench, method, search=search)
        schedules = _schedules(bench.mission, choice.rule)
        entries[method] = Entry(
            method=method,
            choice=choice,
            measured=measure(bench, choice.rule),
            times=schedules[0],
            placements=tuple(
                placement(times, bench.mission.world.drift_bounds, intervals) for times in schedules
            ),
            paper=TABLE_1.get(name, {}).get(method),
        )
    return SettingResult(name, setting, bench.held_out_returns, entries)


def high_drift_intervals(setting: Setting, mission: Mission) -> list[Interval]:
    """The configured bursts, else the intervals of greatest drift."""
    drift = getattr(setting, "drift", None)
    if isinstance(drift, PiecewiseDrift):
        return drift.intervals(mission.horizon)
    return top_quartile_intervals(mission.world.drift_bounds)


def _schedules(mission: Mission, rule: Rule) -> list[tuple[int, ...]]:
    """The update times of the held-out seeds; once where all are the same."""
    updates = rollout(mission, rule, HELD_OUT_SEEDS, trace=True).updates
    assert updates is not None
    rows = updates if (updates != updates[0]).any() else updates[:1]
    return [tuple(int(t) for t in np.flatnonzero(row)) for row in rows]
