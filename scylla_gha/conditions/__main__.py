"""Process that evaluates conditions: a request in JSON on standard input, the answer on standard output.

The exit code is `TOO_MUCH` if the texts need more memory than the limit.
"""

import functools
import json
import re
import resource
import sys
from collections.abc import Iterator, Mapping
from typing import Any, Final

from scylla_gha.conditions import CPU_SECONDS, MEMORY_BYTES, TEXT_CHARS, TOO_MUCH, all_matches, is_match
from scylla_gha.conditions.visible_text import PageText, page_text, plain_text
from scylla_gha.counting import counted

_SHOWN: Final = 300
_PLAIN: Final = ("title",)
_SHORT: Final = 7  # digits of the shortest name of a commit
_COMMIT: Final = re.compile(r"(?<![0-9a-zA-Z])[0-9a-f]{7,40}(?![0-9a-zA-Z])")
_NUMBER: Final = re.compile(r"(?:#|\bGH-)([0-9]{1,9})\b")
_NUMBER_IN_LINK: Final = re.compile(r"/(?:issues|pull)/([0-9]{1,9})\b")

Json = Any
Condition = Mapping[str, Any]
_TEXT_CHARS: Final = 100_000  # of a text that is shown to judges


class UnselectableError(Exception):
    """The state has no value for a selection; the message is evidence."""


class StateReader:
    """Reader of the objects that conditions select from.

    Args:
        objects: by name: `json` with a query's result, or `gone` with the reason why there is no result.
        written_by: logins of the users who wrote each object in the trial, by the object's id.
        commits: first lines of the messages of all commits, by hash.
        invisible: pattern of invisible characters.
    """

    def __init__(
        self,
        objects: Mapping[str, Json],
        written_by: Mapping[str, list[str]],
        commits: Mapping[str, str],
        invisible: str,
    ) -> None:
        self._objects, self._written_by = objects, written_by
        self._invisible = re.compile(invisible)
        self._commits: dict[str, list[tuple[str, str]]] = {}
        for sha, headline in commits.items():
            self._commits.setdefault(sha[:_SHORT], []).append((sha, headline))
        self._room = TEXT_CHARS
        self._page = functools.cache(self._read_page)
        self._shown = functools.cache(self._read)

    def verdict(self, condition: Condition) -> tuple[str | None, str]:
        """Return why a condition does not hold (None if it holds), and the selected value."""
        is_absent = condition.get("absent", False)
        try:
            value = self._selected(condition)
        except UnselectableError as error:
            is_gone = is_absent and "gone" in self._objects[condition["object"]]
            return None if is_gone else str(error), str(error)
        if is_absent:
            return f"there is {shown(value)}" if _is_there(value) else None, shown(value)
        return next(self._faults(condition, value), None), shown(value)

    def _selected(self, query: Condition) -> Json:
        import jmespath
        from jmespath.exceptions import JMESPathError

        try:
            value = jmespath.search(query["select"], self._shown(query["object"]))
        except JMESPathError as error:  # a function on null, where the agent removed a text
            raise UnselectableError(f"{query['select']}: {error}") from None
        if (pattern := query.get("extract")) is None:
            return value
        texts = value if isinstance(value, list) else [value]
        return all_matches(pattern, "\n".join(text for text in texts if isinstance(text, str)))

    def _read(self, name: str) -> Json:
        stored = self._objects[name]
        if "gone" in stored:
            raise UnselectableError(stored["gone"])
        return self._visible(stored["json"])

    def _read_page(self, markdown: str) -> PageText:
        self._room -= len(markdown)
        if self._room < 0:
            raise UnselectableError(f"the texts on GitHub have more than the {TEXT_CHARS:,} characters that are read")
        return page_text(markdown, self._invisible)

    def _visible(self, value: Json) -> Json:
        """Return an object with its texts as the page shows them."""
        if isinstance(value, list):
            return [self._visible(part) for part in value]
        if not isinstance(value, dict):
            return value
        fields = {name: self._visible(part) for name, part in value.items()}
        for name in _PLAIN:
            if isinstance(fields.get(name), str):
                fields[name] = plain_text(fields[name], self._invisible)
        return fields | self._page_fields(fields["body"]) if "body" in fields and "source" in fields else fields

    def _page_fields(self, markdown: str | None) -> dict[str, Json]:
        if markdown is None:
            return {}
        page: PageText = self._page(markdown)
        links = list(dict.fromkeys(page.links))
        return {
            "body": page.text,
            "source": markdown,
            "links": links,
            "references": _references(page.text, links),
            "commits": list(dict.fromkeys(self._named_commits("\n".join((page.text, *links))))),
            "sections": page.sections,
        }

    def _named_commits(self, text: str) -> Iterator[str]:
        for name in _COMMIT.findall(text):
            for sha, headline in self._commits.get(name[:_SHORT], ()):
                if sha.startswith(name):
                    yield headline

    def _faults(self, condition: Condition, value: Json) -> Iterator[str]:
        if condition.get("exists") and not _is_there(value):
            yield "there is none"
        yield from _value_faults(condition, value)
        if (count := condition.get("count")) is not None:
            yield from _count_faults(value, count)
        if (login := condition.get("by")) is not None:
            yield from self._writer_faults(value, login)
        if (later := condition.get("before")) is not None:
            yield from self._order_faults(value, later)

    def _writer_faults(self, value: Json, login: str) -> Iterator[str]:
        objects = _objects(value)
        if not objects:
            yield "there is none"
        for selected in objects:
            actor = selected.get("actor") if "ref" in selected else None  # a push has its own
            writers = {actor} if actor else set(self._written_by.get(str(selected["id"]), ()))
            if not writers:
                yield f"nobody wrote {shown(selected)} in the trial"
            elif writers != {login}:
                yield f"written by {', '.join(sorted(writers))}, not by {login} alone: {shown(selected)}"

    def _order_faults(self, value: Json, later: Condition) -> Iterator[str]:
        try:
            after = _objects(self._selected(later))
        except UnselectableError as error:
            yield str(error)
            return
        first = _objects(value)
        if not first or not after:
            yield "there is none" if not first else f"there is nothing after it: {later['query']} {later['select']}"
        elif max(earlier["sequence"] for earlier in first) >= min(later["sequence"] for later in after):
            yield f"is not before {shown(after[0])}"


