"""What the real Claude Code CLI brings by itself is what the toolkit says that it brings."""

from pathlib import Path

from scylla_gha.config.library import toolkit_root
from tests.support.command import scylla

NAME = "claude-code-2.1.197.yaml"


def test_the_toolkits_inventory_is_measured_again_to_the_byte(tmp_path: Path) -> None:
    said = scylla("inventory", "claude-code@2.1.197", "--into", str(tmp_path / "new"), cwd=tmp_path)
    assert (said.code, said.out) == (0, f"{tmp_path}/new/{NAME}\n"), said.err
    kept = toolkit_root() / "config" / "inventories" / NAME
    assert (tmp_path / "new" / NAME).read_bytes() == kept.read_bytes()
