"""The explorer, a marimo app: `replan explore` runs it. Its contents come from model.py and panels.py."""

# /// script
# [tool.marimo.display]
# theme = "system"
# ///

import marimo

app = marimo.App(width="medium", app_title="replan explore", html_head_file="marks.html")


@app.cell
def _():
    import threading

    import marimo as mo

    from replan.errors import InputError
    from replan.explore import controls, link, model, panels

    one_certificate = threading.Lock()  # at a time
    return InputError, controls, link, mo, model, one_certificate, panels


@app.cell
def _(InputError, controls, link, mo, panels):
    query = mo.query_params().to_dict()
    source = mo.cli_args().get("open") or "two-burst"
    try:
        opened, _fault = link.from_query(query) if query else link.open_screen(str(source)), None
    except InputError as error:
        opened, _fault = link.open_screen("two-burst"), str(error)
    kept = controls.ScreenState(opened)
    get_jumps, set_jumps = mo.state(0)
    mo.vstack(
        [
            mo.md(panels.INTRODUCTION),
            mo.callout(f"{_fault}. Shown instead: two-burst.", kind="warn") if _fault else mo.Html(""),
        ]
    )
    return get_jumps, kept, opened, set_jumps


@app.cell
def _(InputError, base, controls, drift, execution, forecast, kept, kind, latency, mo, model, sizes, slips):
    try:
        setting = controls.edited(
            base, sizes.value, kind.value, drift.value, slips.value, kept, forecast.value, latency.value
        )
        scene = model.make_scene(setting, execution.value)
        _fault = None
    except InputError as error:
        _fault = str(error)
    mo.stop(_fault is not None, mo.callout(_fault, kind="warn"))
    return scene, setting


@app.cell
def _(controls, get_jumps, kept, mo, scene):
    get_jumps()
    times_text = controls.times_field(mo, kept, scene)
    mo.vstack([mo.Html(controls.marks(kept, scene)), mo.Html(f'<div id="times">{times_text}</div>')])
    return (times_text,)


@app.cell
def _(InputError, kept, link, mo, model, panels, scene, times_text):
    try:
        kept.times = link.read_numbers(times_text.value, int, name="update times")
        view = model.make_view(scene, kept.times)
        _fault = None
    except InputError as error:
        _fault = str(error)
    mo.stop(_fault is not None, mo.callout(_fault, kind="warn"))
    mo.Html(panels.result(scene, view))
    return (view,)


@app.cell
def _(mo, panels, scene, view):
    mo.Html(panels.pictures(scene, view))
    return


@app.cell
def _(mo, one_certificate, panels, scene, view):
    def follow(scene=scene, view=view):
        """The certificate, when the marks have been still for a moment."""
        me = mo.current_thread()
        if panels.superseded(me):
            return
        with one_certificate:
            if not me.should_exit:
                found = panels.certificate(scene, view)
                if not me.should_exit:
                    mo.output.replace(mo.Html(found))

    mo.output.replace(mo.Html(panels.pending()))
    mo.Thread(target=follow).start()
    return


@app.cell
def _(controls, mo, rule):
    best_button = mo.ui.run_button(label="Best", tooltip="Jump to the best update times that exist")
    rule_button = mo.ui.run_button(label="Use the rule's times")
    controls.row(mo, {"rule": rule}, rule_button, best_button)
    return best_button, rule_button


@app.cell
def _(best_button, kept, mo, model, panels, rule, rule_button, scene, set_jumps):
    _said = ""
    if best_button.value:
        with mo.status.spinner(title="Looking for the best update times"):
            _best = model.best_times(scene)
        kept.times, _said = _best.fixed_times, panels.best(_best)
    elif rule_button.value:
        with mo.status.spinner(title=f"Choosing the parameters of {rule.value}"):
            _shown = model.rule_view(scene, rule.value)
        kept.times, _said = _shown.times, panels.rule(_shown)
    if _said:
        set_jumps(lambda jumps: jumps + 1)
    mo.Html(_said)
    return


@app.cell
def _(controls, mo, opened):
    world = controls.world_choice(mo, opened)
    execution = controls.execution_choice(mo, opened)
    rule = controls.rule_choice(mo, opened)
    return execution, rule, world


@app.cell
def _(controls, kept, mo, opened, world):
    base = controls.chosen_world(world.value, opened, kept)
    sizes = controls.sizes(mo, base)
    kind = controls.drift_choice(mo, base, kept)
    forecast = controls.forecast_choice(mo, base)
    latency = controls.latency_choices(mo, base)
    return base, forecast, kind, latency, sizes


@app.cell
def _(base, controls, kind, mo):
    drift = controls.drift_numbers(mo, base, kind.value)
    return (drift,)


@app.cell
def _(controls, drift, execution, forecast, kind, latency, mo, panels, sizes, world):
    mo.vstack(
        [
            mo.md("## The world and the robot"),
            mo.Html(panels.unfolding()),
            controls.row(mo, {"world": world, **controls.field_names(sizes)}),
            controls.row(mo, {"execution": execution, "forecast": forecast}),
            controls.row(mo, controls.field_names(latency)),
            controls.drift_rows(mo, kind, drift),
        ],
        gap=0.75,
    )
    return


@app.cell
def _(base, controls, kept, kind, mo, sizes):
    slips, _handles = controls.drawing_board(mo, base, kind.value, sizes.value, kept)
    mo.Html(_handles)
    return (slips,)


@app.cell
def _(execution, kept, link, mo, panels, rule, setting, view):
    screen = link.Screen(setting, view.times, execution.value, rule.value, kept.points)
    saved = mo.download(link.to_toml(screen).encode(), filename="explored.toml", label="Save as a file")
    mo.vstack([mo.Html(panels.links(screen)), saved], align="start")
    return


if __name__ == "__main__":
    app.run()
