"""The command line. Each command is a file of `replan.commands`; errors are one line and exit status 2."""

from __future__ import annotations

import os
import sys
import sysconfig
import traceback
from pathlib import Path
from typing import Annotated

import typer

from replan import __version__
from replan.commands import (
    benchmark,
    budget,
    certify,
    compare,
    estimate,
    explain,
    explore,
    export,
    fly,
    listing,
    optimum,
    regret,
    reproduce,
    results,
    ros,
    schedule,
)
from replan.commands import run as run_command
from replan.errors import InputError

USAGE_ERROR: type[Exception] = typer.BadParameter.__mro__[2]  # ClickException, of click or of typer's copy
app = typer.Typer(
    name="replan",
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)


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


app.command("compare")(compare.command)
app.command("list")(listing.command)
app.command("regret")(regret.command)
app.command("schedule")(schedule.command)
app.command("optimum")(optimum.command)
app.add_typer(benchmark.app, name="benchmark")
app.command("budget")(budget.command)
app.command("explain")(explain.command)
app.command("certify")(certify.command)
app.command("estimate")(estimate.command)
app.command("reproduce", help=reproduce.HELP)(reproduce.reproduce)
app.command("fly")(fly.fly)
app.command("calibrate")(fly.calibrate)
app.command("run")(run_command.run)
app.command("ros")(ros.command)
app.command("results")(results.command)
app.command("export")(export.command)
app.command("explore")(explore.command)


def main(arguments: list[str] | None = None) -> None:
    """Run one command and exit with its status."""
    sys.exit(run(sys.argv[1:] if arguments is None else arguments))


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
        _refuse(f"cannot write or read ({error.strerror or error})")
        return _drop_output(status=2)
    except USAGE_ERROR as error:
        return _refuse(error.format_message())  # pyright: ignore[reportAttributeAccessIssue]
    except Exception as error:
        if (place := _line_of_the_user(error)) is None:
            raise
        return _refuse(f"{place}: {type(error).__name__}: {error}")
    return _refuse("stopped", status=130) if status == 130 else int(status or 0)


def _line_of_the_user(error: Exception) -> str | None:
    """Return the innermost line of a rule or world of the user's own that led to the error, if any did."""
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
