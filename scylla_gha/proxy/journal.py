"""An attempt's `network.jsonl`, written as hosts are sought and left, and read back as an account.

A line is flushed before anything is done that it tells of: a killed gateway leaves at worst one that never ended.
"""

from collections import Counter
from pathlib import Path
from typing import Annotated, Final

from pydantic import Field, TypeAdapter

from scylla_gha.model.network import Closed, Opened, Reached
from scylla_gha.proxy.target import Target
from scylla_gha.store import open_journal, read_journal

FILE: Final = "network.jsonl"
_MOST: Final = 50  # hosts that are counted apart
_REST: Final = "(others)"
_LINE: Final[TypeAdapter[Opened | Closed]] = TypeAdapter(Annotated[Opened | Closed, Field(discriminator="kind")])


class Journal:
    """The file of a lane, there from the first attempt on."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def write(self, record: Opened | Closed) -> None:
        """Append one line; when this returns, the death of this process cannot lose it."""
        with self._path.open("ab", buffering=0) as file:
            file.write(record.model_dump_json().encode() + b"\n")

    def last_number(self) -> int:
        """Of the attempts that it tells of; a torn last line goes.

        Raises:
            ConfigError: the file is no such journal.
        """
        if not self._path.exists():
            return 0
        open_journal(self._path).close()
        return max((each.number for each in read(self._path)), default=0)


def read(path: Path) -> list[Opened | Closed]:
    """All records in order of time; none where there is no file.

    Raises:
        ConfigError: a line other than a torn last one is no such record.
    """
    return read_journal(path, _LINE, "the network")


def account(path: Path) -> Reached:
    """What was sought, a function of the file alone; nothing where there is no file.

    Raises:
        ConfigError: the file is no such journal.
    """
    records = read(path)
    ends = {each.number: each for each in records if isinstance(each, Closed)}
    allowed: Counter[str] = Counter()
    refused: Counter[str] = Counter()
    unended = 0
    for each in records:
        if isinstance(each, Opened):
            end = ends.get(each.number)
            held = each.refused is not None or (end is not None and end.error == "private_address")
            (refused if held else allowed)[Target(each.host, each.port or 443).label] += 1
            unended += each.refused is None and end is None
    return Reached(
        allowed=_named(allowed),
        refused=_named(refused),
        up_bytes=sum(end.up_bytes for end in ends.values()),
        down_bytes=sum(end.down_bytes for end in ends.values()),
        unended=unended,
    )


def _named(counts: Counter[str]) -> dict[str, int]:
    """The most frequent by name, the rest together: names are the agent's to choose, as many as it likes."""
    named = dict(counts.most_common(_MOST))
    rest = counts.total() - sum(named.values())
    return named | ({_REST: rest} if rest else {})
