"""Reader of files with evals and queries; no entry is dropped without a finding that names it."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Final

from scylla_gha.counting import counted, first_of
from scylla_gha.skills import Level, SkillFinding
from scylla_gha.skills.entry_lists import TRIGGER_NAME, Entry, Kind, entries_of, kind_of, prompt_lists
from scylla_gha.skills.entry_values import (
    PROMPTS,
    EntryFault,
    EntryFaults,
    SkippedEntry,
    declared_hosts,
    entry_files,
    entry_setup,
    has_skill_file,
    prompt_of,
    text_of,
    undeclared_hosts,
)
from scylla_gha.skills.eval_paths import EvalPath, is_output
from scylla_gha.skills.find import SkillFolder
from scylla_gha.skills.json_source import Json, JsonFault, JsonSource, Place, address, read_source
from scylla_gha.skills.prompt_calls import calls, slash_call
from scylla_gha.skills.read_assertions import INVERTED_KEYS, KEYS, AssertionReader, EvalAssertion
from scylla_gha.skills.read_triggers import (
    LABELS,
    OWNERS,
    REJECTED,
    KnownSkills,
    TriggerLabel,
    listed_queries,
    owners_of,
)

MOST_ENTRIES: Final = 2_000
_IDS: Final = ("id", "eval_id", "name", "eval_name")
_TITLES: Final = ("name", "eval_name", "title", "description")
_EXPECTED: Final = ("expected_output", "expected")
_READ_KEYS: Final = frozenset(
    {*_IDS, *_TITLES, *_EXPECTED, *PROMPTS, *KEYS, *INVERTED_KEYS, *LABELS, REJECTED, *OWNERS}
    | {"files", "setup", "pre_test_setup", "hosts", "split", "about_skill"}
)


@dataclass(frozen=True, slots=True)
class SkillEval:
    """A prompt with assertions.

    Attributes:
        id: id of the eval, unique in its file.
        expected: expected result in words, for judges.
        files: paths of files for the agent, or names with their content.
        setup: commands that run before the agent.
        label: skills that should trigger; None: unknown.
        by_name: True if the prompt calls the skill by its name.
        hosts: hosts that the prompt names and nothing declares.
        declared_hosts: that the agent may reach.
    """

    id: str
    title: str
    prompt: str
    expected: str
    assertions: tuple[EvalAssertion, ...]
    files: dict[str, str | None]
    setup: tuple[str, ...]
    label: TriggerLabel | None
    by_name: bool
    hosts: tuple[str, ...]
    declared_hosts: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class TriggerQuery:
    """A query with its label; `split` is `train`, `validation`, or empty if the file has none."""

    query: str
    label: TriggerLabel
    split: str = ""


@dataclass(slots=True)
class EvalFile:
    """Content of a file; `read`, `skipped` and `in_error` count its entries."""

    path: str
    kind: Kind
    entries: int = 0
    read: int = 0
    skipped: int = 0
    in_error: int = 0
    evals: list[SkillEval] = field(default_factory=list)
    queries: list[TriggerQuery] = field(default_factory=list)
    findings: list[SkillFinding] = field(default_factory=list)

    @property
    def is_unreadable(self) -> bool:
        """True if an error of the whole file hides its entries."""
        return not self.entries and any(finding.level == "error" for finding in self.findings)


@dataclass(frozen=True, slots=True)
class EvalReader:
    """Reader of the files of one skill.

    Attributes:
        skill: the skill.
        declared_name: name of the skill in SKILL.md.
        known: names that labels may contain.
        user_only: True if no model may call the skill, so that its queries cannot be tested.
    """

    skill: SkillFolder
    declared_name: str
    known: KnownSkills
    user_only: bool = False

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the skill in files of evals."""
        return self.skill.names(self.declared_name)

    def read(self, found: EvalPath) -> EvalFile:
        """Read a file; its faults are findings of the result."""
        path, shown = found.path, self.skill.shown(found.path)
        try:
            source = read_source(path)
            entries = entries_of(source.value, path.name)
        except JsonFault as fault:
            return self._unreadable(found, fault)
        kind: Kind = "not evals"
        if not is_output(path, found.place):
            kind = kind_of(path.name, source.value, entries, self.known.all)
        if kind != "not evals":
            return _FileReading(self, source, EvalFile(shown, kind), found).run(entries)
        places = [address(place) for place in prompt_lists(source.value)] if not is_output(path, found.place) else []
        message = (
            f"is not read: its prompts are in {first_of(places, 3)}; write them in one list with the name `evals`, or "
            "`queries` with labels"
        )
        return EvalFile(shown, kind, findings=[SkillFinding("evals", "note", shown, 1, message)] if places else [])

    def _unreadable(self, found: EvalPath, fault: JsonFault) -> EvalFile:
        shown, name = self.skill.shown(found.path), found.path.name
        if is_output(found.path, found.place):
            return EvalFile(shown, "not evals")
        kind: Kind = "triggers" if TRIGGER_NAME.search(name) else "evals"
        if name.lower().endswith(".json"):
            return EvalFile(shown, kind, findings=[SkillFinding(kind, "error", shown, fault.line, fault.message)])
        # a file of another tool, in a language with more forms
        finding = SkillFinding(kind, "warning", shown, fault.line, f"is not read: {fault.message}")
        return EvalFile(shown, "not evals", findings=[finding])


