"""Forecasts: the kernels that the robot expects after an update."""

from replan.forecast.base import Evidence, Forecast, Frozen, Future, mean_kernel
from replan.forecast.from_family import FromFamily
from replan.forecast.given import ForecastFault, Given
from replan.forecast.mixture import Mixture
from replan.forecast.trend import Trend

__all__ = [
    "Evidence",
    "Forecast",
    "ForecastFault",
    "FromFamily",
    "Frozen",
    "Future",
    "Given",
    "Mixture",
    "Trend",
    "mean_kernel",
]
