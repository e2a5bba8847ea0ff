"""The figures show what they were given, name their axes, and come out the same twice."""

import subprocess
import sys
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from docs.idea_figure import IdeaData, idea_data, idea_figure
from docs.readme_figure import readme_figure
from matplotlib.figure import Figure

from replan.errors import InputError
from replan.evaluation.agent_runs import AgentRun, run_agent
from replan.report.grid_path import position_error, spread_visits
from replan.report.paper_figures import TrajectoryRow, representative_seed, trajectories, update_timing
from replan.report.style import save, save_png
from replan.schedule.fixed import FixedTimes
from replan.schedule.periodic import Periodic
from replan.study.protocol import HELD_OUT_SEEDS
from replan.worlds.settings import load_setting, make_mission

SETTING = load_setting("two-burst")
MISSION = make_mission(SETTING)
BURSTS = [(10, 17), (31, 41)]
SCHEDULES = {"regret-guided": (1, 14, 24, 35), "periodic": (1, 17, 33, 49), "random": (1, 10, 37, 44)}
REGRETS = {"regret-guided": 0.5, "periodic": 0.77, "random": 0.87}
RULES = {"periodic": Periodic(), "early": FixedTimes((1, 14, 24, 35))}


@cache
def timing() -> Figure:
    return update_timing(MISSION, SCHEDULES, intervals=BURSTS, name="two-burst", regrets=REGRETS)


@cache
def paths() -> Figure:
    return trajectories([TrajectoryRow("two-burst", MISSION, RULES, BURSTS)], seeds=np.arange(20))


@cache
def readme() -> Figure:
    costs = {name: {"map": regret, "belief": regret / 5} for name, regret in REGRETS.items()}
    return idea_figure(IdeaData(4, SETTING.drift.profile(50), BURSTS, SCHEDULES, costs))


def shaded(axes) -> list[tuple[float, float]]:
    spans = [patch for patch in axes.patches if patch.get_gid() == "fast drift"]
    return [(span.get_x(), span.get_x() + span.get_width()) for span in spans]


def marks(axes) -> dict[str, tuple[float, ...]]:
    """The times of each row's marks, by the tick label at the height of the marks."""
    names = {
        tick: label.get_text() for tick, label in zip(axes.get_yticks(), axes.get_yticklabels(), strict=True)
    }
    lines = [line for line in axes.lines if line.get_marker() == "|"]
    return {names[line.get_ydata()[0]]: tuple(line.get_xdata()) for line in lines}


def texts(figure: Figure) -> list:
    from matplotlib.text import Text

    return [text for text in figure.findobj(Text) if text.get_text().strip() and text.get_visible()]


@pytest.mark.parametrize("draw", [timing, paths, readme])
def test_the_same_figure_twice_gives_the_same_bytes(draw, tmp_path):
    first, second = (save(draw.__wrapped__(), tmp_path / name, "it") for name in ("first", "second"))
    assert [path.name for path in first] == ["it.png", "it.svg"]
    for one, other in zip(first, second, strict=True):
        assert one.read_bytes() == other.read_bytes()


@pytest.mark.parametrize("draw", [timing, paths, readme])
def test_files_hold_text_as_text_and_no_date(draw, tmp_path):
    png, svg = save(draw(), tmp_path, "it")
    assert "time (steps)</text>" in svg.read_text()
    assert "<dc:date>" not in svg.read_text()
    assert b"Software" not in png.read_bytes()
    assert b"tIME" not in png.read_bytes()


@pytest.mark.parametrize("draw", [timing, paths, readme])
def test_no_text_is_smaller_than_nine_points(draw):
    assert min(text.get_fontsize() for text in texts(draw())) >= 9


@pytest.mark.parametrize("draw", [timing, paths, readme])
def test_nothing_is_cut_off_at_the_edge(draw):
    figure = draw()
    drawn = figure.get_tightbbox()
    width, height = figure.get_size_inches()
    assert drawn.x0 >= 0 and drawn.y0 >= 0
    assert drawn.x1 <= width and drawn.y1 <= height


def test_update_timing_marks_the_times_given_and_shades_the_intervals_given():
    drift, updates = timing().axes
    assert marks(updates) == SCHEDULES
    assert shaded(drift) == shaded(updates) == BURSTS
    (curve,) = [patch for patch in drift.patches if hasattr(patch, "get_data")]
    assert curve.get_data().values == pytest.approx(MISSION.world.drift_bounds)
    assert list(curve.get_data().edges) == list(range(50))


def test_update_timing_names_its_axes_and_writes_the_regrets():
    figure = timing()
    drift, updates = figure.axes
    assert updates.get_xlabel() == "time (steps)"
    assert "in one step" in drift.get_ylabel()
    written = {text.get_text() for text in updates.texts}
    assert {"0.50", "0.77", "0.87", "regret"} <= written


def test_update_timing_refuses_times_outside_the_mission():
    with pytest.raises(InputError, match="periodic has an update at 50"):
        update_timing(MISSION, {"periodic": (1, 50)}, intervals=BURSTS, name="two-burst")
    with pytest.raises(InputError, match="at least one rule"):
        update_timing(MISSION, {}, intervals=BURSTS, name="two-burst")


