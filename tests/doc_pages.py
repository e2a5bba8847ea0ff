"""The pages that readers see, cut into the blocks that the tests run."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[1]
PAGES = [
    ROOT / "README.md",
    ROOT / "CONTRIBUTING.md",
    *sorted(path for path in (ROOT / "docs").rglob("*.md") if not {"_build", "tables"} & set(path.parts)),
]
FENCE = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
INDENTED_COMMAND = re.compile(r"^ {4}(?:\$ )?(replan .+)$", re.MULTILINE)
INLINE_COMMAND = re.compile(r"`(replan [a-z][^`]*)`")


@dataclass(frozen=True)
class Block:
    """A fenced block: its language, its text, and the line of the page where the text begins."""

    language: str
    text: str
    line: int


def blocks(page: Path) -> list[Block]:
    """The fenced blocks of a page and its indented commands, in order."""
    text = page.read_text()
    fences = list(FENCE.finditer(text))
    outside = FENCE.sub(lambda found: re.sub(r"[^\n]", " ", found[0]), text)  # same places, nothing to find
    commands = list(INDENTED_COMMAND.finditer(outside))
    found = [(each.start(2), each[1], each[2]) for each in fences]
    found += [(each.start(1), "console", f"$ {each[1]}\n") for each in commands]
    return [Block(language, code, text.count("\n", 0, at) + 1) for at, language, code in sorted(found)]


def mentioned_commands(page: Path) -> list[str]:
    """Commands in a sentence or a table."""
    return INLINE_COMMAND.findall(FENCE.sub("", page.read_text()))


def name(page: Path) -> str:
    """The page's path in the repository."""
    return str(page.relative_to(ROOT))
