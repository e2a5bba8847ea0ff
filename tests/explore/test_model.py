"""What the explorer shows is what the library computes."""

import xml.etree.ElementTree as tree
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from replan.certificates.certificate import certify
from replan.errors import InputError
from replan.evaluation.exact import evaluate_times
from replan.evaluation.optimal_schedule import optimum
from replan.explore import controls, model, panels
from replan.explore.link import open_screen
from replan.forecast.trend import Trend
from replan.worlds.forecasts import ForecastParameters
from replan.worlds.settings import load_setting, make_mission, parse_setting


@pytest.mark.parametrize("execution", ["map", "belief"])
@pytest.mark.parametrize("name", ["two-burst", "thin-ice-mild", "crosswind-mild", "terrain-mild"])
def test_a_view_holds_the_exact_regret_and_the_loss_of_every_step(name, execution):
    scene = model.make_scene(load_setting(name), execution)
    times = open_screen(name).times
    view = model.make_view(scene, times)
    exact = evaluate_times(make_mission(load_setting(name), execution=execution), times)
    assert view.regret == pytest.approx(exact.regret, abs=1e-12)
    assert view.steps.loss == pytest.approx(exact.steps.loss, abs=1e-12)
    assert view.trace.times == times


def test_best_is_no_worse_than_the_neighbours_of_its_times():
    scene = model.make_scene(load_setting("two-burst"))
    best = model.best_times(scene)
    assert model.make_view(scene, best.fixed_times).regret == pytest.approx(best.fixed_regret, abs=1e-8)
    for index, shift in ((1, 1), (2, -1), (3, 1)):
        moved = list(best.fixed_times)
        moved[index] += shift
        assert model.make_view(scene, moved).regret >= best.fixed_regret


def test_a_rule_is_shown_with_its_own_times_and_regret():
    scene = model.make_scene(load_setting("two-burst"))
    shown = model.rule_view(scene, "periodic")
    assert shown.times == (1, 17, 33, 49)
    assert shown.regret == pytest.approx(model.make_view(scene, shown.times).regret)


def test_only_parameters_that_were_chosen_are_told():
    scene = model.make_scene(load_setting("sparse-late-50"))
    assert "with" not in panels.rule(model.rule_view(scene, "lookahead"))
    shown = model.RuleView("drift-threshold", (1, 2), 0.5, {"threshold": 0.30000000000000004, "period": None})
    assert panels.rule(shown).endswith("as a rule with threshold = 0.3</p>")


def test_a_world_too_large_to_be_dragged_is_refused_before_it_is_made():
    with pytest.raises(InputError, match="n = 5000 is too large to explore by hand: at most 40"):
        model.make_scene(model.edit_setting(load_setting("two-burst"), n=5000))


@given(points=st.lists(st.floats(0, 0.6), min_size=2, max_size=9), horizon=st.integers(2, 90))
def test_a_drawn_profile_goes_through_its_points(points, horizon):
    setting = load_setting("two-burst")
    drift = model.drawn_drift(points, horizon)
    drawn = model.edit_setting(setting, horizon=horizon, budget=1, drift=drift)
    profile = drawn.drift.profile(horizon)  # pyright: ignore[reportAttributeAccessIssue]
    times = model.drawn_times(horizon, len(points))
    assert profile[times] == pytest.approx(points[: len(times)], abs=1e-9)
    between = np.interp(np.arange(horizon), times, points[: len(times)])
    assert profile == pytest.approx(between, abs=1e-9)


def test_drawing_begins_with_the_slips_of_the_setting():
    setting = load_setting("two-burst")
    profile = setting.drift.profile(50)  # pyright: ignore[reportAttributeAccessIssue]
    points = model.points_of(setting)
    assert points[0] == pytest.approx(profile[0], abs=5e-4)
    assert points[-1] == pytest.approx(profile[-1], abs=5e-4)


def test_controls_change_what_they_say_and_nothing_else():
    opened = open_screen("two-burst")
    kept = controls.ScreenState(opened)
    sizes = {"n": 8, "horizon": 30, "planning_horizon": 5, "budget": 3}
    drift = {"slip": 0.1, "rate": 0.01}
    found = controls.edited(opened.setting, sizes, "linear", drift, "", kept)
    expected = {"world": "rover", **sizes, "ties": "first", "drift": {"kind": "linear", **drift}}
    assert found == parse_setting(expected)
    assert kept.points is None
    drawn = controls.edited(opened.setting, sizes, controls.DRAWN, {}, "0.1,0.3", kept)
    assert drawn.drift.profile(30)[-1] == pytest.approx(0.3)  # pyright: ignore[reportAttributeAccessIssue]
    assert kept.points == (0.1, 0.3)


def test_another_forecast_is_the_settings_and_its_own_stays_whole():
    opened = open_screen("crosswind-mild")
    sizes, kept = {"planning_horizon": 7, "budget": 4}, controls.ScreenState(opened)
    found = controls.edited(opened.setting, sizes, "crosswind", {}, "", kept, "given")
    assert found.forecast == ForecastParameters(kind="given")
    wrong = found.model_copy(update={"forecast": ForecastParameters(kind="given", error=0.3)})
    assert controls.edited(wrong, sizes, "crosswind", {}, "", kept, "given").forecast == wrong.forecast
    assert controls.edited(wrong, sizes, "crosswind", {}, "", kept, "trend").forecast.kind == "trend"