def test_trajectories_mark_every_update_in_the_cell_where_the_robot_was():
    figure = paths()
    seed = representative_seed(MISSION, list(RULES.values()), seeds=np.arange(20))
    panels = figure.subfigs[0].axes
    for grid, strip, rule in zip(panels[:2], panels[2:4], RULES.values(), strict=True):
        trace = run_agent(MISSION, rule, seed=seed)
        cells = {tuple(divmod(int(trace.states[t]), 12)[::-1]) for t in trace.times}
        (marked,) = [line for line in grid.lines if line.get_label() == "update"]
        assert {tuple(point) for point in np.round(marked.get_xydata())} == cells
        assert tuple(line.get_xdata()[0] for line in strip.lines if line.get_gid() == "update") == trace.times
        assert shaded(strip) == BURSTS


def test_trajectories_draw_the_true_path_step_by_step():
    seed = representative_seed(MISSION, list(RULES.values()), seeds=np.arange(20))
    for grid, rule in zip(paths().subfigs[0].axes[:2], RULES.values(), strict=True):
        (line,) = [line for line in grid.lines if line.get_label() == "true path"]
        x, y = np.round(line.get_xydata()).astype(int).T
        assert (12 * y + x).tolist() == run_agent(MISSION, rule, seed=seed).states.tolist()


def test_trajectories_name_their_axes():
    panels = paths().subfigs[0].axes
    assert [axes.get_xlabel() for axes in panels[:4]] == ["column (cells)"] * 2 + ["time (steps)"] * 2
    assert panels[0].get_ylabel() == "row (cells)"
    assert "(cells)" in panels[2].get_ylabel()


def test_trajectories_need_a_rule():
    with pytest.raises(InputError, match="two-burst: trajectories need"):
        trajectories([TrajectoryRow("two-burst", MISSION, {})])


def test_more_rules_than_fit_a_page_are_refused():
    many = {str(k): Periodic() for k in range(5)}
    with pytest.raises(InputError, match="5 rules side by side"):
        trajectories([TrajectoryRow("two-burst", MISSION, many)])


def test_the_representative_seed_has_regrets_near_the_average_of_every_rule():
    from replan.evaluation.rollouts import oracle_rollout, rollout

    best = oracle_rollout(MISSION.world, HELD_OUT_SEEDS)
    seed = representative_seed(MISSION, list(RULES.values()))
    for rule in RULES.values():
        regrets = best - rollout(MISSION, rule, HELD_OUT_SEEDS).returns
        assert abs(regrets[seed] - regrets.mean()) < 0.25 * regrets.std()


def test_later_visits_lie_in_the_same_cell_beside_the_first():
    points = spread_visits(np.array([5, 6, 6, 5, 6, 5]), columns=4)
    assert np.round(points).tolist() == [[1, 1], [2, 1], [2, 1], [1, 1], [2, 1], [1, 1]]
    assert points[1].tolist() == points[2].tolist()  # it stayed
    assert len({tuple(point) for point in points.tolist()}) == 5


def test_the_error_of_belief_counts_cells():
    trace = AgentRun((1,), (), np.array([0, 1, 13, 14]), np.array([0, 1, 2]), np.array([0, 2, 0]), 0.0)
    assert position_error(MISSION, trace).tolist() == [0, 0, 2]  # 13 is (1, 1), 2 is (0, 2)


def test_the_readme_picture_shows_marks_bursts_and_both_bars_of_every_rule():
    slip, times, cost = readme().axes
    assert marks(times) == SCHEDULES
    assert shaded(slip) == shaded(times) == BURSTS
    assert slip.lines[0].get_ydata() == pytest.approx(100 * SETTING.drift.profile(50))
    widths = [[bar.get_width() for bar in bars] for bars in cost.containers]
    assert widths == [pytest.approx([0.5, 0.77, 0.87]), pytest.approx([0.1, 0.154, 0.174])]
    assert [label.get_text() for label in cost.get_yticklabels()] == ["regret-guided", "periodic", "random"]
    assert "regret" in cost.get_xlabel() and "slip (%)" in slip.get_ylabel()


def test_importing_the_figures_does_not_load_matplotlib():
    program = (
        "import sys, replan.report.curves, replan.report.paper_figures;"
        "import replan.report.paper_figures;"
        "sys.exit('matplotlib' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", program], timeout=60).returncode == 0


@pytest.mark.parametrize(
    ("name", "figure"),
    [("idea", lambda: idea_figure(idea_data())), ("readme", readme_figure)],
    ids=["idea", "readme"],
)
def test_a_picture_of_the_docs_is_small_and_says_what_the_library_computes(tmp_path, name, figure):
    picture = Path(__file__).parents[2] / "docs" / "images" / f"{name}.png"
    assert 0 < picture.stat().st_size < 200_000
    save_png(figure(), tmp_path / f"{name}.png")
    assert picture.read_bytes() == (tmp_path / f"{name}.png").read_bytes(), (
        f"make it again: python docs/{name}_figure.py"
    )
