"""The page in a real browser.

REPLAN_SCREENSHOTS=FOLDER writes the pictures of the docs there, of the page that `make reproduce` left.
"""

import os
import re
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

from page_data import data_of, record
from replan.evaluation.agent_runs import run_agent
from replan.evaluation.scale import BudgetCurve
from replan.execute.mission import make_timeline
from replan.report.page.run_page import write_page
from replan.report.world_drawing import CELL
from replan.results.run import Run
from replan.study.measures import high_drift_intervals
from replan.study.work import rule_of
from replan.worlds.settings import make_mission
from study_runs import by_setting

REPRODUCED = Path(__file__).parents[3] / "results" / "report.html"
FRAME = 220  # milliseconds between two steps of the animation


def sideways(page) -> int:
    """By how many pixels the page is wider than the screen."""
    return page.evaluate("document.documentElement.scrollWidth - innerWidth")


@pytest.mark.parametrize(
    ("width", "scheme", "image"),
    [(1400, "light", "report"), (1100, "dark", None), (390, "dark", "report-phone"), (390, "light", None)],
)
def test_the_page_opens_without_an_error_a_request_or_sideways_scrolling(
    opened, report, width, scheme, image
):
    shown = opened(report, width=width, scheme=scheme)
    page = shown.with_charts()
    for chart in ("parts", "budgets", "prices"):
        page.locator(f"#{chart}").scroll_into_view_if_needed()
        page.wait_for_selector(f"#{chart} .main-svg")
    assert shown.complaints == []
    assert shown.requests == [report.as_uri()]
    assert sideways(page) <= 0
    if image and (folder := os.environ.get("REPLAN_SCREENSHOTS")):
        page = opened(REPRODUCED, width=width, scheme=scheme).with_charts()
        last = page.locator(".beside" if width > 500 else "main table").first.bounding_box()
        clip = {"x": 0, "y": 0, "width": width, "height": last["y"] + last["height"] + 8}
        page.screenshot(path=Path(folder) / f"{image}.png", full_page=True, clip=clip)


def test_every_column_of_every_table_sorts_from_the_keyboard(opened, report):
    page = opened(report).page
    page.evaluate("document.querySelectorAll('details').forEach((box) => { box.open = true; })")
    for table in page.locator("table.sortable").all():
        for head in table.locator("thead th").all():
            column = head.evaluate("(cell) => cell.cellIndex")
            head.locator("button").focus()
            for order in ("ascending", "descending"):
                page.keyboard.press("Enter")
                assert head.get_attribute("aria-sort") == order
                keys = column_keys(table, column)
                present = [key for key in keys if key is not None]
                assert present == sorted(present, reverse=order == "descending")
                assert keys == present + [None] * (len(keys) - len(present))
            assert table.locator("[aria-sort=descending]").count() == 1


def column_keys(table, column: int) -> list:
    """The column's numbers as numbers, its words as words, None for a dash."""
    cells = table.locator("tbody tr").evaluate_all(
        """(rows, column) => rows.map((row) => row.cells[column]).map(
             (cell) => [cell.dataset.value ?? null, cell.textContent])""",
        column,
    )
    if any(value is not None for value, _ in cells):
        return [None if value is None else float(value) for value, _ in cells]
    return [None if text == "–" else natural(text) for _, text in cells]


def natural(text: str) -> list:
    """Words and whole numbers in turn, so that 8 comes before 34."""
    return [int(part) if part.isdigit() else part.lower() for part in re.split(r"(\d+)", text)]


def test_sorting_by_a_rule_orders_the_settings_by_its_regret(opened, report, run):
    page = opened(report).page
    column = page.locator("#regrets thead th", has_text="front-loaded")
    found = {name: rules["front-loaded"]["exact_regret"] for name, rules in by_setting(run).items()}
    by_regret = sorted(found, key=found.__getitem__)
    names = page.locator("#regrets tbody th")
    column.locator("button").click()
    assert names.all_text_contents() == by_regret
    column.locator("button").click()
    assert names.all_text_contents() == by_regret[::-1]


