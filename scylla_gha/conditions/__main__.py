"""Process that evaluates conditions: a request in JSON on standard input, the answer on standard output.

The exit code is `TOO_MUCH` if the texts need more memory than the limit.
"""

import json
import re
import resource
import sys
from typing import Any, Final

from scylla_gha.conditions import CPU_SECONDS, MEMORY_BYTES, TOO_MUCH
from scylla_gha.conditions.evaluate import StateReader
from scylla_gha.conditions.visible_text import page_text

_TEXT_CHARS: Final = 100_000  # of a text that is shown to judges


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
