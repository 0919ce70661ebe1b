"""Connections of a session: refused, counted, limited, logged; and the log read back as a summary."""

import asyncio
from pathlib import Path
from typing import Any

import pytest

from scylla_gha.egress_proxy import (
    NETWORK_LOG,
    Connection,
    ConnectionLimitError,
    Connections,
    EgressLimits,
    EgressPolicy,
    EgressTarget,
    egress_summary,
    read_egress_log,
)
from scylla_gha.errors import ConfigError
from scylla_gha.model.sandbox import UNREAD, EgressClosed, EgressOpened, HostContact
from tests.support.records import WHEN

LISTED, OTHER = EgressTarget("a.org", 443), EgressTarget("b.org", 443)


def make_connections(folder: Path, **given: Any) -> Connections:
    return Connections(EgressPolicy.model_validate({"hosts": ("a.org",), **given}), folder / NETWORK_LOG)


def test_each_attempt_is_logged_before_it_is_decided(tmp_path: Path) -> None:
    connections = make_connections(tmp_path)
    assert isinstance(connections.open("connect", LISTED), Connection)
    assert [connections.open("connect", OTHER), connections.open("http", None)] == ["host", "unreadable"]
    lines = read_egress_log(tmp_path / NETWORK_LOG)
    assert [(each.number, each.kind) for each in lines] == [(1, "opened"), (2, "opened"), (3, "opened")]


def test_an_end_is_logged_once_with_its_bytes(tmp_path: Path) -> None:
    connection = make_connections(tmp_path).open("connect", LISTED)
    assert isinstance(connection, Connection)
    connection.count_bytes(up=3)
    connection.count_bytes(down=5)
    connection.close()
    connection.close()
    (end,) = [each for each in read_egress_log(tmp_path / NETWORK_LOG) if isinstance(each, EgressClosed)]
    assert (end.number, end.up_bytes, end.down_bytes, end.error) == (1, 3, 5, None)


def test_bytes_are_limited_over_all_connections_of_a_session(tmp_path: Path) -> None:
    connections = make_connections(tmp_path, limits=EgressLimits(total_bytes=10))
    first, second = connections.open("connect", LISTED), connections.open("connect", LISTED)
    assert isinstance(first, Connection)
    assert isinstance(second, Connection)
    first.count_bytes(up=6)
    second.count_bytes(down=4)
    with pytest.raises(ConnectionLimitError):
        first.count_bytes(down=1)
    assert (first.error, second.error) == ("too_much", None)


def test_a_log_is_continued(tmp_path: Path) -> None:
    make_connections(tmp_path).open("connect", LISTED)
    make_connections(tmp_path).open("connect", LISTED)
    assert [each.number for each in read_egress_log(tmp_path / NETWORK_LOG)] == [1, 2]


def test_open_connections_end_with_the_session(tmp_path: Path) -> None:
    async def use() -> bool:
        connections = make_connections(tmp_path)
        task: asyncio.Task[object] = asyncio.create_task(asyncio.sleep(60))
        connections.tasks.add(task)
        await connections.close()
        return task.cancelled()

    assert asyncio.run(use())


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / NETWORK_LOG


def opened(number: int, host: str = "a.org", port: int = 443, refused: Any = None) -> EgressOpened:
    return EgressOpened(number=number, at=WHEN, how="connect", host=host, port=port, refused=refused)


def closed(number: int, error: Any = None) -> EgressClosed:
    return EgressClosed(number=number, up_bytes=1, down_bytes=10, seconds=0.5, error=error)


def written(path: Path, *records: EgressOpened | EgressClosed) -> Path:
    connections = Connections(EgressPolicy(), path)
    for record in records:
        connections.log(record)
    return path


def test_without_attempts_there_is_no_log(path: Path) -> None:
    Connections(EgressPolicy(), path)
    assert (egress_summary(path), read_egress_log(path)) == (HostContact(), [])
    assert not path.exists()


def test_the_summary_counts_allowed_and_refused_hosts(path: Path) -> None:
    records: list[EgressOpened | EgressClosed]
    records = [opened(1), opened(2, "b.org", 22, "host"), opened(3, UNREAD, 0, "unreadable"), opened(4, port=80),
               opened(5, "c.org"), opened(6, port=8443), closed(1), closed(4, "cut"), closed(5, "private_address"),
               opened(7, "d.org", 443, "too_many")]  # fmt: skip
    assert egress_summary(written(path, *records)) == HostContact(
        allowed={"a.org": 2, "a.org:8443": 1}, refused={"b.org:22": 1, UNREAD: 1, "c.org": 1, "d.org": 1},
        up_bytes=3, down_bytes=30, unended=1,
    )  # fmt: skip


def test_hosts_beyond_the_fiftieth_are_counted_together(path: Path) -> None:
    records = [opened(number, f"h{number}.org", refused="host") for number in range(1, 61)]
    made = egress_summary(written(path, *records, opened(61, "h7.org", refused="host")))
    assert (len(made.refused), made.refused["h7.org"], made.refused["(others)"]) == (51, 2, 10)
    assert sum(made.refused.values()) == 61


def test_a_torn_last_line_is_ignored_and_removed(path: Path) -> None:
    written(path, opened(1))
    with path.open("ab") as file:
        file.write(b'{"kind":')
    assert egress_summary(path).allowed == {"a.org": 1}
    make_connections(path.parent).open("connect", LISTED)
    assert [record.number for record in read_egress_log(path)] == [1, 2]
    assert egress_summary(path).allowed == {"a.org": 2}


def test_a_file_that_is_not_a_log_is_named_with_the_line(path: Path) -> None:
    with written(path, opened(1)).open("a") as file:
        file.write("{}\n")
    with pytest.raises(ConfigError, match=rf"{path}:2: not a record of the network"):
        egress_summary(path)
