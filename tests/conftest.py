"""Hypothesis runs the same cases every time; helpers for tiny random worlds."""

from hypothesis import HealthCheck, settings

settings.register_profile(
    "replan",
    deadline=None,
    derandomize=True,
    print_blob=True,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
settings.load_profile("replan")
