"""What the tests with real engines share."""

import contextlib
from pathlib import Path

import pytest

from scylla_gha.config.library import Library
from scylla_gha.images import store
from scylla_gha.sandboxes import engine
from scylla_gha.seeding.cache import cache_root
from tests.support.boxes import Desk

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="session")
def base_image(running_engine: None) -> str:  # noqa: ARG001
    """The id of the image of the toolkit's own recipe, with no agent and no tools."""
    wanted = store.Wanted(Library.here(ROOT).image(), {})
    with contextlib.closing(engine.connect()) as api:
        return store.ensure(api, store.draw(wanted, cache_root()), cache_root())


@pytest.fixture
def desk(base_image: str, tmp_path: Path) -> Desk:
    return Desk(tmp_path, base_image)