def test_the_animation_plays_and_pauses_and_shows_where_the_robot_is(opened, report, run):
    page = opened(report).with_charts()
    page.locator("#rule").select_option("regret-guided")
    page.clock.install(time="2026-01-01T00:00:00")
    page.clock.pause_at("2026-01-01T00:01:00")  # only the test moves the time on
    setting = run.settings["two-burst"]
    trace = run_agent(make_mission(setting), rule_of(by_setting(run)["two-burst"]["regret-guided"]))

    def assert_frame(t):
        assert page.locator("#time").input_value() == str(t)
        for mark, state in (
            ("true", trace.states[t]),
            ("believed", trace.believed[min(t, len(trace.believed) - 1)]),
        ):
            circle = page.locator(f"#path circle.{mark}")
            row, column = divmod(int(state), setting.n)
            assert float(circle.get_attribute("cx")) == CELL * (column + 0.5)
            assert float(circle.get_attribute("cy")) == CELL * (row + 0.5)
        assert page.locator("#path .update").count() == len({trace.states[u] for u in trace.times if u <= t})

    assert page.locator("#time").input_value() == str(setting.horizon), "the whole way is shown first"
    page.locator("#play").focus()
    page.keyboard.press("Space")
    page.clock.run_for(5 * FRAME)
    assert page.locator("#play").text_content() == "Pause"
    assert_frame(5)
    page.keyboard.press("Space")
    page.clock.run_for(5 * FRAME)
    assert_frame(5)
    page.keyboard.press("Space")
    page.clock.run_for(100 * FRAME)
    assert page.locator("#play").text_content() == "Play"
    assert f"t = {setting.horizon}: the end" in page.locator("#moment").text_content()
    page.locator("#time").focus()
    page.keyboard.press("ArrowLeft")
    assert_frame(setting.horizon - 1)


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_colours_follow_the_system_and_the_button(opened, report, scheme):
    page = opened(report, scheme=scheme).with_charts()

    def brightness():
        ground = page.evaluate("getComputedStyle(document.body).backgroundColor")
        ink = page.evaluate("document.getElementById('timeline').layout.font.color")
        text = page.evaluate("getComputedStyle(document.querySelector('#timeline .xtitle')).fill")
        return sum(rgb(ground)), sum(int(ink[k : k + 2], 16) for k in (1, 3, 5)), sum(rgb(text))

    first = brightness()
    page.locator("#theme").focus()
    page.keyboard.press("Enter")
    second = brightness()
    (dark, light) = (first, second) if scheme == "dark" else (second, first)
    assert dark[0] < 150 < 600 < light[0]
    assert light[1] < 150 < 600 < dark[1]
    assert light[2] < 150 < 600 < dark[2]


def rgb(text: str) -> list[int]:
    return [int(part) for part in text.removeprefix("rgb(").removesuffix(")").split(",")]


def test_the_timeline_shows_drift_every_rules_updates_and_the_score_in_its_terms(opened, report, run):
    page = opened(report).with_charts()
    page.locator("#rule").select_option("regret-guided")
    for name, rules in reversed(by_setting(run).items()):
        page.locator("#setting").select_option(name)
        drawn = page.evaluate("(() => { const { data, layout } = document.getElementById('timeline');"
                              " return JSON.parse(JSON.stringify({ data, layout })); })()")  # fmt: skip
        mission = make_mission(run.settings[name])
        rows = [trace for trace in drawn["data"] if trace.get("yaxis") == "y2"]
        assert [tuple(row["x"]) for row in rows] == [tuple(record["times"]) for record in rules.values()]
        assert drawn["layout"]["yaxis2"]["ticktext"] == list(rules)
        shaded = [(s["x0"], s["x1"]) for s in drawn["layout"]["shapes"] if s["type"] == "rect"]
        assert shaded == high_drift_intervals(run.settings[name], mission)
        asked = make_timeline(mission, rule_of(rules["regret-guided"])).decisions[1:]
        bars = [trace for trace in drawn["data"] if trace.get("type") == "bar"]
        assert bars[0]["x"] == [t for t, _ in asked]
        stack = [sum(parts) for parts in zip(*(bar["y"] for bar in bars), strict=True)]
        assert stack == pytest.approx([decision.score for _, decision in asked], rel=1e-4)
        (threshold,) = [trace for trace in drawn["data"] if trace.get("name") == "threshold"]
        assert threshold["y"] == [decision.threshold for _, decision in asked]
        why = "reaches" if name == "two-burst" else "pacing limit"
        reasons = page.locator("#reasons li").all_text_contents()
        assert len(reasons) == mission.spending.limit and all(why in reason for reason in reasons[1:])
        assert all(d.reason in reasons[k] for k, (_, d) in enumerate((a for a in asked if a[1].update), 1))


