"""Two of the paper's settings with rules that nobody chose, so that they take seconds."""

import shutil

import pytest

from replan.report.page.run_page import write_page
from replan.report.reports import paper_rules
from replan.schedule.registry import list_parameters
from replan.study.candidates import candidates
from replan.study.definition import parse_study
from replan.worlds.settings import load_setting, make_mission
from study_runs import computed

SETTINGS = ("two-burst", "narrow-late")
FIRES = {
    "score": "gap+drift",
    "alpha": 0.8,
    "m": 1,
    "diameter": 0.05,
}  # by score on one, by pace on the other
QUIET = ["--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-component-update",
         "--disable-sync", "--no-first-run"]  # fmt: skip


def middle(setting: str, rule: str) -> dict:
    """A rule as it stands in a study: the middle one of its candidates."""
    rules = candidates(rule, make_mission(load_setting(setting)))
    given = FIRES if rule == "regret-guided" else list_parameters(rules[len(rules) // 2])
    given = {name: value for name, value in given.items() if value is not None}
    return {"rule": rule, "name": rule, "set": given, "tune": False}


@pytest.fixture(scope="session")
def run(tmp_path_factory):
    """Study `table1` of two settings."""
    blocks = [
        {"settings": [name], "rules": [middle(name, rule) for rule in paper_rules()]} for name in SETTINGS
    ]
    study = {"name": "table1", "blocks": blocks, "measure": ["exact", "sampled", "placement"]}
    return computed(parse_study(study), tmp_path_factory.mktemp("run"))


@pytest.fixture(scope="session")
def report(run, tmp_path_factory):
    """The page of both settings."""
    return write_page(run, tmp_path_factory.mktemp("page"))


@pytest.fixture(scope="module")
def browser():
    """Debian's chromium, for one file: playwright runs once at a time in a process."""
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
