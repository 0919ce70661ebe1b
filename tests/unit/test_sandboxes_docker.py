from pathlib import Path

import pytest

from scylla_gha.errors import ToolError
from scylla_gha.model.experiment import TrialLimits
from scylla_gha.sandboxes.base import SandboxMounts, names_inside, translate_paths
from scylla_gha.sandboxes.docker import DockerSandbox
from scylla_gha.sandboxes.docker.container import ContainerSize
from scylla_gha.system.process import ProcessLimits, ProcessStreams

BOX = SandboxMounts(
    Path("/work/1/workspace"), Path("/work/1/home"), "", read_only=(Path("/work/1/checks"), Path("/work/1"))
)


def test_paths_of_the_host_become_those_of_the_box_the_longest_first() -> None:
    text = "--config=/work/1/home/.x:/work/1/checks/a /work/1/workspace /elsewhere"
    assert (
        translate_paths(text, names_inside(DockerSandbox(), BOX))
        == "--config=/home/dev/.x:/home/checks/a /home/workspace /elsewhere"
    )
    assert translate_paths("/work/1/other", names_inside(DockerSandbox(), BOX)) == "/home/1/other"


def test_a_box_without_an_image_is_refused_before_an_engine_is_asked(tmp_path: Path) -> None:
    streams = ProcessStreams(tmp_path / "out", tmp_path / "err")
    with pytest.raises(ToolError, match="scylla-gha image build"):
        DockerSandbox().run(("true",), BOX, streams, ProcessLimits(1))


def test_the_experiments_limits_are_the_size_of_its_containers() -> None:
    assert DockerSandbox().sized(TrialLimits()).size == ContainerSize()
    size = DockerSandbox().sized(TrialLimits(memory_mb=1000, disk_mb=20, processes=40, cpus=0.5)).size
    assert size == ContainerSize(memory_bytes=1000 << 20, disk_bytes=20 << 20, processes=40, cpus=0.5)
