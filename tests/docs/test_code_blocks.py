"""What the pages show runs, and prints what they say it prints."""

from __future__ import annotations

import re
import shlex
import sys
import tomllib
from functools import cache
from pathlib import Path
from types import ModuleType
from unittest.mock import patch

import pytest
import typer

from doc_pages import PAGES, ROOT, Block, blocks, mentioned_commands, name
from replan import load_setting, make_mission
from replan.cli import COMMANDS, app, run
from replan.commands.reproduce import parts as parts_of_reproduce
from replan.schedule.rule import RULES
from replan.study import definition
from replan.study.axes import Range, RuleAxis, SettingAxis
from replan.study.definition import Seeds, Study, load_study
from replan.worlds.parameters import WORLDS

pytestmark = pytest.mark.usefixtures("in_process")

SHOWN = ("text", "csv", "latex", "math")  # never run


@pytest.fixture
def registered_rules():
    """Rules and worlds that a page registers are forgotten after it."""
    with patch.dict(RULES), patch.dict(WORLDS):
        yield


@pytest.mark.usefixtures("registered_rules")
@pytest.mark.parametrize("page", [page for page in PAGES if blocks(page)], ids=name)
def test_every_block_of_a_page_runs_in_order_and_prints_what_is_shown(page, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    module = ModuleType("shown_on_the_page")
    monkeypatch.setitem(sys.modules, module.__name__, module)  # dataclasses look their module up
    printed = ""
    for block in blocks(page):
        where = f"{name(page)}, line {block.line}"
        if block.language == "python":
            code = compile("\n" * (block.line - 1) + block.text, str(page), "exec", dont_inherit=True)
            exec(code, vars(module))
            printed = capsys.readouterr().out
        elif block.language == "output":
            assert same(block.text, printed), f"{where}: it printed\n{printed}"
        elif block.language == "console":
            run_console(block, where, capsys)
        elif block.language == "toml":
            load_toml(block.text)
        else:
            assert block.language in SHOWN, f"{where}: blocks in {block.language!r} are neither run nor known"


@pytest.mark.parametrize("page", [page for page in PAGES if mentioned_commands(page)], ids=name)
def test_commands_that_a_page_mentions_exist_with_their_options(page):
    for mention in mentioned_commands(page):
        command, *words = mention.split()[1:]
        assert command in COMMANDS, mention
        found = all_commands()[command]
        if command == "benchmark":
            found = found.commands.get(next(iter(words), ""), found.commands["score"])
        options = {option for each in found.params for option in each.opts} | {"--help"}
        assert {word for word in words if word.startswith("--")} <= options, mention


def test_every_command_takes_json():
    commands = all_commands()
    commands |= commands.pop("benchmark").commands
    assert all(any("--json" in option.opts for option in command.params) for command in commands.values())


@cache
def _commands() -> dict:
    group = typer.main.get_command(app)
    return {name: group.get_command(None, name) for name in COMMANDS}


def all_commands() -> dict:
    return dict(_commands())


def test_every_key_of_a_study_is_on_its_page():
    page = (ROOT / "docs" / "studies.md").read_text()
    told = set(re.findall(r"[a-z_]+", " ".join(re.findall(r"`([^`\n]+)`", page))))
    for part in (Study, definition.Block, SettingAxis, RuleAxis, Seeds, Range):
        assert {field.alias or name for name, field in part.model_fields.items()} <= told


def test_every_command_option_and_study_is_on_the_page_of_commands():
    page = (ROOT / "docs" / "commands.md").read_text()
    shared, *sections = re.split(r"^## ", page, flags=re.MULTILINE)
    for called, command in all_commands().items():
        (section,) = (each for each in sections if called in each.partition("\n")[0].split(", "))
        parts = getattr(command, "commands", {called: command}).values()
        options = {param.opts[0] for part in parts for param in part.params if param.opts[0].startswith("--")}
        told = set(re.findall(r"--(?:no-)?([a-z0-9-]+)", shared + section))
        assert {option.removeprefix("--") for option in options} <= told | {"help"}, called
    reproduce = next(each for each in sections if each.startswith("reproduce"))
    assert all(f"`{part}`" in reproduce for part in parts_of_reproduce())
    assert all(f"{part}  " in str(all_commands()["reproduce"].help) for part in parts_of_reproduce())
    assert all(f"`{study}`" in page for study in definition.builtin_studies())


def load_toml(text: str) -> None:
    """A setting or a study is read and left for the commands that follow."""
    if "world" in tomllib.loads(text):
        Path("setting.toml").write_text(text)
        make_mission(load_setting("setting.toml"))
    else:
        Path("study.toml").write_text(text)
        load_study("study.toml")


def run_console(block: Block, where: str, capsys) -> None:
    """Each `$ replan ...` exits with 0 and prints the lines under it."""
    for part in block.text.split("$ ")[1:]:
        command, _, shown = part.partition("\n")
        words = shlex.split(command)
        assert words[0] == "replan", f"{where}: only replan itself is run here"
        status = run(words[1:])
        printed = capsys.readouterr()
        assert status == 0, f"{where}: {command}\n{printed.err}"
        assert same(shown, printed.out), f"{where}: {command} printed\n{printed.out}"


def same(shown: str, printed: str) -> bool:
    """Whether a page shows what was printed; `...` stands for anything, nothing shown for whatever it was."""
    printed = "\n".join(line.rstrip() for line in printed.rstrip().splitlines())
    pattern = ".*".join(re.escape(piece) for piece in shown.rstrip().split("..."))
    return not shown.strip() or re.fullmatch(pattern, printed, re.DOTALL) is not None
