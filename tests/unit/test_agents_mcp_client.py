"""`mcp-call`, with which oracles call tools, on the real MCP server of GitHub without a GitHub."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from scylla_gha.agents import mcp_client
from tests.support.hub_server import BIN

SERVER = {"command": str(BIN / "github-mcp-server"), "args": ["stdio"], "seconds": 60,
          "env": {"GITHUB_PERSONAL_ACCESS_TOKEN": "none"}, "tools": ["get_issue", "list_issues"]}  # fmt: skip


def call(folder: Path, *words: str, **given: object) -> tuple[int, str, str]:
    """Exit code, output and errors."""
    (folder / "servers.json").write_text(json.dumps([{**SERVER, **given}]))
    argv = [sys.executable, "-I", "-S", mcp_client.__file__, "call", str(folder / "servers.json"), *words]
    ran = subprocess.run(argv, capture_output=True, text=True, timeout=60, check=False)
    return ran.returncode, ran.stdout, ran.stderr


def test_an_error_of_the_tool_is_printed_with_exit_code_1(tmp_path: Path) -> None:
    code, out, _ = call(tmp_path, "get_issue", "{}")
    assert (code, out) == (1, "missing required parameter: owner\n")


@pytest.mark.parametrize(("words", "given", "message"), [
    (("get_isue", "{}"), {}, "mcp-call: there is no tool 'get_isue'; there are: get_issue, list_issues\n"),
    (("get_issue", "{owner}"), {}, "mcp-call: get_issue: the arguments are not JSON: "),
    (("get_issue",), {}, "usage: mcp-call TOOL JSON, such as: mcp-call list_issues "),
    (("get_issue", "{}"), {"command": "/no/server"}, "mcp-call: the server does not start: "),
    (("get_issue", "{}"), {"command": "true"}, "mcp-call: it ended with exit code 0 before it answered initialize\n"),
])  # fmt: skip
def test_a_fault_is_said_with_exit_code_1(
    tmp_path: Path, words: tuple[str, ...], given: dict[str, object], message: str
) -> None:
    code, out, err = call(tmp_path, *words, **given)
    assert (code, out, err[: len(message)]) == (1, "", message)


def test_a_server_that_writes_half_an_emoji_and_latin_1_is_understood(tmp_path: Path) -> None:
    server = tmp_path / "server.py"
    server.write_text(
        "import json, sys\n"
        "for line in sys.stdin:\n"
        "    message = json.loads(line)\n"
        "    result = {'content': [{'type': 'text', 'text': 'half \\ud83d, caf'}]}\n"
        "    answer = json.dumps({'id': message.get('id'), 'result': result}).encode()\n"
        "    sys.stdout.buffer.write(answer.replace(b'caf', b'caf\\xe9') + b'\\n')\n"
        "    sys.stdout.flush()\n"
    )
    code, out, err = call(tmp_path, "get_issue", "{}", command=sys.executable, args=[str(server)])
    assert (code, out, err) == (0, "half ?, caf\ufffd\n", "")
