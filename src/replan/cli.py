"""The command line. Errors are one line and exit status 2.

A command is imported when it is called, so that `--version` and `--help` load nothing else.
"""

from __future__ import annotations

import gc
import os
import re
import sys
import sysconfig
import traceback
from difflib import SequenceMatcher
from importlib import import_module
from pathlib import Path
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from replan import __version__
from replan.errors import InputError, extra_of, missing_extra, require_extra

ALIKE = 0.75  # likeness of two options of which one is taken for the other
USAGE_ERROR: type[Exception] = typer.BadParameter.__mro__[2]  # ClickException, of click or of typer's copy
COMMANDS: dict[str, tuple[str, str, str | None]] = {
    "demo": (
        "Two robots that replan on a map in the terminal, and why. Start here.",
        "replan.commands.demo:demo",
        None,
    ),
    "compare": (
        "Regret of several rules on several settings, and the least possible.",
        "replan.commands.study:compare",
        "study",
    ),
    "list": (
        "Names of settings, rules, worlds, estimators, forecasts, executions.",
        "replan.commands.listing:list_all",
        None,
    ),
    "regret": (
        "Exact regret of a schedule or rule, and the loss of every step.",
        "replan.commands.regret:regret",
        None,
    ),
    "schedule": (
        "Update times of one mission, and the reason of every decision.",
        "replan.commands.schedule:schedule",
        None,
    ),
    "optimum": (
        "The best schedules, and so the least regret of any rule.",
        "replan.commands.budget:optimum",
        None,
    ),
    "benchmark": (
        "Score a rule on the frozen suite; verify and rank cards.",
        "replan.commands.benchmark:app",
        "study",
    ),
    "budget": (
        "Regret of a rule for every budget, and the worth of one more update.",
        "replan.commands.budget:budget",
        None,
    ),
    "explain": (
        "Regret split by cause: the state, the plan, the model, lateness.",
        "replan.commands.regret:explain",
        None,
    ),
    "certify": ("Bounds on the regret of a schedule.", "replan.commands.certify:certify", None),
    "estimate": ("Kernels from observations.", "replan.commands.estimate:estimate", None),
    "reproduce": (
        "Tables and figures of the paper, and further studies.",
        "replan.commands.reproduce:reproduce",
        "study",
    ),
    "fly": ("One Crazyflie flight, simulated or real.", "replan.commands.fly:fly", "study"),
    "calibrate": (
        "The effect of wind on a Crazyflie, measured in simulated flights.",
        "replan.commands.fly:calibrate",
        "study",
    ),
    "run": ("Compute every cell of a study.", "replan.commands.study:run", "study"),
    "log": (
        "A world from a robot's log, and how fast it drifts.",
        "replan.commands.recordings:read_recording",
        "study",
    ),
    "ros": ("A scheduler that Nav2 asks whether its path still holds.", "replan.commands.ros:serve", "ros"),
    "results": ("SQL queries on the store of a run.", "replan.commands.study:results", "study"),
    "export": (
        "The tables of a run as Parquet or CSV, or a figure as PDF or SVG.",
        "replan.commands.study:export",
        "study",
    ),
    "explore": (
        "Drag update times in a browser and see what they cost.",
        "replan.commands.explore:explore",
        "app",
    ),
}
"""Line of each command in the list, its function, imported when it is called, and the extra that it needs."""
PLAIN: dict[str, Any] = {
    "add_completion": False,
    "pretty_exceptions_enable": False,
    "rich_markup_mode": None,
}


