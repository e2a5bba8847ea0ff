"""The share of unusual steps over time, with intervals: the figure of `replan estimate`."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from replan.estimate.drift_in_log import LogWindow
from replan.report.style import BLUE, new_figure, save_png, style


def drift_figure(windows: Sequence[LogWindow], path: Path, *, quantity: str) -> None:
    """Draw the windows of a log."""
    with style():
        figure = new_figure(height=2.4)
        axes = figure.subplots()
        for window in windows:
            span = [window.begin, window.end]
            axes.fill_between(span, window.low, window.high, color=BLUE, alpha=0.2, linewidth=0)
            axes.plot(span, [window.share] * 2, color=BLUE)
        axes.set(xlabel="step", ylabel=quantity, ylim=(0, None))
    save_png(figure, path)
