from tests.robots.crazyflie.conftest import make_peer

from suite_worlds import own_rule, small_suite

__all__ = ["make_peer", "own_rule", "small_suite"]
