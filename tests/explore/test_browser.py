"""The explorer in a real browser: what is dragged on the screen is what `replan regret` prints.

REPLAN_SCREENSHOTS=FOLDER writes the picture of the docs there.
"""

import json
import os
import re
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest

from axe_findings import serious_findings
from replan.cli import run
from replan.worlds.settings import load_setting

CHROMIUM = Path("/usr/bin/chromium")
WAIT = 120_000  # milliseconds; the first regret may have to wait for compilation

pytestmark = pytest.mark.skipif(
    not CHROMIUM.exists(), reason=f"left out: no {CHROMIUM} on this machine; `make browser` installs it"
)


@pytest.fixture(scope="module")
def address():
    """The explorer, started as a user starts it."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    command = [
        sys.executable,
        "-m",
        "replan.cli",
        "explore",
        "two-burst",
        "--no-browser",
        "--port",
        str(port),
    ]
    server = subprocess.Popen(command, start_new_session=True, stdout=subprocess.DEVNULL)
    try:
        for _ in range(300):
            with socket.socket() as probe:
                if probe.connect_ex(("127.0.0.1", port)) == 0:
                    break
            assert server.poll() is None, "replan explore ended by itself"
            time.sleep(0.2)
        yield f"http://127.0.0.1:{port}/"
    finally:
        os.killpg(server.pid, 15)
        server.wait(30)


@pytest.fixture(scope="module")
def browser():
    from playwright import sync_api

    quiet = [
        "--disable-background-networking",
        "--disable-component-update",
        "--disable-sync",
        "--no-first-run",
    ]
    with sync_api.sync_playwright() as playwright:
        launched = playwright.chromium.launch(
            executable_path=str(CHROMIUM), headless=True, args=["--no-sandbox", "--disable-gpu", *quiet]
        )
        yield launched.new_context(viewport={"width": 1280, "height": 1000}, accept_downloads=True)
        launched.close()


@pytest.fixture
def page(browser, address):
    """The opened explorer; its console must stay silent."""
    opened = browser.new_page()
    errors = []
    opened.on("console", lambda message: errors.append(message.text) if message.type == "error" else None)
    opened.on("pageerror", lambda error: errors.append(str(error)))
    opened.goto(address)
    opened.wait_for_selector("#regret", timeout=WAIT)
    yield opened
    opened.close()
    assert errors == []


def printed_regret(
    capsys, times: str, *more: str, setting="two-burst", execution="map", forecast="frozen"
) -> str:
    options = ["--times", times, "--execution", execution, "--forecast", forecast, *more]
    assert run(["regret", setting, *options, "--json"]) == 0
    return f"{json.loads(capsys.readouterr().out)['regret']:.4f}"


def expect_times(page, times: str) -> None:
    from playwright import sync_api

    sync_api.expect(page.get_by_label("update times")).to_have_value(times, timeout=WAIT)


def expect_regret(page, regret: str) -> None:
    page.wait_for_function(
        "wanted => document.querySelector('#regret')?.textContent === wanted", arg=regret, timeout=WAIT
    )


def dragged_times(page) -> str:
    """The update times, once the text field has followed the marks, which move at once."""
    marks = page.locator("replan-times [role=slider]")
    times = ",".join(mark.get_attribute("aria-valuenow") for mark in marks.all())
    expect_times(page, times)
    return times


def expect_marks(page, times: list[int]) -> None:
    page.wait_for_function(
        """wanted => [...document.querySelectorAll("replan-times [role=slider]")]
            .map(mark => mark.getAttribute("aria-valuenow")).join() === wanted""",
        arg=",".join(map(str, times)),
        timeout=WAIT,
    )


def drag(page, name: str, *, right: float = 0, down: float = 0) -> None:
    mark = page.get_by_role("slider", name=name, exact=True)
    mark.scroll_into_view_if_needed()
    box = mark.bounding_box()
    x, y = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
    page.mouse.move(x, y)
    page.mouse.down()
    page.mouse.move(x + right, y + down, steps=8)
    page.mouse.up()


def test_dragging_an_update_shows_what_replan_regret_prints(page, capsys):
    expect_regret(page, printed_regret(capsys, "1,17,33,49"))
    path_before = page.locator("svg[aria-label='the path of one robot']").inner_html()
    drag(page, "update 3", right=-90)
    times = dragged_times(page)
    assert re.fullmatch(r"1,17,(2[0-9]|3[0-2]),49", times)
    expect_regret(page, printed_regret(capsys, times))
    page.wait_for_function(
        "before => document.querySelector(\"svg[aria-label='the path of one robot']\").innerHTML !== before",
        arg=path_before,
    )


def test_the_certificate_follows(page, capsys):
    page.get_by_role("slider", name="update 2").focus()
    page.keyboard.press("PageUp")
    expect_times(page, "1,22,33,49")
    assert run(["certify", "two-burst", "--times", "1,22,33,49", "--json"]) == 0
    promised = f"{json.loads(capsys.readouterr().out)['certificate']:.4f}"
    page.wait_for_function(
        "wanted => document.querySelector('#promised')?.textContent === wanted", arg=promised, timeout=WAIT
    )


def test_the_keyboard_moves_a_mark_but_never_past_another(page, capsys):
    page.get_by_role("slider", name="update 2").focus()
    for key, times in (("ArrowRight", "1,18,33,49"), ("End", "1,32,33,49"), ("Home", "1,2,33,49")):
        page.keyboard.press(key)
        expect_times(page, times)
    expect_regret(page, printed_regret(capsys, "1,2,33,49"))
    page.get_by_role("slider", name="update 1").focus()
    page.keyboard.press("ArrowRight")
    expect_times(page, "1,2,33,49")


def test_typed_times_move_the_marks_and_the_next_key_goes_on_from_there(page, capsys):
    page.get_by_label("update times").fill("1,5,9,20")
    expect_marks(page, [1, 5, 9, 20])
    expect_regret(page, printed_regret(capsys, "1,5,9,20"))
    page.get_by_label("update times").fill("1,5,9")  # cannot be shown: one is missing
    expect_marks(page, [1, 5, 9, 20])
    page.get_by_role("slider", name="update 4").focus()
    page.keyboard.press("ArrowLeft")
    expect_times(page, "1,5,9,19")
    expect_regret(page, printed_regret(capsys, "1,5,9,19"))


def test_on_a_phone_the_axes_can_be_read_and_the_marks_be_held(page):
    page.set_viewport_size({"width": 390, "height": 800})
    for chart in ("replan-times svg", "svg[aria-label='expected loss of every step']:visible"):
        label = page.locator(chart).get_by_text("time (steps)")
        assert label.bounding_box()["height"] >= 12
    mark = page.get_by_role("slider", name="update 3").bounding_box()
    assert mark["width"] >= 24 and mark["height"] >= 44
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    drag(page, "update 3", right=-40)
    assert re.fullmatch(r"1,17,(2[0-9]|3[0-2]),49", dragged_times(page))


@pytest.mark.parametrize("width", [1400, 390])
def test_marks_regret_and_path_come_before_every_other_control(page, width):
    page.set_viewport_size({"width": width, "height": 844})
    places = ["replan-times", "#regret", 'svg[aria-label="the path of one robot"]']
    tops = [page.locator(place).bounding_box() for place in places]
    controls = [page.get_by_label(name).first.bounding_box()["y"] for name in ("rule", "world", "budget B")]
    assert [box["y"] for box in tops] == sorted(box["y"] for box in tops)
    assert tops[-1]["y"] + tops[-1]["height"] <= min(controls)
    assert tops[1]["y"] + tops[1]["height"] <= 844  # without scrolling


def test_the_explorer_is_dark_where_the_system_is(page):
    background = "() => getComputedStyle(document.body).backgroundColor"
    light = page.evaluate(background)
    page.emulate_media(color_scheme="dark")
    page.wait_for_function(
        "light => getComputedStyle(document.body).backgroundColor !== light", arg=light, timeout=WAIT
    )


def test_the_names_of_the_controls_tell_what_they_mean(page):
    for name, meaning in (("quiet", "outside bursts"), ("n", "n times n cells"), ("execution", "map")):
        control = page.get_by_label(name, exact=True)  # its label is plain text, without markup
        control.wait_for(timeout=WAIT)
        titles = control.evaluate(
            """control => { const found = [];
                for (let node = control; node; node = node.parentNode ?? node.host)
                  if (node.title) found.push(node.title);
                return found; }"""
        )
        assert any(meaning in title for title in titles)
    page.get_by_text("What the words mean").click()
    assert page.get_by_text("growth of the slip in every step outside bursts").is_visible()


def test_best_jumps_to_the_optimum(page, capsys):
    assert run(["optimum", "two-burst", "--json"]) == 0
    best = json.loads(capsys.readouterr().out)["fixed"]
    page.get_by_role("button", name="Best").click()
    expect_regret(page, f"{best['regret']:.4f}")
    expect_times(page, ",".join(map(str, best["times"])))
    expect_marks(page, best["times"])
    drag(page, "update 2", right=-50)
    page.get_by_role("button", name="Best").click()
    expect_marks(page, best["times"])


def test_a_rule_puts_the_marks_where_it_updates(page, capsys):
    page.get_by_label("rule", exact=True).select_option("front-loaded")
    page.get_by_role("button", name="Use the rule's times").click()
    expect_regret(page, printed_regret(capsys, "1,2,3,4"))
    assert "front-loaded: exact regret" in page.inner_text("#found")


def test_a_link_and_a_file_show_the_same_screen_again(page, address, capsys, tmp_path):
    page.get_by_label("execution").select_option("all cells it may be in (belief)")
    expect_regret(page, printed_regret(capsys, "1,17,33,49", execution="belief"))
    page.get_by_role("slider", name="update 4").focus()
    page.keyboard.press("PageDown")
    regret = printed_regret(capsys, "1,17,33,44", execution="belief")
    expect_regret(page, regret)
    with page.expect_download() as download:
        page.get_by_role("link", name="Save as a file").click()
    file = tmp_path / "explored.toml"
    download.value.save_as(file)
    assert printed_regret(capsys, "1,17,33,44", setting=str(file), execution="belief") == regret
    page.wait_for_function("() => document.querySelector('#link').href.includes('44')")
    page.goto(page.locator("#link").evaluate("link => link.href"))
    expect_regret(page, regret)
    expect_times(page, "1,17,33,44")


def test_drawing_a_profile_changes_the_world(page, capsys, tmp_path):
    before = page.inner_text("#regret")
    page.get_by_label("drift").select_option("drawn")
    page.wait_for_selector("replan-points")
    drag(page, "slip at time 49", down=-30)
    slips = page.get_by_label("slips").input_value()
    page.wait_for_function(
        "slips => document.querySelector('#link')?.href.includes(encodeURIComponent(slips))",
        arg=slips,
        timeout=WAIT,
    )
    assert page.inner_text("#regret") != before
    with page.expect_download() as download:
        page.get_by_role("link", name="Save as a file").click()
    file = tmp_path / "drawn.toml"
    download.value.save_as(file)
    assert load_setting(file) != load_setting("two-burst")
    drawn = printed_regret(capsys, "1,17,33,49", setting=str(file))
    assert page.inner_text("#regret") == drawn
    page.goto(page.locator("#link").evaluate("link => link.href"))
    expect_regret(page, drawn)
    assert page.get_by_role("slider", name="slip at time 49").count() == 1


def test_another_world_and_another_budget(page, capsys):
    page.get_by_label("world").select_option("crosswind-mild")
    expect_regret(page, printed_regret(capsys, "1,9,17,33", setting="crosswind-mild"))
    page.get_by_role("textbox", name="budget B").fill("5")
    page.keyboard.press("Enter")
    expect_marks(page, [1, 9, 17, 25, 33])


def test_a_robot_that_expects_the_true_future(page, capsys):
    page.get_by_label("world").select_option("crosswind-mild")
    expect_regret(page, printed_regret(capsys, "1,9,17,33", setting="crosswind-mild"))
    page.get_by_label("forecast").select_option("given")
    expect_regret(page, printed_regret(capsys, "1,9,17,33", setting="crosswind-mild", forecast="given"))


def test_updates_that_take_time_and_a_robot_that_waits_meanwhile(page, capsys):
    before = page.inner_text("#regret")
    page.get_by_label("steps of an update").fill("4")
    page.keyboard.press("Enter")
    late = printed_regret(capsys, "1,17,33,49", "--update-steps", "4")
    expect_regret(page, late)
    page.get_by_label("meanwhile").select_option("wait")
    waiting = printed_regret(capsys, "1,17,33,49", "--update-steps", "4", "--meanwhile", "wait")
    expect_regret(page, waiting)
    assert len({before, late, waiting}) == 3
    page.get_by_label("steps of an update").fill("1:0.5, 3:0.5")
    page.keyboard.press("Enter")
    drawn = printed_regret(capsys, "1,17,33,49", "--update-steps", "1:0.5,3:0.5", "--meanwhile", "wait")
    expect_regret(page, drawn)
    page.get_by_text("no certificate: ").wait_for(timeout=WAIT)
    page.wait_for_function("() => document.querySelector('#link').href.includes('update_steps.3=0.5')")
    page.goto(page.locator("#link").evaluate("link => link.href"))
    expect_regret(page, drawn)
    assert page.get_by_label("steps of an update").input_value() == "1:0.5, 3:0.5"


def test_updates_that_do_not_fit_are_one_line_on_the_page(page):
    page.get_by_label("steps of an update").fill("20")
    page.keyboard.press("Enter")
    page.get_by_text("budget 4 does not fit").wait_for(timeout=WAIT)


def test_a_bad_link_is_one_line_on_the_page(page, address):
    page.goto(f"{address}?world=moon")
    page.wait_for_selector("#regret", timeout=WAIT)
    assert page.get_by_text("'world' must be one of").count() == 1
    page.goto(f"{address}?colour=red")
    page.wait_for_selector("#regret", timeout=WAIT)
    assert page.get_by_text("unknown key 'colour'").count() == 1


def test_a_size_out_of_range_is_refused_and_stays_as_typed(page):
    field = page.get_by_role("textbox", name="n", exact=True)
    field.wait_for(timeout=WAIT)
    field.fill("41")
    page.keyboard.press("Enter")
    page.get_by_text("n = 41 is too large").wait_for(timeout=WAIT)
    assert field.input_value() == "41"


def test_the_floor_stands_beside_the_regret(page, capsys):
    assert run(["optimum", "two-burst", "--json"]) == 0
    floor = json.loads(capsys.readouterr().out)["best_possible"]
    page.wait_for_selector("#floor", timeout=WAIT)
    assert page.inner_text("#floor") == f"{floor:.4f}"
    assert "never updates" in page.inner_text("#scale")


@pytest.mark.slow
def test_axe_finds_nothing_serious(page):
    page.wait_for_selector("#promised", timeout=WAIT)
    assert serious_findings(page) == []


def test_the_picture_of_the_docs(page, tmp_path, capsys):
    page.set_viewport_size({"width": 1120, "height": 1360})
    drag(page, "update 3", right=-90)
    page.mouse.move(5, 5)
    expect_regret(page, printed_regret(capsys, dragged_times(page)))
    page.wait_for_selector("#promised", timeout=WAIT)
    picture = Path(os.environ.get("REPLAN_SCREENSHOTS", tmp_path)) / "explore.png"
    page.screenshot(path=str(picture))
    assert 20_000 < picture.stat().st_size < 300_000
