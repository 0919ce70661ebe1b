"""In a terminal the progress is a bar on standard error, and standard output stays data."""

import json
import os
import pty
import subprocess
from pathlib import Path

import pytest

from tests.support.command import COMMAND
from tests.support.repository import environment, make_repository


def in_terminal(repo: Path, *args: str, **env: str) -> tuple[str, str]:
    """Standard output, and what a terminal at standard error was sent."""
    master, slave = pty.openpty()
    whole = {**os.environ, **environment(repo.parent), "TERM": "xterm", "COLUMNS": "120", **env}
    argv = [COMMAND, *args]
    with subprocess.Popen(argv, cwd=repo, env=whole, stdout=subprocess.PIPE, stderr=slave, text=True) as process:
        os.close(slave)
        shown = b""
        while part := _read(master):
            shown += part
        out = process.communicate()[0]
    os.close(master)
    return out, shown.decode()


def _read(master: int) -> bytes:
    try:
        return os.read(master, 65536)
    except OSError:  # nobody holds the other end any more
        return b""


def test_the_bar_is_on_standard_error_and_json_stays_json(tmp_path: Path) -> None:
    out, shown = in_terminal(make_repository(tmp_path / "repo").root, "evaluate", "greet", "--json")
    assert json.loads(out)["counts"]["judged"] == 2
    assert "\x1b[" in shown, "a bar is drawn by moving the cursor"
    assert "2/2 cells, 1 passed" in shown


@pytest.mark.parametrize(("no_color", "red"), [("", True), ("1", False)])
def test_an_error_is_red_where_the_user_wants_colours(tmp_path: Path, no_color: str, red: bool) -> None:
    _, shown = in_terminal(make_repository(tmp_path / "repo").root, "evaluate", "greets", NO_COLOR=no_color)
    assert "experiment 'greets': not found" in shown
    assert ("\x1b[31m" in shown) is red
