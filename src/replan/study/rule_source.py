"""Rules by name: a registered one, `file.py:Class` or `package.module:Class`, and the files that they import.

Importing this module registers every rule that comes with replan.
"""

from __future__ import annotations

import ast
import inspect
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import lru_cache
from hashlib import sha256
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any

import replan.study.study_rules  # noqa: F401  (registers `accumulated-value`)
from replan.errors import InputError, did_you_mean, require
from replan.schedule.registry import RULES, build_rule, registered_rule
from replan.schedule.rule import Rule

INSTALLED = {"site-packages", "dist-packages"}


@dataclass(frozen=True)
class RuleSource:
    """A rule class, with the text of its file if it does not come with replan."""

    name: str
    """The name as it was given."""
    kind: type[Rule]
    text: str | None = field(default=None, repr=False)
    """Source of a rule from a file or module; None for a registered one."""
    file: Path | None = field(default=None, repr=False)
    """File of that source; None for a registered rule."""
    root: Path | None = field(default=None, repr=False)
    """Folder that its imports start from; None for a registered rule."""

    @property
    def in_file(self) -> bool:
        """Whether the name is that of a file, and not of a module that every machine must have."""
        return self.name.rpartition(":")[0].endswith(".py")

    @property
    def digest(self) -> str | None:
        """SHA-256 of the text, in hexadecimal."""
        return None if self.text is None else sha256(self.text.encode()).hexdigest()

    def record(self) -> dict[str, Any]:
        """Return the name and hash of a rule from a file or module; empty for a registered one."""
        return {} if self.text is None else {"source": self.name, "source_sha256": self.digest}

    def make(self, **parameters: Any) -> Rule:
        """Return the rule with the given parameters; those given as text are read as the field's type."""
        try:
            return build_rule(self.kind, **parameters)
        except TypeError as error:
            raise InputError(f"{self.name} cannot take {parameters}: {error}") from None


def find_rule(name: str, *, text: str | None = None) -> RuleSource:
    """Return the rule class of that name.

    Parameters
    ----------
    name : a registered name, `file.py:Class` or `package.module:Class`
    text : source to use in place of the contents of `file.py`, for a machine that does not hold the file
    """
    require(str, name=name)
    place, colon, class_name = name.rpartition(":")
    if not colon and not name.endswith(".py"):
        return RuleSource(name, registered_rule(name))
    in_file = place.endswith(".py")
    if not (place and class_name.isidentifier() and (in_file or ":" not in place)):
        raise InputError(f"a rule is a registered name, file.py:Class or package.module:Class, not {name!r}")
    if in_file:
        file, root = Path(place), Path(place).parent
        text = _read(file) if text is None else text
        module = _execute(file, text)
    else:
        module = _import(place)
        with _one_line(place):
            text, file = inspect.getsource(module), Path(inspect.getfile(module))
        root = file.parents[place.count(".") + (file.name == "__init__.py")]
    return RuleSource(name, _rule_class(module, class_name, place), text, file, root)


def make_rule(name: str, **parameters: Any) -> Rule:
    """Make the rule of that name.

    Parameters
    ----------
    name : str
        A registered name, `file.py:Class` or `package.module:Class`.
    **parameters : object
        Hyper-parameters. Text is read as the type of the parameter.

    Returns
    -------
    Rule
        The rule.

    Raises
    ------
    InputError
        If there is no such rule, or it does not take a parameter.
    """
    return find_rule(name).make(**parameters)


def given_rule(name: str, parameters: dict[str, Any], text: str | None = None) -> Rule:
    """Return the rule with these parameters; `text` is the source of the user's file."""
    source = find_rule(name) if text is None else _found_in(name, text)
    return source.make(**parameters)


@lru_cache(maxsize=16)
def _found_in(name: str, text: str) -> RuleSource:
    return find_rule(name, text=text)


def _read(path: Path) -> str:
    try:
        return path.read_text()
    except FileNotFoundError:
        raise InputError(f"{path}: no such file") from None
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"{path}: cannot be read ({error})") from None


def _execute(path: Path, text: str) -> ModuleType:
    """Return the module that the text makes; its name is that of the text, so that two never mix."""
    module = ModuleType(f"replan_rule_{sha256(text.encode()).hexdigest()[:16]}")
    module.__file__ = str(path)
    sys.modules[module.__name__] = module  # dataclasses and type hints look their module up
    with _on_path(path.parent), _one_line(str(path)):
        exec(compile(text, str(path), "exec", dont_inherit=True), vars(module))
    return module


def _import(place: str) -> ModuleType:
    with _on_path(Path.cwd()), _one_line(place):
        return import_module(place)


@contextmanager
def _on_path(folder: Path) -> Iterator[None]:
    entry = str(folder.resolve())
    sys.path.insert(0, entry)
    try:
        yield
    finally:
        sys.path.remove(entry)


@contextmanager
def _one_line(place: str) -> Iterator[None]:
    """Turn whatever importing a user's file raises into one line that names the place."""
    try:
        yield
    except InputError:
        raise
    except SyntaxError as error:
        raise InputError(f"{error.filename or place}, line {error.lineno}: {error.msg}") from None
    except (Exception, SystemExit) as error:
        raise InputError(f"{place}: {type(error).__name__}: {error}") from None


def _rule_class(module: ModuleType, name: str, place: str) -> type[Rule]:
    kind = vars(module).get(name)
    if kind is None:
        rules = [key for key, value in vars(module).items() if _is_rule(value)]
        raise InputError(f"{place} has no class {name!r}{did_you_mean(name, rules)}")
    if not _is_rule(kind):
        raise InputError(f"{name} in {place} is not a rule: derive it from replan.Rule")
    if inspect.isabstract(kind):
        raise InputError(f"{name} in {place} does not define decide")
    if kind.__hash__ is None:
        raise InputError(f"{name} in {place} must be frozen: write @dataclass(frozen=True)")
    return kind


def _is_rule(value: Any) -> bool:
    return isinstance(value, type) and issubclass(value, Rule) and value is not Rule


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


__all__ = ["RULES", "RuleSource", "find_rule", "given_rule", "imported_files", "make_rule"]