@pytest.mark.parametrize("width", [1400, 390])
def test_with_many_rules_marks_of_neighbouring_rows_keep_apart_and_names_are_whole(
    opened, tmp_path, run, width
):
    names = [*(f"periodic {k}" for k in range(10)), "distance-travelled", "periodic as it was run before"]
    records = [record("two-burst", label=name, rule=name, registered_rule="periodic") for name in names]
    settings = {"two-burst": run.settings["two-burst"]}
    page = opened(write_page(Run("many", records, settings, {}), tmp_path), width=width).with_charts()
    marks = page.evaluate("""[...document.querySelectorAll('#timeline .xy2 .points path')]
        .map(mark => mark.getBoundingClientRect()).map(box => [box.top, box.bottom])""")
    rows = sorted(set(map(tuple, np.round(marks, 1).tolist())))
    assert len(rows) == len(names)
    assert all(low[1] + 3 <= high[0] for low, high in pairwise(rows))
    shown = page.locator("#timeline .y2tick").all()
    assert [
        " ".join(each.locator("tspan").all_text_contents()) or each.text_content() for each in shown
    ] == names
    assert all(each.bounding_box()["x"] >= 0 for each in shown)


def test_at_each_price_a_rule_makes_as_many_updates_as_pay(opened, report):
    page = opened(report).with_charts()
    page.locator("#prices").scroll_into_view_if_needed()
    page.wait_for_selector("#prices .main-svg")
    drawn = page.evaluate("document.getElementById('prices').data.map(d => [d.name, d.x, d.y, d.text])")
    found = data_of(report)["two-burst"]["budgets"]
    assert [name for name, *_ in drawn] == list(found["curves"])
    for name, prices, losses, words in drawn:
        curve = BudgetCurve((), np.array(found["curves"][name]), None)
        for price, loss, word in list(zip(prices, losses, words, strict=True))[::20]:
            updates = curve.budget_at_price(price, never=found["never"])
            assert word.split()[0] == str(updates)
            assert loss == pytest.approx([found["never"], *curve.regrets][updates] + price * updates)
        assert words[-1] == "0 updates"  # too dear


def test_one_legend_names_every_curve(opened, report):
    page = opened(report).with_charts()
    page.locator("#budgets").scroll_into_view_if_needed()
    page.wait_for_selector("#budgets .main-svg")
    named = page.locator("#curves > span").all_inner_texts()
    assert [words.split(" ", 1)[1].removeprefix("evenly spaced ").strip("()") for words in named] == [
        "even", "regret-guided", "lookahead", "best possible",
    ]  # fmt: skip


def test_another_rule_shows_its_own_way_and_reasons(opened, report, run):
    page = opened(report).with_charts()
    page.locator("#rule").select_option("periodic")
    times = by_setting(run)["two-burst"]["periodic"]["times"]
    assert [text.split(":")[0] for text in page.locator("#reasons li").all_text_contents()] == [
        f"Update {k}, t = {t}" for k, t in enumerate(times, 1)
    ]
    page.locator("#time").fill(str(times[1]))
    assert f"t = {times[1]}: update 2 of {len(times)}" in page.locator("#moment").text_content()


def test_every_setting_opens_on_the_rule_of_least_regret_until_one_is_chosen(opened, report, run):
    page = opened(report).with_charts()
    for name, rules in by_setting(run).items():
        page.locator("#setting").select_option(name)
        least = min(rules, key=lambda rule: rules[rule]["exact_regret"])
        assert page.locator("#rule").input_value() == least
    page.locator("#rule").select_option("random")
    page.locator("#setting").select_option("two-burst")
    assert page.locator("#rule").input_value() == "random"


