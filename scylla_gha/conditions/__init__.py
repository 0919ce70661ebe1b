r"""Conditions on GitHub's state: what text a page shows, patterns, and operators.

These functions read untrusted text, so they run in a separate process (`python -m scylla_gha.conditions`) with limited
time and memory. They do not use scenarios, trials or records.

Patterns have RE2's syntax; RE2 takes linear time. In addition, `\Z` is the end of the text as in Python, and `^` and
`$` match at each line.
"""

import functools
import re
from typing import Any, Final

TOO_MUCH: Final = 99  # exit code of the process if it needs more memory
CPU_SECONDS: Final = 60
MEMORY_BYTES: Final = 2 * 1024**3
TEXT_CHARS: Final = 250_000  # of a trial's Markdown that conditions read
_END: Final = re.compile(r"((?<!\\)(?:\\\\)*)\\Z")
_UNKNOWN: Final = {"(?=": "look-ahead", "(?!": "negative look-ahead", "(?<=": "look-behind", "(?<!": "look-behind"}
_WITHOUT: Final = (
    "RE2, whose time is linear in the text, has no {}; `extract` with `absent`, or `stdout_never_matches`, say "
    "what must not be there"
)


def pattern_fault(pattern: str | None) -> str | None:
    """Return why a pattern cannot be used, or None."""
    import re2

    if pattern is None:
        return None
    try:
        _compiled(pattern)
    except re2.error as error:
        missing = next((name for sign, name in _UNKNOWN.items() if sign in pattern), None)
        hint = f"; {_WITHOUT.format(missing)}" if missing else ""
        reason = error.args[0].decode(errors="replace") if isinstance(error.args[0], bytes) else str(error)
        syntax = "https://github.com/google/re2/wiki/Syntax"
        return f"{pattern!r} is not a regular expression of RE2: {reason}{hint}; write it by {syntax}"
    return None


def is_match(pattern: str, text: str) -> bool:
    """Return whether a pattern is found in a text."""
    return _compiled(pattern).search(_encodable(text)) is not None


def all_matches(pattern: str, text: str) -> list[str]:
    """Return the distinct matches of a pattern (of its group, if it has one) in a text, in their order."""
    matches = _compiled(pattern).finditer(_encodable(text))
    return list(dict.fromkeys((match[1] if match.re.groups else match[0]) or "" for match in matches))


@functools.cache
def _compiled(pattern: str) -> Any:  # noqa: ANN401 re2 has no type stubs
    import re2

    options = re2.Options()
    options.log_errors = False
    return re2.compile("(?m)" + _END.sub(r"\1\\z", pattern), options)


def _encodable(text: str) -> str:
    return text.encode(errors="replace").decode()
