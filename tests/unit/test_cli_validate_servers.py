"""`scylla-gha validate config/mcp/NAME --execute` starts a server and compares its tools with the declared ones."""

from pathlib import Path

import pytest

from tests.support.command import Said, scylla
from tests.support.materials import SERVER
from tests.support.repository import environment, write_tree

FILE = "description: A clock\ncommand: python3\nargs: ['{folder}/clock.py', '{workspace}']\n"


def prove(root: Path, tools: str = "", script: str = SERVER, *options: str) -> Said:
    write_tree(root, {"config/mcp/clock/server.yaml": FILE + tools, "config/mcp/clock/clock.py": script})
    said = scylla("validate", "config/mcp/clock", "--execute", *options, cwd=root, env=environment(root))
    assert 'Traceback (most recent call last):\n  File "/work' not in said.err
    return said


@pytest.mark.parametrize("tools", ["", "tools: [now]\n"])
def test_a_server_that_offers_its_tools_is_proved(tmp_path: Path, tools: str) -> None:
    said = prove(tmp_path, tools)
    assert said.code == 0, said.err
    first, second = said.out.splitlines()
    assert first == "1 MCP server: valid"
    assert second.startswith("ok: mcp/clock: 1 tool in ")


@pytest.mark.parametrize(
    ("tools", "script", "fault"),
    [
        ("tools: [later]\n", SERVER, "tools: it does not offer later, and it also offers now; correct the list"),
        ("", SERVER.replace("[TOOL]", "[]"), "tools: it offers none; correct its arguments"),
        ("", "import sys\nsys.exit('no clock here')\n",
         "before it answered initialize; correct its command, arguments or packages. It wrote: no clock here"),
        ("", "print('Hello')\nprint('{}')\n", "before it answered initialize"),
    ],
)  # fmt: skip
def test_another_server_is_refused_with_what_it_wrote(tmp_path: Path, tools: str, script: str, fault: str) -> None:
    said = prove(tmp_path, tools, script)
    assert said.code == 7
    assert f"{tmp_path}/config/mcp/clock/server.yaml: " in said.err
    assert fault in said.err
    assert "NOT OK: mcp/clock: " in said.out


def test_a_proof_is_remembered_until_a_file_changes(tmp_path: Path) -> None:
    unique = f"# {tmp_path}\n"  # the tests share a cache
    assert "ok: mcp/clock: " in prove(tmp_path, "", SERVER + unique, "--skip-proved").out
    assert "ok, proved before: mcp/clock: 1 tool" in prove(tmp_path, "", SERVER + unique, "--skip-proved").out
    changed = prove(tmp_path, "tools: [later]\n", SERVER + unique, "--skip-proved")
    assert changed.code == 7


def test_a_missing_program_is_named(tmp_path: Path) -> None:
    said = prove(tmp_path, "programs: [no-such-browser]\n")
    assert said.code == 5
    assert "the MCP server clock needs 'no-such-browser', which is not on " in said.err
