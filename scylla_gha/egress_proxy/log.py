"""Log of an attempt's connections (`network.jsonl`), and its summary.

A line is flushed before the action that it records, so a killed gateway leaves at worst a connection without an end.
"""

from collections import Counter
from pathlib import Path
from typing import Annotated, Final

from pydantic import Field, TypeAdapter

from scylla_gha.egress_proxy.policy import EgressTarget
from scylla_gha.model.sandbox import EgressClosed, EgressOpened, HostContact
from scylla_gha.store.records import open_journal, read_journal

FILE: Final = "network.jsonl"
_MAX_HOSTS: Final = 50  # that are counted by name
_OTHERS: Final = "(others)"
_LINE: Final[TypeAdapter[EgressOpened | EgressClosed]] = TypeAdapter(
    Annotated[EgressOpened | EgressClosed, Field(discriminator="kind")]
)


class EgressLog:
    """The log file of a session; it is created at the first attempt."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def write(self, record: EgressOpened | EgressClosed) -> None:
        """Append one line; after this returns, a crash of this process does not lose it."""
        with self._path.open("ab", buffering=0) as file:
            file.write(record.model_dump_json().encode() + b"\n")

    def last_number(self) -> int:
        """Return the number of the last attempt; a torn last line is removed.

        Raises:
            ConfigError: the file is not such a log.
        """
        if not self._path.exists():
            return 0
        open_journal(self._path).close()
        return max((record.number for record in read_egress_log(self._path)), default=0)


def read_egress_log(path: Path) -> list[EgressOpened | EgressClosed]:
    """Read all records in order of time; none if there is no file.

    Raises:
        ConfigError: a line other than a torn last one is not such a record.
    """
    return read_journal(path, _LINE, "the network")


def egress_summary(path: Path) -> HostContact:
    """Summarise a log; all zero if there is no file.

    Raises:
        ConfigError: the file is not such a log.
    """
    records = read_egress_log(path)
    ends = {record.number: record for record in records if isinstance(record, EgressClosed)}
    allowed: Counter[str] = Counter()
    refused: Counter[str] = Counter()
    unended = 0
    for record in records:
        if isinstance(record, EgressOpened):
            end = ends.get(record.number)
            is_refused = record.refused is not None or (end is not None and end.error == "private_address")
            (refused if is_refused else allowed)[EgressTarget(record.host, record.port or 443).label] += 1
            unended += record.refused is None and end is None
    return HostContact(
        allowed=_named(allowed),
        refused=_named(refused),
        up_bytes=sum(end.up_bytes for end in ends.values()),
        down_bytes=sum(end.down_bytes for end in ends.values()),
        unended=unended,
    )


def _named(counts: Counter[str]) -> dict[str, int]:
    """Count the most frequent hosts by name and the rest together, since an agent may name any number of hosts."""
    named = dict(counts.most_common(_MAX_HOSTS))
    rest = counts.total() - sum(named.values())
    return named | ({_OTHERS: rest} if rest else {})
