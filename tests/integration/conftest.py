"""Fixtures that the tests with real engines share."""

import contextlib
from pathlib import Path

import pytest

from scylla_gha.config.library import Library
from scylla_gha.images import archive, layers
from scylla_gha.prepare.tools import cache_root
from scylla_gha.sandboxes.docker import engine
from tests.support.docker_runner import DockerRunner

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="session")
def base_image(running_engine: None) -> str:  # noqa: ARG001
    """The id of the image of the toolkit's own recipe, with no agent and no tools."""
    wanted = layers.ImageSpec(Library.here(ROOT).image(), {})
    with contextlib.closing(engine.connect()) as api:
        return archive.ensure_image(api, layers.build_image(wanted, cache_root()), cache_root())


@pytest.fixture
def runner(base_image: str, tmp_path: Path) -> DockerRunner:
    return DockerRunner(tmp_path, base_image)
