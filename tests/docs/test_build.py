"""The docs build as `make docs` builds them, a warning is an error, and a browser shows what is meant."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path
from shutil import which

import pytest

from axe_findings import serious_findings
from doc_pages import PAGES, ROOT

CHROMIUM = Path("/usr/bin/chromium")
MATHS_FONTS = "Cambria Math|STIX Two Math|Latin Modern Math|DejaVu Math TeX Gyre"


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    """The folder of the built pages."""
    folder = tmp_path_factory.mktemp("docs")
    command = [sys.executable, "-m", "sphinx", "-W", "--keep-going", "-q", "-b", "html"]
    done = subprocess.run(
        [*command, "-d", str(folder / "doctrees"), str(ROOT / "docs"), str(folder / "html")],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return folder / "html"


@pytest.fixture(scope="module")
def page():
    if not CHROMIUM.exists():
        pytest.skip(f"left out: no {CHROMIUM} on this machine; `make browser` installs it")
    from playwright import sync_api

    with sync_api.sync_playwright() as playwright:
        launched = playwright.chromium.launch(
            executable_path=str(CHROMIUM), args=["--no-sandbox", "--disable-gpu"]
        )
        yield launched.new_page(viewport={"width": 1280, "height": 900})
        launched.close()


def test_every_picture_of_the_docs_is_on_a_page(built):
    shown = {picture.name for picture in (built / "_images").iterdir()}
    assert {picture.name for picture in (ROOT / "docs" / "images").iterdir()} == shown


def test_the_contents_list_pages_only(built):
    text = (built / "index.html").read_text()
    contents = text[text.index('class="sidebar-tree"') : text.index("</aside>")]
    names = re.findall(r'class="reference internal" href="([^"#]*)"', contents)
    assert len(names) == len(set(names)) == sum(page.parent != ROOT for page in PAGES) - 1  # index itself


def test_what_a_field_is_said_to_be_is_one_sentence(built):
    """A colon in it does not make its first half the type of the field."""
    for page in (built / "api").glob("*.html"):
        assert not re.search('Type<span class="colon">|TypeAlias', page.read_text()), page.stem
    text = re.sub("<[^>]*>", "", (built / "api" / "execute.html").read_text())
    assert "The most updates that can be made: B, or T - 1." in text


def test_a_subscript_stands_below_the_line_and_beside_its_letter(built, page):
    fonts = subprocess.run(["fc-list"], capture_output=True, text=True).stdout if which("fc-list") else ""
    if not re.search(MATHS_FONTS, fonts):
        pytest.skip("left out: no font for formulas on this machine")
    page.goto((built / "maths.html").as_uri())
    shifts = page.evaluate(
        """() => [...document.querySelectorAll("msub")].map(each => {
            const [letter, low] = [...each.children].map(part => part.getBoundingClientRect());
            return [low.bottom - letter.bottom, low.left - letter.right];
        })"""
    )
    assert len(shifts) > 10
    assert all(down > 1 and -2 < right < 4 for down, right in shifts), shifts


CUT_OFF = """() => [...document.querySelectorAll("article :is(pre, .table-wrapper, div.math)")]
    .filter(each => each.scrollWidth > each.clientWidth + 1).map(each => each.innerText.slice(0, 60))"""


def html_pages(built: Path) -> list[Path]:
    return [
        built / page.relative_to(ROOT / "docs").with_suffix(".html") for page in PAGES if "docs" in page.parts
    ]


def test_at_1400_pixels_no_table_code_or_formula_is_cut_off_and_no_page_is_wider_than_a_phone(built, page):
    wrong = {}
    for each in html_pages(built):
        page.set_viewport_size({"width": 1400, "height": 900})
        page.goto(each.as_uri())
        cut_off = page.evaluate(CUT_OFF)
        page.set_viewport_size({"width": 390, "height": 844})
        width = page.evaluate("document.documentElement.scrollWidth")
        if cut_off or width > 390:
            wrong[each.stem] = cut_off, width
    page.set_viewport_size({"width": 1400, "height": 900})
    assert wrong == {}


@pytest.mark.slow
@pytest.mark.parametrize("width", [1400, 390])
def test_axe_finds_nothing_serious(built, page, width):
    page.set_viewport_size({"width": width, "height": 900})
    wrong = {}
    for each in html_pages(built):
        page.goto(each.as_uri())
        if found := serious_findings(page):
            wrong[each.stem] = found
    page.set_viewport_size({"width": 1400, "height": 900})
    assert wrong == {}


@pytest.mark.parametrize("name", ["reproduction", "crazyflie"])
def test_every_figure_of_a_table_with_many_columns_is_on_one_line(built, page, name):
    page.goto((built / f"{name}.html").as_uri())
    lines = page.evaluate(
        """() => [...document.querySelectorAll("td.text-right p")].map(figure =>
            figure.getBoundingClientRect().height / parseFloat(getComputedStyle(figure).lineHeight))"""
    )
    assert len(lines) > 50 and max(lines) < 1.5


def test_the_gallery_shows_every_example_with_a_picture_and_its_code(built, page):
    page.goto((built / "examples.html").as_uri())
    cards = page.evaluate(
        """() => [...document.querySelectorAll(".gallery a")].map(card => [
            card.querySelector("img").src.split("/").pop(),
            document.querySelector(card.getAttribute("href")) !== null])"""
    )
    names = {path.stem for path in (ROOT / "examples").rglob("*.py") if "def main(" in path.read_text()}
    assert {picture for picture, _ in cards} == {f"{name}.png" for name in names}
    assert all(has_code for _, has_code in cards)
    assert {path.stem for path in (built / "_static" / "gallery").iterdir()} == names


def test_the_search_finds_a_page_by_its_words(built, page):
    page.goto((built / "search.html").as_uri() + "?q=localisation+stop")
    page.wait_for_selector("#search-results li a[href^='budget.html']")
