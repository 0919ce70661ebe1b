"""Strict reader of hand-written JSON, JSONL and YAML files: a fault names its line, and each value can be located."""

import json
import math
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar, Final, NoReturn

import yaml

from scylla_gha.config import SafeYaml, require_small_yaml
from scylla_gha.lenient_json import repair_json

Json = Any
Place = tuple[str | int, ...]  # keys and indices that lead to a value
MOST_BYTES: Final = 4 * 1024 * 1024
SUFFIXES: Final = (".json", ".jsonl", ".yaml", ".yml")
_TOKEN: Final = re.compile(r'"(?:[^"\\]|\\.)*"|[{}\[\],:]|[^\s{}\[\],:"]+')
_NON_FINITE: Final = re.compile(r"-?(?:NaN|Infinity)|-?\d[\d.]*[eE]\+?\d{3,}")


class JsonFault(Exception):  # noqa: N818 a fault of a file, not of this program
    """A fault that makes a whole file unreadable."""

    def __init__(self, message: str, line: int = 1) -> None:
        super().__init__(message)
        self.message, self.line = message, line


@dataclass(frozen=True, slots=True)
class JsonSource:
    """Value and text of a file; the text gives the lines when they are needed first, those of YAML are known."""

    text: str
    value: Json
    lines: dict[Place, int] = field(default_factory=dict)

    def line(self, place: Place) -> int:
        """Return the line, from 1, of a value or of its key; for a missing value, the line of its parent."""
        if not self.lines:
            self.lines.update(_lines(self.text))
        ends = (place[:end] for end in range(len(place), 0, -1))
        return next((self.lines[end] for end in ends if end in self.lines), 1)


def address(place: Place) -> str:
    """Return a place in the usual form: `evals[0].files[1]`."""
    text = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in place)
    return text.removeprefix(".")


def read_source(path: Path) -> JsonSource:
    """Read a file of JSON, of one JSON value a line, or of YAML.

    Raises:
        JsonFault: the file is too large, is not UTF-8 or not JSON, has a non-finite number, or has a key twice.
    """
    with path.open("rb") as file:
        data = file.read(MOST_BYTES + 1)
    if len(data) > MOST_BYTES:
        raise JsonFault(f"has more than {MOST_BYTES // 1024**2} MiB, the maximum; split the file")
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise JsonFault(f"is not UTF-8 (byte {error.start}); save it as UTF-8") from None
    suffix = path.suffix.lower()
    if suffix in {".yaml", ".yml"}:
        return _yaml_source(text)
    if suffix == ".jsonl":
        lines = [f"{line}," if line.strip() else line for line in text.splitlines()]
        text = "[" + "\n".join(lines).rstrip().removesuffix(",") + "]"
    text = repair_json(text)
    return JsonSource(text, _parsed(text))


class _Loader(SafeYaml):  # type: ignore[misc]
    """Loader that reads dates as texts."""

    yaml_implicit_resolvers: ClassVar[dict[str, list[tuple[str, re.Pattern[str]]]]] = {
        first: [(tag, form) for tag, form in forms if tag != "tag:yaml.org,2002:timestamp"]
        for first, forms in SafeYaml.yaml_implicit_resolvers.items()
    }


def _yaml_source(text: str) -> JsonSource:
    lines: dict[Place, int] = {}
    try:
        require_small_yaml(text)
        loader = _Loader(text)
        node = loader.get_single_node()
        value = json.loads(json.dumps(loader.construct_document(node), allow_nan=False)) if node else None
        _add_lines(node, (), lines)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        raise JsonFault(f"is not YAML: {error.problem or error.context}", mark.line + 1 if mark else 1) from None
    except yaml.YAMLError as error:
        raise JsonFault(f"is not YAML: {error}") from None
    except (ValueError, TypeError, RecursionError):
        raise JsonFault(
            "has a value that JSON does not allow; write text, a finite number, a list or a mapping"
        ) from None
    return JsonSource(text, value, lines)


