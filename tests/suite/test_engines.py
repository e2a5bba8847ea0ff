"""The card does not depend on where its cells were computed."""

from contextlib import closing

import pytest

from replan.results.run import read_run
from replan.schedule.registry import find_rule
from replan.study.engine import make_engine
from replan.study.runner import run_study
from replan.suite.benchmark import make_card
from replan.suite.cards import TIMES


def computing(engine, folder):
    def compute(study):
        with closing(make_engine(engine, workers=1)) as workers:
            report = run_study(study, "", folder / study.name, engine=workers, quiet=True)
        assert report.failures == []
        return read_run(folder / study.name)

    return compute


@pytest.mark.slow
def test_two_engines_write_the_same_card_apart_from_times(small_suite, own_rule, tmp_path):
    cards = [
        make_card(find_rule(f"{own_rule}:Mine"), {}, computing(engine, tmp_path / engine), tune=True)
        for engine in ("local", "ray")
    ]
    one, other = (card.model_dump(exclude=TIMES) for card in cards)
    assert one == other
    assert len({card.hash for card in cards}) == 1
