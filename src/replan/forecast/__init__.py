"""Forecasts: the kernels that the robot expects after an update."""
