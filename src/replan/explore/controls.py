"""The explorer's controls for a world, and the setting that their values make.

`mo` is marimo, an argument, so that this module can be imported without it.
"""

from __future__ import annotations

import html
import json
from collections.abc import Mapping
from typing import Any, get_args

from replan import Setting, list_names, load_setting
from replan.errors import InputError
from replan.explore import link, model
from replan.explore.panels import hinted, tick_times
from replan.model.drift import GREATEST_SLIP
from replan.typing import Meanwhile
from replan.worlds.forecasts import ForecastKind
from replan.worlds.mars_rover import Rover

EXECUTIONS = {"map": "likeliest cell", "belief": "all cells it may be in", "localised": "it sees where it is"}
AS_OPENED = "as opened"
DRAWN = "drawn"
BURSTS = " (from, to, slope; ...)"
SIZES = {"n": "n", "horizon": "horizon T", "planning_horizon": "planning horizon H", "budget": "budget B"}
LATENCY = {"update_steps": "steps of an update", "meanwhile": "meanwhile"}


class ScreenState:
    """Update times and drawn slips, which outlive the controls that show them."""

    def __init__(self, opened: link.Screen) -> None:
        self.times = opened.times
        self.points = opened.points  # None unless the drift is drawn
        self.turn = 0  # how often marks were made; new marks forget earlier drags


def choice(mo: Any, name: str, options: list[str], value: str) -> Any:
    """Return a dropdown list."""
    return mo.ui.dropdown(options, value=value, label=name)


def rule_choice(mo: Any, opened: link.Screen) -> Any:
    """Return the list of rules."""
    return choice(mo, "rule", list_names("rules"), opened.rule)


def execution_choice(mo: Any, opened: link.Screen) -> Any:
    """Return the list of executions in words."""
    shown = {f"{EXECUTIONS[name]} ({name})": name for name in EXECUTIONS}
    value = next(words for words, name in shown.items() if name == opened.execution)
    return mo.ui.dropdown(shown, value=value, label="execution")


def forecast_choice(mo: Any, base: Setting) -> Any:
    """Return the list of forecasts, with the setting's own chosen."""
    kind = "frozen" if base.forecast is None else base.forecast.kind
    return choice(mo, "forecast", list(get_args(ForecastKind)), kind)


def latency_choices(mo: Any, base: Setting) -> Any:
    """Return the fields for the steps that an update takes and for acting meanwhile."""
    return mo.ui.dictionary(
        {
            "update_steps": mo.ui.text(value=model.write_steps(base), label=LATENCY["update_steps"]),
            "meanwhile": choice(
                mo, LATENCY["meanwhile"], list(get_args(Meanwhile)), base.meanwhile or get_args(Meanwhile)[0]
            ),
        }
    )


def world_choice(mo: Any, opened: link.Screen) -> Any:
    """Return the list of built-in settings, with the opened one if it is not built in."""
    names = list_names("settings")
    same = next((name for name in names if load_setting(name) == opened.setting), None)
    options = names if same else [AS_OPENED, *names]
    return choice(mo, "world", options, same or AS_OPENED)


def chosen_world(name: str | None, opened: link.Screen, kept: ScreenState) -> Setting:
    """Return the setting of that name; drawn slips are kept only with the one that was opened."""
    if name is None or name == AS_OPENED:
        kept.points = opened.points
        return opened.setting
    kept.points = None
    return load_setting(name)


def sizes(mo: Any, base: Setting) -> Any:
    """Return number fields for n, T, H and B, as far as the world has them.

    They have no limits of their own: a browser would change what is typed, where `edited` refuses it.
    """
    values = {key: value for key, value in base if key in SIZES and value is not None}
    return mo.ui.dictionary(
        {key: mo.ui.number(step=1, value=values[key], label=SIZES[key]) for key in SIZES if key in values}
    )


def drift_choice(mo: Any, base: Setting, kept: ScreenState) -> Any:
    """Return the list of kinds of drift; only a rover has several."""
    if not isinstance(base, Rover):
        return choice(mo, "drift", [base.world], base.world)
    value = base.drift.kind if kept.points is None else DRAWN
    return choice(mo, "drift", [*model.DRIFT_KINDS, DRAWN], value)


def drift_numbers(mo: Any, base: Setting, kind: str) -> Any:
    """Return the fields of a kind of drift; none for a drawn one or another world than the rover."""
    fields = {}
    if isinstance(base, Rover) and kind != DRAWN:
        for key, value in model.drift_start(base, kind).items():
            if key == "bursts":
                text = model.write_bursts(value)
                fields[key] = mo.ui.text(value=text, label=f"{key}{BURSTS}", full_width=True)
            elif key != "kind":
                fields[key] = mo.ui.number(value=value, step=0.001, label=key)
    return mo.ui.dictionary(fields)


