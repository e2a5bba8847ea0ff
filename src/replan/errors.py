"""The exception that replan raises for input it cannot use."""

from collections.abc import Iterable
from difflib import get_close_matches


class InputError(ValueError):
    """Input that cannot be used. The message is one line that names the culprit."""


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """Return the end of an error line: the known names nearest to an unknown one, or all of them."""
    names = list(known)
    if close := get_close_matches(word, names, n=2):
        return f": did you mean {' or '.join(close)}?"
    return f" (there are {', '.join(names)})" if names else " (there are none)"
