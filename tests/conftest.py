"""Profiles of Hypothesis, the order of the files, and what tests share.

The default profile runs the same 100 cases every time. `make test-slow` chooses `slow`: 1,000 cases, others
each time. `make mutants` chooses `mutants`: a few are enough to tell most mutants from the code.
"""

import os
import signal

import pytest
from hypothesis import HealthCheck, settings

from golden import MODES, Golden
from left_out import left_out_lines

UNTIMED = {
    "deadline": None,
    "print_blob": True,
    "suppress_health_check": [HealthCheck.too_slow, HealthCheck.data_too_large],
}
settings.register_profile("replan", max_examples=100, derandomize=True, **UNTIMED)
settings.register_profile("slow", max_examples=1_000, **UNTIMED)
settings.register_profile("mutants", max_examples=25, derandomize=True, database=None, **UNTIMED)
settings.load_profile("replan")

# Files that take more than ten seconds, the longest first. Of two workers, each of which takes the next file,
# both then end at about the same time: the files after these take a few seconds at most.
LONGEST = [
    "docs/test_code_blocks.py",
    "test_golden.py",
    "report/page/test_page_browser.py",
    "examples/test_examples.py",
    "explore/test_browser.py",
    "report/reports/test_paper.py",
    "robots/ros2/test_ros2.py",
    "examples/test_simulated_nav2.py",
    "commands/test_reproduce.py",
    "study/test_run.py",
    "study/test_ray_engine.py",
    "robots/crazyflie/test_cflib_flight.py",
    "robots/crazyflie/test_landing.py",
    "robots/crazyflie/test_crazyflow_flight.py",
    "docs/test_build.py",
    "evaluation/test_prices.py",
    "commands/test_commands.py",
    "commands/test_fly.py",
    "report/reports/test_beyond.py",
    "certificates/test_adversary.py",
    "certificates/test_moving_grids.py",
    "certificates/test_parameter_range.py",
    "worlds/test_terrain.py",
    "report/reports/test_drones.py",
    "test_wheel.py",
    "report/test_figures.py",
    "suite/test_verify.py",
    "suite/test_benchmark.py",
    "estimate/test_family_filter.py",
    "estimate/test_drift_bounded_mle.py",
]
PLACES = {f"tests/{name}": place for place, name in enumerate(LONGEST)}


def pytest_addoption(parser):
    parser.addoption("--golden", choices=MODES, default=MODES[0], help="golden figures: tests/golden.py")


def pytest_collection_modifyitems(items):
    items.sort(key=lambda item: PLACES.get(item.nodeid.partition("::")[0], len(PLACES)))


def pytest_terminal_summary(terminalreporter, config):
    skipped = terminalreporter.stats.get("skipped", [])
    reasons = [
        each.longrepr[2] if isinstance(each.longrepr, tuple) else str(each.longrepr) for each in skipped
    ]
    terminalreporter.section("left out")
    for line in left_out_lines(reasons, chosen=config.option.markexpr):
        terminalreporter.line(line)


@pytest.fixture(autouse=True, scope="session")
def hangups_arrive():
    """Under nohup, SIGHUP is ignored here and in every process that a test starts."""
    before = signal.getsignal(signal.SIGHUP)
    signal.signal(signal.SIGHUP, signal.SIG_DFL)
    yield
    signal.signal(signal.SIGHUP, before)


@pytest.fixture(autouse=True, scope="session")
def flights_are_compiled_once(tmp_path_factory):
    """JAX takes seconds to compile a simulator; processes that need the same one share it."""
    folder = tmp_path_factory.getbasetemp()
    if "PYTEST_XDIST_WORKER" in os.environ:
        folder = folder.parent  # that of all workers
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("JAX_COMPILATION_CACHE_DIR", str(folder / "jax"))
        patch.setenv("JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS", "0")
        yield


@pytest.fixture(scope="session")
def golden(pytestconfig):
    """Compares with golden figures, or with `--golden write` makes them."""
    kept = Golden(pytestconfig.getoption("--golden"))
    yield kept
    kept.write()


@pytest.fixture(scope="module")
def in_process():
    """Compute the cells of studies in this process, for tests whose claim is not the worker processes."""
    from replan.study import local
    from study_runs import InProcess

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(local, "LocalEngine", InProcess)
        yield
