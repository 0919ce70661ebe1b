"""The first request of a lane, as it is kept for the proof of delivery."""

import asyncio
import contextlib
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from scylla_gha.gateway.path_aliases import PathAliases
from scylla_gha.gateway.sessions import SessionRegistry, SessionState
from scylla_gha.gateway.settings import Session, SessionSettings
from scylla_gha.providers.anthropic.request import parse_request
from scylla_gha.providers.base import ModelRequest
from scylla_gha.redaction.redactor import Redactor


@pytest.fixture
def place(tmp_path: Path) -> Path:
    return tmp_path / "attempt-1" / "first-request.json"


@contextlib.contextmanager
def opened(folder: Path, first: Path | None) -> Iterator[SessionState]:
    """A lane that was just opened."""
    lanes = SessionRegistry(SessionSettings(), Redactor())
    lanes.open("token", Session(cell="c", role="agent", journal=folder / "traffic.jsonl", first_request=first))
    found = lanes.find("token")
    assert found is not None
    yield found
    asyncio.run(found.close(0))


def question(text: str = "first", counting: bool = False, **more: Any) -> ModelRequest:
    body = {"model": "m", "messages": [{"role": "user", "content": text}], **more}
    made = parse_request(json.dumps(body, indent=1).encode(), PathAliases({}).hide, counting=counting)
    assert made is not None
    return made


def test_the_first_is_kept_byte_for_byte_and_no_later_one(tmp_path: Path, place: Path) -> None:
    with opened(tmp_path, place) as lane:
        for text in ("first", "second"):
            lane.keep_first(question(text))
    assert place.read_bytes() == question("first").body
    assert [path.name for path in place.parent.iterdir()] == [place.name], "nothing half-written is left"


def test_a_count_of_tokens_and_a_probe_are_not_it(tmp_path: Path, place: Path) -> None:
    with opened(tmp_path, place) as lane:
        lane.keep_first(question("count", counting=True))
        lane.keep_first(question("probe", max_tokens=1))
        assert not place.exists()
        lane.keep_first(question("first"))
    assert place.read_bytes() == question("first").body


def test_a_lane_that_is_opened_again_keeps_what_it_has(tmp_path: Path, place: Path) -> None:
    for text in ("first", "second"):
        with opened(tmp_path, place) as lane:
            lane.keep_first(question(text))
    assert place.read_bytes() == question("first").body


def test_without_a_place_nothing_is_kept(tmp_path: Path) -> None:
    with opened(tmp_path, None) as lane:
        lane.keep_first(question())
    assert [path.name for path in tmp_path.iterdir()] == ["traffic.jsonl"]
