"""Files of MCP servers: what is refused, what the lock pins, and how a server is started."""

import json
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from scylla_gha.config.library import toolkit_root
from scylla_gha.config.materials import materials, read_server, server_folders
from scylla_gha.errors import ConfigError
from scylla_gha.model.variant import McpServer, ServerCommand, Treatment
from tests.support.pages import section
from tests.support.repository import write_tree

ROOT = toolkit_root()
HASH = "--hash=sha256:" + "0" * 64
PYPI = "description: A clock\npackages: {pypi: {Clock_Server: 1.2.0}}\ncommand: clock\ntools: [now]\n"
NPM = "description: A clock\npackages: {npm: {'@clock/server': 1.2.0}, node: 22.23.3}\ncommand: clock\n"
LOCK = {"packages": {"": {}, "node_modules/@clock/server": {"version": "1.2.0", "integrity": "sha512-x"}}}


def clock(root: Path, server: str, lock: str | None) -> Path:
    name = "package-lock.json" if "npm" in server else "requirements.txt"
    write_tree(
        root, {"config/mcp/clock/server.yaml": server, **({} if lock is None else {f"config/mcp/clock/{name}": lock})}
    )
    return root / "config/mcp/clock"


@pytest.mark.parametrize(
    ("server", "lock"),
    [
        (
            PYPI,
            f"# made by a tool\nclock-server==1.2.0 ; python_version > '3' \\\n    {HASH}\nother[extra]==2 {HASH}\n",
        ),
        (NPM, json.dumps(LOCK)),
        ("description: A clock\ncommand: python3\nargs: ['{folder}/clock.py']\n", None),
    ],
)
def test_a_server_with_its_lock_is_valid(tmp_path: Path, server: str, lock: str | None) -> None:
    assert read_server(clock(tmp_path, server, lock)).description == "A clock"


@pytest.mark.parametrize(
    ("server", "lock", "fault"),
    [
        (PYPI, None, "is missing; make it, so that it pins the packages of server.yaml"),
        (PYPI, f"clock-server==1.3.0 {HASH}\n", "Clock_Server: is 1.3.0, but 1.2.0 in server.yaml; make the lock"),
        (PYPI, f"other==1.2.0 {HASH}\n", "Clock_Server: is missing, but 1.2.0"),
        (PYPI, "clock-server==1.2.0\n", "'clock-server==1.2.0' is not an exact version with hashes"),
        (PYPI, f"clock-server>=1.2.0 {HASH}\n", "'clock-server>=1.2.0' is not an exact version with hashes"),
        (NPM, "{}", "is not a lock of npm 7 or newer"),
        (NPM, json.dumps({"packages": {"node_modules/@clock/server": {"version": "1.2.0"}}}), "has no `integrity`"),
        (NPM, json.dumps({"packages": {"": {}}}), "@clock/server: is missing, but 1.2.0"),
    ],
)
def test_a_lock_that_does_not_pin_the_packages_is_refused(
    tmp_path: Path, server: str, lock: str | None, fault: str
) -> None:
    with pytest.raises(ConfigError) as refused:
        read_server(clock(tmp_path, server, lock))
    assert fault in str(refused.value)


@pytest.mark.parametrize(
    ("fields", "fault"),
    [
        ({"packages": {}}, "exactly one of npm and pypi"),
        ({"packages": {"npm": {"a": "1"}, "pypi": {"a": "1"}, "node": "22.1.0"}}, "exactly one of npm and pypi"),
        ({"packages": {"npm": {"a": "1"}}}, "needs npm packages"),
        ({"packages": {"pypi": {"a": "1"}, "node": "22.1.0"}}, "needs npm packages"),
        ({"packages": {"pypi": {"a": ">=1"}}}, "should match pattern"),
        ({"packages": {"pypi": {"a": "1"}}, "command": "/bin/clock"}, "without a path"),
        ({"hosts": ["10.0.0.1"]}, "give the host's name"),
    ],
)
def test_a_record_that_pins_nothing_exact_is_refused(fields: dict[str, Any], fault: str) -> None:
    with pytest.raises(ValidationError, match=fault):
        McpServer.model_validate_json(json.dumps({"description": "A clock", "command": "clock", **fields}))


def test_another_version_is_another_variant(tmp_path: Path) -> None:
    treatment = Treatment(mcp_servers=("clock",))
    clock(tmp_path, PYPI, f"clock-server==1.2.0 {HASH}\nother==1 {HASH}\n")
    before = materials(treatment, (tmp_path,))
    clock(tmp_path, PYPI, f"clock-server==1.2.0 {HASH}\nother==2 {HASH}\n")
    assert materials(treatment, (tmp_path,)) != before


def test_packages_are_started_where_the_sandbox_has_them() -> None:
    server = McpServer.model_validate_json(
        json.dumps({"description": "x", "command": "clock", "args": ["{workspace}", "{folder}/a"],
                    "env": {"FILE": "{folder}/b"}, "packages": {"npm": {"a": "1"}, "node": "22.1.0"}})
    )  # fmt: skip
    assert server.started("clock", "/home/dev/clock", "/home/workspace") == ServerCommand(
        "/opt/node/bin/node",
        ("/opt/mcp/clock/node_modules/.bin/clock", "/home/workspace", "/home/dev/clock/a"),
        {"FILE": "/home/dev/clock/b"},
    )
    on_host = {"/opt/node/bin/node": "/cache/node", "/opt/mcp/clock": "/cache/clock"}
    started = server.started("clock", "/h", "/w", on_host)
    assert (started.command, started.args[0]) == ("/cache/node", "/cache/clock/node_modules/.bin/clock")


def test_an_earlier_root_hides_a_server_of_the_toolkit(tmp_path: Path) -> None:
    write_tree(tmp_path, {"config/mcp/time/server.yaml": "description: Mine\ncommand: date\n"})
    folders = server_folders((tmp_path, ROOT))
    assert folders["time"] == tmp_path / "config/mcp/time"
    assert folders["git"] == ROOT / "config/mcp/git"


def test_the_page_has_a_row_for_each_server_of_the_toolkit() -> None:
    rows = [line for line in section("docs/variants.md", "MCP servers").splitlines() if line.startswith("| `")]
    assert rows == [row(name, read_server(folder)) for name, folder in server_folders((ROOT,)).items()]


def row(name: str, server: McpServer) -> str:
    assert server.packages
    assert server.tools
    registry = "npm" if server.packages.npm else "PyPI"
    ((package, version),) = (server.packages.npm or server.packages.pypi).items()
    hosts = ", ".join(f"`{host}`" for host in server.hosts) or "none"
    return f"| `{name}` | {server.description} | {len(server.tools)} | {registry} `{package}` {version} | {hosts} |"
