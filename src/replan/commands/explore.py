"""`replan explore`: drag update times along the horizon in a browser and see what they cost."""

from __future__ import annotations

import signal
import socket
import subprocess
import sys
from pathlib import Path
from typing import Annotated

import typer

from replan import explore as package
from replan.commands import PlainAnswer
from replan.errors import InputError
from replan.explore.link import open_screen

HOST = "127.0.0.1"


def explore(
    setting: Annotated[
        str,
        typer.Argument(help="A setting or saved screen (TOML), a link, or the name of a built-in setting."),
    ] = "two-burst",
    port: Annotated[int, typer.Option(min=1, max=65535, help="Port on this machine.")] = 2718,
    browser: Annotated[bool, typer.Option(help="Open a browser.")] = True,
) -> PlainAnswer:
    """Serve the explorer as a page on this machine until Ctrl-C."""
    open_screen(setting)
    _check_port(port)
    path = Path(setting)
    source = str(path.resolve()) if path.suffix == ".toml" or path.exists() else setting
    app = Path(str(package.__file__)).parent / "app.py"
    command = [sys.executable, "-m", "marimo", "run", str(app), "--host", HOST, "--port", str(port)]
    command += ["--no-token", *([] if browser else ["--headless"]), "--", "--open", source]
    return PlainAnswer({"setting": setting}, [], _serve(command))


def _serve(command: list[str]) -> int:
    """Run the server until it ends; SIGTERM ends it too."""
    with subprocess.Popen(command) as server:
        before = signal.signal(signal.SIGTERM, lambda *_: server.terminate())
        try:
            return server.wait()
        finally:
            signal.signal(signal.SIGTERM, before)


def _check_port(port: int) -> None:
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((HOST, port))
        except OSError as error:
            raise InputError(f"port {port} cannot be used: {error.strerror}") from None
