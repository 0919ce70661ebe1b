"""Prompts of questions, and what items of questions have in common."""

import hashlib
import json
from collections.abc import Mapping, Sequence
from typing import Final

from scylla_gha.readiness.source_code import Function

_INTRODUCTION: Final = """\
You are in the root folder of a code base. Answer {what} and write the answers to the file `ANSWER.json` in this folder.

You can read and search the files, and write `ANSWER.json`. Commands and tests cannot be run. Change no other file. Only
`ANSWER.json` is read afterwards; your reply is not."""
_MOST_CHARACTERS: Final = 200
_FORM: Final = """\
## The form of ANSWER.json

One JSON object, such as this one, whose functions and tests do not exist:

```json
{example}
```

{notes}
An empty list means that you have no answer."""
PLACE_FORM: Final = (
    "A function is written as `path::name`: its file relative to the root folder, and its name; a method as "
    "`path::Class.method`, a function within another one as `path::outer.inner`."
)
TEST_FORM: Final = "A test is written exactly as it is listed above."
PLACE_EXAMPLES: Final = ("shop/basket.py::Basket.add", "shop/prices.py::round_up", "shop/stock.py::reserve")


def prompt_of(sections: Sequence[str], example: Mapping[str, Sequence[object]], notes: Sequence[str]) -> str:
    """Return the whole text for an agent: introduction, questions, form of the answers.

    Args:
        sections: title and text of each question.
        example: answers of the right form, which are wrong.
        notes: how functions and tests are written.
    """
    what = "the question below about it" if len(sections) == 1 else f"the {len(sections)} questions below about it"
    numbered = [f"## {number}. {text}" for number, text in enumerate(sections, 1)] if len(sections) > 1 else [
        f"## {text}" for text in sections
    ]  # fmt: skip
    lines = ",\n".join(
        f'  "{field}": {json.dumps(list(texts), ensure_ascii=False)}' for field, texts in example.items()
    )
    form = _FORM.format(example=f"{{\n{lines}\n}}", notes="\n".join(notes))
    return "\n\n".join((_INTRODUCTION.format(what=what), *numbered, form)) + "\n"


def can_be_listed(name: str) -> bool:
    """Return True if a test or a file can be shown in a list, and an answer can repeat it."""
    return len(name) <= _MOST_CHARACTERS and name.isprintable() and "`" not in name and name == name.strip()


def quoted(text: str) -> str:
    """Return a text as a quotation, whatever it says."""
    return "\n".join(f"> {line}" for line in text.splitlines())


def fenced_diff(path: str, line: int, before: str, after: str) -> str:
    """Return changed lines of a file as a diff, between fences that the lines do not hold."""
    removed = [f"-{text}" for text in before.splitlines()]
    added = [f"+{text}" for text in after.splitlines()]
    fence = "`" * 3
    while any(fence in text for text in (*removed, *added)):
        fence += "`"
    head = (f"--- {path}", f"+++ {path}", f"@@ -{line},{len(removed)} +{line},{len(added)} @@")
    return "\n".join((f"{fence}diff", *head, *removed, *added, fence))


def item_id(kind: str, anchor: Function, seed: int) -> str:
    """Return an item's id, which does not name its anchor: the name may be the answer."""
    digest = hashlib.sha256(f"{seed}\0{kind}\0{anchor.id}".encode()).hexdigest()
    return f"{int(digest[:8], 16) % 1000:03d}-{kind}-{digest[8:16]}"
