"""Reader of the assertions of an eval, in all the usual forms."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final, Literal

from scylla_gha.conditions import pattern_fault
from scylla_gha.counting import counted
from scylla_gha.skills.entry_values import EntryFault, EntryFaults
from scylla_gha.skills.json_source import Json, Place

KEYS: Final = (
    *(
        "assertions",
        "expectations",
        "checks",
        "criteria",
        "expects",
        "expect",
        "expected_behavior",
        "expected_behaviors",
    ),
    *("success_criteria", "evaluation_criteria", "deterministic_assertions", "must_have", "rubric"),
)
INVERTED_KEYS: Final = ("must_not_have", "fail", "forbidden_behaviors", "forbidden_claims", "avoid")
MOST: Final = 200  # assertions per entry
_TEXT_KEYS: Final = ("text", "check", "description", "criterion", "value", "name", "pass_if")
_READ_KEYS: Final = frozenset(
    {*_TEXT_KEYS, "id", "type", "pattern", "patterns", "cmd", "expect_exit", "expect_substring"}
    | {"about_skill", "retired"}
)
_REGEX_KEYS: Final = frozenset({"must_have", "must_not_have"})
_REGEX_SIGNS: Final = re.compile(r"\\[bBdDsSwW.()\[\]]|\.[*+?]|\(\?|\[[^\]\s]+\]|^\^|\$$|[^\s|]\|[^\s|]")
_LONGEST_SIGN: Final = 1_000  # characters of a text in which signs are searched; the search takes quadratic time
_ABOUT: Final = re.compile(
    r"SKILL\.md|(?<![\w/])(?:references?|scripts?|assets?)/\w|\b(?:the|this) skill\b|\bskill(?:'s)? (?:is|was|file)\b",
    re.IGNORECASE,
)
_UNFILLED: Final = re.compile(r"(?<![$\w{])\{[a-z][a-z0-9]*(?:_[a-z0-9]+)+\}|\{\{\s*[\w.-]+\s*\}\}", re.IGNORECASE)
_WITHHELD: Final = re.compile(r"(?:^|[\s'\"=])(?:\./)?evals/")
_FORMS: Final[tuple[tuple[str, "Form"], ...]] = (
    ("not_contains", "not_contains"),
    ("contains", "contains"),
    ("matches", "matches"),
    ("regex", "matches"),
)
Form = Literal["contains", "not_contains", "matches", "command"]


@dataclass(frozen=True, slots=True)
class CodeCheck:
    """An assertion that code decides: patterns that the answer must (not) match, or a command's expected exit code."""

    form: Form
    patterns: tuple[str, ...] = ()
    command: tuple[str, ...] = ()
    exit_code: int = 0
    substring: str = ""


@dataclass(frozen=True, slots=True)
class EvalAssertion:
    """One assertion about the result of an eval.

    Attributes:
        is_inverted: True if the text must not hold.
        code: check that decides the assertion; None: judges decide it.
        about_skill: True if the text is about the skill itself, so an agent without the skill cannot meet it.
    """

    text: str
    id: str = ""
    name: str = ""
    is_inverted: bool = False
    code: CodeCheck | None = None
    about_skill: bool = False


