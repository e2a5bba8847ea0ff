"""TOML files of the user's own, or built-in ones by name."""

from __future__ import annotations

import tomllib
from importlib import resources
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import Any

from replan.errors import InputError, did_you_mean


def builtin_names(package: str, folder: str) -> list[str]:
    """Return the names of the TOML files in a folder of a package."""
    return sorted(
        Path(file.name).stem for file in _folder(package, folder).iterdir() if file.name.endswith(".toml")
    )


def read_toml(source: str | Path, *, package: str, folder: str, what: str) -> tuple[str, str]:
    """Return the text of a TOML file, or of the built-in one of that name, and the name for messages."""
    name, known = str(source), builtin_names(package, folder)
    if name in known:
        return (_folder(package, folder) / f"{name}.toml").read_text(encoding="utf-8"), name
    path = Path(source)
    try:
        if path.suffix != ".toml" and not path.exists():
            raise InputError(
                f"{_short(name)!r} is neither a TOML file nor a built-in {what}{did_you_mean(name, known)}"
            )
        return path.read_text(encoding="utf-8"), name
    except (OSError, UnicodeDecodeError, ValueError) as error:
        if isinstance(error, InputError):
            raise
        reason = error.strerror if isinstance(error, OSError) and error.strerror else error
        raise InputError(f"{_short(name)}: cannot be read ({reason})") from None


def parse_toml(text: str, *, where: str) -> dict[str, Any]:
    """Return the data of a TOML text; any fault is an `InputError` of one line."""
    try:
        return tomllib.loads(text)
    except RecursionError:
        raise InputError(f"{where}: not valid TOML: nested too deeply") from None
    except ValueError as error:
        raise InputError(f"{where}: not valid TOML: {error}") from None


def _folder(package: str, folder: str) -> Traversable:
    return resources.files(package) / folder


def _short(name: str) -> str:
    return name if len(name) <= 100 else f"{name[:100]}..."
