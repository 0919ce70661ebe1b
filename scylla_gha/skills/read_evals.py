"""Reader of files with evals and queries; no entry is dropped without a finding that names it."""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, Literal

from scylla_gha.counting import counted, first_of
from scylla_gha.skills import Level, SkillFinding
from scylla_gha.skills.entry_values import (
    PROMPTS,
    EntryFault,
    EntryFaults,
    SkippedEntry,
    declared_hosts,
    entry_files,
    entry_setup,
    prompt_of,
    text_of,
    undeclared_hosts,
)
from scylla_gha.skills.find import SkillFolder
from scylla_gha.skills.json_source import Json, JsonFault, JsonSource, Place, address, read_json
from scylla_gha.skills.prompt_calls import calls, slash_call
from scylla_gha.skills.read_assertions import INVERTED_KEYS, KEYS, AssertionReader, EvalAssertion
from scylla_gha.skills.read_triggers import LABELS, REJECTED, KnownSkills, TriggerLabel, listed_queries

Kind = Literal["evals", "triggers", "not evals"]
WRAPPERS: Final = ("evals", "cases", "tests", "test_cases", "evaluations", "queries", "scenarios")
MOST_ENTRIES: Final = 2_000
_IDS: Final = ("id", "eval_id", "name", "eval_name")
_TITLES: Final = ("name", "eval_name", "title", "description")
_EXPECTED: Final = ("expected_output", "expected")
_READ_KEYS: Final = frozenset(
    {*_IDS, *_TITLES, *_EXPECTED, *PROMPTS, *KEYS, *INVERTED_KEYS, *LABELS, REJECTED}
    | {"files", "setup", "pre_test_setup", "hosts", "split", "about_skill"}
)
_TRIGGER_NAME: Final = re.compile(r"trigger|^eval_queries\.json$", re.IGNORECASE)
_OUTPUT_FOLDER: Final = re.compile(r"results?|runs?|outputs?|fixtures?|files|inputs?|.*-workspace", re.IGNORECASE)


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
        place: folder of the skill's evals.
        known: names that labels may contain.
        user_only: True if no model may call the skill, so that its queries cannot be tested.
    """

    skill: SkillFolder
    declared_name: str
    place: Path
    known: KnownSkills
    user_only: bool = False

    def read(self, path: Path) -> EvalFile:
        """Read a file; its faults are findings of the result."""
        shown = self.skill.shown(path)
        folders = path.relative_to(self.place).parts[:-1]
        is_output = any(_OUTPUT_FOLDER.fullmatch(folder) for folder in folders)
        try:
            source = read_json(path)
            entries = _entries(source.value, path.name)
        except JsonFault as fault:
            if is_output:
                return EvalFile(shown, "not evals")
            broken: Kind = "triggers" if _TRIGGER_NAME.search(path.name) else "evals"
            return EvalFile(shown, broken, findings=[SkillFinding(broken, "error", shown, fault.line, fault.message)])
        kind = "not evals" if is_output else _kind(path.name, source.value, entries)
        if kind == "not evals":
            return EvalFile(shown, kind)
        return _FileReading(self, source, EvalFile(shown, kind), path.parent).run(entries)


def _entries(value: Json, name: str) -> list[tuple[Place, Json]]:
    """Return the entries of a file with their places; empty if there are none.

    Raises:
        JsonFault: the file has several lists of entries, or an object instead of a list.
    """
    if isinstance(value, list):
        return [((index,), entry) for index, entry in enumerate(value)]
    if not isinstance(value, dict):
        return []
    lists = [key for key in WRAPPERS if isinstance(value.get(key), list) and value[key]]
    if _has_prompt(value) and not any(_has_prompt(entry) for key in lists for entry in value[key]):
        return [((), value)]
    if len(lists) > 1:
        raise JsonFault(f"{' and '.join(lists)}: a file has only one list of entries; move all entries to {lists[0]}")
    for key in WRAPPERS:
        entries = value.get(key)
        if isinstance(entries, dict) and (name == "evals.json" or any(_has_prompt(each) for each in entries.values())):
            raise JsonFault(f"{key}: must be a list; write [...] with an object for each eval")
    return [((lists[0], index), entry) for index, entry in enumerate(value[lists[0]])] if lists else []


def _has_prompt(entry: Json) -> bool:
    return isinstance(entry, dict) and any(key in entry for key in PROMPTS)


def _kind(name: str, value: Json, entries: list[tuple[Place, Json]]) -> Kind:
    listed = listed_queries(value, "")
    if listed is not None or (_TRIGGER_NAME.search(name) and entries):
        return "triggers" if listed or entries else "not evals"
    objects = [entry for _, entry in entries if isinstance(entry, dict)]
    if objects and all(map(_has_label, objects)) and not any(map(_has_assertion, objects)):
        return "triggers" if any(map(_has_prompt, objects)) else "not evals"
    if name.lower() == "evals.json" and any(map(_has_assertion, objects)):
        return "evals"
    prompts = sum(map(_has_prompt, objects))  # with few prompts, it is another tool's file
    return "evals" if prompts and prompts * 2 >= len(objects) else "not evals"


def _has_label(entry: Mapping[str, Json]) -> bool:
    return any(entry.get(key) is not None for key in LABELS)


def _has_assertion(entry: Mapping[str, Json]) -> bool:
    return any(entry.get(key) for key in (*KEYS, *INVERTED_KEYS))


@dataclass(slots=True)
class _FileReading:
    """State of reading one file."""

    reader: EvalReader
    source: JsonSource
    file: EvalFile
    folder: Path
    ids: dict[str, Place] = field(default_factory=dict)
    labels: dict[str, TriggerLabel] = field(default_factory=dict)
    unread: set[str] = field(default_factory=set)
    unknown_skills: set[str] = field(default_factory=set)
    unknown_calls: dict[str, Place] = field(default_factory=dict)
    assertions: AssertionReader = field(init=False)

    def __post_init__(self) -> None:
        self.assertions = AssertionReader(self.reader.skill.name)

    def run(self, entries: list[tuple[Place, Json]]) -> EvalFile:
        listed = listed_queries(self.source.value, self.reader.skill.name)
        queries = [(query.place, query.value, query.label) for query in listed or ()]
        items = queries if listed is not None else [(place, entry, None) for place, entry in entries]
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
            label = self.reader.known.label(entry, place, is_routing=is_triggers)
            if is_triggers and label is None:
                raise EntryFault(place, 'has no label; write "should_trigger": true or false')
        at, prompt = place, ""
        with faults.kept():
            at, prompt = prompt_of(entry, place)
        if not is_triggers:
            self._eval(place, entry, prompt, label, faults)
        elif label is not None and not faults:
            self._query(at, prompt, label, str(entry.get("split") or ""))

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
        files = entry_files(entry, place, self._file_folders(), faults)
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

    def _file_folders(self) -> tuple[Path, ...]:
        """Return the folders to which paths of files may be relative."""
        place = self.reader.place
        return (self.reader.skill.folder, self.folder, place, place.parent)

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
