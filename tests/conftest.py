"""Profiles of Hypothesis. The default one runs the same 100 cases every time.

`make test-slow` chooses `slow`: 1,000 cases, others each time. `make mutants` chooses `mutants`: a few are
enough to tell most mutants from the code.
"""

import signal

import pytest
from hypothesis import HealthCheck, settings

UNTIMED = {
    "deadline": None,
    "print_blob": True,
    "suppress_health_check": [HealthCheck.too_slow, HealthCheck.data_too_large],
}
settings.register_profile("replan", max_examples=100, derandomize=True, **UNTIMED)
settings.register_profile("slow", max_examples=1_000, **UNTIMED)
settings.register_profile("mutants", max_examples=25, derandomize=True, database=None, **UNTIMED)
settings.load_profile("replan")


@pytest.fixture(autouse=True, scope="session")
def hangups_arrive():
    """Under nohup, SIGHUP is ignored here and in every process that a test starts."""
    before = signal.getsignal(signal.SIGHUP)
    signal.signal(signal.SIGHUP, signal.SIG_DFL)
    yield
    signal.signal(signal.SIGHUP, before)
