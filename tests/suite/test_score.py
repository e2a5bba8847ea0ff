"""Aggregates of scores, against SciPy and NumPy on plain samples."""

from typing import get_args

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.stats import trim_mean

from replan.report.benchmark_tables import TOLD_BY_FORECAST
from replan.suite import suite_worlds
from replan.suite.catalogue import EXECUTIONS
from replan.suite.score import performance_profile, score_matrix, summarise, world_groups
from replan.worlds.forecasts import ForecastKind

SCORES = arrays(float, st.tuples(st.integers(2, 40), st.just(2)), elements=st.floats(-3, 2, width=32))


@given(SCORES)
def test_statistics_are_those_of_scipy_and_numpy(scores):
    found, flat = summarise(scores), np.sort(scores.reshape(-1))
    assert found.scored == flat.size
    assert found.iqm.value == pytest.approx(trim_mean(flat, 0.25), abs=1e-9)
    assert found.median.value == pytest.approx(np.median(flat), abs=1e-9)
    assert found.worst_tenth.value == pytest.approx(flat[: int(np.ceil(flat.size / 10))].mean(), abs=1e-9)
    assert found.worse.value == pytest.approx((flat < -1e-6).mean())
    for estimate in (found.iqm, found.median, found.worse):
        assert estimate.low <= estimate.high


def test_an_interval_covers_the_truth_about_as_often_as_it_says():
    random = np.random.default_rng(5)
    hits = [e.low <= 0 <= e.high for e in (summarise(random.normal(size=(40, 2))).iqm for _ in range(200))]
    assert 0.88 <= np.mean(hits) <= 0.99


def test_worlds_without_a_score_are_left_out():
    scores = np.array([[0.5, np.nan], [np.nan, np.nan], [1.0, 0.0], [0.2, 0.3]])
    found = summarise(scores)
    assert found.scored == 5
    assert found.median.value == pytest.approx(0.3)
    assert summarise(np.full((3, 2), np.nan)) is None


def test_a_profile_is_the_share_of_scores_that_reach_a_threshold():
    scores = np.array([[0.0, 1.0], [0.5, np.nan]])
    assert performance_profile(scores, np.array([-1.0, 0.0, 0.25, 1.0, 1.1])) == pytest.approx(
        [1, 1, 2 / 3, 1 / 3, 0]
    )


def test_even_spacing_scores_zero_and_the_floor_one_everywhere():
    worlds = suite_worlds("test")
    for value, regrets in ((0, "even"), (1, "floor")):
        found = score_matrix(
            worlds, {(w.name, e): getattr(w, regrets)[e] for w in worlds for e in EXECUTIONS}
        )
        assert np.nanmin(found) == np.nanmax(found) == value
        assert np.isnan(found).sum() == sum(not w.scored(e) for w in worlds for e in EXECUTIONS)


def test_groups_are_all_the_drawn_and_each_family():
    worlds = suite_worlds("test")
    groups = world_groups(worlds)
    assert len(groups["all"]) == len(worlds)
    assert len(groups["drawn"]) == len(worlds) - 22 - len(groups["wind"])
    assert sum(map(len, groups.values())) == 2 * len(worlds) + len(groups["drawn"])


def test_what_every_forecast_tells_a_rule_has_words():
    assert set(TOLD_BY_FORECAST) == set(get_args(ForecastKind))
