"""The files of its own package or folder that a rule of the user's own imports."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

INSTALLED = {"site-packages", "dist-packages"}


def imported_files(file: Path, text: str, root: Path) -> list[Path]:
    """Return the Python files that a file with that text imports, directly or through others.

    Imports start from the folder `root`. Of the package that holds the file the imported modules count, any
    other package counts in full. Installed libraries and replan itself do not count, nor does what is not
    found.
    """
    found: set[Path] = set()
    unread: list[tuple[Path, str | bytes]] = [(file, text)]
    while unread:
        importer, source = unread.pop()
        names = _imported_names(source, importer.relative_to(root).parent.parts)
        new = {path for name in names for path in _files_of(name, root, file)} - found - {file}
        found |= new
        unread += [(path, path.read_bytes()) for path in new]
    return sorted(found)


def _imported_names(source: str | bytes, package: tuple[str, ...]) -> Iterator[tuple[str, ...]]:
    """Yield the parts of every name that a module of that package imports and that may be a module."""
    try:
        tree = ast.parse(source)
    except (SyntaxError, ValueError):
        return
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (tuple(alias.name.split(".")) for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.level <= len(package):
            start = package[: len(package) - node.level + 1] if node.level else ()
            module = start + tuple(node.module.split(".") if node.module else ())
            yield module
            yield from ((*module, alias.name) for alias in node.names)


def _files_of(name: tuple[str, ...], root: Path, file: Path) -> list[Path]:
    """Return the files of a module that the rule in `file` leads to."""
    top, own = root / name[0], file.is_relative_to(root / name[0])
    if name[0] == "replan" or (not own and INSTALLED & set(root.parts)):
        return []
    if own:
        module = root.joinpath(*name)
        options = [module.with_suffix(".py"), module / "__init__.py"]
    else:
        options = sorted(top.rglob("*.py")) or [top.with_suffix(".py")]
    return [path for path in options if path.is_file()]
