"""Rules by name: those that come with replan, `file.py:Class` and `package.module:Class`.

Parameters are read from text such as "alpha=0.9". A rule is imported when it is asked for.
"""

from __future__ import annotations

import ast
import inspect
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import MISSING, Field, asdict, dataclass, field, fields, is_dataclass
from functools import cache, lru_cache
from hashlib import sha256
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any, get_type_hints

import numpy as np

from replan.errors import InputError, did_you_mean, require
from replan.schedule.rule import RULES, Rule

if TYPE_CHECKING:
    from pydantic import TypeAdapter

TABLE = {
    "accumulated-value": "replan.study.study_rules:AccumulatedValue",
    "back-loaded": "replan.schedule.fixed:BackLoaded",
    "best-offset": "replan.schedule.periodic:BestOffset",
    "distance-travelled": "replan.schedule.navigation_triggers:DistanceTravelled",
    "drift-threshold": "replan.schedule.drift_threshold:DriftThreshold",
    "even": "replan.schedule.periodic:Even",
    "fixed-rate": "replan.schedule.navigation_triggers:FixedRate",
    "front-loaded": "replan.schedule.fixed:FrontLoaded",
    "gain": "replan.schedule.last_moment:Gain",
    "last-moment": "replan.schedule.last_moment:LastMoment",
    "lazy-value": "replan.schedule.lazy_value:LazyValue",
    "lookahead": "replan.schedule.lookahead:Lookahead",
    "measuring-value": "replan.schedule.measuring_value:MeasuringValue",
    "path-expired": "replan.schedule.navigation_triggers:PathExpired",
    "periodic": "replan.schedule.periodic:Periodic",
    "random": "replan.schedule.fixed:Random",
    "regret-guided": "replan.schedule.regret_guided:RegretGuided",
    "self-triggered": "replan.schedule.drift_threshold:SelfTriggered",
}
"""Class of each rule that comes with replan; `@register` adds those of this process."""
INSTALLED = {"site-packages", "dist-packages"}


def rule_names() -> list[str]:
    """Return the names of all registered rules."""
    return sorted(TABLE.keys() | RULES.keys())


def registered_rule(name: str) -> type[Rule]:
    """Return the rule class of that name."""
    if name not in RULES and name in TABLE:
        module, _, kind = TABLE[name].partition(":")
        return vars(import_module(module))[kind]
    if name not in RULES:
        raise InputError(f"unknown rule {name!r}{did_you_mean(name, rule_names())}")
    return RULES[name]


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
    name : str
        A registered name, `file.py:Class` or `package.module:Class`.
    text : str, optional
        Source to use in place of the contents of `file.py`, for a machine that does not hold the file.

    Returns
    -------
    RuleSource
        The class, where it is from, and `make` for its instances.
    """
    require(str, name=name)
    return _find(name) if text is None else _found_in(name, text)


@lru_cache(maxsize=16)
def _found_in(name: str, text: str) -> RuleSource:
    return _find(name, text)


def _find(name: str, text: str | None = None) -> RuleSource:
    place, colon, class_name = name.rpartition(":")
    if not colon and not name.endswith(".py"):
        return RuleSource(name, registered_rule(name))
    if not place or not class_name.isidentifier() or (":" in place and not place.endswith(".py")):
        raise InputError(f"a rule is a registered name, file.py:Class or package.module:Class, not {name!r}")
    if place.endswith(".py"):
        file, root = Path(place), Path(place).parent
        text = _read_file(file) if text is None else text
        module = _execute(file, text)
    else:
        module = _import(place)
        with _one_line(place):
            text, file = inspect.getsource(module), Path(inspect.getfile(module))
        root = file.parents[place.count(".") + (file.name == "__init__.py")]
    return RuleSource(name, _rule_class(module, class_name, place), text, file, root)


def load_function(name: str) -> Callable[[], Any]:
    """Return the function `file.py:function` or `package.module:function`; what it raises is one line."""
    place, _, function = name.rpartition(":")
    file = Path(place)
    module = _execute(file, _read_file(file)) if file.suffix == ".py" else _import(place)
    found = vars(module).get(function)
    if not callable(found):
        functions = [key for key, value in vars(module).items() if inspect.isfunction(value)]
        raise InputError(f"{place} has no function {function!r}{did_you_mean(function, functions)}")

    def call() -> Any:
        with _one_line(name):
            return found()

    return call


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


def _read_file(path: Path) -> str:
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


def build_rule(kind: type[Rule], /, **parameters: Any) -> Rule:
    """Return a rule of that class. Text is read as the field's type, any other value must be of that type."""
    known = rule_parameters(kind)
    read = {}
    for key, value in parameters.items():
        if key not in known:
            raise InputError(f"{kind.name} has no parameter {key!r}{did_you_mean(key, known)}")
        read[key] = _read(key, value, known[key])
    for each in _fields(kind):
        if each.name not in read and each.default is MISSING and each.default_factory is MISSING:
            raise InputError(f"{kind.name} needs a value for its parameter {each.name!r}")
    return kind(**read)


@cache
def rule_parameters(kind: type[Rule]) -> dict[str, Any]:
    """Return the parameters of a rule class and the types that they take."""
    try:
        hints = get_type_hints(kind)
    except NameError as error:
        raise InputError(f"{kind.name}: the type of a field is unknown: {error}") from None
    return {each.name: hints[each.name] for each in _fields(kind)}


def _fields(kind: type[Rule]) -> list[Field]:
    return [each for each in fields(kind) if each.init] if is_dataclass(kind) else []


def list_parameters(rule: Rule) -> dict[str, Any]:
    """Return the hyper-parameters of a rule as plain data; functions by their names."""
    if not is_dataclass(rule):
        return {}
    return {
        name: getattr(value, "__name__", repr(value)) if callable(value) else value
        for name, value in asdict(rule).items()
    }


def parse_parameters(texts: Iterable[str]) -> dict[str, str]:
    """{"alpha": "0.9"} from ["alpha=0.9"]."""
    parameters: dict[str, str] = {}
    for text in texts:
        key, equals, value = (part.strip() for part in text.partition("="))
        if not (key and equals and value):
            raise InputError(f"a parameter is written key=value, not {text!r}")
        if key in parameters:
            raise InputError(f"the parameter {key!r} is given twice")
        parameters[key] = value
    return parameters


def _read(key: str, value: Any, hint: Any) -> Any:
    """Return the value as the type of a parameter; numbers must be finite."""
    from pydantic import ValidationError

    text = isinstance(value, str)
    for reading in _readings(value):
        try:
            return _adapter(hint).validate_python(reading, strict=not text)
        except ValidationError:
            continue
    raise InputError(f"{key!r} cannot be {value!r}: it takes {inspect.formatannotation(hint)}")


def _readings(value: Any) -> Iterator[Any]:
    """Yield the value, then the other values that a text or a list may stand for."""
    yield value.item() if isinstance(value, np.generic) else value
    if isinstance(value, list):
        yield tuple(value)
    if isinstance(value, str):
        parts = [part.strip() for part in value.split(",")]
        yield from [None] if value.lower() == "none" else []
        yield from [parts] if all(parts) else []


@cache
def _adapter(hint: Any) -> TypeAdapter[Any]:
    from pydantic import ConfigDict, TypeAdapter

    config = ConfigDict(allow_inf_nan=False, arbitrary_types_allowed=True)
    return TypeAdapter(tuple[float, ...] if hint is tuple else hint, config=config)
