"""`replan explore` refuses in one line what it cannot open."""

import socket
import subprocess
import sys
import time

import pytest

from replan.cli import run


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("world = ", "not valid TOML"),
        ('world = "rover"\nn = 4\n', "missing key"),
        ("colour = 1\n", "missing key 'world'"),
        ("\x00\x01", "not valid TOML"),
    ],
)
def test_a_bad_file_is_one_line(tmp_path, capsys, text, line):
    file = tmp_path / "bad.toml"
    file.write_text(text)
    assert run(["explore", str(file), "--no-browser"]) == 2
    said = capsys.readouterr().err
    assert line in said and said.count("\n") == 1


def test_a_bad_screen_in_a_good_file_is_one_line(tmp_path, capsys):
    file = tmp_path / "bad.toml"
    good = 'world = "crosswind"\nhorizon = 20\nplanning_horizon = 9\nbudget = 2\n'
    file.write_text(good + "[screen]\ntimes = [1, 30]\n")
    assert run(["explore", str(file), "--no-browser"]) == 2
    said = capsys.readouterr().err
    assert "update time 30 lies outside 1 to 19" in said and said.count("\n") == 1


def test_a_name_that_is_none_is_one_line(capsys):
    assert run(["explore", "no-such-setting", "--no-browser"]) == 2
    assert "neither a TOML file nor a built-in setting" in capsys.readouterr().err


def test_without_marimo_the_extra_is_named(monkeypatch, capsys):
    monkeypatch.setattr("replan.errors.EXTRAS", {"app": ("no_marimo",)})
    assert run(["explore", "two-burst", "--no-browser"]) == 2
    said = "replan explore needs the extra app: pip install 'replan[app]'"
    assert capsys.readouterr().err == f"replan: {said}\n"


def test_a_port_in_use_is_one_line(capsys):
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        assert run(["explore", "two-burst", "--no-browser", "--port", str(port)]) == 2
    assert f"port {port} cannot be used" in capsys.readouterr().err


def listens(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


def test_sigterm_ends_the_server_too():
    pytest.importorskip("marimo")
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    words = ["explore", "two-burst", "--no-browser", "--port", str(port)]
    with subprocess.Popen([sys.executable, "-m", "replan.cli", *words], stdout=subprocess.DEVNULL) as command:
        for _ in range(300):
            if listens(port) or command.poll() is not None:
                break
            time.sleep(0.2)
        assert listens(port)
        command.terminate()
        command.wait(60)
    assert not listens(port)
