"""Options that several commands share, and the rule that they name."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import wraps
from typing import Annotated, Any, get_type_hints

import typer

from replan.errors import InputError
from replan.evaluation.exact import Evaluation
from replan.evaluation.visited_steps import draws_times
from replan.execute.mission import Mission
from replan.report.regret_words import acting_words
from replan.schedule import FixedTimes, Prices, Rule
from replan.schedule.registry import parse_parameters
from replan.study.protocol import Bench, Choice, choose
from replan.study.rule_source import RuleSource, find_rule
from replan.worlds.forecasts import ForecastParameters

SettingArgument = Annotated[str, typer.Argument(help="A TOML file, or the name of a built-in setting.")]
JsonOption = Annotated[bool, typer.Option("--json", help="Print one JSON object and nothing else.")]
ExecutionOption = Annotated[str, typer.Option(help="How the robot acts between updates: map or belief.")]
TimesOption = Annotated[
    str | None, typer.Option(help="Update times, as 1,17,33,49; with a price any, or none.")
]
RuleOption = Annotated[
    str | None, typer.Option(help="The update rule: its name, file.py:Class or package.module:Class.")
]
SetOption = Annotated[
    list[str] | None, typer.Option("--set", help="A hyper-parameter of the rule, key=value.")
]
VerboseOption = Annotated[
    bool, typer.Option("--verbose", help="Print parameters, further figures and what they assume.")
]
AtMostOption = Annotated[
    bool, typer.Option("--at-most", help="Updates may be left over; otherwise the whole budget is spent.")
]
SeedOption = Annotated[int, typer.Option(min=0, max=2**62, help="Seed of random draws.")]

SPENDING_OPTIONS = {
    "budget": Annotated[
        int | None,
        typer.Option(help="Updates in place of the setting's; with a price the most that are made."),
    ],
    "price": Annotated[
        float | None, typer.Option(help="Price of an update in units of reward, in place of a budget.")
    ],
    "look_price": Annotated[
        float | None, typer.Option(help="Price of a look; with --plan-price, not --price.")
    ],
    "plan_price": Annotated[
        float | None, typer.Option(help="Price of a plan; with --look-price, not --price.")
    ],
    "looks": Annotated[int | None, typer.Option(help="Budget of looks; with --plans, in place of a budget.")],
    "plans": Annotated[int | None, typer.Option(help="Budget of plans; with --looks, in place of a budget.")],
}
"""Options that take the place of a setting's budget."""


FORECAST_OPTIONS = {
    "forecast": Annotated[
        str | None,
        typer.Option(help="What the robot expects: frozen, trend, mixture, given, family or family-ahead."),
    ],
    "forecast_file": Annotated[
        str | None, typer.Option(help="An .npz file with the kernels of the given forecast.")
    ],
    "forecast_error": Annotated[
        float | None, typer.Option(help="Foretell (1 + this) times the true change since the update.")
    ],
    "forecast_late": Annotated[
        int | None, typer.Option(help="Foretell for t the kernel of so many steps before.")
    ],
    "forecast_noise": Annotated[
        float | None, typer.Option(help="Multiply every probability foretold by exp(this x N).")
    ],
    "forecast_seed": Annotated[int | None, typer.Option(help="Seed of the forecast's noise.")],
}
"""Options that take the place of a setting's forecast."""


Given = dict[str, Any]
"""The options of a group that were given, by name."""


def spending_options(command: Callable[..., None]) -> Callable[..., None]:
    """Give a command the options of `SPENDING_OPTIONS`; those that are given reach it as `spending`."""
    return with_options(command, "spending", SPENDING_OPTIONS)


def forecast_options(command: Callable[..., None]) -> Callable[..., None]:
    """Give a command the options of `FORECAST_OPTIONS`; those that are given reach it as `expecting`."""
    return with_options(command, "expecting", FORECAST_OPTIONS)


def with_options(command: Callable[..., None], group: str, kinds: dict[str, Any]) -> Callable[..., None]:
    """Replace the parameter `group` of a command by options; it gets those that are given as a dict."""

    @wraps(command)
    def flat_command(**options: Any) -> None:
        values = {name: options.pop(name) for name in kinds}
        given = {name: value for name, value in values.items() if value is not None}
        command(**options, **{group: given})

    hints = get_type_hints(command, include_extras=True)
    parameters = [
        each.replace(annotation=hints[each.name], kind=inspect.Parameter.KEYWORD_ONLY)
        for each in inspect.signature(command).parameters.values()
        if each.name != group
    ]
    parameters += [
        inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=None, annotation=kind)
        for name, kind in kinds.items()
    ]
    flat_command.__signature__ = inspect.Signature(parameters)  # pyright: ignore[reportAttributeAccessIssue]
    flat_command.__annotations__ = {each.name: each.annotation for each in parameters}
    return flat_command


