"""What the real Claude Code CLI brings by itself is what the toolkit says that it brings, wherever it works."""

from pathlib import Path

import pytest

from scylla_gha.config.library import toolkit_root
from tests.support.command import scylla
from tests.support.engine import found_by

NAME = "claude-code-2.1.197.yaml"


@pytest.mark.usefixtures("running_engine")
@pytest.mark.parametrize("sandbox", ["docker", "bubblewrap", "host"])
def test_the_toolkits_inventory_is_measured_again_to_the_byte(tmp_path: Path, sandbox: str) -> None:
    how = ("--into", str(tmp_path / "new"), *(("--sandbox", sandbox) if sandbox != "docker" else ()))
    said = scylla("agent-baseline", "claude-code@2.1.197", *how, cwd=tmp_path, env=found_by())
    assert (said.code, said.out, said.err) == (0, f"{tmp_path}/new/{NAME}\n", ""), said.err
    kept = toolkit_root() / "config" / "inventories" / NAME
    assert (tmp_path / "new" / NAME).read_bytes() == kept.read_bytes()