class LazyCommands(TyperGroup):
    """Commands that are imported when they are called."""

    def list_commands(self, ctx: Any) -> list[str]:
        """Return the names of the commands."""
        return list(COMMANDS)

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """Return a command, or None if there is none of that name."""
        if cmd_name not in COMMANDS:
            return None
        _, place, extra = COMMANDS[cmd_name]
        if extra is not None:
            require_extra(extra, f"replan {cmd_name}")
        module, _, name = place.partition(":")
        command = vars(import_module(module))[name]
        if isinstance(command, typer.Typer):
            return typer.main.get_command(command)
        from replan.commands.options import flat_command

        single = typer.Typer(**PLAIN)
        single.command(cmd_name)(flat_command(command))
        return typer.main.get_command(single)

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """Write the list of commands without importing any."""
        with formatter.section("Commands"):
            formatter.write_dl([(name, words) for name, (words, _, _) in COMMANDS.items()])


app = typer.Typer(cls=LazyCommands, name="replan", **PLAIN)


def _print_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"replan {__version__}")
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[
        bool,
        typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version and exit."),
    ] = False,
) -> None:
    """Schedules, exact regret, certificates and studies: when should a robot replan?"""


def main(arguments: list[str] | None = None) -> None:
    """Run one command and exit with its status."""
    gc.set_threshold(100_000)  # modules make many objects that stay: collecting while they load takes a tenth
    status = run(sys.argv[1:] if arguments is None else arguments)
    if "duckdb" not in sys.modules:  # which would print what is left as leaked
        gc.freeze()  # nor does the interpreter go through them at its end: a quarter of a second
    sys.exit(status)


def run(arguments: list[str]) -> int:
    """Run one command and return its status: 0, 1 for work that failed in part, 2 for bad input."""
    arguments = arguments or ["--help"]
    try:
        status = typer.main.get_command(app).main(arguments, prog_name="replan", standalone_mode=False)
        sys.stdout.flush()
    except InputError as error:
        return _refuse(str(error))
    except MemoryError:
        return _refuse("there is not enough memory for a world of this size")
    except KeyboardInterrupt:
        return _refuse("stopped", status=130)
    except BrokenPipeError:
        return _drop_output(status=1)
    except OSError as error:
        file = "" if error.filename is None else f"{error.filename} "
        _refuse(f"cannot write or read {file}({error.strerror or error})")
        return _drop_output(status=2)
    except ModuleNotFoundError as error:
        if (extra := extra_of(str(error.name))) is None:
            raise
        return _refuse(missing_extra("this command", extra))
    except USAGE_ERROR as error:
        return _refuse(_usage_line(error.format_message()))  # pyright: ignore[reportAttributeAccessIssue]
    except Exception as error:
        if (place := _line_of_the_user(error)) is None:
            raise
        return _refuse(f"{place}: {type(error).__name__}: {error}")
    return _refuse("stopped", status=130) if status == 130 else int(status or 0)


def _usage_line(message: str) -> str:
    """Return the line of a usage error; options are suggested if they are nearly the same."""
    message = message.replace("Value error, ", "")
    if unknown := re.fullmatch(r"No such option: (\S+) \(Possible options: (.*)\)", message):
        given, options = unknown[1], unknown[2].split(", ")
        close = [each for each in options if SequenceMatcher(None, given, each).ratio() >= ALIKE]
        return f"No such option: {given}" + (f": did you mean {' or '.join(close)}?" if close else "")
    return message


def _line_of_the_user(error: Exception) -> str | None:
    """Return the innermost line outside replan and libraries that led to the error, None if there is none."""
    libraries = (Path(__file__).parent, *map(Path, (sys.prefix, sysconfig.get_path("stdlib"))))
    frames = reversed(traceback.extract_tb(error.__traceback__))
    places = ((Path(frame.filename), frame.lineno) for frame in frames)
    own = (at for at in places if at[0].exists() and not any(map(at[0].is_relative_to, libraries)))
    return next((f"{path}:{line}" for path, line in own), None)


def _drop_output(*, status: int) -> int:
    """Discard output that cannot be written, so that the interpreter does not fail at exit."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return status


def _refuse(message: str, *, status: int = 2) -> int:
    print(f"replan: {' '.join(message.split())}", file=sys.stderr)
    return status


if __name__ == "__main__":
    main()
