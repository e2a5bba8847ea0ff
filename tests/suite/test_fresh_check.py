"""A rule of one's own is checked in a fresh process, which sees what it looks at beside its context."""

import subprocess
import sys

import pytest

from replan.study.rule_source import find_rule
from replan.suite.catalogue import EXECUTIONS, SuiteRobot
from replan.suite.fresh_check import first_fault

RULES = '''
import inspect, logging, os
from dataclasses import dataclass
from replan import Decision, Rule

@dataclass(frozen=True)
class Mine(Rule):
    every: int = 3

    def decide(self, context):
        self.look(context)
        return Decision(context.time - context.last_update >= self.every, "", terms={"lost": float("nan")})

    def look(self, context):
        print("a rule may print, and log")
        logging.getLogger("mine").warning("which looks for the caller by itself")

class FromTheStack(Mine):
    def look(self, context):
        inspect.currentframe().f_back

class Leaves(Mine):
    def look(self, context):
        os._exit(0)

COUNT = [0]

class Counts(Mine):
    """Honest at first; its module remembers how often it was asked."""
    def decide(self, context):
        COUNT[0] += 1
        return Decision(COUNT[0] > 40 and context.time % 2 == 0, "")
'''


LOOKS = """
import bdb, functools, gc, logging, sys, traceback

def by_a_hidden_name():
    getattr(sys, "_get" + "frame")(1)

def from_a_traceback():
    try:
        1 / 0
    except Exception as error:
        error.__traceback__.tb_frame.f_back

def up_a_walk():
    list(traceback.walk_stack(None))

def as_the_log_does():
    logging.currentframe().f_back

def with_the_debugger():
    bdb.Bdb().set_trace()

def from_a_generator():
    (each for each in ()).gi_frame

def under_another_name():
    exec(compile("import sys; sys._getframe(1)", functools.__file__, "exec"), {})

def under_a_new_name():
    by_a_hidden_name.__code__ = by_a_hidden_name.__code__.replace(co_filename=functools.__file__)

def among_objects():
    gc.get_referrers(sys)

def a_log_that_looks_for_its_caller():
    logging.getLogger("mine").warning("is honest")
"""
TRY = """
import sys
from replan.errors import InputError
from replan.suite.fresh_check import _watch

place = sys.argv[1]
names = {"__name__": "looks"}
exec(compile(open(place).read(), place, "exec"), names)
seen = []
sys.addaudithook(_watch(seen, place))
for name, look in [*names.items()]:
    if getattr(look, "__module__", "") == "looks":
        try:
            look()
            print(name, "passes")
        except InputError as error:
            print(name, error)
"""
AROUND = "looks at the program that asks it"


def test_looks_of_every_kind_are_refused(tmp_path):
    path = tmp_path / "looks.py"
    path.write_text(LOOKS)
    done = subprocess.run([sys.executable, "-c", TRY, path], capture_output=True, text=True, check=True)
    assert dict(line.split(" ", 1) for line in done.stdout.splitlines()) == {
        "by_a_hidden_name": f"{AROUND} (sys._getframe)",
        "from_a_traceback": f"{AROUND} (tb_frame)",
        "up_a_walk": f"{AROUND} (sys._getframe)",
        "as_the_log_does": f"{AROUND} (sys._getframe)",
        "with_the_debugger": f"{AROUND} (sys._getframe)",
        "from_a_generator": f"{AROUND} (gi_frame)",
        "under_another_name": "gives its code the name of a library",
        "under_a_new_name": "gives its code the name of a library",
        "among_objects": f"{AROUND} (gc.get_referrers)",
        "a_log_that_looks_for_its_caller": "passes",
    }


@pytest.fixture
def rules(tmp_path):
    path = tmp_path / "rules.py"
    path.write_text(RULES)
    return path


@pytest.mark.parametrize(
    ("name", "fault"),
    [
        ("Mine", None),
        ("FromTheStack", "looks at the program that asks it (sys._getframe)"),
        ("Leaves", "its check ended without an answer, with exit status 0"),
    ],
)
def test_a_rule_that_looks_around_is_refused(rules, name, fault):
    assert first_fault(find_rule(f"{rules}:{name}"), {"every": 4}, SuiteRobot(), EXECUTIONS) == fault


def test_a_rule_whose_module_remembers_is_refused(rules):
    fault = first_fault(find_rule(f"{rules}:Counts"), {}, SuiteRobot(), EXECUTIONS)
    assert fault.startswith("answers differently when it is asked again at t=")