def test_on_paper_all_charts_are_drawn_in_light_colours_as_wide_as_the_sheet(opened, report):
    page = opened(report, scheme="dark").with_charts()
    before = page.locator("#timeline .main-svg").first.bounding_box()["width"]
    page.emulate_media(media="print")
    page.evaluate("dispatchEvent(new Event('beforeprint'))")
    millimetre = 96 / 25.4
    for chart in ("timeline", "parts", "budgets", "prices"):
        assert page.locator(f"#{chart} .main-svg").first.bounding_box()["width"] <= 180 * millimetre
    assert page.evaluate("document.documentElement.dataset.theme") == "light"
    assert page.locator("#glossary").get_attribute("open") is not None
    assert not page.locator("#play").is_visible()
    page.emulate_media(media="screen")
    page.evaluate("dispatchEvent(new Event('afterprint'))")
    assert page.evaluate("document.documentElement.dataset.theme") == "dark"
    assert page.locator("#glossary").get_attribute("open") is None
    assert page.locator("#timeline .main-svg").first.bounding_box()["width"] == before


def test_the_address_keeps_setting_and_rule(opened, report, run):
    page = opened(report).with_charts()
    assert page.locator("#setting").input_value() == "two-burst"
    page.locator("#setting").select_option("narrow-late")
    page.locator("#rule").select_option("self-triggered")
    other = opened(report).page
    other.goto(page.url)
    other.reload()
    assert other.locator("#setting").input_value() == "narrow-late"
    assert other.locator("#rule").input_value() == "self-triggered"


def test_a_colour_stands_for_one_term_of_the_score_whichever_others_are_there(opened, report, run):
    page = opened(report).with_charts()
    found = {}
    for name in run.settings:
        page.locator("#setting").select_option(name)
        for rule in ("regret-guided", "drift-threshold", "self-triggered"):
            page.locator("#rule").select_option(rule)
            bars = page.evaluate(
                "document.getElementById('timeline').data.filter((t) => t.type === 'bar')"
                ".map((t) => [t.name, t.marker.color])"
            )
            for term, colour in bars:
                found.setdefault(colour, set()).add(term.partition(" (")[0])
    same = [{"immediate I", "drift so far"}]  # both are the drift since the last update
    assert all(len(terms) == 1 or terms in same for terms in found.values()), found


def test_the_tab_key_reaches_everything(opened, report):
    page = opened(report).page
    reached = []
    for _ in range(120):
        page.keyboard.press("Tab")
        reached.append(
            page.evaluate("document.activeElement.id || document.activeElement.closest('table')?.id || ''")
        )
    assert [name for name in dict.fromkeys(reached) if name] == [
        "theme", "regrets", "setting", "rule", "play", "time", "table2",
    ]  # fmt: skip


@pytest.mark.parametrize("rule", ["periodic", "<!--<script>", "<b>even</b> & $x"])
def test_names_and_titles_are_shown_as_they_are(opened, tmp_path, run, rule):
    name = "</script><b>bold</b>"
    settings, given = {name: run.settings["two-burst"]}, {"rule": rule, "registered_rule": "periodic"}
    page = write_page(Run("a < b & c", [record(name, label=rule) | given], settings, {}), tmp_path)
    shown = opened(page)
    assert shown.with_charts().title() == "Study a < b & c"
    assert shown.page.locator("b", has_text="bold").count() == 0
    assert shown.page.locator("#setting option").text_content() == name
    assert shown.page.locator("#timeline .y2tick").text_content() == rule
    assert shown.complaints == []


def test_a_run_without_settings_is_tables_alone(opened, tmp_path):
    records = [record("mine", "lookahead", 0.25), record("mine", "even", regret=None, sampled_regret=0.5)]
    path = write_page(Run("run", records, {}), tmp_path / "new")
    shown = opened(path)
    assert "lookahead loses least of 2 rules: 50% less" in shown.page.locator("#sentence").text_content()
    assert shown.complaints == []
    assert path.stat().st_size < 100_000
