"""The figure of promises shows its numbers in the right order."""

import numpy as np

from replan.execute import Mission
from replan.report.certificate_figure import (
    certificate_figure,
    certificate_table,
    promises,
    write_certificates,
)
from replan.worlds import rover


def test_each_promise_lies_above_the_regret_and_is_drawn(tmp_path):
    mission = Mission(rover(3, np.linspace(0.1, 0.3, 8)), budget=1, planning_horizon=3)
    points = list(promises(mission, [1, 3, 7]))
    for point in points:
        assert point.regret <= point.certificate + 1e-9
        assert point.certificate <= min(point.in_advance, point.boxes) + 1e-9
        assert point.regret < point.theorem
    figure = certificate_figure(points, title="tiny")
    axes = figure.axes[0]
    assert axes.get_yscale() == "log"
    drawn = {line.get_label(): list(line.get_ydata()) for line in axes.lines}
    assert drawn["true regret"] == [point.regret for point in points]
    assert drawn["theorem, repaired"] == [point.theorem for point in points]
    table = write_certificates(points, tmp_path)
    assert [row[:2] for row in table.rows] == [(str(p.budget), f"{p.regret:.4f}") for p in points]
    assert {path.suffix for path in tmp_path.glob("certificates.*")} == {".png", ".svg", ".md", ".tex"}


def test_belief_execution_has_no_curve_in_advance():
    mission = Mission(rover(3, np.linspace(0.1, 0.3, 8)), budget=1, planning_horizon=3, execution="belief")
    points = list(promises(mission, [2]))
    labels = [line.get_label() for line in certificate_figure(points).axes[0].lines]
    assert "certificate after the fact" in labels and "certificate in advance" not in labels
    assert len(certificate_table(points).columns) == 1 + len(labels)