def _add_lines(node: yaml.Node | None, place: Place, lines: dict[Place, int]) -> None:
    """Add the line of each value below a node."""
    members: list[tuple[str | int, yaml.Node, yaml.Node]] = []
    if isinstance(node, yaml.MappingNode):
        members = [(str(key.value), key, value) for key, value in node.value]
    elif isinstance(node, yaml.SequenceNode):
        members = [(index, value, value) for index, value in enumerate(node.value)]
    for name, at, value in members:
        inner = (*place, name)
        if inner in lines:
            raise JsonFault(f"{address(inner)}: is there twice; remove one", at.start_mark.line + 1)
        lines[inner] = at.start_mark.line + 1
        _add_lines(value, inner, lines)


def _parsed(text: str) -> Json:
    twice: list[str] = []

    def unique(pairs: list[tuple[str, Json]]) -> dict[str, Json]:
        members = dict(pairs)
        if len(members) < len(pairs):
            twice.append("")
        return members

    try:
        value = json.loads(text, object_pairs_hook=unique, parse_constant=_refuse, parse_float=_finite)
    except json.JSONDecodeError as error:
        raise JsonFault(_syntax_message(text, error), error.lineno) from None
    except _NonFiniteError:
        raise _non_finite_fault(text) from None
    except (RecursionError, ValueError):
        raise JsonFault(
            "cannot be read: its lists are nested too deeply, or a number has too many digits; simplify it"
        ) from None
    if twice:
        raise _duplicate_fault(text)
    return value


def _syntax_message(text: str, error: json.JSONDecodeError) -> str:
    has_comma = text[: error.pos].rstrip().endswith(",") and text[error.pos : error.pos + 1] in {"}", "]"}
    hint = "; remove the comma before it" if has_comma else ""
    return f"is not JSON: column {error.colno}: {error.msg[0].lower()}{error.msg[1:]}{hint}"


class _NonFiniteError(Exception):
    """A number that JSON does not allow, such as NaN."""


def _refuse(_: str) -> NoReturn:
    raise _NonFiniteError


def _finite(written: str) -> float:
    value = float(written)
    return value if math.isfinite(value) else _refuse(written)


def _non_finite_fault(text: str) -> JsonFault:
    for token in _TOKEN.finditer(text):
        if _NON_FINITE.fullmatch(token[0]):
            line = text.count("\n", 0, token.start()) + 1
            return JsonFault(f"{token[0][:20]} is not a JSON number; write a finite number, or null", line)
    return JsonFault("has a number that JSON does not allow; write a finite number, or null")


def _duplicate_fault(text: str) -> JsonFault:
    known: set[Place] = set()
    for place, offset in _members(text):
        if place in known:
            return JsonFault(f"{address(place)}: is there twice; remove one", text.count("\n", 0, offset) + 1)
        known.add(place)
    return JsonFault("has a key twice; remove one")


def _lines(text: str) -> Iterator[tuple[Place, int]]:
    line, last = 1, 0
    for place, offset in _members(text):
        line, last = line + text.count("\n", last, offset), offset
        yield place, line


def _members(text: str) -> Iterator[tuple[Place, int]]:
    """Yield the place of each object member and list element, with its offset in the text."""
    place: list[str | int] = []
    is_object: list[bool] = []  # for each open collection
    begins = False  # True if a member or an element begins at the next token
    for token in _TOKEN.finditer(text):
        sign = token[0]
        if sign in {"}", "]"}:
            place.pop()
            is_object.pop()
            begins = False
        elif sign == ",":
            begins = True
            last = place[-1]
            place[-1] = last + 1 if isinstance(last, int) else last
        elif sign != ":":
            if begins:
                place[-1] = json.loads(sign) if is_object[-1] else place[-1]
                yield tuple(place), token.start()
            is_key = begins and is_object[-1]
            begins = sign in {"{", "["} and not is_key
            if begins:
                is_object.append(sign == "{")
                place.append("" if sign == "{" else 0)
