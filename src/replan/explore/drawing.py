"""The explorer's pictures as SVG text: small, made in a millisecond, coloured for light and dark pages."""

from __future__ import annotations

from replan.evaluation.agent_runs import AgentRun
from replan.explore.model import Scene, View
from replan.model.kernel import Array
from replan.report.grid_path import spread_visits
from replan.report.style import BLUE, ORANGE, QUIET, VERMILLION
from replan.report.world_drawing import CELL, LOOKS, legend_html

WIDTH, NARROW = 1000, 400  # of what lies along the horizon, on a phone; marks.html has the same
LEFT, NARROW_LEFT, RIGHT = 60, 44, 20  # margins of the horizon, the same there
LOSS_HEIGHT = 160
TEXT = 'font-size="15" fill="currentColor"'


def losses(view: View, *, narrow: bool = False) -> str:
    """Return a bar chart of the expected loss of every step, updates and skips in different colours."""
    width, left = (NARROW, NARROW_LEFT) if narrow else (WIDTH, LEFT)
    horizon = len(view.steps.loss)
    step = (width - left - RIGHT) / horizon
    top = max(float(view.steps.loss.max()), 1e-9)
    high, base = LOSS_HEIGHT - 60, LOSS_HEIGHT - 46
    bars = []
    for t, (at_update, at_skip) in enumerate(zip(view.steps.update_loss, view.steps.skip_loss, strict=True)):
        tall, colour = high * (at_update + at_skip) / top, VERMILLION if t in view.times else QUIET
        bars.append(
            f'<rect x="{left + t * step:.1f}" y="{base - tall:.1f}" width="{0.8 * step:.1f}" '
            f'height="{tall:.2f}" fill="{colour}"><title>t = {t}: {at_update + at_skip:.4f}</title></rect>'
        )
    ticks = "".join(
        f'<text x="{left + (t + 0.4) * step:.1f}" y="{base + 20}" text-anchor="middle" {TEXT}>{t}</text>'
        for t in tick_times(horizon)
    )
    middle = (left + width - RIGHT) / 2
    return (
        f'<svg class="{"narrow" if narrow else "wide"}" viewBox="0 0 {width} {LOSS_HEIGHT}" width="100%" '
        f'role="img" aria-label="expected loss of every step">'
        f'<text x="{left - 6}" y="{base - high + 5}" text-anchor="end" {TEXT}>{top:.2g}</text>'
        f'<line x1="{left}" x2="{width - RIGHT}" y1="{base}" y2="{base}" stroke="{QUIET}"/>'
        f'<text x="{middle}" y="{base + 41}" text-anchor="middle" {TEXT}>time (steps)</text>'
        f"{''.join(bars)}{ticks}</svg>"
    )


def loss_legend() -> str:
    """Return the legend of the losses."""
    update_mark, skip_mark = (f'<span style="color:{colour}">■</span>' for colour in (VERMILLION, QUIET))
    return f"<p>expected loss of each step: {update_mark} at an update, {skip_mark} at a skip</p>"


def tick_times(horizon: int) -> list[int]:
    """Return the times of the tick labels, about ten at most."""
    step = next(step for step in (1, 2, 5, 10, 20, 50, 100, 200, 500, horizon) if horizon <= 11 * step)
    return list(range(0, horizon, step))


def path(scene: Scene, trace: AgentRun) -> str:
    """Return one robot's path on the grid, its estimate of it, and its updates."""
    ground = scene.ground
    if ground is None:
        return "<p>The states of this world are not cells of a grid, so there is no path to draw.</p>"
    wide, high = ground.columns * CELL, ground.rows * CELL
    true, believed = (spread_visits(line, ground.columns) for line in (trace.states, trace.believed))
    return (
        f'<svg viewBox="-2 -2 {wide + 4} {high + 4}" width="100%" style="max-width:{wide}px" '
        f'role="img" aria-label="the path of one robot">{ground.svg()}'
        f'<polyline points="{_points(true)}" fill="none" stroke="{BLUE}" stroke-width="3"/>'
        f'<polyline points="{_points(believed)}" fill="none" stroke="{ORANGE}" stroke-width="2.5" '
        f'stroke-dasharray="6 4"/>{_updates(true, trace)}</svg>'
    )


def path_legend(scene: Scene) -> str:
    """Return the legend of the path, where updates are round marks with their numbers."""
    if scene.ground is None:
        return ""
    return f'<p class="looks">{legend_html(scene.ground).replace(LOOKS["update"].sign, "●")}</p>'


def _updates(true: Array, trace: AgentRun) -> str:
    """Return the updates by number; those at one point share a mark."""
    together: dict[tuple[float, float], list[int]] = {}
    for number, t in enumerate(trace.times, start=1):
        x, y = (true[t] + 0.5) * CELL
        together.setdefault((round(x, 1), round(y, 1)), []).append(number)
    marks = []
    for (x, y), numbers in together.items():
        hint = "; ".join(f"update {number}, t = {trace.times[number - 1]}" for number in numbers)
        text = " ".join(map(str, numbers))
        wide = 11 + 7 * len(text)
        left = max(x - wide / 2, 0)  # within the grid
        marks.append(
            f'<g><title>{hint}</title><rect x="{left:.1f}" y="{y - 9:.1f}" width="{wide}" height="18" rx="9" '
            f'fill="{VERMILLION}"/><text x="{left + wide / 2:.1f}" y="{y + 4.5:.1f}" font-size="13" '
            f'text-anchor="middle" fill="white">{text}</text></g>'
        )
    return "".join(marks)


def _points(line: Array) -> str:
    return " ".join(f"{x:.1f},{y:.1f}" for x, y in (line + 0.5) * CELL)