def forecast_of(expecting: Given) -> ForecastParameters | None:
    """Return the forecast that the options describe; None: that of the setting."""
    if not expecting:
        return None
    parts = {name.removeprefix("forecast_"): value for name, value in expecting.items()}
    try:
        return ForecastParameters(kind=parts.pop("forecast", "given"), **parts)
    except InputError as error:
        raise InputError(f"--forecast: {error}") from None


def parse_times(text: str) -> list[int]:
    """Return the update times in a text such as "1,17,33,49", or none at all in "none"."""
    if text.strip() == "none":
        return []
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
class NamedMission:
    """The mission that a command is about."""

    setting: str
    mission: Mission
    notes: list[str]
    """Remarks on the setting that may surprise."""

    @classmethod
    def of(
        cls,
        setting: str,
        execution: str,
        *,
        at_most: bool = False,
        expecting: Given | None = None,
        spending: Given | None = None,
    ) -> NamedMission:
        """Return the mission of a setting with the options of a command."""
        from replan.worlds.settings import load_setting, make_mission, setting_notes

        loaded = load_setting(setting)
        forecast = forecast_of(expecting or {})
        mission = make_mission(
            loaded, execution=check_execution(execution), forecast=forecast, **(spending or {})
        )
        if at_most:
            mission = replace(mission, spend_all=False)
        return cls(setting, mission, setting_notes(loaded, mission.world))

    def record(self) -> dict[str, Any]:
        """Return the beginning of the answer."""
        mission = self.mission
        return {
            "setting": self.setting,
            "execution": mission.execution,
            "forecast": mission.forecast.name,
            "ties": str(mission.ties),
            "spend_all": mission.config.must_spend,
            "notes": self.notes,
        }

    def lines(self) -> list[str]:
        """Return the last lines for people: how the robot acts, and the notes."""
        return [acting_words(self.mission), *(f"note: {note}" for note in self.notes)]


@dataclass(frozen=True)
class ChosenRule:
    """A rule with its record in the answer."""

    rule: Rule
    record: dict[str, Any]  # name, hyper-parameters and how they were chosen, for the answer

    @classmethod
    def of(cls, choice: Choice, source: RuleSource, mission: Mission, seed: int) -> ChosenRule:
        """Record the choice, a rule of the user's own with its source, a rule that draws with the seed."""
        record = choice.record() | source.record()
        if draws_times(mission, choice.rule):
            record["seed"] = seed
        return cls(choice.rule, record)

    def lines(self, *, verbose: bool) -> list[str]:
        """Return the rule, and with `verbose` its parameters, as a line; no line for given times."""
        if "parameters" not in self.record:
            return []
        parameters = self.record["parameters"].items() if verbose else ()
        given = [f"{name} {_short(value)}" for name, value in parameters if value is not None]
        tried = self.record.get("validation")
        origin = f"   (parameters: best of {tried['candidates']} on other missions)" if tried else ""
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
        return ChosenRule(FixedTimes(mission.check_times(parse_times(times))), {"rule": "fixed"})
    assert rule is not None
    given = parse_parameters(assignments or [])
    source = find_rule(rule)
    return ChosenRule.of(choose_parameters(lambda: Bench(mission), source, given), source, mission, seed)


def spent(exact: Evaluation) -> dict[str, float]:
    """Return the expected numbers of updates, looks and plans, and the return minus their price."""
    return {
        "expected_updates": exact.expected_updates,
        "expected_looks": exact.expected_looks,
        "expected_plans": exact.expected_plans,
        "objective": exact.objective,
    }


def spent_lines(
    prices: Prices | None,
    objective: float,
    looks: float,
    plans: float,
    *,
    together: bool,
    best: float | None = None,
) -> list[str]:
    """Return the line on the objective of a mission with prices; `together`: every update is both."""
    if prices is None:
        return []
    made = f"{looks:.2f} looks at {prices.look:g}, {plans:.2f} plans at {prices.plan:g}"
    if together:
        made = f"{looks:.2f} updates at {prices.update:g}"
    compared = "" if best is None else f"; best possible {best:.4f}"
    return [f"objective       {objective:.4f}   ({made}{compared})"]


def choose_parameters(bench: Callable[[], Bench], source: RuleSource, given: dict[str, Any]) -> Choice:
    """Return the rule with the given parameters; validation chooses the others of a registered rule."""
    rule = source.make(**given)
    if source.text is not None:
        return Choice(rule, None, 1, 1)
    return choose(bench(), source.name, given=given)
