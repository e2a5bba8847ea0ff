"""Files for people who join: workflows run the Makefile's targets, on the versions that the package names."""

import re
import tomllib

import yaml

from doc_pages import ROOT

WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
MAKEFILE = (ROOT / "Makefile").read_text()


def jobs():
    return {name: job for path in WORKFLOWS for name, job in yaml.safe_load(path.read_text())["jobs"].items()}


def test_every_command_of_a_workflow_is_a_target_of_the_makefile():
    targets = set(re.findall(r"^([a-z-]+):", MAKEFILE, re.MULTILINE))
    commands = [step["run"] for job in jobs().values() for step in job["steps"] if "run" in step]
    called = [re.fullmatch(r"make ([a-z-]+)( [A-Z]+=\S+( \S+)*)?", command) for command in commands]
    assert all(called), commands
    assert (
        {"lint", "test", "test-core", "docs", "wheel", "check-tag", "coverage"}
        <= {match[1] for match in called}
        <= targets
    )


def test_tests_run_on_every_version_that_the_package_names():
    named = re.findall(r"Python :: (3\.\d+)", "\n".join(PROJECT["classifiers"]))
    assert jobs()["test"]["strategy"]["matrix"]["python"] == named
    assert f">={named[0]}" == PROJECT["requires-python"]
    assert jobs()["core"]["runs-on"].startswith("macos")


def test_core_tests_are_folders_that_exist():
    (folders,) = re.findall(r"^CORE := (.*)$", MAKEFILE, re.MULTILINE)
    assert all((ROOT / "tests" / folder).is_dir() for folder in folders.split())


def test_targets_without_files_are_declared_so():
    phony = set(re.search(r"\.PHONY:((?:.*\\\n)*.*)", MAKEFILE)[1].replace("\\", " ").split())
    targets = set(re.findall(r"^([a-z-]+):", MAKEFILE, re.MULTILINE))
    assert targets == phony


def test_what_is_typed_says_so():
    assert "Typing :: Typed" in PROJECT["classifiers"] and (ROOT / "src/replan/py.typed").exists()
