"""The one exception that replan raises for input it cannot use."""


class InputError(ValueError):
    """What is wrong with the input, in one line that names the culprit."""
