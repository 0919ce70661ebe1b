"""Names, titles and prompts of tasks, from the messages of commits and the texts of issues."""

import re
import textwrap
from typing import Final

_ID_CHARS: Final = 40
# Types of conventionalcommits.org; any other word before a colon belongs to the subject
_TYPE: Final = re.compile(r"(feat|fix|docs|style|refactor|perf|test|tests|build|ci|chore)!?:\s+")
_TRAILER: Final = re.compile(r"^([A-Z][A-Za-z]+(-[A-Za-z]+)+: .*|\(?cherry picked from .*|(close[sd]?|fix(e[sd])?|"
                             r"resolve[sd]?) #[0-9]+\.?)$", re.IGNORECASE)  # fmt: skip


def short_name(name: str) -> str:
    """Shorten a slug, between words if possible."""
    cut = name[: _ID_CHARS + 1].rpartition("-")[0] if len(name) > _ID_CHARS else name
    return re.sub(r"[._-]+", "-", cut or name[:_ID_CHARS]).strip("-") or "change"


def shortened(text: str, most: int) -> str:
    """Shorten a line between words; ` ...` marks the cut."""
    return textwrap.shorten(text, most, placeholder=" ...") if " " in text else text[:most]


def title_and_prompt(message: str) -> tuple[str, str]:
    """Return title and prompt from a commit's message, without trailers and issue numbers."""
    first, _, rest = message.partition("\n")
    body = "\n".join(line for line in rest.splitlines() if not _TRAILER.match(line.strip())).strip()
    subject = re.sub(r"(?<!\s)\s*\(?#[0-9]+\)?$", "", first).strip() or "A change of this repository"
    title = _TYPE.sub("", re.sub(r"^\w+\(([^)]+)\)!?:", r"\1:", subject), count=1)
    title = title[0].upper() + title[1:]
    return title, f"{title}\n{f'{chr(10)}{body}{chr(10)}' if body else ''}"
