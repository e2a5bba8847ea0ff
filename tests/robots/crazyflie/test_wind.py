import numpy as np
import pytest

from replan.robots.crazyflie.wind import (
    GUST_DEVIATION,
    GUST_SECONDS,
    STRENGTH,
    constant_wind,
    make_wind,
    ornstein_uhlenbeck,
)


def test_the_mean_grows_as_the_drift_profile_and_turns_slowly():
    made = make_wind("sparse", 4)
    strength = np.linalg.norm(made.mean, axis=1)
    assert strength[0] == pytest.approx(0.03 * STRENGTH)
    rise = np.diff(strength) / STRENGTH
    assert rise[7:13] == pytest.approx(0.016) and rise[0:7] == pytest.approx(0.001)
    angles = np.unwrap(np.arctan2(made.mean[:, 1], made.mean[:, 0]))
    assert np.abs(np.diff(angles)).max() <= np.deg2rad(2.0) + 1e-9


def test_layout_and_trial_fix_the_wind():
    assert (make_wind("dense", 2).force == make_wind("dense", 2).force).all()
    for other in (make_wind("dense", 3), make_wind("sparse", 2), make_wind("dense", 2, trial=1)):
        assert not np.allclose(make_wind("dense", 2).force, other.force)


def test_gusts_have_the_stated_deviation_and_correlation_time():
    step = 0.1
    gusts = ornstein_uhlenbeck(40_000, deviation=0.02, step=step, seed=1)
    assert gusts.std() == pytest.approx(0.02, rel=0.05)
    assert abs(gusts.mean()) < 0.001
    lag = round(GUST_SECONDS / step)
    correlation = (gusts[lag:] * gusts[:-lag]).mean() / gusts.var()
    assert correlation == pytest.approx(np.exp(-1), abs=0.05)
    assert abs(np.corrcoef(gusts.T)[0, 1]) < 0.05


def test_gusts_blow_about_the_mean():
    made = constant_wind(np.array([0.03, -0.01]), horizon=400, seed=3)
    assert made.force.mean(axis=(0, 1)) == pytest.approx([0.03, -0.01], abs=0.002)
    assert (made.force - made.mean[:, None]).std() == pytest.approx(GUST_DEVIATION, rel=0.1)
