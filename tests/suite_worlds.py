"""A suite of a few small worlds in place of the whole, and rules of one's own in files."""

from functools import cache
from pathlib import Path

import pytest

from replan.suite import catalogue
from study_runs import computed

FAMILIES = ("rover-switches", "crosswind", "kernels")
OWN_RULE = '''
from dataclasses import dataclass
from replan import Decision, Rule

@dataclass(frozen=True)
class Mine(Rule):
    """Update every so many steps."""
    every: int = 3

    @classmethod
    def candidates(cls):
        return [cls(2), cls(5), cls(9)]

    def decide(self, context):
        return Decision(context.time - context.last_update >= self.every, "it is time")

class Plain(Mine):
    @classmethod
    def candidates(cls):
        return ()
'''
CHEAT = '''
from dataclasses import dataclass
from replan import Decision, Need, Rule

@dataclass(frozen=True)
class Cheat(Rule):
    """Read the drift bounds behind those that it was given."""
    needs = frozenset({Need.DRIFT_SO_FAR})

    def decide(self, context):
        return Decision(bool(context.drift_bounds.base[context.time :].sum() > 0.1), "")
'''


@cache
def _few_worlds() -> tuple:
    worlds = catalogue._all_worlds()
    drawn = [
        min(
            (world for world in worlds if world.family == family and world.part == part),
            key=lambda world: world.mission().world.states * world.mission().horizon,
        )
        for part in ("tune", "test")
        for family in catalogue.FAMILIES
        if part == "test" or family in FAMILIES
    ]
    return (*drawn, *(world for world in worlds if world.name in ("nsbridge-1", "sparse-late-50")))


@pytest.fixture(scope="module")
def small_suite():
    """One small world of each drawn family in the test part, three in the tune part."""
    worlds = _few_worlds()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(catalogue, "_all_worlds", lambda: worlds)
        yield worlds


@pytest.fixture(scope="module")
def compute(tmp_path_factory):
    """Computes a study in this process."""
    return lambda study: computed(study, tmp_path_factory.mktemp("run") / study.name)


@pytest.fixture
def own_rule(tmp_path) -> Path:
    path = tmp_path / "my_rule.py"
    path.write_text(OWN_RULE)
    return path


@pytest.fixture
def cheat(tmp_path) -> Path:
    path = tmp_path / "cheat.py"
    path.write_text(CHEAT)
    return path
