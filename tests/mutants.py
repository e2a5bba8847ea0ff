"""A mutation run by mutmut: `make mutants`, by hand.

mutmut writes the mutants, and finds which tests enter which function; `[tool.mutmut]` in pyproject.toml names
the folders, the tests and the lines left alone (messages). Tests are collected and run twice without one.
Then each mutant meets those of its folder and of `evaluation` that enter its function, the quickest first, in
a fork of that process, so that nothing is imported or compiled again. A test that killed a mutant of the
function before comes first. A crash counts as killed.

`--each` draws so many mutants of a folder, with a seed that is printed; without it all are run. `--only`
takes patterns of mutants' names. Verdicts are kept in `mutants/`, and a run that is stopped goes on from
there; `--again` runs again what was not killed. That is printed as a diff; run its tests again with the
default profile of Hypothesis, which has four times as many cases.
"""

from __future__ import annotations

import argparse
import gc
import math
import os
import random
import resource
import signal
import sys
import time
from collections import defaultdict
from fnmatch import fnmatch
from itertools import accumulate
from pathlib import Path

import mutmut.__main__ as mutmut
import pytest
from mutmut.configuration import config
from mutmut.mutation.data import SourceFileMutationData
from mutmut.mutation.trampoline import set_mutant_under_test
from mutmut.state import state
from mutmut.stats import status_by_exit_code
from mutmut.utils.format_utils import mangled_name_from_mutant_name

pytest.Item._nodeid = property(lambda item: item.nodeid)  # pytest 9 has no attribute of this name any more

NO_MUTANT = "none"
KILLED, SURVIVED, TOO_LATE, NO_TESTS = 1, 0, 36, 33
"""Verdicts, as mutmut's exit codes."""
SLOWER = 4
"""Times that tests may take longer with a mutant."""
SETTLING = 10.0  # s, that any mutant may take
MEMORY = 8 << 30  # bytes, of one mutant


def main() -> None:
    options = argparse.ArgumentParser()
    options.add_argument("--each", type=int, help="mutants drawn of each folder; none: all")
    options.add_argument("--seed", type=int, default=random.randrange(10**6))
    options.add_argument("--only", nargs="*", help="patterns of names, in place of a sample")
    options.add_argument("--again", action="store_true", help="run again what was not killed before")
    options.add_argument("--seconds", type=float, default=math.inf, help="of tests that one mutant meets")
    options.add_argument("--workers", type=int, default=os.cpu_count())
    given = options.parse_args()
    found = all_mutants()
    names = list(found)
    if given.only:
        names = [name for name in names if any(fnmatch(name, pattern) for pattern in given.only)]
    elif given.each:
        names = sample(names, given.each, given.seed)
        print(f"{len(names)} of {len(found)} mutants, seed {given.seed}")
    done = {KILLED} if given.again else {KILLED, SURVIVED, TOO_LATE, NO_TESTS}
    left = [name for name in names if found[name].exit_code_by_key[name] not in done]
    status = Trials(left, found, given.workers, given.seconds).run() if left else 0
    for name in names:
        verdict = found[name].exit_code_by_key[name]
        if verdict != KILLED:
            print(f"{name}: {status_by_exit_code[verdict]}\n{mutmut.get_diff_for_mutant(name)}")
    verdicts = [found[name].exit_code_by_key[name] for name in names]
    print(f"{verdicts.count(KILLED)} of {len(names)} mutants were killed")
    sys.exit(status)


def all_mutants() -> dict[str, SourceFileMutationData]:
    """Write the mutated sources to mutants/, and return where the verdict on each mutant is kept, by name."""
    Path("mutants").mkdir(exist_ok=True)
    set_mutant_under_test("mutant_generation")
    mutmut.copy_src_dir()
    mutmut.copy_also_copy_files()
    mutmut.setup_source_paths()
    mutmut.create_mutants(1)
    Path("mutants/mutmut-stats.json").unlink(missing_ok=True)  # else new tests are run by their names
    mutmut.collect_or_load_stats(mutmut.get_mutant_runner(1))
    set_mutant_under_test("")
    return {name: kept for kept, name, _ in mutmut.collect_source_file_mutation_data(mutant_names=())[0]}


def sample(names: list[str], each: int, seed: int) -> list[str]:
    folders = defaultdict(list)
    for name in names:
        folders[name.split(".")[1]].append(name)
    rng = random.Random(seed)
    return [name for found in folders.values() for name in rng.sample(found, min(each, len(found)))]


