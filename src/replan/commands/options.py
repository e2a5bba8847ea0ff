"""Options that several commands share, each with its default and help in one place.

A group of options is a frozen dataclass whose fields are annotated as Typer's options. A command takes the
group as one parameter, and `flat_command` gives it the options in their place, along with those of `Output`,
which every command has.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import MISSING, dataclass, fields, is_dataclass
from functools import wraps
from inspect import Parameter, Signature, signature
from typing import Annotated, Any, get_type_hints

import typer

from replan.commands import CommandAnswer, Output
from replan.errors import InputError
from replan.skip.acting import Execution
from replan.skip.latency import read_durations
from replan.typing import Meanwhile
from replan.worlds.forecasts import ForecastKind, ForecastParameters
from replan.worlds.robot_words import as_durations, plain_steps

SettingArgument = Annotated[str, typer.Argument(help="A TOML file, or the name of a built-in setting.")]
ExecutionOption = Annotated[Execution, typer.Option(help="How the robot acts between updates.")]
RuleOption = Annotated[
    str, typer.Option("--rule", help="The update rule: its name, file.py:Class or package.module:Class.")
]
SetOption = Annotated[
    list[str] | None, typer.Option("--set", help="A hyper-parameter of the rule, key=value.")
]
SeedOption = Annotated[int, typer.Option(min=0, max=2**62, help="Seed of random draws.")]
VerboseOption = Annotated[
    bool, typer.Option("--verbose", help="Print parameters, further figures and what they assume.")
]


@dataclass(frozen=True)
class RobotOptions:
    """Options that describe the robot."""

    execution: ExecutionOption = "map"
    ties: Annotated[
        str | None, typer.Option(help="Which of equally good actions it takes: first, last or random(SEED).")
    ] = None
    forecast: Annotated[ForecastKind | None, typer.Option(help="What the robot expects.")] = None
    forecast_file: Annotated[
        str | None, typer.Option(help="An .npz file with the kernels of the given forecast.")
    ] = None
    forecast_error: Annotated[
        float | None, typer.Option(help="Forecast (1 + this) times the true change since the update.")
    ] = None
    forecast_late: Annotated[int | None, typer.Option(help="Steps by which the forecast lags behind.")] = None
    forecast_noise: Annotated[
        float | None, typer.Option(help="Multiply every forecast probability by exp(this x N).")
    ] = None
    forecast_seed: Annotated[int | None, typer.Option(help="Seed of the forecast's noise.")] = None
    update_steps: Annotated[
        str | None, typer.Option(help="Steps that an update takes: 4, or drawn, as 1:0.5,3:0.5.")
    ] = None
    meanwhile: Annotated[Meanwhile | None, typer.Option(help="Acting while an update runs.")] = None

    def latency_axes(self) -> dict[str, Any]:
        """Return the same as axes of a study."""
        axes = {name: [value] for name, value in self.latency().items()}
        return (
            axes if self.update_steps is None else axes | {"update_steps": [plain_steps(self.update_steps)]}
        )

    def latency(self) -> dict[str, Any]:
        """Return the keys of the setting that say how long updates take, as far as they are given."""
        given: dict[str, Any] = {} if self.meanwhile is None else {"meanwhile": self.meanwhile}
        if self.update_steps is not None:
            given["update_steps"] = as_durations(self.update_steps)
            read_durations(given["update_steps"])
        return given

    def forecast_parameters(self) -> ForecastParameters | None:
        """Return the forecast that the options describe; None stands for that of the setting."""
        options = {name: value for name, value in vars(self).items() if name.startswith("forecast")}
        given = {name: value for name, value in options.items() if value is not None}
        if not given:
            return None
        try:
            kind = given.pop("forecast", "given")
            return ForecastParameters(
                kind=kind, **{name.removeprefix("forecast_"): value for name, value in given.items()}
            )
        except InputError as error:
            raise InputError(f"--forecast: {error}") from None


@dataclass(frozen=True)
class SpendingOptions:
    """Options that replace a setting's budget."""

    budget: Annotated[
        int | None,
        typer.Option(help="Updates in place of the setting's; with a price the most that are made."),
    ] = None
    price: Annotated[
        float | None, typer.Option(help="Price of an update in units of reward, in place of a budget.")
    ] = None

    def given(self) -> dict[str, Any]:
        """Return the options that were given, by the name of the setting's key."""
        return {name: value for name, value in vars(self).items() if value is not None}


@dataclass(frozen=True)
class MissionOptions:
    """Options that name a mission."""

    setting: SettingArgument
    robot: RobotOptions
    spending: SpendingOptions
    at_most: Annotated[
        bool, typer.Option("--at-most", help="Updates may be left over; otherwise the whole budget is spent.")
    ] = False


@dataclass(frozen=True)
class RuleOptions:
    """Options that name a schedule or a rule."""

    times: Annotated[
        str | None, typer.Option(help="Update times, as 1,17,33,49; with a price any, or none.")
    ] = None
    rule: Annotated[
        str | None, typer.Option(help="The update rule: its name, file.py:Class or package.module:Class.")
    ] = None
    assignments: SetOption = None
    seed: SeedOption = 0

    def __post_init__(self) -> None:
        if self.times is not None and self.assignments:
            raise InputError("--set goes with --rule, not with --times")

    def parsed_times(self) -> list[int]:
        """Return the update times in a text such as "1,17,33,49", or no times for "none"."""
        assert self.times is not None
        if self.times.strip() == "none":
            return []
        try:
            return [int(part) for part in self.times.split(",")]
        except ValueError:
            raise InputError(f"--times takes whole numbers with commas between, not {self.times!r}") from None


def flat_command(command: Callable[..., CommandAnswer]) -> Callable[..., int]:
    """Return a function for Typer: groups of options become options, and the answer is shown."""
    hints = get_type_hints(command, include_extras=True)
    hints.pop("return")
    defaults = {name: each.default for name, each in signature(command).parameters.items()}

    @wraps(command)
    def flat(**options: Any) -> int:
        output = _gather(Output, options)
        given = {"output": output, **{name: _gather(hint, options, name) for name, hint in hints.items()}}
        answer = command(**{name: given[name] for name in hints})
        output.show(answer)
        return answer.status

    taken = {name: hint for name, hint in hints.items() if hint is not Output}
    parameters = [
        each for name, hint in taken.items() for each in _parameters(name, hint, defaults[name])
    ] + _parameters("output", Output)
    flat.__signature__ = Signature(parameters)  # pyright: ignore[reportAttributeAccessIssue]
    flat.__annotations__ = {each.name: each.annotation for each in parameters}
    return flat


def _parameters(name: str, hint: Any, default: Any = Parameter.empty) -> list[Parameter]:
    """Return the options of a group, or the one option that is not a group."""
    if not is_dataclass(hint):
        return [Parameter(name, Parameter.KEYWORD_ONLY, default=default, annotation=hint)]
    hints = get_type_hints(hint, include_extras=True)
    defaults = {field.name: field.default for field in fields(hint)}
    return [
        parameter
        for field, default in defaults.items()
        for parameter in _parameters(field, hints[field], Parameter.empty if default is MISSING else default)
    ]


def _gather(hint: Any, options: dict[str, Any], name: str = "") -> Any:
    """Return the value of an option, or the group made of its options."""
    if not is_dataclass(hint):
        return options[name]
    hints = get_type_hints(hint, include_extras=True)
    values = {field.name: _gather(hints[field.name], options, field.name) for field in fields(hint)}
    return hint(**values)  # pyright: ignore[reportCallIssue]
