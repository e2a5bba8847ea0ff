"""The figure of promises shows its numbers in the right order."""

import numpy as np

from replan.execute import Mission
from replan.report.certificate_figure import certificate_figure, promises
from replan.worlds.rover import rover


def test_each_promise_lies_above_the_regret_and_is_drawn(tmp_path):
    mission = Mission(rover(3, np.linspace(0.1, 0.3, 8)), budget=1, planning_horizon=3)
    points = promises(mission, [1, 3, 7])
    for point in points:
        assert point.regret <= point.certificate + 1e-9
        assert point.certificate <= min(point.in_advance, point.boxes) + 1e-9
        assert point.regret < point.theorem
    figure = certificate_figure(points, title="tiny", path=tmp_path / "promises.png")
    axes = figure.axes[0]
    assert axes.get_yscale() == "log"
    drawn = {line.get_label(): list(line.get_ydata()) for line in axes.lines}
    assert drawn["true regret"] == [point.regret for point in points]
    assert drawn["theorem, repaired"] == [point.theorem for point in points]
    assert (tmp_path / "promises.png").stat().st_size > 10_000
