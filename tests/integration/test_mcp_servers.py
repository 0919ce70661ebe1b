"""Packages of MCP servers in a Docker image: one of npm starts there, on the Node.js of the image."""

from pathlib import Path

from tests.support.command import scylla
from tests.support.engine import found_by
from tests.support.repository import environment

ROOT = Path(__file__).parents[2]


def test_a_server_of_npm_starts_in_its_image(running_engine: None, tmp_path: Path) -> None:  # noqa: ARG001
    path = str(ROOT / "config" / "mcp" / "sequential-thinking")
    env = environment(tmp_path, **found_by())
    said = scylla("validate", path, "--execute", "--sandbox", "docker", cwd=tmp_path, env=env)
    assert said.code == 0, said.err
    assert "ok: mcp/sequential-thinking: 1 tool in " in said.out
