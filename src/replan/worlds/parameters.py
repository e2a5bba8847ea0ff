"""Base class, types and error lines of the parameters that a setting file gives."""

from __future__ import annotations

from typing import Annotated, Any, get_args

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from replan.errors import InputError

Fraction = Annotated[float, Field(ge=0, le=1)]
Whole = Annotated[int, Field(ge=1)]
Horizon = Annotated[int, Field(ge=2, le=1_000_000)]
Side = Annotated[int, Field(ge=2, le=10_000)]
Cell = Annotated[tuple[int, ...], Field(min_length=2, max_length=2, strict=False)]

DISCRIMINATORS = ("world", "kind")
_tags: set[str] = set()  # values of the discriminators, which pydantic adds to the path of a fault


class Parameters(BaseModel):
    """Frozen parameters. Unknown keys, other types and numbers that are not finite raise `InputError`."""

    model_config = ConfigDict(
        extra="forbid", frozen=True, strict=True, allow_inf_nan=False, use_attribute_docstrings=True
    )

    def __init__(self, **values: Any) -> None:
        try:
            super().__init__(**values)
        except ValidationError as error:
            raise InputError(one_line(error)) from None

    # Nested models are then validated by pydantic itself, which keeps the whole path of a fault.
    __init__.__pydantic_base_init__ = True  # pyright: ignore[reportFunctionMemberAccess]

    @classmethod
    def __pydantic_init_subclass__(cls, **_: Any) -> None:
        for name in DISCRIMINATORS:
            if name in cls.model_fields:
                _tags.update(get_args(cls.model_fields[name].annotation))


def one_line(error: ValidationError) -> str:
    """Return the first fault that pydantic found as one line that names the key."""
    fault: Any = error.errors(include_url=False)[0]
    place = list(fault["loc"])
    path = [part for k, part in enumerate(place) if part not in _tags or (k > 0 and part == place[k - 1])]
    key = ".".join(str(part) for part in path)
    kind, value = fault["type"], fault.get("input")
    if kind == "extra_forbidden":
        return f"unknown key {key!r}"
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
    complete = ", not " in message or (kind == "value_error" and isinstance(value, (dict, list)))
    shown = "" if complete else f", not {value!r}"
    return f"{key!r} {message}{shown}" if key else message


def _discriminator(fault: Any) -> str:
    return str(fault["ctx"]["discriminator"]).strip("'")