def drawing_board(
    mo: Any, base: Setting, kind: str, sizes: Mapping[str, Any], kept: ScreenState
) -> tuple[Any, str]:
    """Return a text field of the drawn slips, and draggable points that write into it."""
    if kind != DRAWN:
        return mo.ui.text(), ""
    points = kept.points or model.points_of(base)
    field = mo.ui.text(value=",".join(f"{p:g}" for p in points), label="slips", debounce=False)
    kept.turn += 1
    handles = point_handles(points, horizon=int(sizes["horizon"] or 2), turn=kept.turn)
    return field, f'{handles}<div id="slips">{field}</div>'


def row(mo: Any, named: Mapping[str, Any], *buttons: Any) -> Any:
    """Return controls side by side, wrapped on narrow screens, each with a tooltip."""
    shown = [mo.Html(hinted(name, element)) for name, element in named.items()]
    return mo.hstack([*shown, *buttons], justify="start", wrap=True, align="end")


def field_names(fields: Any) -> dict[str, Any]:
    """Return the fields of the sizes, or of the latency, by the names that are explained."""
    return {(SIZES | LATENCY)[key]: element for key, element in fields.elements.items()}


def drift_rows(mo: Any, kind: Any, drift: Any) -> Any:
    """Return the controls of the drift; bursts have a line of their own."""
    fields = dict(drift.elements)
    bursts = {"bursts": fields.pop("bursts")} if "bursts" in fields else {}
    lines = [row(mo, {"drift": kind, **fields})]
    return mo.vstack([*lines, *(mo.Html(hinted(*each)) for each in bursts.items())])


def edited(
    base: Setting,
    sizes: Mapping[str, Any],
    kind: str,
    drift: Mapping[str, Any],
    slips: str,
    kept: ScreenState,
    forecast: str = "frozen",
    latency: Mapping[str, str] | None = None,
) -> Setting:
    """Return the setting on the screen, and keep drawn slips; values out of range are refused."""
    base = model.with_forecast(base, forecast)
    base = base if latency is None else model.with_latency(base, **latency)
    whole = {key: _whole(SIZES[key], value) for key, value in sizes.items()}
    kept.points = None
    if not isinstance(base, Rover):
        return model.edit_setting(base, **whole)
    if kind == DRAWN:
        points = link.read_numbers(slips, float, name="slips")
        if not all(0 <= point <= GREATEST_SLIP for point in points):
            raise InputError(f"slips lie between 0 and {GREATEST_SLIP:g}, not {slips}")
        made = model.drawn_drift(points, whole["horizon"])
        kept.points = points
        return model.edit_setting(base, **whole, drift=made)
    values = dict(drift)
    for key, value in values.items():
        if value is None:
            raise InputError(f"{key} is empty")
    if "bursts" in values:
        values["bursts"] = model.read_bursts(values["bursts"])
    return model.edit_setting(base, **whole, drift={"kind": kind, **values})


def _whole(name: str, value: Any) -> int:
    if value is None or value != int(value):
        raise InputError(f"{name} must be a whole number, not {'empty' if value is None else value}")
    return int(value)


def times_field(mo: Any, kept: ScreenState, scene: model.Scene) -> Any:
    """Return the text field of the update times; dragging writes into it."""
    mission = scene.mission
    kept.times = link.fit_times(kept.times, budget=mission.limit, horizon=mission.horizon)
    return mo.ui.text(value=",".join(map(str, kept.times)), label="update times", debounce=False)


def marks(kept: ScreenState, scene: model.Scene) -> str:
    """Return the update times as draggable marks along the horizon, over the curve of the drift."""
    horizon = scene.mission.horizon
    kept.turn += 1
    given = {
        "turn": kept.turn,
        "target": "times",
        "values": list(kept.times),
        "horizon": horizon,
        "ticks": tick_times(horizon),
        "curve": [round(float(value), 4) for value in scene.curve],
        "top": max(float(scene.curve.max()), 1e-3),
        "name": scene.curve_name,
    }
    return _element("replan-times", given)


def point_handles(points: tuple[float, ...], *, horizon: int, turn: int) -> str:
    """Return the slips of a drawn profile as draggable points."""
    given = {
        "turn": turn,
        "target": "slips",
        "values": list(points),
        "times": model.drawn_times(horizon, len(points)),
        "horizon": horizon,
        "ticks": tick_times(horizon),
        "curve": [],
        "top": GREATEST_SLIP,
        "name": "slip",
    }
    return _element("replan-points", given)


def _element(name: str, given: dict[str, Any]) -> str:
    return f'<{name} data-given="{html.escape(json.dumps(given))}"></{name}>'
