from scylla_gha.model.experiment import TrialLimits
from scylla_gha.sandboxes.docker.container import ContainerSize, container_size

MEGA = 1 << 20


def test_unless_it_is_configured_a_container_has_the_usual_size() -> None:
    assert container_size(TrialLimits()) == ContainerSize()


def test_the_experiments_limits_are_a_containers_size() -> None:
    found = container_size(TrialLimits(memory_mb=1000, disk_mb=20, processes=40, cpus=0.5))
    assert (found.memory_bytes, found.disk_bytes, found.processes, found.cpus) == (1000 * MEGA, 20 * MEGA, 40, 0.5)
    assert found.scratch_bytes == ContainerSize().scratch_bytes
