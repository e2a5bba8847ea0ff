"""`replan demo`: a robot that is blind and a robot that sees cross a frozen river, in the terminal."""

from __future__ import annotations

import io
import sys
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from replan.commands import CommandAnswer, Output
from replan.commands.options import SeedOption
from replan.evaluation.agent_runs import AgentRun, run_agent
from replan.evaluation.exact import evaluate
from replan.execute.mission import Mission
from replan.model.grid_map import GridMap
from replan.model.kernel import Array
from replan.planning.optimal_values import oracle
from replan.schedule.fixed import FixedTimes
from replan.schedule.last_moment import LastMoment
from replan.schedule.lookahead import Lookahead
from replan.schedule.periodic import Even
from replan.schedule.rule import Rule
from replan.skip.spending import Spending
from replan.worlds.settings import load_setting, make_mission
from replan.worlds.thin_ice import ThinIce, failure_rates

if TYPE_CHECKING:
    from rich.console import Console, RenderableType

SETTING = "thin-ice-medium"
SECONDS = 8.0
"""Time of the whole show, with what is computed before it."""
LONGEST_FRAME = 0.12
"""Seconds that a step is shown at most."""


@dataclass(frozen=True)
class Contender:
    """A way to place replans, and the exact loss that is expected of it."""

    name: str
    updates: float
    """Expected number of replans in a mission."""
    lost: Array
    """(T,) expected loss of the steps up to t, against a robot that knows everything."""

    def record(self) -> dict[str, Any]:
        return {
            "rule": self.name,
            "expected_updates": self.updates,
            "regret": self.lost[-1],
            "lost": self.lost,
        }


@dataclass(frozen=True)
class DemoFrame:
    """One robot on its way, and what other ways to place its replans lose meanwhile."""

    name: str
    title: str
    mission: Mission
    ground: GridMap
    run: AgentRun
    failures: Array
    """(T,) probability that a step onto the ice breaks it."""
    contenders: tuple[Contender, ...]
    """The rule of the run first."""

    def last_plan(self, t: int) -> int:
        """Return the time of the plan in force at t."""
        return max((0, *(at for at in self.run.times if at <= t)))

    def facts(self, t: int) -> list[str]:
        """Return what happens at t, in words."""
        run, made = self.run, self.last_plan(t)
        columns = cast(tuple[int, int], self.mission.world.grid)[1]
        away = sum(
            abs(np.subtract(divmod(int(run.states[t]), columns), divmod(int(run.believed[t]), columns)))
        )
        believes = "it sees where it is" if self.mission.robot.sees else _error_words(int(away))
        decision = dict(run.decisions).get(t)
        return [
            f"step {t + 1} of {self.mission.horizon}",
            f"chance that the ice breaks under a step: {self.failures[t]:.0%} now",
            f"the current plan, made at t = {made}, assumes {self.failures[max(made - 1, 0)]:.0%}",
            believes,
            "REPLANS" if decision is not None and decision.update else "keeps its plan",
            f"why: {'the mission begins' if decision is None else decision.reason}",
        ]

    def record(self) -> dict[str, Any]:
        run = self.run
        return {
            "robot": self.name,
            "execution": self.mission.robot.execution,
            "times": run.times,
            "decisions": [
                {"t": t, "update": each.update, "score": each.score, "reason": each.reason}
                for t, each in run.decisions
            ],
            "states": run.states,
            "believed": run.believed,
            "failure_rates": self.failures,
            "rules": [each.record() for each in self.contenders],
        }


def _error_words(cells: int) -> str:
    if cells == 0:
        return "it is where it believes it is"
    return f"it is {cells} cell{'s' * (cells > 1)} from where it believes it is"


def make_scenes(seed: int) -> list[DemoFrame]:
    """Return the blind robot with four replans, and the robot that sees with as many as it likes."""
    setting = load_setting(SETTING)
    assert isinstance(setting, ThinIce)
    failures = failure_rates(setting.ice, cast(int, setting.horizon))
    blind = make_mission(setting)
    seeing = make_mission(setting, execution="localised")
    free = Spending.at_most(blind.horizon - 1)
    return [
        _scene("blind", "A robot that is blind between replans and has four of them", blind, failures, seed,
               {"lookahead": Lookahead(), "evenly spaced": Even(), "only at t = 1": FixedTimes((1,))}),
        _scene("sees", "A robot that sees where it is and may replan at every step",
               seeing.with_spending(free), failures, seed,
               {"last-moment": LastMoment(), "at every step": FixedTimes(tuple(range(1, blind.horizon))),
                "never": FixedTimes(())}),
    ]  # fmt: skip