class Trials:
    """A plugin of pytest: after the tests themselves, each mutant in a fork."""

    def __init__(
        self, names: list[str], kept: dict[str, SourceFileMutationData], workers: int, seconds: float
    ) -> None:
        self.names, self.kept, self.workers, self.seconds = names, kept, workers, seconds
        self.running: dict[int, tuple[str, float, int]] = {}
        self.killers: dict[str, set[str]] = defaultdict(set)
        self.report_to: int | None = None
        self.home = Path.cwd()

    def run(self) -> int:
        os.chdir("mutants")
        arguments = ["--rootdir=.", "--basetemp=tmp", "-q", "--tb=short", *config().pytest_add_cli_args]
        status = pytest.main([*arguments, *config().pytest_add_cli_args_test_selection], plugins=[self])
        os.chdir(self.home)
        return status

    @pytest.hookimpl(trylast=True)
    def pytest_sessionfinish(self, session: pytest.Session, exitstatus: int) -> None:
        if exitstatus != pytest.ExitCode.OK:
            return
        items = {item.nodeid: item for item in session.items}
        os.chdir(self.home)
        gc.collect()
        gc.freeze()
        self.start(NO_MUTANT, session.items)
        while self.running:
            self.wait()
        if failed := self.killers[NO_MUTANT]:
            raise pytest.UsageError(f"a second run without a mutant fails: {failed}")
        for number, name in enumerate(self.names):
            tests = [items[test] for test in self.nearby(name) if test in items]
            if not tests:
                self.keep(name, NO_TESTS)
                continue
            while len(self.running) >= self.workers:
                self.wait()
            self.start(name, tests)
            if number % 100 == 0:
                sys.__stderr__.write(f"{number} of {len(self.names)} mutants\n")
        while self.running:
            self.wait()

    def start(self, name: str, tests: list[pytest.Item]) -> None:
        seconds = sum(state().duration_by_test[test.nodeid] for test in tests)
        heard, told = os.pipe()
        pid = os.fork()
        if pid:
            os.close(told)
            self.running[pid] = (name, time.monotonic() + SETTLING + SLOWER * seconds, heard)
            return
        os.setsid()
        os.chdir("mutants")
        for descriptor in (1, 2):
            os.dup2(os.open(os.devnull, os.O_WRONLY), descriptor)
        resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
        set_mutant_under_test(name)
        self.report_to = told
        tests[0].config.pluginmanager.unregister(name="terminalreporter")
        for test, following in zip(tests, [*tests[1:], None], strict=True):
            test.config.hook.pytest_runtest_protocol(item=test, nextitem=following)
        os._exit(SURVIVED)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if self.report_to is not None and report.failed:
            os.write(self.report_to, report.nodeid.encode())
            os._exit(KILLED)

    def wait(self) -> None:
        """Take one verdict, or end what is too late."""
        pid, status = os.waitpid(-1, os.WNOHANG)
        if pid in self.running:
            self.judge(pid, os.waitstatus_to_exitcode(status))
            return
        for pid, (_, deadline, _) in list(self.running.items()):
            if time.monotonic() > deadline:
                os.killpg(pid, signal.SIGKILL)
                os.waitpid(pid, 0)
                self.judge(pid, TOO_LATE)
        time.sleep(0.005)

    def judge(self, pid: int, verdict: int) -> None:
        name, _, heard = self.running.pop(pid)
        with os.fdopen(heard) as told:
            self.killers[_function(name)] |= {told.read()} - {""}
        self.keep(name, verdict if verdict in (SURVIVED, TOO_LATE) else KILLED)

    def keep(self, name: str, verdict: int) -> None:
        if name in self.kept:
            self.kept[name].exit_code_by_key[name] = verdict
            self.kept[name].save()

    def nearby(self, name: str) -> list[str]:
        """The tests of a mutant: of its folder and of evaluation, the quickest first, `seconds` in all."""
        function = _function(name)
        folders = (f"tests/{name.split('.')[1]}/", "tests/evaluation/")
        tests = state().tests_by_mangled_function_name.get(function, set())
        before, seconds = self.killers[function], state().duration_by_test
        tests = sorted(
            (test for test in tests if test.startswith(folders)),
            key=lambda test: (test not in before, seconds[test]),
        )
        until = accumulate(seconds[test] for test in tests)
        return [test for test, spent in zip(tests, until, strict=True) if spent <= self.seconds] or tests[:1]


def _function(name: str) -> str:
    return name if name == NO_MUTANT else mangled_name_from_mutant_name(name)


if __name__ == "__main__":
    main()
