"""`replan schedule`: the update times of a rule and the reason of each."""

from __future__ import annotations

import json
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import typer

from replan.commands import CommandAnswer, Output, csv_text, find_writer, plain, write_whole
from replan.commands.missions import ChosenRule, NamedMission
from replan.commands.options import MissionOptions, RuleOptions, VerboseOption
from replan.errors import InputError
from replan.evaluation.agent_runs import AgentRun, run_agent
from replan.evaluation.scale import RegretScale, is_cheap
from replan.execute.mission import Timeline, make_timeline
from replan.planning.optimal_values import oracle
from replan.schedule.rule import Decision, Need

COLUMNS = ("update", "t", "reason", "score", "threshold")
WRITERS = {".mcap": ("replan.robots.logs.mcap_log:write_mission_log", "mcap")}
"""Function and extra for files of the whole run."""
FORMS = (".csv", ".yaml", ".yml", ".json", *WRITERS)
"""Columns and endings of the file that --out names."""
LISTED_HORIZON = 1_000
"""Steps up to which the JSON answer lists every decision, beyond only those of updates unless --verbose."""


@dataclass(frozen=True)
class ScheduleAnswer(CommandAnswer):
    """The decisions of one mission."""

    named: NamedMission
    chosen: ChosenRule
    trace: AgentRun | Timeline
    scale: RegretScale | None
    """None where never updating takes long to compute."""
    listed: bool
    """Whether decisions against an update are listed too."""
    out: Path | None
    hint: str
    """What to do with the file."""
    verbose: bool

    def decisions(self) -> list[dict[str, Any]]:
        """Return the decisions as plain data."""
        return [
            {
                "t": t,
                "update": decision.update,
                "score": decision.score,
                "threshold": decision.threshold,
                "terms": decision.finite_terms,
                "reason": decision.reason,
            }
            for t, decision in self.trace.decisions
            if self.listed or decision.update
        ]

    def head(self) -> dict[str, Any]:
        """Return the answer without its decisions."""
        scale = {} if self.scale is None else {"makes_a_difference": self.scale.makes_a_difference}
        times = {"times": list(self.trace.times)}
        return {**self.named.record(self.chosen.rule), **self.chosen.record, **scale, **times}

    def record(self) -> dict[str, Any]:
        return {**self.head(), "decisions": self.decisions()}

    def lines(self) -> list[str]:
        mission, spent = self.named.mission, ""
        if mission.spending_for(self.chosen.rule).exact:
            spent = f"   (all {mission.spending.limit} are spent; --at-most allows fewer)"
        return [
            *self.chosen.lines(verbose=self.verbose),
            f"update times    {', '.join(map(str, self.trace.times)) or 'none'}{spent}",
            *(
                f"{t:4d}  {_why(decision)}"
                for t, decision in self.trace.decisions
                if decision.update or self.verbose
            ),
            *([] if self.scale is None or self.scale.makes_a_difference else [self.scale.no_difference()]),
            *([] if self.out is None else [f"wrote {self.out}{self.hint}"]),
            *self.named.lines(),
        ]


def schedule(
    mission: MissionOptions,
    rule: RuleOptions,
    output: Output,
    out: Annotated[
        Path | None,
        typer.Option(help="Write the updates to a file: .csv, .yaml or .json; .mcap: the run, for Foxglove."),
    ] = None,
    verbose: VerboseOption = False,
) -> ScheduleAnswer:
    """Print the update times of one mission with the given seed, and the reason of every decision."""
    if out is not None and out.suffix not in FORMS:
        raise InputError(f"--out must end in one of {', '.join(FORMS)}, not {out.name}")
    logged = out is not None and out.suffix in WRITERS
    write = find_writer(out, WRITERS) if out is not None and logged else None
    named = NamedMission.from_options(mission)
    listed = verbose or named.mission.horizon <= LISTED_HORIZON
    with output.waiting() as doing:
        chosen = ChosenRule.from_options(rule, named.mission)
        doing("running one mission")
        if logged or listed or Need.STATE in chosen.rule.needs:
            with warnings.catch_warnings():  # a rule that fails is an InputError here
                warnings.filterwarnings("ignore", r"replan: at time \d+: the rule failed")
                trace = run_agent(named.mission, chosen.rule, seed=rule.seed)
        else:
            trace = make_timeline(named.mission, chosen.rule, seed=rule.seed, only_updates=True)
        scale = None
        if listed and is_cheap(named.mission):
            scale = RegretScale.of_never_updating(named.mission, best=oracle(named.mission.world))
    hint = ""
    if out is not None and write is not None:
        hint = write(out, named.mission, trace)
    answer = ScheduleAnswer(named, chosen, trace, scale, listed, out, hint, verbose)
    if out is not None and write is None:
        _write(out, plain(answer.head()), plain([each for each in answer.decisions() if each["update"]]))
    return answer


def _why(decision: Decision) -> str:
    """Return the reason, and those terms of the score that it does not hold."""
    mentioned = decision.reason.replace(":", " ").split()
    terms = {name: f"{value:.4g}" for name, value in decision.terms.items() if value}
    missing = ", ".join(f"{name} {value}" for name, value in terms.items() if value not in mentioned)
    return decision.reason + (f"   ({missing})" if missing else "")


def _write(path: Path, head: Mapping[str, Any], updates: Sequence[Mapping[str, Any]]) -> Path:
    """Write one row for each update; YAML and JSON begin with `head`, which names setting and rule."""
    rows = [
        {"update": number, **{name: each[name] for name in COLUMNS[1:]}}
        for number, each in enumerate(updates, start=1)
    ]
    if path.suffix == ".csv":
        return write_whole(path, csv_text(("update", *COLUMNS[1:]), [list(row.values()) for row in rows]))
    if path.suffix == ".json":
        return write_whole(path, json.dumps({**head, "updates": rows}, indent=2) + "\n")
    lines = [f"{name}: {json.dumps(value)}" for name, value in head.items()]  # JSON values are YAML too
    lines.append("updates:" if rows else "updates: []")
    for row in rows:
        first, *others = (f"{name}: {json.dumps(value)}" for name, value in row.items())
        lines += [f"  - {first}", *(f"    {each}" for each in others)]
    return write_whole(path, "\n".join(lines) + "\n")
