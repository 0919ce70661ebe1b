"""The stored inventory of Claude Code is what the real CLI brings by itself."""

from pathlib import Path

import pytest

from scylla_gha.config.library import toolkit_root
from tests.support.command import scylla
from tests.support.engine import found_by

NAME = "claude-code-2.1.197.yaml"
PROGRESS = "building the images' base system; this takes a minute or two, once ..."


@pytest.mark.usefixtures("running_engine")
def test_the_stored_inventory_is_measured_again_to_the_byte(tmp_path: Path) -> None:
    """In Docker; that it holds in other sandboxes is shown by the deliveries that are proved there."""
    into = tmp_path / "new"
    said = scylla("agent-baseline", "claude-code@2.1.197", "--into", str(into), cwd=tmp_path, env=found_by())
    assert (said.code, said.out) == (0, f"{into}/{NAME}\n"), said.err
    assert set(said.err.splitlines()) <= {PROGRESS}, "the first worker that needs images builds them"
    kept = toolkit_root() / "config" / "inventories" / NAME
    assert (tmp_path / "new" / NAME).read_bytes() == kept.read_bytes()
