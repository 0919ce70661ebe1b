"""What a comment remembers of itself and of the four verdicts before, in its second line.

It is read from comments of our own author alone, and even then as what anybody may have written: by schema and size.
"""

import base64
import binascii
import re
from typing import Final

from pydantic import ValidationError

from scylla_gha.model.posting import MOST_PAST, Facts, Memory, Past
from scylla_gha.model.report import Report
from scylla_gha.render.headline import overall, title
from scylla_gha.render.text import clipped, plain

_LINE: Final = re.compile(r"<!-- scylla:data ([A-Za-z0-9+/=]{1,12000}) -->")
_MOST_SAID: Final = 300


def written(memory: Memory) -> str:
    """The line: base64, in which nothing can end an HTML comment."""
    return f"<!-- scylla:data {base64.b64encode(memory.model_dump_json().encode()).decode()} -->"


def remembered(body: str, suite: str) -> Memory | None:
    """What a comment's text remembers; None where it is nothing that this toolkit wrote of the suite."""
    found = _LINE.fullmatch(body.split("\n", 2)[1].strip()) if "\n" in body else None
    if found is None:
        return None
    try:
        memory = Memory.model_validate_json(base64.b64decode(found[1], validate=True))
    except (ValidationError, binascii.Error, ValueError):
        return None
    return memory if memory.suite == suite else None


def verdict_of(report: Report, facts: Facts) -> Past:
    """The verdict on a report, as later comments remember it."""
    return Past(verdict=overall(report), said=clipped(plain(title(report)), _MOST_SAID), head=facts.head,
                run=facts.origin.run, at=facts.at)  # fmt: skip


def following(verdict: Past, facts: Facts, before: Memory | None) -> Memory:
    """What is remembered once a verdict is shown: that, and the latest of other runs before it."""
    earlier = [one for one in (before.verdicts if before else ()) if one.run != verdict.run]
    return Memory(suite=facts.suite, attempt=facts.origin.attempt,
                  verdicts=(verdict, *earlier)[:MOST_PAST])  # fmt: skip


def is_newer(memory: Memory, facts: Facts) -> bool:
    """Whether what is shown comes from a later run, or a later attempt at the same: runs are numbered in time."""
    return (memory.shown.run, memory.attempt) > (facts.origin.run, facts.origin.attempt)
