"""How soon the report page is there, in a real browser: `python -m benchmarks page`."""

from __future__ import annotations

import shutil
import tempfile
from contextlib import closing
from pathlib import Path

from benchmarks.timing import Row, alone
from replan.report.page.run_page import write_page
from replan.results.run import read_run
from replan.study.definition import load_study
from replan.study.local import LocalEngine
from replan.study.runner import run_study

LOADED = "performance.getEntriesByType('navigation')[0].loadEventEnd / 1000"
REDRAWN = """(rule) => {
  const box = document.getElementById("rule"), began = performance.now();
  box.value = rule;
  box.dispatchEvent(new Event("change"));
  document.body.getBoundingClientRect();
  return (performance.now() - began) / 1000;
}"""


def rows() -> list[Row]:
    """Nothing where there is no chromium."""
    browser = shutil.which("chromium")
    if browser is None:
        return []
    from playwright.sync_api import sync_playwright

    loads, charts, redraws = [], [], []
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        study, text = load_study("table1", settings=["two-burst"])
        with closing(LocalEngine()) as engine:
            run_study(study, text, Path(folder), engine=engine, quiet=True)
        address = write_page(read_run(Path(folder)), folder).resolve().as_uri()
        started = playwright.chromium.launch(executable_path=browser)
        for _ in range(3):
            page = started.new_page()
            page.goto(address)
            page.wait_for_selector("#timeline .main-svg", state="attached")
            charts.append(page.evaluate("performance.now() / 1000"))
            loads.append(page.evaluate(LOADED))
            redraws += [page.evaluate(REDRAWN, rule) for rule in ("periodic", "random", "regret-guided")]
            page.close()
        started.close()
    return [
        alone("report page, opened from disk, loaded", min(loads)),
        alone("report page, first chart drawn", min(charts)),
        alone("report page, another rule shown", min(redraws)),
    ]
