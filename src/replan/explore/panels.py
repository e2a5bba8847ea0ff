"""The explorer's panels as HTML: explanations, results, links, and pictures as small SVG."""

from __future__ import annotations

import html
import shlex
from time import sleep
from typing import Any

from replan import Optimum, certify
from replan.errors import InputError
from replan.evaluation.agent_runs import AgentRun
from replan.explore.link import Screen, to_query
from replan.explore.model import RuleView, Scene, View
from replan.report.grid_path import spread_visits
from replan.report.style import BLUE, ORANGE, QUIET, VERMILLION
from replan.report.world_drawing import CELL, LOOKS, legend_html
from replan.typing import Array

INTRODUCTION = """# When should the robot replan?

Each orange mark is an update: the robot sees where it is, learns the dynamics and plans anew. Between
updates the world changes. Choose under *execution* whether the robot sees where it is meanwhile. Drag the
marks, move them with the arrow keys, or type their times.
"""
PATH = (
    "One robot with these update times and always the same random numbers, so that only the times change "
    "its way. The regret above is exact: the average over all random numbers."
)
STILL = 0.3  # seconds that the marks have to be still before a certificate is computed
WIDTH, NARROW = 1000, 400  # of what lies along the horizon, on a phone; marks.html has the same
LEFT, NARROW_LEFT, RIGHT = 60, 44, 20  # margins of the horizon, the same there
LOSS_HEIGHT = 160
TEXT = 'font-size="15" fill="currentColor"'
MEANINGS = {
    "world": "where the robot walks and how that changes; the paper's settings, and harder worlds",
    "execution": "between updates the robot acts by the most likely cell (map), weighs every cell it may "
    "be in (belief), or sees where it is (localised)",
    "forecast": "how the robot expects the dynamics to go on: as they are (frozen, the paper's robot), as "
    "they last moved (trend), by several models (mixture), by the world's parameters (family; family-ahead "
    "knows their drift bounds ahead), or as they truly will (given)",
    "steps of an update": "steps from the beginning of an update until its plan is in force, such as 4, or "
    "1:0.5, 3:0.5 for 1 or 3 steps with a probability of 0.5 each; a mark inside a running update moves to "
    "its end",
    "meanwhile": "while an update runs the robot goes on by its old plan, or waits where it is",
    "n": "the grid has n times n cells",
    "horizon T": "steps of the mission",
    "planning horizon H": "steps that a plan looks ahead",
    "budget B": "updates that the robot can afford; the first is always at time 1",
    "drift": "how the dynamics change over time; choose drawn to drag the curve yourself",
    "slip": "probability of a move going astray, at time 0",
    "rate": "growth of the slip in every step",
    "amplitude": "how far the slip swings up and down",
    "period": "steps of one swing of the slip",
    "quiet": "growth of the slip in every step outside bursts",
    "bursts": "stretches of fast drift: from and to as parts of the horizon, and the growth of the slip in "
    "every step of them; a semicolon between two bursts",
    "rule": "a way to choose update times; its parameters are chosen on missions that are not shown",
    "regret": "what these update times lose, on average, against a robot that sees and knows everything "
    "at every step",
    "best possible": "the least regret that any choice of update times can have here, times chosen by the "
    "states seen included",
    "certificate": "the most that can be lost, as far as estimates and drift bounds can tell",
}


def label(name: str) -> str:
    """Return a name with its explanation as a tooltip."""
    return f'<span title="{html.escape(MEANINGS[name])}">{name}</span>'


def hinted(name: str, element: object) -> str:
    """Return a control with the explanation of its name as a tooltip; its label stays plain text."""
    return f'<div title="{html.escape(MEANINGS[name])}">{element}</div>'


def unfolding() -> str:
    """Return the list of all explanations."""
    rows = "".join(f"<dt><b>{name}</b></dt><dd>{meaning}</dd>" for name, meaning in MEANINGS.items())
    return f'<details id="words"><summary>What the words mean</summary><dl>{rows}</dl></details>'


def result(scene: Scene, view: View) -> str:
    """Return the regret and the figures beside it."""
    return (
        f'<p style="font-size:1.5rem;margin:0">{label("regret")} <b id="regret">{view.regret:.4f}</b> '
        f'<span id="scale" style="font-size:1rem">&ensp;{scene.scale.words(view.regret)}</span></p>'
    )


def pictures(scene: Scene, view: View) -> str:
    """Return the losses and the path with their legends."""
    return (
        f"{loss_legend()}{losses(view)}{losses(view, narrow=True)}"
        '<div style="display:flex;flex-wrap:wrap;gap:1.5rem;margin-top:1rem">'
        f'<div style="flex:3 1 20rem">{path(scene, view.trace)}</div>'
        f'<div style="flex:2 1 14rem">{path_legend(scene)}<p style="margin-top:1rem">{PATH}</p></div>'
        "</div>"
    )


def pending() -> str:
    """Return the panel that is shown until the certificate is computed."""
    return '<p id="certificate" style="margin:0">certificate: follows when the marks are still</p>'


def certificate(scene: Scene, view: View) -> str:
    """Return the best possible regret, and the certificate of the schedule or why there is none."""
    best = (
        ""
        if scene.floor is None
        else (
            f'<p style="margin:0">{label("best possible")}: <b id="floor">{scene.floor:.4f}</b> with '
            f"{scene.mission.spending.limit} updates</p>"
        )
    )
    try:
        bound = certify(scene.mission, view.times)
    except InputError as error:
        return f'{best}<p id="certificate">no certificate: {html.escape(str(error))}</p>'
    return (
        f'{best}<p id="certificate" style="margin:0">{label("certificate")}: regret is at most '
        f'<b id="promised">{bound.value:.4f}</b>, '
        "for every world that fits the robot's estimates and its drift bounds</p>"
    )


def superseded(thread: Any) -> bool:
    """Wait until the marks are still, and return whether they moved in the meantime."""
    sleep(STILL)
    return thread.should_exit


def best(optimum: Optimum) -> str:
    """Return the best times and their regret."""
    return (
        f'<p id="found">best times: regret {optimum.fixed_regret:.4f} ({optimum.fixed_label}); choosing each '
        f"next time by the state just seen, {optimum.feedback_regret:.4f}</p>"
    )


def rule(shown: RuleView) -> str:
    """Return the regret of a rule, and the parameters that validation chose."""
    chosen = ", ".join(
        f"{key} = {value:g}" if isinstance(value, float) else f"{key} = {value}"
        for key, value in shown.parameters.items()
        if value is not None
    )
    return (
        f'<p id="found">{shown.name}: exact regret {shown.regret:.4f} as a rule'
        f"{html.escape(f' with {chosen}') if chosen else ''}</p>"
    )


def links(screen: Screen) -> str:
    """Return ways to this screen for others: a command that holds the setting, and one for the saved file."""
    times = ",".join(map(str, screen.times))
    regret = f"replan regret explored.toml --times {times} --execution {screen.execution}"
    saved = f"<p>The saved file is a setting: <code>{regret}</code></p>"
    if files := screen.setting.files():  # a link does not carry the file
        name = html.escape(files[0].name)
        return f"{saved}<p>Send <code>{name}</code> with it; it is looked for beside the setting.</p>"
    query = f"?{to_query(screen)}"
    command = html.escape(f"replan explore {shlex.quote(query)}")
    return (
        '<details id="share"><summary>Show this screen to someone else</summary><p>This command opens it on '
        f'any machine with replan: <code id="command">{command}</code></p></details>'
        f'<p><a id="link" style="text-decoration:underline" href="{html.escape(query)}">Link for this machine'
        f"</a></p>{saved}"
    )


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
