"""What several commands share: options, and the rule that they speak of."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any

import typer

from replan.errors import InputError
from replan.evaluation.exact import draws_times
from replan.execute.mission import Mission
from replan.schedule import FixedTimes, Rule, check_times
from replan.schedule.registry import make_rule, parse_parameters
from replan.study.protocol import Choice, choose, prepare

SettingArgument = Annotated[str, typer.Argument(help="A TOML file, or the name of a built-in setting.")]
JsonOption = Annotated[bool, typer.Option("--json", help="Print one JSON object and nothing else.")]
ExecutionOption = Annotated[str, typer.Option(help="How the robot acts between updates: map or belief.")]
TimesOption = Annotated[str | None, typer.Option(help="Update times, as 1,17,33,49.")]
RuleOption = Annotated[str | None, typer.Option(help="The update rule.")]
SetOption = Annotated[
    list[str] | None, typer.Option("--set", help="A hyper-parameter of the rule, key=value.")
]
SeedOption = Annotated[int, typer.Option(min=0, max=2**62, help="Seed of what is drawn.")]


def parse_times(text: str) -> list[int]:
    """Update times from "1,17,33,49"."""
    try:
        return [int(part) for part in text.split(",")]
    except ValueError:
        raise InputError(f"--times takes whole numbers with commas between, not {text!r}") from None


def check_execution(text: str):
    """The execution itself, or an `InputError`."""
    if text not in ("map", "belief"):
        raise InputError(f"--execution must be map or belief, not {text!r}")
    return text


@dataclass(frozen=True)
class Chosen:
    """A rule, and how it came about."""

    rule: Rule
    record: dict[str, Any]  # name, hyper-parameters and how they were chosen, for the answer

    @classmethod
    def of(cls, choice: Choice, mission: Mission, seed: int) -> Chosen:
        """Record the choice of validation; a rule that draws, with the seed of the times shown."""
        record = choice.record()
        drawn = draws_times(mission, choice.rule)
        return cls(choice.rule, {**record, "seed": seed} if drawn else record)

    def lines(self) -> list[str]:
        """The rule with its hyper-parameters, for people; nothing of times that they gave themselves."""
        if "parameters" not in self.record:
            return []
        parameters = self.record["parameters"].items()
        given = [f"{name} {_short(value)}" for name, value in parameters if value is not None]
        tried = self.record.get("validation")
        how = f"   (best of {tried['candidates']} on the validation seeds)" if tried else ""
        return [f"rule            {', '.join([self.record['rule'], *given])}{how}"]


def _short(value: Any) -> str:
    return f"{value:.6g}" if isinstance(value, float) else str(value)


def chosen_rule(
    mission: Mission, *, times: str | None, rule: str | None, assignments: list[str] | None, seed: int
) -> Chosen:
    """The rule that --times or --rule and --set speak of."""
    if (times is None) == (rule is None):
        raise InputError("give either --times or --rule")
    if times is not None:
        if assignments:
            raise InputError("--set goes with --rule, not with --times")
        checked = check_times(parse_times(times), budget=mission.budget, horizon=mission.horizon)
        return Chosen(FixedTimes(checked), {"rule": "fixed"})
    assert rule is not None
    given = parse_parameters(assignments or [])
    make_rule(rule, **given)
    return Chosen.of(choose(prepare(mission), rule, given=given), mission, seed)