def test_the_steps_of_an_update_are_the_settings():
    opened = open_screen("two-burst")
    assert model.with_latency(opened.setting, model.write_steps(opened.setting), "go-on") == opened.setting
    drawn = model.with_latency(opened.setting, "3:0.25, 1:0.75", "wait")
    assert drawn.latency == {"update_steps": {1: 0.75, 3: 0.25}, "meanwhile": "wait"}
    assert model.with_latency(drawn, model.write_steps(drawn), "wait") == drawn
    for steps in ("soon", "-1", "", "1:0.5"):
        with pytest.raises(InputError, match="update_steps"):
            model.with_latency(opened.setting, steps, "go-on")


@pytest.mark.parametrize(
    ("sizes", "drift", "line"),
    [
        ({"n": 12.5}, {}, "n must be a whole number"),
        ({"horizon": None}, {}, "horizon T must be a whole number"),
        ({"n": 41}, {}, "too large to explore"),
        ({"n": 1}, {}, "'n' should be"),
        ({}, {"slip": 0.7}, "'drift.slip' should be"),
        ({}, {"rate": None}, "rate is empty"),
    ],
)
def test_values_out_of_range_are_refused_not_changed(sizes, drift, line):
    opened = open_screen("two-burst")
    kept = controls.ScreenState(opened)
    sizes = {"n": 8, "horizon": 30, "planning_horizon": 5, "budget": 3} | sizes
    with pytest.raises(InputError) as refused:
        model.make_scene(
            controls.edited(opened.setting, sizes, "linear", {"slip": 0.1, "rate": 0.01} | drift, "", kept)
        )
    assert line in str(refused.value)
    with pytest.raises(InputError, match="slips lie between"):
        controls.edited(opened.setting, sizes | {"n": 8, "horizon": 30}, controls.DRAWN, {}, "0.1,0.7", kept)


def test_the_size_of_a_world_without_n_is_its_own():
    setting = load_setting("crosswind-mild")
    assert model.edit_setting(setting, n=30, budget=3) == setting.model_copy(update={"budget": 3})


def test_bursts_as_text_and_back():
    bursts = [[0.2, 0.34, 0.018], [0.62, 0.82, -0.018]]
    assert model.read_bursts(model.write_bursts(bursts)) == bursts
    assert model.read_bursts("") == []
    for bad in ("0.2, 0.3", "a, b, c", "0.2 0.3 0.1"):
        with pytest.raises(InputError, match="from, to, slope"):
            model.read_bursts(bad)


@pytest.mark.parametrize("name", ["two-burst", "crosswind-mild", "terrain-mild"])
def test_pictures_are_well_formed_and_hold_every_step_and_update(name):
    scene = model.make_scene(load_setting(name))
    view = model.make_view(scene, open_screen(name).times)
    space = "{http://www.w3.org/2000/svg}"
    for narrow in (False, True):
        text = panels.losses(view, narrow=narrow).replace("<svg ", f'<svg xmlns="{space[1:-1]}" ')
        losses = tree.fromstring(text)
        assert len(losses.findall(f"{space}rect")) == scene.mission.horizon
        assert "time (steps)" in [label.text for label in losses.iter(f"{space}text")]
    path = tree.fromstring(panels.path(scene, view.trace).replace("<svg ", f'<svg xmlns="{space[1:-1]}" '))
    titles = [title.text for title in path.iter(f"{space}title") if title.text]
    assert sorted("; ".join(titles).split("; ")) == [
        f"update {k}, t = {t}" for k, t in enumerate(view.times, start=1)
    ]
    true = path.find(f"{space}polyline").attrib["points"].split()  # pyright: ignore[reportOptionalMemberAccess]
    assert len(true) == scene.mission.horizon + 1


def test_the_certificate_is_shown_or_its_absence_explained():
    scene = model.make_scene(load_setting("two-burst"))
    view = model.make_view(scene, (1, 17, 33, 49))
    assert f"{certify(scene.mission, view.times).value:.4f}" in panels.certificate(scene, view)
    assert f"{optimum(scene.mission).feedback_regret:.4f}" in panels.certificate(scene, view)
    assert "41%" in panels.result(scene, view)
    moving = replace(
        scene, mission=replace(scene.mission, robot=replace(scene.mission.robot, forecast=Trend()))
    )
    assert "no certificate: " in panels.certificate(moving, view)


def test_where_the_world_drifts_and_where_it_costs_is_told_by_colour():
    ice = model.make_scene(load_setting("thin-ice-hard"))
    legend = panels.path_legend(ice)
    assert "drifts most" in legend and "costly to enter" in legend
    most = {state // 12 for state, share in ice.ground.drifting.items() if share == 1}
    assert most and most <= {8, 9, 10}  # the ice in row 9 and its banks
    rover = model.make_scene(load_setting("two-burst"))
    assert not rover.ground.drifting and not rover.ground.costly


def test_a_world_of_arrays_has_numbers_but_no_grid_and_no_link(tmp_path):
    kernels = np.array([[[0.8, 0.2], [0.1, 0.9]], [[0.5, 0.5], [0.3, 0.7]]])
    np.savez(tmp_path / "own.npz", kernels=kernels, rewards=np.array([0.0, 1.0]))
    file = tmp_path / "own.toml"
    file.write_text('world = "arrays"\nfile = "own.npz"\nhorizon = 9\nplanning_horizon = 3\nbudget = 2\n')
    screen = open_screen(file)
    scene = model.make_scene(model.edit_setting(screen.setting, budget=3))
    view = model.make_view(scene, (1, 3, 6))
    assert view.regret == pytest.approx(evaluate_times(scene.mission, (1, 3, 6)).regret)
    assert "no path to draw" in panels.path(scene, view.trace)
    assert "href" not in panels.links(screen) and "href" in panels.links(open_screen("two-burst"))
