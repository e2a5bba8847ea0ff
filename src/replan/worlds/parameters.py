"""Parameters in TOML files: base classes, types, error lines, the registry of worlds, and reading."""

from __future__ import annotations

import ast
import tomllib
from abc import abstractmethod
from collections.abc import Callable, Iterable, Iterator
from importlib import resources
from importlib.resources.abc import Traversable
from inspect import cleandoc, getsource
from itertools import pairwise
from pathlib import Path
from textwrap import dedent
from typing import Annotated, Any, Self, TypeVar, cast, get_args

from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator

from replan.errors import InputError, did_you_mean, nearest
from replan.model.world import World

Fraction = Annotated[float, Field(ge=0, le=1)]
Whole = Annotated[int, Field(ge=1)]
Horizon = Annotated[int, Field(ge=2, le=1_000_000)]
Side = Annotated[int, Field(ge=2, le=10_000)]
Cost = Annotated[float, Field(ge=0, le=1e6)]


Pair = Annotated[tuple[int, ...], Field(min_length=2, max_length=2, strict=False)]

LARGEST = 2**62
"""Of whole numbers: arrays do not hold larger ones."""

_tags: set[str] = set()  # kinds of sections, which pydantic adds to the path of a fault


class Parameters(BaseModel):
    """Frozen parameters. Unknown keys, other types and numbers that are not finite raise `InputError`."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True, allow_inf_nan=False, defer_build=True)

    def __init__(self, **values: Any) -> None:
        try:
            super().__init__(**values)
        except ValidationError as error:
            raise InputError(one_line(error)) from None

    @field_validator("*")
    @classmethod
    def _held_by_arrays(cls, value: Any) -> Any:
        if any(abs(number) > LARGEST for number in _whole_numbers(value)):
            raise ValueError("must not hold a whole number beyond 2**62")
        return value

    # Nested models are then validated by pydantic itself, which keeps the whole path of a fault.
    __init__.__pydantic_base_init__ = True  # pyright: ignore[reportFunctionMemberAccess]

    @classmethod
    def __pydantic_init_subclass__(cls, **_: Any) -> None:
        if "kind" in cls.model_fields:
            _tags.update(get_args(cls.model_fields["kind"].annotation))


def _whole_numbers(value: Any) -> Iterator[int]:
    """Yield the whole numbers in a value; nested parameters have looked at theirs."""
    if isinstance(value, int):
        yield value
    elif isinstance(value, (list, tuple)):
        for part in value:
            yield from _whole_numbers(part)


def field_docs(kind: type[Parameters]) -> dict[str, str]:
    """Return the docstrings of the fields of a class, read from its source and that of its bases."""
    docs: dict[str, str] = {}
    for base in reversed(kind.__mro__[: kind.__mro__.index(Parameters)]):
        body = cast(ast.ClassDef, ast.parse(dedent(getsource(base))).body[0]).body
        for field, text in pairwise(body):
            if isinstance(field, ast.AnnAssign) and isinstance(text, ast.Expr):
                docs[ast.unparse(field.target)] = cleandoc(ast.literal_eval(text.value))
    return docs


class FileParameters(Parameters):
    """Parameters that may have a field `file`, the path of a file on which they depend."""

    def matching(self, path: Path) -> list[Path]:
        """Return the files that a path stands for."""
        return [path] if path.exists() else []

    def files(self) -> list[Path]:
        """Return the files that there are."""
        file = getattr(self, "file", None)
        return [] if file is None else self.matching(Path(file))

    def beside(self, folder: Path) -> Self:
        """Return the parameters with the file that lies in the folder, if there is one."""
        file = getattr(self, "file", None)
        if file is None or not self.matching(folder / file):
            return self
        return self.model_copy(update={"file": str(folder / file)})

    @field_validator("file", check_fields=False)
    @classmethod
    def _name_of_a_file(cls, value: str | None) -> str | None:
        if value is not None and "\0" in value:
            raise ValueError("should be the name of a file")
        return value


class WorldParameters(FileParameters):
    """Parameters of a world. `@register_world(name)` makes them known to settings."""

    horizon: Horizon | None
    """Steps, T."""

    @abstractmethod
    def build(self) -> World:
        """Return the world."""

    def notes(self) -> list[str]:
        """Return remarks on parameters that are valid but may not be what was meant, one line each."""
        return []


WorldType = TypeVar("WorldType", bound=type[WorldParameters])
WORLDS: dict[str, type[WorldParameters]] = {}
"""Parameters of the worlds that this process registered, by the name that a setting gives in `world`."""


def register_world(name: str) -> Callable[[WorldType], WorldType]:
    """Register the decorated parameters as the world of that name.

    Parameters
    ----------
    name : str
        The `world` key of a setting.

    Returns
    -------
    callable
        The decorator of a class that derives from `WorldParameters`.
    """

    def register(kind: WorldType) -> WorldType:
        WORLDS[name] = kind
        return kind

    return register


def one_line(error: ValidationError, *, known: Iterable[str] = ()) -> str:
    """Return the first fault that pydantic found as one line that names the key.

    `known` are keys, of which those like an unknown one are suggested.
    """
    fault: Any = error.errors(include_url=False)[0]
    place = list(fault["loc"])
    path = [part for k, part in enumerate(place) if part not in _tags or (k > 0 and part == place[k - 1])]
    key = ".".join(str(part) for part in path)
    kind, value = fault["type"], fault.get("input")
    if kind == "extra_forbidden":
        return f"unknown key {key!r}{nearest(str(path[-1]), known)}"
    if kind == "missing":
        return f"missing key {key!r}"
    if kind == "union_tag_not_found":
        return f"missing key {'.'.join([*map(str, path), _discriminator(fault)])!r}"
    if kind == "union_tag_invalid":
        named = ".".join([*map(str, path), _discriminator(fault)])
        return f"{named!r} must be one of {fault['ctx']['expected_tags']}, not {fault['ctx']['tag']!r}"
    message = fault["msg"].rstrip(".")
    for word in ("Value error, ", "Input ", "List ", "Tuple ", f"{path[-1]} " if path else ""):
        message = message.removeprefix(word)
    if path and message.startswith(f"{path[-1]}: "):
        return f"{key!r}{message.removeprefix(str(path[-1]))}"
    complete = ", not " in message or (kind == "value_error" and isinstance(value, (dict, list)))
    shown = "" if complete else f", not {value!r}"
    return f"{key!r} {message}{shown}" if key else message


def _discriminator(fault: Any) -> str:
    return str(fault["ctx"]["discriminator"]).strip("'")


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