@dataclass(slots=True)
class AssertionReader:
    """Reader of the assertions of one file.

    Attributes:
        unread: keys of assertions that are not read.
        unusable: places of commands that can never hold, with the reason.
    """

    skill_name: str
    unread: set[str] = field(default_factory=set)
    unusable: dict[Place, str] = field(default_factory=dict)
    retired: int = 0

    def read(self, entry: Mapping[str, Json], place: Place, faults: EntryFaults) -> tuple[EvalAssertion, ...]:
        """Read all assertions of an entry; `faults` collects the faults of unreadable ones.

        Raises:
            EntryFault: the entry has too many assertions.
        """
        values = [
            (key, at, name, value)
            for key in (*KEYS, *INVERTED_KEYS)
            if entry.get(key) is not None
            for at, name, value in _listed(entry[key], (*place, key))
        ]
        if len(values) > MOST:
            raise EntryFault(place, f"has {counted(len(values), 'assertion')}; the maximum is {MOST}")
        active = [item for item in values if not (isinstance(item[3], dict) and item[3].get("retired") is True)]
        self.retired += len(values) - len(active)
        assertions: list[EvalAssertion] = []
        for item in active:
            with faults.kept():
                assertions.append(self._assertion(*item))
        return tuple(assertions)

    def _assertion(self, key: str, place: Place, name: str, value: Json) -> EvalAssertion:
        is_inverted = key in INVERTED_KEYS
        if isinstance(value, str) and value.strip():
            code = None
            if key in _REGEX_KEYS and _is_pattern(value):
                code = CodeCheck("not_contains" if is_inverted else "contains", (value,))
            return EvalAssertion(value, "", name, is_inverted, code, self._is_about_skill(value))
        if not isinstance(value, dict):
            raise EntryFault(place, 'has no text; write a sentence that holds or not, or {"text": "..."}')
        self.unread |= value.keys() - _READ_KEYS
        text = next((value[key] for key in _TEXT_KEYS if isinstance(value.get(key), str) and value[key].strip()), "")
        code = _code_check(value, place)
        if code and (reason := _why_never(code.command)):
            if not text:
                raise EntryFault((*place, "cmd"), f"{reason}; write a command that runs in the agent's workspace")
            self.unusable[*place, "cmd"] = reason
            code = None
        if not text and code is None:
            raise EntryFault(place, 'has no text; write "text": "a sentence that holds or not"')
        about = value.get("about_skill")
        return EvalAssertion(
            text or " ".join(code.command or code.patterns if code else ()),
            str(value.get("id", "")),
            str(value.get("name") or name),
            is_inverted,
            code,
            about if isinstance(about, bool) else self._is_about_skill(text),
        )

    def _is_about_skill(self, text: str) -> bool:
        names = re.escape(self.skill_name)
        return bool(_ABOUT.search(text) or re.search(rf"(?<!\w)[/$]?{names} skill\b|(?<![\w/])[/$]{names}\b", text))


def _listed(value: Json, place: Place) -> Iterator[tuple[Place, str, Json]]:
    """Yield the elements of a list, the values of an object with their names, or a single text."""
    if isinstance(value, list):
        yield from (((*place, index), "", element) for index, element in enumerate(value))
    elif isinstance(value, dict) and not any(isinstance(value.get(key), str) for key in ("text", "cmd")):
        for name, element in value.items():
            if isinstance(element, list):
                yield from (((*place, name, index), name, part) for index, part in enumerate(element))
            else:
                yield (*place, name), name, element
    else:
        yield place, "", value


def _is_pattern(text: str) -> bool:
    """Return True if a text is probably a regular expression, not a sentence."""
    return bool(_REGEX_SIGNS.search(text[:_LONGEST_SIGN]) or not re.search(r"\s", text)) and pattern_fault(text) is None


def _code_check(value: Mapping[str, Json], place: Place) -> CodeCheck | None:
    if value.get("cmd") is not None:
        return _command_check(value, place)
    form = _form(value.get("type"))
    key = next((key for key in ("pattern", "patterns") if value.get(key) is not None), None)
    if form is None or key is None:
        return None
    patterns = value[key] if isinstance(value[key], list) else [value[key]]
    for index, pattern in enumerate(patterns):
        at = (*place, key, index) if isinstance(value[key], list) else (*place, key)
        if not isinstance(pattern, str):
            raise EntryFault(at, "must be text")
        if fault := pattern_fault(pattern):
            reason = fault.removeprefix(f"{pattern!r} is not a regular expression of RE2: ")
            raise EntryFault(at, f"is no regular expression: {pattern[:100]!r}: {reason}")
    return CodeCheck(form, tuple(patterns))


def _form(kind: Json) -> Form | None:
    text = kind.lower().replace("-", "_") if isinstance(kind, str) else ""
    return next((form for end, form in _FORMS if text.endswith(end)), None)


def _why_never(command: tuple[str, ...]) -> str:
    """Return why a command cannot run in the workspace of a trial; empty if it may."""
    text = " ".join(command)
    if placeholder := _UNFILLED.search(text):
        return f"the command contains {placeholder[0]}, which nothing fills"
    return "the command needs evals/, which no trial has" if _WITHHELD.search(text) else ""


def _command_check(value: Mapping[str, Json], place: Place) -> CodeCheck:
    command = value["cmd"]
    words = ["sh", "-c", command] if isinstance(command, str) else command
    if not (isinstance(words, list) and words and all(isinstance(word, str) for word in words)):
        raise EntryFault((*place, "cmd"), 'must be a command, such as ["sh", "-c", "test -s totals.txt"]')
    code, text = value.get("expect_exit", 0), value.get("expect_substring") or ""
    if isinstance(code, bool) or not isinstance(code, int):
        raise EntryFault((*place, "expect_exit"), "must be a whole number")
    if not isinstance(text, str):
        raise EntryFault((*place, "expect_substring"), "must be text")
    return CodeCheck("command", command=tuple(words), exit_code=code, substring=text)
