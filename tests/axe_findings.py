"""What axe, a checker of accessibility, finds on a page that is open in a browser."""

from __future__ import annotations

from pathlib import Path
from typing import Any


def serious_findings(page: Any) -> list[tuple[str, str]]:
    """Return the rule that is broken and the first element of each serious or critical finding."""
    import axe_playwright_python

    folder = Path(str(axe_playwright_python.__file__)).parent
    page.evaluate(next(folder.rglob("axe.min.js")).read_text())
    found = page.evaluate("axe.run(document, { preload: false, resultTypes: ['violations'] })")["violations"]
    return [
        (each["id"], each["nodes"][0]["html"]) for each in found if each["impact"] in ("serious", "critical")
    ]