_Item = tuple[Place, Json, TriggerLabel | None]  # an entry with the label that its list gives it


@dataclass(slots=True)
class _FileReading:
    """State of reading one file."""

    reader: EvalReader
    source: JsonSource
    file: EvalFile
    found: EvalPath
    ids: dict[str, Place] = field(default_factory=dict)
    labels: dict[str, TriggerLabel] = field(default_factory=dict)
    unread: set[str] = field(default_factory=set)
    unknown_skills: set[str] = field(default_factory=set)
    unknown_calls: dict[str, Place] = field(default_factory=dict)
    assertions: AssertionReader = field(init=False)

    def __post_init__(self) -> None:
        self.assertions = AssertionReader(self.reader.skill.name)

    def run(self, entries: list[Entry]) -> EvalFile:
        items: list[_Item] = [(place, entry, None) for place, entry in entries]
        listed = listed_queries(self.source.value, self.reader.skill.name)
        if listed is not None:
            items = [(query.place, query.value, query.label) for query in listed]
        items = self._own_items(items)
        self.file.entries = len(items)
        if len(items) > MOST_ENTRIES:
            self.file.in_error = len(items)
            message = f"has {counted(len(items), 'entry', 'entries')}; the maximum is {MOST_ENTRIES:,}; split the file"
            self._add("error", (), message)
            return self.file
        for place, entry, label in items:
            self._count(place, entry, label)
        self._name_what_is_not_read()
        return self.file

    def _own_items(self, items: list[_Item]) -> list[_Item]:
        """Return the items without evals of other skills that are here, and without other skills' lists of queries."""
        own = [item for item in items if not self._is_of_others(*item[1:])]
        if len(own) < len(items):
            count = counted(len(items) - len(own), "other entry is", "other entries are")
            self._add("note", (), f"{count} for other skills")
        return own

    def _is_of_others(self, entry: Json, label: TriggerLabel | None) -> bool:
        if label is not None:
            named = {*label.expected, *label.rejected} if self.found.is_named else set()
        else:
            named = owners_of(entry) & self.reader.known.all if self.file.kind == "evals" else set()
        return bool(named) and named.isdisjoint(self.reader.names)

    def _count(self, place: Place, entry: Json, label: TriggerLabel | None) -> None:
        faults = EntryFaults()
        try:
            with faults.kept():
                if label is None:
                    self._entry(place, entry, faults)
                else:
                    self._listed(place, entry, label)
        except SkippedEntry as skipped:
            self.file.skipped += 1
            self._add(skipped.level, place, f"{address(place) or 'the entry'}: skipped: {skipped.reason}")
        else:
            self.file.in_error += bool(faults)
            self.file.read += not faults
        for fault in faults:
            where = address(fault.place) or "the entry"
            of_eval = _of_eval(entry) if self.file.kind == "evals" else ""
            self._add("error", fault.place, f"{where}: {fault.message}{of_eval}")

    def _add(self, level: Level, place: Place, message: str) -> None:
        rule = "triggers" if self.file.kind == "triggers" else "evals"
        self.file.findings.append(SkillFinding(rule, level, self.file.path, self.source.line(place), message))

    def _name_what_is_not_read(self) -> None:
        unread = sorted(self.unread | self.assertions.unread)
        if unread:
            self._add(
                "note", (), f"unknown keys, which are ignored: {', '.join(unread[:20])}{', ...' if unread[20:] else ''}"
            )
        if unusable := self.assertions.unusable:
            at, reason = next(iter(unusable.items()))
            more = f" and {counted(len(unusable) - 1, 'other')}" if unusable.keys() - {at} else ""
            self._add("warning", at, f"{address(at)}{more}: {reason}, so judges decide the text instead")
        if self.assertions.retired:
            self._add("note", (), f"{counted(self.assertions.retired, 'assertion is', 'assertions are')} retired")
        if self.unknown_calls:
            first, *others = self.unknown_calls
            more = f" and {counted(len(others), 'other')}" if others else ""
            place = self.unknown_calls[first]
            message = f"{address(place)}: calls {first}{more}, but no skill or command here has this name"
            self._add("warning", place, message)
        if self.unknown_skills:
            names = ", ".join(sorted(self.unknown_skills)[:20])
            self._add("note", (), f"names unknown skills: {names}")

    def _listed(self, place: Place, value: Json, label: TriggerLabel) -> None:
        at, prompt = prompt_of(value if isinstance(value, dict) else {"query": value}, place)
        self._query(at if isinstance(value, dict) else place, prompt, label)

    def _entry(self, place: Place, entry: Json, faults: EntryFaults) -> None:
        if not isinstance(entry, dict):
            raise EntryFault(place, 'must be an object with a prompt: {"prompt": "...", "expectations": ["..."]}')
        self.unread |= entry.keys() - _READ_KEYS
        is_triggers = self.file.kind == "triggers"
        label: TriggerLabel | None = None
        with faults.kept():
            label = self._known(entry).label(entry, place, is_routing=is_triggers)
            if is_triggers and label is None:
                raise EntryFault(place, 'has no label; write "should_trigger": true or false')
        at, prompt = place, ""
        with faults.kept():
            at, prompt = prompt_of(entry, place)
        if not is_triggers:
            self._eval(place, entry, prompt, label, faults)
        elif label is not None and not faults:
            self._query(at, prompt, label, str(entry.get("split") or ""))

    def _known(self, entry: Mapping[str, Json]) -> KnownSkills:
        """Return the names that a label may have; in a file of several skills, a flag alone names none."""
        known = self.reader.known
        is_own = not self.found.is_named or not owners_of(entry).isdisjoint(self.reader.names)
        return known if is_own else replace(known, own="", names=known.all)

    def _query(self, place: Place, prompt: str, label: TriggerLabel, split: str = "") -> None:
        """Add a query of a file of triggers, unless it was added already."""
        self.unknown_skills |= set(self.reader.known.unknown(label))
        known = self.labels.setdefault(prompt.strip(), label)
        if known != label:
            raise EntryFault(place, "is there with both labels; remove one")
        if known is not label:
            raise SkippedEntry("occurs twice with the same label; it is used once", "warning")
        if self.reader.user_only:
            raise SkippedEntry("the model cannot invoke the skill (disable-model-invocation)")
        self.file.queries.append(TriggerQuery(prompt, label, split))

    def _eval(
        self, place: Place, entry: Mapping[str, Json], prompt: str, label: TriggerLabel | None, faults: EntryFaults
    ) -> None:
        """Add an eval, unless it has a fault."""
        expected_key = next((key for key in _EXPECTED if entry.get(key) not in (None, "")), "")
        expected = text_of(entry[expected_key]) if expected_key else ""
        assertions: tuple[EvalAssertion, ...] = ()
        identity = ""
        setup: tuple[str, ...] = ()
        with faults.kept():
            identity = self._id(entry, place)
        with faults.kept():
            assertions = self.assertions.read(entry, place, faults)
        files = self._files(entry, place, faults)
        with faults.kept():
            setup = entry_setup(entry, place)
        if faults:
            return
        if not assertions and expected:
            assertions = (EvalAssertion(expected, name=expected_key),)
        if not assertions:
            self._add("warning", place, f'{address(place)}: has no assertions; write "expectations": ["..."]')
        hosts = undeclared_hosts(entry, prompt, self._file_value("hosts"))
        if hosts:
            self._add("warning", place, f"{address(place)}: {_network_message(hosts)}")
        allowed = declared_hosts(entry, self._file_value("hosts"))
        title = next((entry[key] for key in _TITLES if isinstance(entry.get(key), str)), "")
        by_name = self._is_by_name(prompt, place)
        self.file.evals.append(
            SkillEval(identity, title, prompt, expected, assertions, files, setup, label, by_name, hosts, allowed)
        )
        if label is not None and not by_name and not self.reader.user_only:
            self.unknown_skills |= set(self.reader.known.unknown(label))
            self.file.queries.append(TriggerQuery(prompt, label))

    def _files(self, entry: Mapping[str, Json], place: Place, faults: EntryFaults) -> dict[str, str | None]:
        """Return the files of an entry without the skill itself, which trials without it would get."""
        found, skill = self.found, self.reader.skill
        folders = (skill.folder, found.path.parent, found.place, found.place.parent, *skill.above)
        files = entry_files(entry, place, folders, faults)
        own = [name for name, text in files.items() if text is None and has_skill_file(Path(name), skill.file)]
        for name in own:
            shown = skill.shown(Path(name))
            message = f"{address((*place, 'files'))}: {shown} is left out, since trials without the skill would get it"
            self._add("warning", (*place, "files"), message)
        return {name: text for name, text in files.items() if name not in own}

    def _file_value(self, key: str) -> Json:
        return self.source.value.get(key) if isinstance(self.source.value, dict) else None

    def _id(self, entry: Mapping[str, Json], place: Place) -> str:
        """Return the id of an entry, or its place in the file."""
        key = next((key for key in _IDS if entry.get(key) not in (None, "")), "")
        value = entry.get(key) if key else f"#{place[-1] if place else 0}"
        if isinstance(value, bool) or not isinstance(value, str | int):
            raise EntryFault((*place, key), "must be a whole number or text")
        first = self.ids.setdefault(str(value), place)
        if first != place:
            raise EntryFault(
                (*place, key), f"{str(value)[:60]!r} is also the id of {address(first)}; change one of them"
            )
        return str(value)

    def _is_by_name(self, prompt: str, place: Place) -> bool:
        """Return True if a prompt calls a skill by its name."""
        names = (*self.reader.skill.invoked_as, *self.reader.known.names)
        if called := slash_call(prompt):
            if called not in names:
                self.unknown_calls.setdefault(f"/{called}", place)
            return True
        own = {self.reader.skill.name, self.reader.declared_name} - {""}
        return any(calls(prompt, name) for name in own)


def _of_eval(entry: Json) -> str:
    """Return which eval an entry is by its id, for the end of a message; empty without an id."""
    values = (entry.get(key) for key in _IDS) if isinstance(entry, dict) else ()
    id_ = next((value for value in values if value not in (None, "")), None)
    return f" (eval {str(id_)[:60]})" if isinstance(id_, str | int) else ""


def _network_message(hosts: Sequence[str]) -> str:
    return (
        f"the prompt names {first_of(hosts, 3)}, so it is not run until the file says whether it needs the network: "
        f'write "hosts": {json.dumps(hosts[:3])}, or "hosts": [] if it needs none'
    )
