"""Everything that touches a real robot: Crazyflie drones, ROS 2, and the logs of robots."""
