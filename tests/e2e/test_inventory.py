"""The stored inventories of Claude Code are what the real CLI of each version brings by itself."""

from pathlib import Path

import pytest

from scylla_gha.config.library import toolkit_root
from tests.support.claude_versions import PREFIX, VERSIONS
from tests.support.command import scylla
from tests.support.engine import found_by

PROGRESS = "building the images' base system once; this takes a minute or two ..."


@pytest.mark.usefixtures("running_engine")
@pytest.mark.parametrize("version", VERSIONS)
def test_the_stored_inventory_is_measured_again_to_the_byte(tmp_path: Path, version: str) -> None:
    """In Docker; that it holds in other sandboxes is shown by the deliveries that are proved there."""
    into, name = tmp_path / "new", f"{PREFIX}{version}.yaml"
    said = scylla("agent-baseline", f"claude-code@{version}", "--into", str(into), cwd=tmp_path, env=found_by())
    assert (said.code, said.out) == (0, f"{into}/{name}\n"), said.err
    assert set(said.err.splitlines()) <= {PROGRESS}, "the first worker that needs images builds them"
    stored = toolkit_root() / "config" / "inventories" / name
    assert (into / name).read_bytes() == stored.read_bytes()
