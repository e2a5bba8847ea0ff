"""Files of results: the whole file or none of it."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

from replan.errors import InputError


def write_whole(path: Path, text: str) -> Path:
    """Write the text, its folder made if need be; what was there before stays if the disk is full."""
    part = path.with_name(path.name + ".part")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        part.write_text(text, encoding="utf-8")
        part.replace(path)
    except OSError as error:
        with suppress(OSError):
            part.unlink()
        raise InputError(f"{path}: cannot be written ({error.strerror})") from None
    return path
