"""axe finds nothing serious on the page of a run, in light and in dark colours."""

from pathlib import Path

import axe_playwright_python as axe
import pytest


@pytest.mark.slow
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_nothing_serious(opened, report, scheme):
    page = opened(report, scheme=scheme).with_charts()
    page.evaluate(next(Path(axe.__file__).parent.rglob("axe.min.js")).read_text())
    found = page.evaluate("axe.run(document, { preload: false, resultTypes: ['violations'] })")["violations"]
    assert [each["id"] for each in found if each["impact"] in ("serious", "critical")] == []
