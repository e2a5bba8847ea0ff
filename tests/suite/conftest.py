from suite_worlds import cheat, compute, own_rule, small_suite

__all__ = ["cheat", "compute", "own_rule", "small_suite"]
