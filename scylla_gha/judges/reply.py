"""A judge's reply, read strictly: one JSON object, alone or alone in a code fence; items are read one by one.

What cannot be read is missing, with the reason. Of two answers for one item none is taken.
"""

import json
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from pydantic import BaseModel, ConfigDict, JsonValue, ValidationError

from scylla_gha.judges.valued import RawItem, missing, valued
from scylla_gha.model.panel import Flag, JudgeScore
from scylla_gha.model.rubric import Item

REPLY_CHARS: Final = 100_000  # no answer is longer; what is beyond is not read
_FENCED: Final = re.compile(r"```(?:json)?[ \t]*\n(.*)\n```", re.DOTALL)
_CITED_CHARS: Final = 1_000
_UNKNOWN: Final = 20  # made-up items that are kept by name
_NOTHING: Final = {"", "none", "n/a", "na", "null", "no", "nothing"}


class _Answer(BaseModel):
    """The shape that the system prompt asks for; what else is in the object, such as a total, is ignored."""

    model_config = ConfigDict(strict=True, extra="ignore")

    items: list[JsonValue]
    steps: list[str] = []
    excess: str | None = None
    instructions_found: str | None = None


class _Named(BaseModel):
    model_config = ConfigDict(strict=True, extra="ignore")

    id: str


@dataclass(frozen=True, slots=True)
class Read:
    """What a reply holds: a score for every wanted item, if only a missing one; `fault` where it is no answer."""

    items: tuple[JudgeScore, ...]
    excess: str | None = None
    steps: tuple[str, ...] = ()
    unknown: tuple[str, ...] = ()
    flags: frozenset[Flag] = frozenset()
    fault: str | None = None


def read_reply(text: str, wanted: Sequence[Item], known: frozenset[str], steps: Sequence[str]) -> Read:
    """Read a reply for the wanted items.

    Args:
        text: what the judge said.
        wanted: the items that it was asked for this time.
        known: the ids of all items it was ever asked for; any other is made up.
        steps: the progress steps, in the order in which they were numbered.
    """
    try:
        answer = _Answer.model_validate(_object(text))
    except ValidationError as error:
        first = error.errors()[0]
        return unread(f"not the object that was asked for: {_where(first['loc'])}: {first['msg']}", wanted)
    except (ValueError, RecursionError) as error:
        return unread(str(error)[:200], wanted)
    given = [_Named.model_validate(raw).id if _is_named(raw) else "" for raw in answer.items]
    counts = Counter(given)
    by_id = dict(zip(given, answer.items, strict=True))
    unknown = tuple(name[:40] for name in counts if name and name not in known)
    names = {f"step-{number}": step for number, step in enumerate(steps, 1)}
    flags: set[Flag] = {"unknown_item"} if unknown or set(answer.steps) - set(names) else set()
    if _cited(answer.instructions_found):
        flags.add("instruction_in_data")
    return Read(
        items=tuple(_score(item, by_id.get(item.id), counts[item.id]) for item in wanted),
        excess=_cited(answer.excess),
        steps=tuple(step for name, step in names.items() if name in answer.steps),
        unknown=unknown[:_UNKNOWN],
        flags=frozenset(flags),
    )


def unread(fault: str, wanted: Sequence[Item]) -> Read:
    """A reply that is no answer: all that was wanted is missing."""
    return Read(items=tuple(missing(item.id, fault) for item in wanted), fault=fault)


def _object(text: str) -> object:
    """The one JSON value that a reply is.

    Raises:
        ValueError: it is something else.
    """
    bare = text.strip()
    found = _FENCED.fullmatch(bare)
    try:
        value = json.loads(found[1] if found else bare, object_pairs_hook=_once, parse_constant=_no_number)
    except json.JSONDecodeError:
        raise ValueError("not one JSON object and nothing else") from None
    return value


def _once(pairs: list[tuple[str, object]]) -> dict[str, object]:
    if len({key for key, _ in pairs}) < len(pairs):
        raise ValueError("a key is given twice in one object")
    return dict(pairs)


def _no_number(name: str) -> object:
    raise ValueError(f"{name} is no number")


def _is_named(raw: JsonValue) -> bool:
    return isinstance(raw, dict) and isinstance(raw.get("id"), str)


def _score(item: Item, raw: JsonValue, times: int) -> JudgeScore:
    if times != 1:
        return missing(item.id, f"answered {times} times" if times else "not answered")
    try:
        return valued(item, RawItem.model_validate(raw))
    except ValidationError as error:
        first = error.errors()[0]
        return missing(item.id, f"{_where(first['loc'])}: {first['msg']}")


def _where(place: tuple[int | str, ...]) -> str:
    return ".".join(str(part) for part in place) or "the answer"


def _cited(text: str | None) -> str | None:
    """A citation, or None for the words that models use for nothing."""
    bare = (text or "").strip()
    return None if bare.lower().rstrip(".") in _NOTHING else bare[:_CITED_CHARS]
