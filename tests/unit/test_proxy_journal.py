from pathlib import Path
from typing import Any

import pytest

from scylla_gha.errors import ConfigError
from scylla_gha.model.network import UNREAD, Closed, Opened, Reached
from scylla_gha.proxy.journal import FILE, Journal, account, read
from tests.support.records import WHEN


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / FILE


def opened(number: int, host: str = "a.org", port: int = 443, refused: Any = None) -> Opened:
    return Opened(number=number, at=WHEN, how="connect", host=host, port=port, refused=refused)


def closed(number: int, error: Any = None) -> Closed:
    return Closed(number=number, up_bytes=1, down_bytes=10, seconds=0.5, error=error)


def written(path: Path, *records: Opened | Closed) -> Path:
    journal = Journal(path)
    for record in records:
        journal.write(record)
    return path


def test_no_file_is_nothing_sought(path: Path) -> None:
    assert (account(path), read(path), Journal(path).last_number()) == (Reached(), [], 0)
    assert not path.exists()


def test_the_account_counts_by_host_what_was_allowed_and_refused(path: Path) -> None:
    records: list[Opened | Closed]
    records = [opened(1), opened(2, "b.org", 22, "host"), opened(3, UNREAD, 0, "unreadable"), opened(4, port=80),
               opened(5, "c.org"), opened(6, port=8443), closed(1), closed(4, "cut"), closed(5, "private_address"),
               opened(7, "d.org", 443, "too_many")]  # fmt: skip
    assert account(written(path, *records)) == Reached(
        allowed={"a.org": 2, "a.org:8443": 1}, refused={"b.org:22": 1, UNREAD: 1, "c.org": 1, "d.org": 1},
        up_bytes=3, down_bytes=30, unended=1,
    )  # fmt: skip


def test_hosts_beyond_the_fiftieth_are_counted_together(path: Path) -> None:
    records = [opened(number, f"h{number}.org", refused="host") for number in range(1, 61)]
    made = account(written(path, *records, opened(61, "h7.org", refused="host")))
    assert (len(made.refused), made.refused["h7.org"], made.refused["(others)"]) == (51, 2, 10)
    assert sum(made.refused.values()) == 61


def test_a_torn_last_line_tells_of_nothing_and_goes(path: Path) -> None:
    written(path, opened(1))
    with path.open("ab") as file:
        file.write(b'{"kind":')
    assert account(path).allowed == {"a.org": 1}
    assert Journal(path).last_number() == 1
    assert account(written(path, opened(2))).allowed == {"a.org": 2}


def test_a_file_that_is_no_journal_is_named_with_the_line(path: Path) -> None:
    with written(path, opened(1)).open("a") as file:
        file.write("{}\n")
    with pytest.raises(ConfigError, match=rf"{path}:2: no record of the network"):
        account(path)
