"""Options that several commands share, and the rule that they name."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, Any

import typer

from replan.errors import InputError
from replan.evaluation.exact import draws_times
from replan.execute.mission import Mission
from replan.schedule import FixedTimes, Rule, check_times
from replan.schedule.registry import parse_parameters
from replan.study.protocol import Bench, Choice, choose
from replan.study.rule_source import RuleSource, find_rule

SettingArgument = Annotated[str, typer.Argument(help="A TOML file, or the name of a built-in setting.")]
JsonOption = Annotated[bool, typer.Option("--json", help="Print one JSON object and nothing else.")]
ExecutionOption = Annotated[str, typer.Option(help="How the robot acts between updates: map or belief.")]
TimesOption = Annotated[str | None, typer.Option(help="Update times, as 1,17,33,49.")]
RuleOption = Annotated[
    str | None, typer.Option(help="The update rule: its name, file.py:Class or package.module:Class.")
]
SetOption = Annotated[
    list[str] | None, typer.Option("--set", help="A hyper-parameter of the rule, key=value.")
]
SeedOption = Annotated[int, typer.Option(min=0, max=2**62, help="Seed of random draws.")]


def parse_times(text: str) -> list[int]:
    """Return the update times in a text such as "1,17,33,49"."""
    try:
        return [int(part) for part in text.split(",")]
    except ValueError:
        raise InputError(f"--times takes whole numbers with commas between, not {text!r}") from None


def check_execution(text: str):
    """Return the execution; anything but map or belief raises an `InputError`."""
    if text not in ("map", "belief"):
        raise InputError(f"--execution must be map or belief, not {text!r}")
    return text


@dataclass(frozen=True)
class ChosenRule:
    """A rule with its record in the answer."""

    rule: Rule
    record: dict[str, Any]  # name, hyper-parameters and how they were chosen, for the answer

    @classmethod
    def of(cls, choice: Choice, source: RuleSource, mission: Mission, seed: int) -> ChosenRule:
        """Record the choice, a rule of the user's own with its source, a rule that draws with the seed."""
        record = choice.record()
        if source.text is not None:
            record |= {"source": source.name, "source_sha256": source.digest}
        if draws_times(mission, choice.rule):
            record["seed"] = seed
        return cls(choice.rule, record)

    def lines(self) -> list[str]:
        """Return the rule with its hyper-parameters as a line; no line for given times."""
        if "parameters" not in self.record:
            return []
        parameters = self.record["parameters"].items()
        given = [f"{name} {_short(value)}" for name, value in parameters if value is not None]
        tried = self.record.get("validation")
        origin = f"   (best of {tried['candidates']} on the validation seeds)" if tried else ""
        return [f"rule            {', '.join([self.record['rule'], *given])}{origin}"]


def _short(value: Any) -> str:
    return f"{value:.6g}" if isinstance(value, float) else str(value)


def chosen_rule(
    mission: Mission, *, times: str | None, rule: str | None, assignments: list[str] | None, seed: int
) -> ChosenRule:
    """Return the rule that --times, or --rule and --set, name."""
    if (times is None) == (rule is None):
        raise InputError("give either --times or --rule")
    if times is not None:
        if assignments:
            raise InputError("--set goes with --rule, not with --times")
        checked = check_times(parse_times(times), budget=mission.budget, horizon=mission.horizon)
        return ChosenRule(FixedTimes(checked), {"rule": "fixed"})
    assert rule is not None
    given = parse_parameters(assignments or [])
    source = find_rule(rule)
    return ChosenRule.of(choose_parameters(lambda: Bench(mission), source, given), source, mission, seed)


def choose_parameters(bench: Callable[[], Bench], source: RuleSource, given: dict[str, Any]) -> Choice:
    """Return the rule with the given parameters; validation chooses the others of a registered rule."""
    rule = source.make(**given)
    if source.text is not None:
        return Choice(rule, None, 1, 1)
    return choose(bench(), source.name, given=given)
