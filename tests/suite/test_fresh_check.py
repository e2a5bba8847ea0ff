"""A rule of one's own is checked in a fresh process, which sees what it looks at beside its context."""

import pytest

from replan.study.rule_source import find_rule
from replan.suite.catalogue import EXECUTIONS, SuiteRobot
from replan.suite.fresh_check import first_fault

RULES = '''
import gc, inspect, logging, os, sys
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

class HidesItsLook(Mine):
    def look(self, context):
        getattr(sys, "_get" + "frame")(2)

class FromATraceback(Mine):
    def look(self, context):
        try:
            context.state
        except Exception as error:
            error.__traceback__.tb_frame.f_back

class AmongObjects(Mine):
    def look(self, context):
        gc.get_referrers(context)

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
        ("HidesItsLook", "looks at the program that asks it (sys._getframe)"),
        ("FromATraceback", "looks at the program that asks it (tb_frame)"),
        ("AmongObjects", "looks at the program that asks it (gc.get_referrers)"),
        ("Leaves", "its check ended without an answer, with exit status 0"),
    ],
)
def test_a_rule_that_looks_around_is_refused(rules, name, fault):
    assert first_fault(find_rule(f"{rules}:{name}"), {"every": 4}, SuiteRobot(), EXECUTIONS) == fault


def test_a_rule_whose_module_remembers_is_refused(rules):
    fault = first_fault(find_rule(f"{rules}:Counts"), {}, SuiteRobot(), EXECUTIONS)
    assert fault.startswith("answers differently when it is asked again at t=")