def _scene(
    name: str, title: str, mission: Mission, failures: Array, seed: int, rules: dict[str, Rule]
) -> DemoFrame:
    run = run_agent(mission, next(iter(rules.values())), seed=seed)
    best, loose = oracle(mission.world), mission.with_spending(Spending.at_most(mission.limit))
    contenders = []
    for label, rule in rules.items():
        found = evaluate(loose if isinstance(rule, FixedTimes) else mission, rule, best=best)
        contenders.append(Contender(label, found.expected_updates, np.cumsum(found.steps.loss)))
    ground = cast(GridMap, mission.world.grid_map())
    return DemoFrame(name, title, mission, ground, run, failures, tuple(contenders))


@dataclass(frozen=True)
class DemoAnswer(CommandAnswer):
    """Both robots, and the last picture of each unless it was shown live."""

    scenes: list[DemoFrame]
    shown: bool

    def record(self) -> dict[str, Any]:
        return {"setting": SETTING, "robots": [scene.record() for scene in self.scenes]}

    def lines(self) -> list[str]:
        return [
            *([] if self.shown else _still_lines(self.scenes)),
            *(self._conclusion(scene) for scene in self.scenes),
            f"Next: replan schedule {SETTING} --rule lookahead (when and why), "
            f"replan explain {SETTING} --rule lookahead (what the loss is made of).",
        ]

    def _conclusion(self, scene: DemoFrame) -> str:
        ours, *others = scene.contenders
        losses = "; ".join(f"{each.name}, {_replans(each)}: {each.lost[-1]:.2f}" for each in others)
        return f"{scene.name}: {ours.name} loses {ours.lost[-1]:.2f} with {_replans(ours)} ({losses})"


def _replans(contender: Contender) -> str:
    return f"{contender.updates:.3g} replan" + "s" * (round(contender.updates, 2) != 1)


def demo(output: Output, seed: SeedOption = 2) -> DemoAnswer:
    """Show when a robot replans and why: once for a robot that is blind, once for one that sees."""
    begun = time.monotonic()
    with output.waiting() as doing:
        doing("computing what every rule loses")
        scenes = make_scenes(seed)
    live = not output.as_json and sys.stdout.isatty()
    if live:
        _play(scenes, until=begun + SECONDS)
    return DemoAnswer(scenes, live)


def _play(scenes: list[DemoFrame], *, until: float) -> None:
    """Show every step of every scene, and be done by `until`."""
    from rich.console import Console
    from rich.live import Live

    console, frames = Console(), sum(scene.mission.horizon for scene in scenes)
    for scene in scenes:
        with Live(console=console, auto_refresh=False) as live:
            for t in range(scene.mission.horizon):
                live.update(_frame(scene, t, console), refresh=True)
                time.sleep(min(LONGEST_FRAME, max(0.0, (until - time.monotonic()) / frames)))
                frames -= 1


def _still_lines(scenes: list[DemoFrame]) -> list[str]:
    """Return the last picture of each scene as plain lines."""
    from rich.console import Console

    lines = []
    for scene in scenes:
        drawn = io.TextIOWrapper(io.BytesIO(), encoding="ascii")  # pictures for it have ASCII signs
        console = Console(width=120, file=drawn, color_system=None)
        console.print(_frame(scene, scene.mission.horizon - 1, console))
        drawn.seek(0)
        lines += drawn.read().splitlines()
        lines += [f"  t = {t:2d}  replans: {each.reason}" for t, each in scene.run.decisions if each.update]
        lines.append("")
    return lines


def _frame(scene: DemoFrame, t: int, console: Console) -> RenderableType:
    """Return the picture of one step: map, facts and losses."""
    from rich.columns import Columns
    from rich.console import Group
    from rich.table import Table
    from rich.text import Text

    from replan.commands.terminal_map import legend, map_text

    plain = not console.encoding.startswith("utf")
    words = Text()
    for fact in scene.facts(t):
        words.append(f"{fact}\n", "bold red" if fact == "REPLANS" else "")
    losses = Table("placing replans", "replans", "expected loss so far", box=None, pad_edge=False)
    for each in scene.contenders:
        losses.add_row(each.name, f"{each.updates:.3g}", f"{each.lost[t]:.2f}")
    right = Group(words, losses)
    body = Columns([map_text(scene.ground, scene.mission, scene.run, t, plain=plain), right], padding=(0, 3))
    hidden = {"wall", "ground", *(["believed"] if scene.mission.robot.sees else [])}
    return Group(Text(scene.title, "bold"), legend(hidden, plain=plain), Text(""), body)
