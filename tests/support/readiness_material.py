"""Material of readiness tasks, made from a built repository as the command makes it."""

from pathlib import Path

from scylla_gha.readiness.code_index import build_index
from scylla_gha.readiness.environment import detect_environment
from scylla_gha.readiness.material import ReadinessMaterial, repository_of, working_copy
from scylla_gha.readiness.recorded_tests import TestMap
from scylla_gha.readiness.source_code import Language
from scylla_gha.readiness.test_map import record_tests, runner_of
from scylla_gha.sandboxes import SANDBOXES
from scylla_gha.sandboxes.base import SandboxTarget

BOX = SandboxTarget(SANDBOXES["bubblewrap"])


def material_of(
    repository: Path,
    folder: Path,
    *,
    language: Language = "python",
    seed: int = 1,
    wanted: int = 12,
    tests: bool = True,
) -> ReadinessMaterial:
    """Copy the repository's commit into a new folder, index it and record its tests, if wanted."""
    checkout = repository_of(repository)
    copy = working_copy(checkout, folder)
    index = build_index(copy.root)
    if not tests:
        return ReadinessMaterial(copy.root, index, TestMap({}, reason="none"), None, checkout, seed, wanted, language)
    environment = detect_environment(copy.root, language, lambda _: BOX)
    recorded = record_tests(copy.root, environment, index)
    return ReadinessMaterial(copy.root, index, recorded, runner_of(environment), checkout, seed, wanted, language)
