"""The pages of docs/ taken apart, so that tests can do what they say."""

import re
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import yaml

ROOT = Path(__file__).parents[2]
PAGES = sorted((ROOT / "docs").glob("*.md"))
_FENCE = re.compile(
    r"^(?P<margin> *)(?P<mark><!-- (?:github|run: [^\n]+) -->\n *)?```(?P<kind>\w+)\n(?P<body>.*?)^ *```$",
    re.DOTALL | re.MULTILINE,
)
_LINK = re.compile(r"\]\(([^)\s]+)\)")


def _blocks(page: Path, kind: str, *, on_github: bool = False) -> Iterator[str]:
    """Yield fenced blocks of a language.

    The marker `<!-- github -->` stands before blocks that need GitHub itself, `<!-- run: NAME -->` before those that
    tests/e2e/test_readme.py runs.
    """
    marker = "<!-- github -->" if on_github else ""
    for block in _FENCE.finditer(page.read_text(encoding="utf-8")):
        if block["kind"] == kind and (block["mark"] or "").strip() == marker:
            yield block["body"]


def commands(page: Path, *, on_github: bool = False) -> list[list[str]]:
    """The words of each line that is to be typed."""
    blocks = _blocks(page, "sh", on_github=on_github)
    lines = (line for block in blocks for line in block.splitlines() if line.strip())
    return [shlex.split(line.replace("$(gh auth token)", "TOKEN")) for line in lines]


def yaml_parts(page: Path) -> list[dict[Any, Any]]:
    """The YAML that a page shows."""
    return [yaml.safe_load(block) for block in _blocks(page, "yaml")]


def python_parts(page: Path) -> list[str]:
    """The Python that a page shows."""
    return list(_blocks(page, "python"))


def links(page: Path) -> list[str]:
    """Return where its links lead."""
    return _LINK.findall(page.read_text(encoding="utf-8"))


def anchors(page: Path) -> set[str]:
    """The names of a page's headings, as GitHub makes them."""
    return set(anchors_in_order(page))


def anchors_in_order(page: Path) -> list[str]:
    """The names of a page's headings, without those that GitHub numbers because a heading occurs twice."""
    text = re.sub(r"^ *(```|~~~).*?^ *\1$", "", page.read_text(encoding="utf-8"), flags=re.DOTALL | re.MULTILINE)
    titles = re.findall(r"^#+ (.+)$", text, re.MULTILINE)
    return [re.sub(r"[^\w\- ]", "", title).lower().replace(" ", "-") for title in titles]


def section(page: str, title: str) -> str:
    """Return the part of a page below a heading, with its parts."""
    text = (ROOT / page).read_text(encoding="utf-8")
    (level,) = re.findall(rf"^(#+) {re.escape(title)}$", text, re.MULTILINE)
    rest = text.partition(f"\n{level} {title}\n")[2]
    return re.split(rf"^#{{1,{len(level)}}} ", rest, maxsplit=1, flags=re.MULTILINE)[0]
