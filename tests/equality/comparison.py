"""What is masked in collected texts, their form as lines, and the comparison of two folders of them."""

import contextlib
import json
import math
import re
import shutil
import subprocess
from collections.abc import Callable
from dataclasses import dataclass
from html.parser import HTMLParser
from pathlib import Path
from typing import Any, Final

_TOLERANCE: Final = 1e-12
# Numbers of these keys of JSON are times; 0 and null stay, since 0 is not unknown.
_TIMED_KEY: Final = r'"(?:(?:\w+_)?(?:seconds|minutes|milliseconds|at|time)|wallMs)": '
_INSTANT: Final = r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d(?::\d\d(?:\.\d+)?)?(?:Z|\+00:00| UTC)?"
_NUMBER: Final = r"(?:\d[\d,]*(?:\.\d+)?|\.\d+)"
_DURATION: Final = rf"(?<![\w.-]){_NUMBER}(?: (?:to|of) {_NUMBER})? ?(?:ms|s|min|h|seconds?|minutes?|hours?)(?!\w)"
_UUID: Final = r"\b[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\b"
_TIMED_FILES: Final = (
    r'"(?:[\w-]+/)?(?:transcript|traffic|judge-traffic|first-request|github|github-requests)\.(?:jsonl?|bundle)": '
    r'\{\s*"sha256": '
)
_MASKS: Final = (
    (re.compile(_INSTANT), "<instant>"),
    (re.compile(rf"({_TIMED_KEY})(?!0(?:\.0)?(?:,|$)){_NUMBER}(?:e-?\d+)?", re.MULTILINE), r"\1<duration>"),
    (re.compile(r'("(?:\w+_)?minutes": )\{[^{}]*\}'), r"\1<duration>"),
    (re.compile(_DURATION), "<duration>"),
    (re.compile(_UUID), "<uuid>"),
    (re.compile(r'(device_id\\*": *\\*")[0-9a-f]{64}'), r"\1<device>"),
    (re.compile(rf'({_TIMED_FILES})"[0-9a-f]{{64}}",(\s*)"size": \d+'), r"\1<digest>,\2<size>"),
)


def masked(text: str) -> str:
    """Replace instants, durations, ids of sessions, and digests of files that have any of these."""
    for pattern, word in _MASKS:
        text = pattern.sub(word, text)
    return text


def plain_lines(name: str, text: str, mask: Callable[[str], str]) -> str:
    """Return a file's text with a line for each value of JSON, and each tag and text of a page."""
    if name.endswith((".html", ".svg")):
        return mask(_page_lines(text))
    if name.endswith(".json"):
        return mask(_json_lines(text))
    if name.endswith(".jsonl"):
        lines = mask("".join(_json_lines(line) for line in text.split("\n") if line)).splitlines(keepends=True)
        return "".join(sorted(lines) if name.endswith("judge-traffic.jsonl") else lines)  # judges ask at once
    return mask(text)


def _json_lines(text: str) -> str:
    """Return a JSON value with a line for each part; a text that is none, such as what the oracle prints, stays."""
    try:
        return json.dumps(json.loads(text), indent=1, ensure_ascii=False) + "\n"
    except ValueError:
        return f"{text}\n"


def _page_lines(html: str) -> str:
    page = _Page()
    page.feed(html)
    page.close()
    return "\n".join(page.lines) + "\n"


class _Page(HTMLParser):
    """Lines of a page: tags with their attributes, texts without indentation, data of scripts as lines of JSON."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.lines: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        words = [tag, *(f"{name}={value!r}" for name, value in sorted(attrs, key=lambda pair: pair[0]))]
        self.lines.append(f"<{' '.join(words)}>")

    def handle_endtag(self, tag: str) -> None:
        self.lines.append(f"</{tag}>")

    def handle_data(self, data: str) -> None:
        text = data.strip()
        if text.startswith(("{", "[")):
            with contextlib.suppress(ValueError):
                text = _json_lines(text)
        self.lines += [" ".join(line.split()) for line in text.splitlines() if line.strip()]


@dataclass(frozen=True)
class Difference:
    """What differs between two folders: changed lines, and the file that holds the diff."""

    lines: int
    files: int
    diff: Path


def compare(base: Path, new: Path, diff: Path) -> Difference:
    """Compare two folders of collected files byte by byte, and write their diff."""
    argv = ["git", "-c", "core.quotePath=false", "diff", "--no-index", "--no-color", "--no-renames", "--no-ext-diff"]
    folders = (base.name, new.name) if base.parent == new.parent else (str(base), str(new))
    numbers = subprocess.run([*argv, "--numstat", *folders], cwd=base.parent, capture_output=True, check=False)
    if numbers.returncode not in {0, 1}:
        raise RuntimeError(f"git diff failed: {numbers.stderr.decode()}")
    rows = [line.split("\t") for line in numbers.stdout.decode().splitlines()]
    lines = sum(1 if row[0] == "-" else max(int(row[0]), int(row[1]), 1) for row in rows)
    with diff.open("wb") as file:
        subprocess.run([*argv, *folders], cwd=base.parent, stdout=file, check=False)
    return Difference(lines, len(rows), diff)


def align_numbers(base: Path, new: Path) -> None:
    """Write BASE's numbers into the JSON files of `new` where both differ by at most 1e-12, relative or absolute."""
    for path in new.rglob("*.json"):
        other = base / path.relative_to(new)
        if other.exists():
            aligned = _aligned(json.loads(other.read_text()), json.loads(path.read_text()))
            path.write_text(json.dumps(aligned, indent=1, ensure_ascii=False) + "\n")


def _aligned(base: Any, new: Any) -> Any:
    if isinstance(base, dict) and isinstance(new, dict):
        return {name: _aligned(base.get(name), value) for name, value in new.items()}
    if isinstance(base, list) and isinstance(new, list) and len(base) == len(new):
        return [_aligned(*pair) for pair in zip(base, new, strict=True)]
    numbers = all(isinstance(value, float | int) and not isinstance(value, bool) for value in (base, new))
    if numbers and math.isclose(base, new, rel_tol=_TOLERANCE, abs_tol=_TOLERANCE):
        return base
    return new


def empty(folder: Path) -> Path:
    """Return the folder, made anew without files."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    return folder
