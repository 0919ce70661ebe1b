"""State of one cell's GitHub: records in tables, a clock that ticks a second a write, and a journal of the writes."""

import dataclasses
import datetime
import pickle
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final, Literal, TypeVar

from scylla_gha.hub.actions_records import HubRecord
from scylla_gha.hub.records import (
    KINDS,
    IssueRecord,
    PullRequestRecord,
    RepositoryRecord,
    UserRecord,
    id_of_node,
    node_id,
)

START: Final = datetime.datetime(2026, 1, 5, 9, 0, tzinfo=datetime.UTC)
_FIRST_ID: Final = 1001
R = TypeVar("R", bound=HubRecord)


@dataclass(frozen=True, slots=True)
class JournalEntry:
    """Write to a record: who did it, and the fields that changed (empty if it was created or deleted).

    `scripted` are the writes of a fixture's scripted reviewers.
    """

    sequence: int
    time: datetime.datetime
    actor: int
    action: Literal["create", "update", "delete", "push"]
    kind: str
    id: int
    fields: tuple[str, ...] = ()
    detail: str = ""
    scripted: bool = False


class HubState:
    """Tables of records by kind and id. Records of a table keep the order in which they were created."""

    def __init__(self, clock: datetime.datetime = START) -> None:
        """Make an empty state, whose first write has the time `clock`."""
        self.clock = clock
        self.next_id = _FIRST_ID
        self.tables: dict[type[HubRecord], dict[int, HubRecord]] = {kind: {} for kind in KINDS}
        self.journal: list[JournalEntry] = []
        self._indexes: dict[tuple[type[HubRecord], str], dict[Any, list[int]]] = {}

    def snapshot(self) -> bytes:
        """Return the state as bytes for `restored`, without the journal."""
        return pickle.dumps((self.clock, self.next_id, self.tables), protocol=pickle.HIGHEST_PROTOCOL)

    @classmethod
    def restored(cls, snapshot: bytes) -> "HubState":
        """Return a state of its own from a snapshot that this process made."""
        state = cls()
        state.clock, state.next_id, state.tables = pickle.loads(snapshot)  # noqa: S301 of this process
        return state

    def now(self) -> datetime.datetime:
        """Return the time of the next write."""
        return self.clock

    def new_id(self) -> int:
        """Return an id that no record had."""
        self.next_id += 1
        return self.next_id - 1

    def get(self, kind: type[R], id_: int | None) -> R | None:
        """Return a record; None if it was deleted, or if it never was."""
        return None if id_ is None else self.tables[kind].get(id_)  # type: ignore[return-value]

    def need(self, kind: type[R], id_: int) -> R:
        """Return a record that another one names, so that it has to be there."""
        return self.tables[kind][id_]  # type: ignore[return-value]

    def where(self, kind: type[R], **fields: object) -> list[R]:
        """Return the records whose fields are equal to these, in the order of their creation."""
        if not fields:
            return list(self.tables[kind].values())  # type: ignore[arg-type]
        (first, value), *others = fields.items()
        table = self.tables[kind]
        records = [table[id_] for id_ in self._index(kind, first).get(value, ())]
        return [record for record in records if all(getattr(record, name) == want for name, want in others)]  # type: ignore[misc]

    def first(self, kind: type[R], **fields: object) -> R | None:
        """Return the first record whose fields are equal to these; None if there is none."""
        return next(iter(self.where(kind, **fields)), None)

    def _index(self, kind: type[HubRecord], field: str) -> dict[Any, list[int]]:
        index = self._indexes.get((kind, field))
        if index is None:
            index = self._indexes[kind, field] = {}
            for id_, record in self.tables[kind].items():
                index.setdefault(getattr(record, field), []).append(id_)
        return index

    def create(self, actor: UserRecord | int, record: R) -> R:
        """Add a record."""
        self.tables[type(record)][record.id] = record
        self._note(actor, "create", record)
        return record

    def update(self, actor: UserRecord | int, record: R, **changes: object) -> R:
        """Replace fields of a record; nothing is written if all have these values already.

        `updated_at` is set for records that have it. The record in the table is changed, whatever copy is given.
        """
        current: R = self.tables[type(record)][record.id]  # type: ignore[assignment]
        changed = tuple(name for name, value in changes.items() if getattr(current, name) != value)
        if not changed:
            return current
        new: dict[str, Any] = {**({"updated_at": self.now()} if hasattr(current, "updated_at") else {}), **changes}
        replaced = dataclasses.replace(current, **new)
        self.tables[type(record)][record.id] = replaced
        self._note(actor, "update", replaced, changed)
        return replaced

    def delete(self, actor: UserRecord | int, record: HubRecord) -> None:
        """Remove a record. What names it has to be changed by the caller."""
        del self.tables[type(record)][record.id]
        self._note(actor, "delete", record)

    def note_push(self, actor: UserRecord | int, repository: RepositoryRecord, ref: str, detail: str) -> None:
        """Note in the journal that a ref was changed; `detail` is "<old> <new>", and " forced" if it was."""
        self._note(actor, "push", repository, (ref,), detail)

    def mark_scripted(self, start: int) -> None:
        """Note that the writes from an index of the journal on are those of a scripted reviewer."""
        self.journal[start:] = [dataclasses.replace(entry, scripted=True) for entry in self.journal[start:]]

    def _note(
        self,
        actor: UserRecord | int,
        action: Literal["create", "update", "delete", "push"],
        record: HubRecord,
        fields: tuple[str, ...] = (),
        detail: str = "",
    ) -> None:
        who = actor if isinstance(actor, int) else actor.id
        kind = type(record)
        self.journal.append(
            JournalEntry(len(self.journal) + 1, self.clock, who, action, kind.__name__, record.id, fields, detail)
        )
        self.clock += datetime.timedelta(seconds=1)
        for key in [key for key in self._indexes if key[0] is kind]:
            del self._indexes[key]

    def user(self, login: str) -> UserRecord | None:
        """Return a user by login, whose case is ignored."""
        wanted = login.casefold()
        return next((user for user in self.where(UserRecord) if user.login.casefold() == wanted), None)

    def repository(self, owner: str, name: str) -> RepositoryRecord | None:
        """Return a repository by owner and name, whose case is ignored; else the one that had the name."""
        user, wanted = self.user(owner), name.casefold()
        owned = self.where(RepositoryRecord, owner=user.id) if user else []
        renamed = [record for record in owned if wanted in (name.casefold() for name in record.former_names)]
        return next((record for record in owned if record.name.casefold() == wanted), next(iter(renamed), None))

    def full_name(self, repository: RepositoryRecord) -> str:
        """Return "owner/name"."""
        return f"{self.need(UserRecord, repository.owner).login}/{repository.name}"

    def subject(self, repository: RepositoryRecord, number: int) -> IssueRecord | PullRequestRecord | None:
        """Return the issue or pull request with a number, which both share one sequence of."""
        for kind in (IssueRecord, PullRequestRecord):
            for record in self.where(kind, repository=repository.id):
                if record.number == number:
                    return record
        return None

    def subject_by_id(self, id_: int) -> IssueRecord | PullRequestRecord | None:
        """Return the issue or pull request with an id."""
        return self.get(IssueRecord, id_) or self.get(PullRequestRecord, id_)

    def next_number(self, repository: RepositoryRecord) -> int:
        """Take the next number of a repository's issues and pull requests."""
        current = self.need(RepositoryRecord, repository.id)
        number = current.last_number + 1
        replaced = dataclasses.replace(current, last_number=number)
        self.tables[RepositoryRecord][current.id] = replaced  # a part of the write that needs the number
        for key in [key for key in self._indexes if key[0] is RepositoryRecord]:
            del self._indexes[key]
        return number

    def by_node(self, node: str) -> HubRecord | None:
        """Return the record with a global id; None if there is none."""
        id_ = id_of_node(node)
        record = next((table[id_] for table in self.tables.values() if id_ in table), None) if id_ else None
        return record if record is not None and node_id(record) == node else None

    def records(self) -> Iterator[HubRecord]:
        """Yield all records, kind by kind."""
        for table in self.tables.values():
            yield from table.values()
