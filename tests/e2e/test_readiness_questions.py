"""Questions from end to end: made by the command, answered by a built-in agent, graded in the check box."""

from pathlib import Path

from scylla_gha.prepare.tree_manifest import scan_tree
from tests.support.command import NO_ENGINE, scylla
from tests.support.readiness_repository import readiness_repository
from tests.support.repository import environment


def test_known_answers_pass_in_the_check_box(tmp_path: Path) -> None:
    repository = readiness_repository(tmp_path / "parcels", "python")
    before = scan_tree(repository / "parcels").tree
    options = ("--agent", "oracle", "--yes", "--dimensions", "1,3", "--anchors", "8", "--no-closed-book")
    said = scylla("readiness", *options, cwd=repository, env=environment(tmp_path, DOCKER_HOST=NO_ENGINE))
    assert said.code == 0, said.err
    assert "16/16 cells, 16 passed" in said.out + said.err
    assert "readiness 100 " in said.out
    assert scan_tree(repository / "parcels").tree == before