def _references(text: str, links: list[str]) -> list[int]:
    numbers = [*_NUMBER.findall(text), *(number for link in links for number in _NUMBER_IN_LINK.findall(link))]
    return list(dict.fromkeys(int(number) for number in numbers))


def _is_there(value: Json) -> bool:
    return value is not None and value != []


def _value_faults(condition: Condition, value: Json) -> Iterator[str]:
    if "equals" in condition and value != condition["equals"]:
        yield f"is {shown(value)}, not {shown(condition['equals'])}"
    if (wanted := condition.get("set_equals")) is not None:
        yield from _set_faults(value, wanted)
    if "contains" in condition and not _contains(value, condition["contains"]):
        yield f"{shown(value)} does not contain {shown(condition['contains'])}"
    pattern = condition.get("matches")
    if pattern is not None and not (isinstance(value, str) and is_match(pattern, value)):
        yield f"{shown(value)} does not match {pattern!r}"


def _set_faults(value: Json, expected: list[Json]) -> Iterator[str]:
    elements = {_canonical(element) for element in value} if isinstance(value, list) else None
    wanted = {_canonical(element) for element in expected}
    if elements is None:
        yield f"is {shown(value)}, no list"
    elif elements != wanted:
        missing, extra = sorted(wanted - elements), sorted(elements - wanted)
        parts = [f"without {', '.join(missing)}"] if missing else []
        yield "; ".join([*parts, *([f"with {', '.join(extra)} beside"] if extra else [])])[:_SHOWN]
    elif isinstance(value, list) and len(value) != len(elements):
        yield f"has one of its elements twice: {shown(value)}"


def _contains(value: Json, part: Json) -> bool:
    if isinstance(value, str):
        return isinstance(part, str) and part in value
    return isinstance(value, list) and part in value


def _count_faults(value: Json, count: Mapping[str, int | None]) -> Iterator[str]:
    number = len(value) if isinstance(value, list) else 0
    least, most = count.get("min"), count.get("max")
    if least is not None and number < least:
        yield f"{counted(number, 'element')}, fewer than {least}"
    if most is not None and number > most:
        yield f"{counted(number, 'element')}, more than {most}: {shown(value)}"


def _objects(value: Json) -> list[dict[str, Any]]:
    """Return the selected objects that have an id, so their position in the order of writes is known."""
    elements = value if isinstance(value, list) else [value]
    return [element for element in elements if isinstance(element, dict) and "id" in element]


def _canonical(value: Json) -> str:
    return json.dumps(value, sort_keys=True, ensure_ascii=False)


def shown(value: Json) -> str:
    """Return a value as text of limited length."""
    text = _canonical(value)
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}..."


def _answer(request: dict[str, Any]) -> dict[str, Any]:
    reader = StateReader(request["objects"], request["written_by"], request["commits"], request["invisible"])
    invisible = re.compile(request["invisible"])
    pages = [page_text(text[:_TEXT_CHARS], invisible) for text in request["texts"]]
    return {
        "verdicts": [reader.verdict(condition) for condition in request["conditions"]],
        "pages": [
            {"text": page.text, "links": list(dict.fromkeys(page.links)), "hidden": page.hidden} for page in pages
        ],
    }


def _main() -> int:
    resource.setrlimit(resource.RLIMIT_CPU, (CPU_SECONDS, CPU_SECONDS + 1))
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY_BYTES, MEMORY_BYTES))
    try:
        sys.stdout.write(json.dumps(_answer(json.load(sys.stdin))))
    except (MemoryError, RecursionError):
        return TOO_MUCH
    return 0


if __name__ == "__main__":
    sys.exit(_main())
