"""Read a Markdown page: its headings, fenced blocks, links and tables."""

import re
from dataclasses import dataclass, field
from pathlib import Path

FENCE = re.compile(r"^( *)(`{3,}|~{3,})[ \t]*(.*?)[ \t]*$")
HEADING = re.compile(r"^ {0,3}(#{1,6})[ \t]+(.*?)(?:[ \t]+#+)?[ \t]*$")
COMMENT = re.compile(r"<!--.*?(?:-->|\Z)", re.DOTALL)
CODE = re.compile(r"(`+)(?!`).*?(?<!`)\1(?!`)")
LINK = re.compile(r"!?\[(?:[^\[\]]|\[[^\]]*\])*\]\(\s*<?([^)<>\s]*)>?(?:\s+[\"'(][^)]*)?\)")
REFERENCE = re.compile(r"^ {0,3}\[[^\]]+\]:\s*<?([^>\s]+)")
FOREIGN = re.compile(r"^(?:[a-z][a-z0-9+.-]*:|//)", re.IGNORECASE)


@dataclass
class Block:
    language: str
    text: str
    line: int
    section: str


@dataclass
class Heading:
    level: int
    text: str
    line: int


@dataclass
class Page:
    headings: list[Heading] = field(default_factory=list)
    blocks: list[Block] = field(default_factory=list)
    prose: list[tuple[int, str, str]] = field(default_factory=list)  # line, section, text
    problems: list[str] = field(default_factory=list)


def read_page(path: Path) -> Page:
    page = Page()
    section = ""
    lines = _without_comments(path.read_text(encoding="utf-8")).split("\n")
    index = 0
    while index < len(lines):
        line, number = lines[index], index + 1
        index += 1
        if fence := FENCE.match(line):
            indent, mark, language = fence.groups()
            body = []
            while index < len(lines) and not _closes(lines[index], mark):
                body.append(_dedent(lines[index], len(indent)))
                index += 1
            if index == len(lines):
                page.problems.append(f"line {number}: the fence is never closed")
            index += 1
            page.blocks.append(Block(language, "\n".join(body) + "\n", number, section))
        elif heading := HEADING.match(line):
            page.headings.append(Heading(len(heading[1]), heading[2], number))
            page.prose.append((number, section, heading[2]))
            if len(heading[1]) == 2:
                section = heading[2]
        else:
            page.prose.append((number, section, line))
    return page


def _without_comments(text: str) -> str:
    return COMMENT.sub(lambda match: "\n" * match[0].count("\n"), text)


def _closes(line: str, mark: str) -> bool:
    stripped = line.strip()
    return stripped.startswith(mark) and not stripped.strip(mark[0])


def _dedent(line: str, width: int) -> str:
    return line[min(width, len(line) - len(line.lstrip(" "))) :]


def anchors(page: Page) -> set[str]:
    found: dict[str, int] = {}
    result = set()
    for heading in page.headings:
        text = re.sub(r"!?\[([^\]]*)\]\([^)]*\)", r"\1", heading.text)
        slug = re.sub(r"[^\w\- ]", "", text.strip().lower()).replace(" ", "-")
        count = found.get(slug, 0)
        found[slug] = count + 1
        result.add(f"{slug}-{count}" if count else slug)
    return result


def links(page: Page) -> list[tuple[int, str, str]]:
    """Line, section and target of each link."""
    result = []
    for number, section, text in page.prose:
        if reference := REFERENCE.match(text):
            result.append((number, section, reference[1]))
            continue
        # A link text may be code, so only the code that holds a whole link is dropped.
        plain = CODE.sub(lambda match: "" if "](" in match[0] else "x", text)
        result += [(number, section, match[1]) for match in LINK.finditer(plain)]
    return result


def resolve(root: Path, page_path: Path, target: str) -> str | None:
    """Why a link does not lead anywhere, or None."""
    if FOREIGN.match(target):
        return None
    name, _, anchor = target.partition("#")
    if name.startswith("/"):
        return "is not relative"
    goal = (page_path.parent / name).resolve() if name else page_path.resolve()
    if not goal.is_relative_to(root.resolve()):
        return "leads out of the repository"
    if not goal.exists():
        return "leads to no file"
    if anchor and (goal.suffix != ".md" or anchor not in anchors(read_page(goal))):
        return "leads to no heading"
    return None


def tables(page: Page, section: str) -> list[list[list[str]]]:
    """The tables of a section, each a list of rows of cells (the separator row left out)."""
    result: list[list[list[str]]] = []
    inside = False
    for _, place, text in page.prose:
        row = text.strip()
        if place != section or "|" not in row:
            inside = False
            continue
        cells = [cell.strip() for cell in row.strip("|").split("|")]
        if not inside:
            result.append([])
        inside = True
        if not all(re.fullmatch(r":?-+:?", cell) for cell in cells):
            result[-1].append(cells)
    return result
