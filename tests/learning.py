"""An estimator together with what it has learned, for tests that show it one observation after another."""

from functools import partial


class Learning:
    """Estimates from all observations so far; other methods are asked about what was learned from them."""

    def __init__(self, estimator):
        self.estimator, self.learned = estimator, estimator.begin()

    def estimate(self, seen):
        self.learned, kernel = self.estimator.estimate(self.learned, seen)
        return kernel

    def __getattr__(self, name):
        return partial(getattr(self.estimator, name), self.learned)


def learning(kind, *arguments, **options):
    """An estimator of a class that has learned nothing yet."""
    return Learning(kind(*arguments, **options))
