from suite_worlds import own_rule, small_suite

__all__ = ["own_rule", "small_suite"]
