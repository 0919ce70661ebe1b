import asyncio
from pathlib import Path
from typing import Any

import pytest

from scylla_gha.errors import ConfigError
from scylla_gha.model.network import Closed
from scylla_gha.proxy.journal import FILE, read
from scylla_gha.proxy.permit import Bounds, Permit, Token
from scylla_gha.proxy.target import Target
from scylla_gha.proxy.visits import TooMuchError, Visit, Visits

LISTED, OTHER, HUB = Target("a.org", 443), Target("b.org", 443), Target("hub.example", 80, "/")
TOKEN = Token(value="Bearer fixture-token-0123456789-canary")


def make_visits(folder: Path, **given: Any) -> Visits:
    return Visits(
        Permit.model_validate({"hosts": ("a.org",), "tokens": {"hub.example": TOKEN}, **given}), folder / FILE
    )


def test_each_attempt_is_journalled_before_anything_else(tmp_path: Path) -> None:
    visits = make_visits(tmp_path)
    assert isinstance(visits.open("connect", LISTED), Visit)
    assert [visits.open("connect", OTHER), visits.open("http", None)] == ["host", "unreadable"]
    lines = read(tmp_path / FILE)
    assert [(each.number, each.kind) for each in lines] == [(1, "opened"), (2, "opened"), (3, "opened")]


def test_a_host_with_a_token_is_for_requests_and_not_for_tunnels(tmp_path: Path) -> None:
    visits = make_visits(tmp_path)
    assert isinstance(visits.open("http", HUB), Visit)
    assert visits.open("connect", HUB) == "host"


def test_an_end_is_written_once_with_what_passed(tmp_path: Path) -> None:
    visit = make_visits(tmp_path).open("connect", LISTED)
    assert isinstance(visit, Visit)
    visit.moved(up=3)
    visit.moved(down=5)
    visit.close()
    visit.close()
    (end,) = [each for each in read(tmp_path / FILE) if isinstance(each, Closed)]
    assert (end.number, end.up_bytes, end.down_bytes, end.error) == (1, 3, 5, None)


def test_bytes_are_limited_over_all_connections_of_the_lane(tmp_path: Path) -> None:
    visits = make_visits(tmp_path, bounds=Bounds(total_bytes=10))
    first, second = visits.open("connect", LISTED), visits.open("connect", LISTED)
    assert isinstance(first, Visit)
    assert isinstance(second, Visit)
    first.moved(up=6)
    second.moved(down=4)
    with pytest.raises(TooMuchError):
        first.moved(down=1)
    assert (first.error, second.error) == ("too_much", None)


def test_a_journal_is_gone_on_with(tmp_path: Path) -> None:
    make_visits(tmp_path).open("connect", LISTED)
    make_visits(tmp_path).open("connect", LISTED)
    assert [each.number for each in read(tmp_path / FILE)] == [1, 2]


def test_what_is_open_ends_with_the_lane(tmp_path: Path) -> None:
    async def use() -> bool:
        visits = make_visits(tmp_path)
        task: asyncio.Task[object] = asyncio.create_task(asyncio.sleep(60))
        visits.tasks.add(task)
        await visits.close()
        return task.cancelled()

    assert asyncio.run(use())


def test_a_token_that_cannot_be_looked_for_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="shorter than 8"):
        make_visits(tmp_path, tokens={"hub.example": Token(value="Bearer abc")})
