"""Two of the paper's settings with rules that nobody chose, so that they take seconds."""

import shutil

import pytest

from replan.evaluation.agent_runs import run_agent
from replan.evaluation.placement import placement
from replan.report.page import write_page
from replan.schedule import RegretGuided
from replan.study.candidates import candidates
from replan.study.paper import METHODS, TABLE_1
from replan.study.protocol import Choice, measure, prepare
from replan.study.simulation import Entry, SettingResult, high_drift_intervals, simulate_setting
from replan.worlds.settings import load_setting, make_mission

SETTINGS = ("two-burst", "narrow-late")
FIRES = RegretGuided("gap+drift", alpha=0.8, m=1, diameter=0.05)  # by score on one, by pace on the other
QUIET = ["--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-component-update",
         "--disable-sync", "--no-first-run"]  # fmt: skip


def quick_result(name: str) -> SettingResult:
    """As `simulate_setting`, without the choice: the middle one of the candidates."""
    setting = load_setting(name)
    bench = prepare(make_mission(setting))
    intervals = high_drift_intervals(setting, bench.mission)
    entries = {}
    for method in METHODS:
        rules = candidates(method, bench.mission)
        rule = FIRES if method == FIRES.name else rules[len(rules) // 2]
        times = run_agent(bench.mission, rule).times
        placements = (placement(times, bench.mission.world.drift_bounds, intervals),)
        choice = Choice(rule, None, len(rules), 1)
        entries[method] = Entry(
            method, choice, measure(bench, rule), times, placements, TABLE_1[name][method]
        )
    return SettingResult(name, setting, bench.held_out_returns, entries)


@pytest.fixture(scope="session")
def results():
    return [quick_result(name) for name in SETTINGS]


@pytest.fixture(scope="session")
def report(results, tmp_path_factory):
    """The page of both settings."""
    return write_page(results, tmp_path_factory.mktemp("page"))


@pytest.fixture(scope="session")
def docs_report(tmp_path_factory):
    """The page that the docs show, with rules chosen as in the study."""
    return write_page([simulate_setting(name) for name in SETTINGS], tmp_path_factory.mktemp("docs"))


@pytest.fixture(scope="session")
def browser():
    """Debian's chromium."""
    chromium = shutil.which("chromium")
    if chromium is None:
        pytest.skip("no chromium on this machine, so the page is not opened in a browser (see make browser)")
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, headless=True, args=QUIET)
        yield browser
        browser.close()


class Opened:
    """A page in the browser with all that it complained of and asked for."""

    def __init__(self, browser, path, *, width=1100, height=900, scheme="light"):
        self.page = browser.new_page(viewport={"width": width, "height": height}, color_scheme=scheme)
        self.complaints, self.requests = [], []
        self.page.on("console", lambda message: self.complaints.append(message.text))
        self.page.on("pageerror", lambda error: self.complaints.append(str(error)))
        self.page.on("request", lambda request: self.requests.append(request.url))
        self.page.goto(path.as_uri())

    def with_charts(self):
        """The page once its charts are drawn."""
        self.page.wait_for_selector("html[data-charts=drawn]", timeout=120_000)
        return self.page


@pytest.fixture
def opened(browser):
    """Open a page; it is closed after the test."""
    pages = []

    def open_page(path, **how):
        pages.append(Opened(browser, path, **how))
        return pages[-1]

    yield open_page
    for each in pages:
        each.page.close()
