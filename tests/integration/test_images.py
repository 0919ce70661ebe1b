"""Images of the toolkit's own recipe in a real engine, with the real Claude Code and real Python tools in them."""

import contextlib
import json
import os
from pathlib import Path

import pytest

from scylla_gha.config.library import Library
from scylla_gha.errors import ToolError
from scylla_gha.images import archive, layers
from scylla_gha.prepare.tools import cache_root
from scylla_gha.sandboxes.base import GATEWAY_SOCKET, GATEWAY_URL, socket_folder
from scylla_gha.sandboxes.docker import engine
from scylla_gha.sandboxes.docker.container import ContainerSize
from tests.support.command import scylla
from tests.support.docker_runner import MEGA, DockerRunner
from tests.support.engine import found_by
from tests.support.gateway import hosted
from tests.support.hello import hello
from tests.support.provider import serve

ROOT = Path(__file__).parents[2]
TOOLS = {"pytest": "9.2.0", "ruff": "0.17.6"}
CLAUDE = layers.AgentCli(Library((ROOT,)).agent_manifest("claude-code").package, "2.1.332")


@pytest.fixture(scope="module")
def image(running_engine: None) -> str:  # noqa: ARG001
    wanted = layers.ImageSpec(Library.here(ROOT).image(), TOOLS, CLAUDE)
    with contextlib.closing(engine.connect()) as api:
        return archive.ensure_image(api, layers.build_image(wanted, cache_root()), cache_root())


def test_the_pinned_tools_are_first_on_path_and_work(runner: DockerRunner, image: str) -> None:
    runner.image = image
    seen = runner.sh("pytest --version; ruff --version; claude --version; which python3 pytest git make; echo $PATH")
    assert seen.err == ""
    assert seen.out.splitlines() == [
        "pytest 9.2.0", "ruff 0.17.6", "2.1.332 (Claude Code)", "/opt/tools/bin/python3", "/opt/tools/bin/pytest",
        "/usr/bin/git", "/usr/bin/make", "/opt/tools/bin:/usr/local/bin:/usr/bin:/bin",
    ]  # fmt: skip


def test_nothing_of_it_is_compiled_anew_at_each_start(runner: DockerRunner, image: str) -> None:
    """In a read-only image, what is not compiled is compiled for each process, in vain."""
    runner.image = image
    script = "import json, os, pytest\nprint([m for m in (json, pytest) if not os.path.exists(m.__cached__)])"
    assert runner.python(script).out == "[]\n"


def test_claude_code_works_in_the_box_through_the_socket_alone(runner: DockerRunner, image: str) -> None:
    runner.image = image
    runner.size = ContainerSize(memory_bytes=2048 * MEGA, disk_bytes=256 * MEGA)
    argv = ("claude", "--print", "--verbose", "--output-format", "stream-json", "--permission-mode",
            "bypassPermissions", "--model", "claude-sonnet-5")  # fmt: skip
    with socket_folder() as folder, serve(hello) as provider:
        runner.sockets = folder
        with hosted(runner.folder, provider.url) as host:
            handle = host.open(socket=folder / GATEWAY_SOCKET)
            seen = runner.run(
                argv, 120, stdin="Write hello.py.", ANTHROPIC_BASE_URL=GATEWAY_URL, ANTHROPIC_API_KEY=handle.token,
                CLAUDE_CONFIG_DIR=f"{runner.home}/.claude", CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC="1",
                DISABLE_AUTOUPDATER="1",
            )  # fmt: skip
            made = host.gateway.close(handle)
    assert seen.finished.code == 0, seen.err
    last = json.loads(seen.out.splitlines()[-1])
    assert (last["type"], last["is_error"]) == ("result", False)
    assert made.requests == len(provider.requests) >= 2
    assert "Hello, World!" in (runner.workspace / "hello.py").read_text()
    assert list((runner.home / ".claude" / "projects").glob("*/*.jsonl")), "its session is kept"


def test_an_image_is_made_once_and_found_again(base_image: str) -> None:
    drawn = layers.build_image(layers.ImageSpec(Library.here(ROOT).image(), {}), cache_root())
    with contextlib.closing(engine.connect()) as api:
        assert archive.ensure_image(api, drawn, cache_root()) == base_image
        assert base_image in {found.id for found in archive.list_images(api)}
        inspected = api.inspect_image(base_image)  # type: ignore[no-untyped-call]
    assert inspected["RootFS"]["Layers"] == [f"sha256:{layer.sha256}" for layer in drawn.layers]


def test_the_command_builds_and_lists(tmp_path: Path, base_image: str) -> None:
    made = scylla("image", "build", "001-hello-world", "--agent", "claude-code@2.1.332", cwd=tmp_path, env=found_by())
    assert made.code == 0, made.err
    lines = [json.loads(line) for line in made.out.splitlines()]
    assert [line["agent"] for line in lines] == [None, "claude-code@2.1.332"]
    listed = scylla("image", "list", "--json", cwd=tmp_path, env=found_by())
    ids = {found["id"] for found in json.loads(listed.out)}
    assert {line["id"] for line in lines} | {base_image} <= ids


def test_without_an_engine_the_command_says_what_to_do(tmp_path: Path) -> None:
    env = {**os.environ, "DOCKER_HOST": f"unix://{tmp_path}/none.sock"}
    said = scylla("image", "list", cwd=tmp_path, env=env)
    assert said.code == ToolError.exit_code
    assert "no container engine answers at" in said.err
    assert "apt-get install docker.io" in said.err
    assert "Traceback" not in said.err
