"""A scenario with GitHub state, proved with the real clients: on the host, in namespaces, and in a container."""

from pathlib import Path

import pytest

from scylla_gha.config.library import Library
from scylla_gha.images import SandboxPool
from scylla_gha.model.experiment import SandboxName
from scylla_gha.validate.scenario import validate_scenario
from tests.support.hub_scenario import ID, write_hub_scenario


def prove(root: Path, sandbox: SandboxName) -> None:
    write_hub_scenario(root)
    library = Library.here(root)
    proof = validate_scenario(library.scenario(ID), library, SandboxPool(sandbox, library))
    assert proof.faults == []
    assert [(name, passed) for name, passed, _ in proof.tried] == [
        ("nop", False), ("solution", True), ("solution/mcp", True), ("wrong/careless", False),
        ("wrong/no-pull-request", False),
    ]  # fmt: skip


@pytest.mark.parametrize("sandbox", ["host", "bubblewrap"])
def test_the_proof_of_a_scenario_with_github(tmp_path: Path, sandbox: SandboxName) -> None:
    prove(tmp_path, sandbox)


def test_its_proof_in_containers(tmp_path: Path, running_engine: None) -> None:  # noqa: ARG001
    prove(tmp_path, "docker")
