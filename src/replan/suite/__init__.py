"""The benchmark: a frozen suite of random worlds, a score that anyone can recompute, and result cards."""

from replan.suite.catalogue import SuiteWorld, suite_hash, suite_world, suite_worlds

__all__ = ["SuiteWorld", "suite_hash", "suite_world", "suite_worlds"]
