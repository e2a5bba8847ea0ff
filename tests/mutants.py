"""A mutation run by mutmut over a random sample of mutants: `make mutants`, by hand.

`[tool.mutmut]` in pyproject.toml names the folders, the tests and the lines left alone (messages). A sample
of `--each` mutants a folder is drawn with a seed that is printed; `--only` takes patterns of mutants' names,
as mutmut prints them, and runs all that match. A mutant meets the tests of its folder and of `evaluation`
that enter its function, the quickest first. Survivors are printed as diffs;
run their tests again with the default profile of Hypothesis, which has four times as many cases.
"""

from __future__ import annotations

import argparse
import random
from collections import defaultdict
from fnmatch import fnmatch
from pathlib import Path

import mutmut.__main__ as mutmut
import pytest
from mutmut.state import state
from mutmut.workers.isolation import MutantRunner

pytest.Item._nodeid = property(lambda item: item.nodeid)  # pytest 9 has no attribute of this name any more


def main() -> None:
    options = argparse.ArgumentParser()
    options.add_argument("--each", type=int, default=30, help="mutants of each folder")
    options.add_argument("--seed", type=int, default=random.randrange(10**6))
    options.add_argument("--only", nargs="*", help="patterns of names, in place of a sample")
    given = options.parse_args()
    names = all_mutants()
    if given.only:
        chosen = [name for name in names if any(fnmatch(name, pattern) for pattern in given.only)]
    else:
        chosen = sample(names, given.each, given.seed)
        print(f"{len(chosen)} of {len(names)} mutants, seed {given.seed}")
    make_runner = mutmut.get_mutant_runner
    mutmut.get_mutant_runner = lambda *workers: with_tests_nearby(make_runner(*workers))
    mutmut._run(chosen, 1)
    for name in chosen:
        found = mutmut.find_mutant(name)
        status = mutmut.status_by_exit_code[found.exit_code_by_key[name]]
        if status != "killed":
            print(f"{name}: {status}\n{mutmut.get_diff_for_mutant(name, path=found.path)}")


def all_mutants() -> list[str]:
    """Write the mutated sources to mutants/ and return the names of the mutants."""
    Path("mutants").mkdir(exist_ok=True)
    mutmut.set_mutant_under_test("mutant_generation")
    mutmut.copy_src_dir()
    mutmut.copy_also_copy_files()
    mutmut.setup_source_paths()
    mutmut.create_mutants(1)
    return [name for _, name, _ in mutmut.collect_source_file_mutation_data(mutant_names=())[0]]


def with_tests_nearby(runner: MutantRunner) -> MutantRunner:
    """Have each mutant meet the tests of its folder and of evaluation, the quickest first."""
    submit = runner.submit

    def submit_nearby(name: str, tests: list[str], *limits) -> None:
        nearby = (f"tests/{name.split('.')[1]}/", "tests/evaluation/")
        seconds = state().duration_by_test
        submit(name, sorted((test for test in tests if test.startswith(nearby)), key=seconds.get), *limits)

    runner.submit = submit_nearby
    return runner


def sample(names: list[str], each: int, seed: int) -> list[str]:
    folders = defaultdict(list)
    for name in names:
        folders[name.split(".")[1]].append(name)
    rng = random.Random(seed)
    return [name for found in folders.values() for name in rng.sample(found, min(each, len(found)))]


if __name__ == "__main__":
    main()
