"""ROS 2 without a ROS installation: the scheduler that Nav2 asks whether its path still holds."""
