"""Everything that touches a real robot: maps, Crazyflie drones, ROS 2, and the logs of robots."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
