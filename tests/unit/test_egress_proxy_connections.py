"""Connections of a session: refused, counted, limited, logged; and the log read back as a summary."""

import asyncio
from pathlib import Path
from typing import Any

import pytest

from scylla_gha.egress_proxy.connections import Connection, ConnectionLimitError, Connections
from scylla_gha.egress_proxy.log import FILE, EgressLog, egress_summary, read_egress_log
from scylla_gha.egress_proxy.policy import EgressLimits, EgressPolicy, EgressTarget
from scylla_gha.errors import ConfigError
from scylla_gha.model.sandbox import UNREAD, EgressClosed, EgressOpened, HostContact
from tests.support.records import WHEN

LISTED, OTHER = EgressTarget("a.org", 443), EgressTarget("b.org", 443)


def make_connections(folder: Path, **given: Any) -> Connections:
    return Connections(EgressPolicy.model_validate({"hosts": ("a.org",), **given}), folder / FILE)


def test_each_attempt_is_journalled_before_anything_else(tmp_path: Path) -> None:
    connections = make_connections(tmp_path)
    assert isinstance(connections.open("connect", LISTED), Connection)
    assert [connections.open("connect", OTHER), connections.open("http", None)] == ["host", "unreadable"]
    lines = read_egress_log(tmp_path / FILE)
    assert [(each.number, each.kind) for each in lines] == [(1, "opened"), (2, "opened"), (3, "opened")]


def test_an_end_is_written_once_with_what_passed(tmp_path: Path) -> None:
    connection = make_connections(tmp_path).open("connect", LISTED)
    assert isinstance(connection, Connection)
    connection.count_bytes(up=3)
    connection.count_bytes(down=5)
    connection.close()
    connection.close()
    (end,) = [each for each in read_egress_log(tmp_path / FILE) if isinstance(each, EgressClosed)]
    assert (end.number, end.up_bytes, end.down_bytes, end.error) == (1, 3, 5, None)


def test_bytes_are_limited_over_all_connections_of_the_lane(tmp_path: Path) -> None:
    connections = make_connections(tmp_path, limits=EgressLimits(total_bytes=10))
    first, second = connections.open("connect", LISTED), connections.open("connect", LISTED)
    assert isinstance(first, Connection)
    assert isinstance(second, Connection)
    first.count_bytes(up=6)
    second.count_bytes(down=4)
    with pytest.raises(ConnectionLimitError):
        first.count_bytes(down=1)
    assert (first.error, second.error) == ("too_much", None)


def test_a_journal_is_gone_on_with(tmp_path: Path) -> None:
    make_connections(tmp_path).open("connect", LISTED)
    make_connections(tmp_path).open("connect", LISTED)
    assert [each.number for each in read_egress_log(tmp_path / FILE)] == [1, 2]


def test_what_is_open_ends_with_the_lane(tmp_path: Path) -> None:
    async def use() -> bool:
        connections = make_connections(tmp_path)
        task: asyncio.Task[object] = asyncio.create_task(asyncio.sleep(60))
        connections.tasks.add(task)
        await connections.close()
        return task.cancelled()

    assert asyncio.run(use())


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / FILE


def opened(number: int, host: str = "a.org", port: int = 443, refused: Any = None) -> EgressOpened:
    return EgressOpened(number=number, at=WHEN, how="connect", host=host, port=port, refused=refused)


def closed(number: int, error: Any = None) -> EgressClosed:
    return EgressClosed(number=number, up_bytes=1, down_bytes=10, seconds=0.5, error=error)


def written(path: Path, *records: EgressOpened | EgressClosed) -> Path:
    journal = EgressLog(path)
    for record in records:
        journal.write(record)
    return path


def test_no_file_is_nothing_sought(path: Path) -> None:
    assert (egress_summary(path), read_egress_log(path), EgressLog(path).last_number()) == (HostContact(), [], 0)
    assert not path.exists()


def test_the_account_counts_by_host_what_was_allowed_and_refused(path: Path) -> None:
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


def test_a_torn_last_line_tells_of_nothing_and_goes(path: Path) -> None:
    written(path, opened(1))
    with path.open("ab") as file:
        file.write(b'{"kind":')
    assert egress_summary(path).allowed == {"a.org": 1}
    assert EgressLog(path).last_number() == 1
    assert egress_summary(written(path, opened(2))).allowed == {"a.org": 2}


def test_a_file_that_is_no_journal_is_named_with_the_line(path: Path) -> None:
    with written(path, opened(1)).open("a") as file:
        file.write("{}\n")
    with pytest.raises(ConfigError, match=rf"{path}:2: no record of the network"):
        egress_summary(path)
