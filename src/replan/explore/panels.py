"""The explorer's panels as HTML."""

from __future__ import annotations

import html
import shlex
from pathlib import Path
from time import sleep
from typing import Any

from replan.certificates import certify
from replan.errors import InputError
from replan.evaluation.optimal_schedule import Optimum
from replan.explore import drawing
from replan.explore.link import Screen, to_query
from replan.explore.model import RuleView, Scene, View
from replan.explore.words import label
from replan.report.regret_words import scale_words
from replan.worlds.parameters import FileParameters

INTRODUCTION = """# When should the robot replan?

Each orange mark is an update: the robot sees where it is, learns the dynamics and plans anew. In between it
walks blind while the dynamics drift. Drag the marks, move them with the arrow keys, or type their times.
"""
PATH = (
    "One robot under these update times, always with the same luck, so that only the times make it go "
    "another way. The regret above is exact: the average over all luck."
)
STILL = 0.3  # seconds that the marks have to be still before a certificate is computed


def result(scene: Scene, view: View) -> str:
    """Return the regret and what it compares with."""
    return (
        f'<p style="font-size:1.5rem;margin:0">{label("regret")} <b id="regret">{view.regret:.4f}</b> '
        f'<span id="scale" style="font-size:1rem">&ensp;{scale_words(view.regret, scene.scale)}</span></p>'
    )


def pictures(scene: Scene, view: View) -> str:
    """Return the losses and the path with their legends."""
    return (
        f"{drawing.loss_legend()}{drawing.losses(view)}{drawing.losses(view, narrow=True)}"
        '<div style="display:flex;flex-wrap:wrap;gap:1.5rem;margin-top:1rem">'
        f'<div style="flex:3 1 20rem">{drawing.path(scene, view.trace)}</div>'
        f'<div style="flex:2 1 14rem">{drawing.path_legend(scene)}<p style="margin-top:1rem">{PATH}</p></div>'
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
    """Wait until the marks are still, and return whether they moved meanwhile."""
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
    if isinstance(screen.setting, FileParameters):  # a link does not carry the file
        name = html.escape(Path(screen.setting.file or "").name)
        return f"{saved}<p>Send <code>{name}</code> with it; it is looked for beside the setting.</p>"
    query = f"?{to_query(screen)}"
    command = html.escape(f"replan explore {shlex.quote(query)}")
    return (
        '<details id="share"><summary>Show this screen to someone else</summary><p>This command opens it on '
        f'any machine with replan: <code id="command">{command}</code></p></details>'
        f'<p><a id="link" style="text-decoration:underline" href="{html.escape(query)}">Link for this machine'
        f"</a></p>{saved}"
    )
