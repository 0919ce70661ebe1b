r"""Visible text of Markdown: the text on GitHub's page, one line for each line, item, row or heading.

Not visible: HTML comments, attributes, targets and titles of links, reference definitions, alternative texts of images,
text that is struck through, invisible characters, text behind a mark that reverses its direction, the text of elements
that GitHub removes, mathematics with TeX commands or comments (`\phantom`), and diagrams. Visible: code, the text of a
closed `<details>`, text in elements with `hidden` or `style` (GitHub removes these attributes), and footnotes that the
text refers to.
"""

import functools
import re
import unicodedata
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from html import unescape
from typing import Any, Final, Literal

_NAME: Final = re.compile(r"/?([a-zA-Z][^\s/>]*)")
_COMMENT_END: Final = re.compile(r"--!?>")
_ATTRIBUTE: Final = re.compile(r"[\s/]*([^\s/>=]*)")
_VALUE_BEGINS: Final = re.compile(r"\s*=\s*")
_UNQUOTED: Final = re.compile(r"[^\s>]*")
_HEADINGS: Final = {f"h{level}": level for level in range(1, 7)}
_BLOCK_NAMES: Final = (
    "h1 h2 h3 h4 h5 h6 p div ul ol li pre blockquote table thead tbody tr details summary dl dt dd hr section center "
    "footer"
)
_UNSHOWN_NAMES: Final = (  # of elements whose text GitHub removes or strikes through
    "del s strike script style template title textarea iframe noembed noframes noscript xmp plaintext svg math object "
    "audio video canvas select rp head"
)
_BLOCKS: Final = frozenset(_BLOCK_NAMES.split())
_UNSHOWN: Final = frozenset(_UNSHOWN_NAMES.split())
_DRAWN: Final = frozenset({"math", "mermaid", "geojson", "topojson", "stl"})  # languages of blocks that GitHub draws
_REVERSED: Final = re.compile("[\u202d\u202e][^\u202c\n]*\u202c?")
_MATHEMATICS: Final = re.compile(r"\$\$[^$]*\$\$|\$[^$\n]*\$")
_TEX: Final = re.compile(r"[\\%]")
_STRUCK: Final = re.compile(r"(?<!~)~(?![\s~])[^~]*(?<![\s~])~(?!~)")
_LITERAL: Final = {"$": "\ue000", "~": "\ue001"}  # stand for these signs in code, until the block is complete
_ADDRESS: Final = re.compile(r"https?://[^\s<>()\"'`\[\]]+")
_FOOTNOTE: Final = re.compile(r"\[\^([^\]\s]{1,100})\]:")
_NESTING: Final = 20  # of blocks and brackets; deeper ones are not read, since hostile texts take quadratic time
_DIGITS: Final = 10  # of the number of an item
_END_OF_ADDRESS: Final = "?!.,:;*_~"


@dataclass(frozen=True, slots=True)
class HtmlPiece:
    """A text, a tag (its name and attributes), or a comment."""

    kind: Literal["text", "open", "close", "comment"]
    value: str
    attributes: tuple[tuple[str, str], ...] = ()

    def attribute(self, name: str) -> str:
        """Return the value of an attribute; empty if there is none."""
        return next((value for key, value in self.attributes if key == name), "")


def html_pieces(html: str) -> Iterator[HtmlPiece]:
    """Yield the pieces of a document. A tag or comment without an end is a comment up to the document's end."""
    position = 0
    while position < len(html):
        begin = html.find("<", position)
        if begin != position:
            end = len(html) if begin < 0 else begin
            yield HtmlPiece("text", unescape(html[position:end]))
            position = end
            continue
        piece, position = _markup(html, begin)
        yield piece


def _markup(html: str, begin: int) -> tuple[HtmlPiece, int]:
    """Return the piece that begins with `<`, and the position after it."""
    if html.startswith("<!--", begin):
        return _comment(html, begin)
    if name := _NAME.match(html, begin + 1):
        return _tag(html, begin, name)
    if html.startswith(("<!", "<?", "</"), begin):
        end = html.find(">", begin)
        return HtmlPiece("comment", html[begin:] if end < 0 else html[begin:end]), len(html) if end < 0 else end + 1
    return HtmlPiece("text", "<"), begin + 1


def _comment(html: str, begin: int) -> tuple[HtmlPiece, int]:
    inside = begin + len("<!--")
    for short in (">", "->"):
        if html.startswith(short, inside):
            return HtmlPiece("comment", ""), inside + len(short)
    end = _COMMENT_END.search(html, inside)
    return HtmlPiece("comment", html[inside : end.start() if end else None]), end.end() if end else len(html)


def _tag(html: str, begin: int, name: re.Match[str]) -> tuple[HtmlPiece, int]:
    attributes, position = [], name.end()
    while position < len(html):
        attribute = _ATTRIBUTE.match(html, position)
        assert attribute  # noqa: S101 it may be empty
        position = attribute.end()
        value = ""
        if equals := _VALUE_BEGINS.match(html, position):
            value, position = _value(html, equals.end())
        attributes.append((attribute[1].lower(), value))
        if html.startswith(">", position):
            kind: Literal["open", "close"] = "close" if html[begin + 1] == "/" else "open"
            return HtmlPiece(kind, name[1].lower(), tuple(attributes)), position + 1
    return HtmlPiece("comment", html[begin:]), len(html)


def _value(html: str, begin: int) -> tuple[str, int]:
    """Return the value of an attribute, and the position after it; without its closing quote, it ends with the text."""
    quote = html[begin : begin + 1]
    if quote in {'"', "'"}:
        end = html.find(quote, begin + 1)
        return unescape(html[begin + 1 : end if end >= 0 else None]), end + 1 if end >= 0 else len(html)
    unquoted = _UNQUOTED.match(html, begin)
    assert unquoted  # noqa: S101 it may be empty
    return unescape(unquoted[0]), unquoted.end()


@dataclass(slots=True)
class PageText:
    """Text that a page shows.

    Attributes:
        lines: pairs of the level of a heading, or 0, and the line. Items of lists begin with `- ` or their number.
        links: targets of the links with a text, and addresses in the text.
        hidden: whether the source has text that the page does not show.
    """

    lines: list[tuple[int, str]] = field(default_factory=list)
    links: list[str] = field(default_factory=list)
    hidden: bool = False

    @property
    def text(self) -> str:
        """All lines."""
        return "\n".join(line for _, line in self.lines)

    @property
    def sections(self) -> list[dict[str, Any]]:
        """The lines below each heading; those above the first one have the heading "" of level 0."""
        sections: list[dict[str, Any]] = [{"heading": "", "level": 0, "lines": []}]
        for level, line in self.lines:
            if level:
                sections.append({"heading": line, "level": level, "lines": []})
            else:
                sections[-1]["lines"].append(line)
        return sections if sections[0]["lines"] else sections[1:]


def plain_text(text: str, invisible: "re.Pattern[str]") -> str:
    """Return a text that is not Markdown, such as a title, without its invisible characters."""
    return unicodedata.normalize("NFC", invisible.sub("", _REVERSED.sub("", text)).replace("\u2800", " "))


def page_text(markdown: str, invisible: "re.Pattern[str]") -> PageText:
    """Return the text that GitHub's page shows of a Markdown text; `invisible` matches invisible characters."""
    clean = plain_text(markdown.replace("\r\n", "\n"), invisible)
    footnotes: dict[str, str] = {}
    environment: dict[str, Any] = {"footnotes": footnotes}
    page = _rendered(clean, environment)
    shown = page.text
    for label, note in footnotes.items():
        if f"[^{label}]" in shown:
            below = _rendered(note, {"footnotes": {}})
            page.lines += below.lines
            page.links += below.links
            page.hidden |= below.hidden
        else:
            page.hidden = True
    page.hidden |= bool(environment.get("references")) or len(clean) < len(markdown.replace("\r\n", "\n"))
    return page


def _rendered(markdown: str, environment: dict[str, Any]) -> PageText:
    parser = _parser()
    tokens = parser.parse(markdown, environment)
    builder = _PageBuilder(PageText())
    for token in tokens:
        words = token.info.split() if token.type == "fence" else []
        if words and words[0].lower() in _DRAWN:
            token.content, builder.page.hidden = "", True
    for piece in html_pieces(parser.renderer.render(tokens, parser.options, environment)):
        builder.add(piece)
    builder.end_block()
    return builder.page


@functools.cache
def _parser() -> Any:  # noqa: ANN401 imported late
    from markdown_it import MarkdownIt

    parser = MarkdownIt("commonmark", {"html": True, "breaks": True, "maxNesting": _NESTING})
    parser.enable(["table", "strikethrough"])
    parser.block.ruler.before("reference", "footnote", _footnote_rule, {"alt": ["paragraph", "reference"]})
    return parser


def _footnote_rule(state: Any, start: int, end: int, silent: bool) -> bool:  # noqa: ANN401 markdown-it's rule
    """Move the definition of a footnote out of the text: its first line, and all lines up to the next empty line."""
    text = _line(state, start)
    label = _FOOTNOTE.match(text)
    if label is None or state.is_code_block(start):
        return False
    if silent:
        return True
    line = start + 1
    while line < end and not state.isEmpty(line) and not _FOOTNOTE.match(_line(state, line)):
        line += 1
    rest = state.getLines(start + 1, line, state.blkIndent, False) if line > start + 1 else ""
    state.env["footnotes"].setdefault(label[1], f"{text[label.end() :]}\n{rest}")
    state.line = line
    return True


def _without_tex(formula: re.Match[str]) -> str:
    """Return a formula, or nothing if it has TeX commands or comments, by which text can be hidden."""
    return "" if _TEX.search(formula[0]) else formula[0]


def _line(state: Any, number: int) -> str:  # noqa: ANN401 markdown-it's state
    return str(state.src[state.bMarks[number] + state.tShift[number] : state.eMarks[number]])


@dataclass(slots=True)
class _PageBuilder:
    page: PageText
    hidden: Counter[str] = field(default_factory=Counter)  # open elements whose text is not shown
    parts: list[str] = field(default_factory=list)  # of the block that is read
    lists: list[int] = field(default_factory=list)  # next number of each open list; 0: without numbers
    marker: str = ""  # of the item that begins
    preformatted: int = 0
    code: int = 0
    heading: int = 0
    link: tuple[str, int] | None = None  # target, and the number of parts before it

    def add(self, piece: HtmlPiece) -> None:
        """Read the next piece."""
        if piece.kind == "text":
            self._add_text(piece.value)
        elif piece.kind == "comment":
            self.page.hidden |= bool(piece.value.strip())
        elif piece.value in _UNSHOWN:
            step = 1 if piece.kind == "open" else -1
            self.hidden[piece.value] = max(0, self.hidden[piece.value] + step)
        elif piece.value in _BLOCKS:
            self._begin_or_end(piece, is_open=piece.kind == "open")
        else:
            self._inline(piece, is_open=piece.kind == "open")

    def _add_text(self, text: str) -> None:
        if any(self.hidden.values()):
            self.page.hidden |= bool(text.strip())
            return
        if not self.preformatted:
            text = re.sub(r"\s+", " ", text)
        if self.code or self.preformatted:
            text = "".join(_LITERAL.get(sign, sign) for sign in text)
        self.parts.append(text)

    def _inline(self, piece: HtmlPiece, *, is_open: bool) -> None:
        if piece.value == "br":
            self.parts.append("\n")
        elif piece.value in {"td", "th"} and is_open and "".join(self.parts).strip():
            self.parts.append(" | ")
        elif piece.value == "code":
            self.code = max(0, self.code + (1 if is_open else -1))
        elif piece.value == "a":
            self._end_link()
            self.link = (piece.attribute("href"), len(self.parts)) if is_open else None

    def _end_link(self) -> None:
        if self.link and self.link[0] and "".join(self.parts[self.link[1] :]).strip():
            self.page.links.append(self.link[0])
        self.link = None

    def _begin_or_end(self, piece: HtmlPiece, *, is_open: bool) -> None:
        self.end_block()
        name = piece.value
        if name in _HEADINGS:
            self.heading = _HEADINGS[name] if is_open else 0
        elif name == "pre":
            self.preformatted = max(0, self.preformatted + (1 if is_open else -1))
        elif name in {"ul", "ol"} and is_open:
            start = piece.attribute("start")
            self.lists.append((int(start) if start.isdecimal() and len(start) < _DIGITS else 1) if name == "ol" else 0)
        elif name in {"ul", "ol"} and self.lists:
            self.lists.pop()
        elif name == "li":
            self.marker = self._next_marker() if is_open else ""

    def _next_marker(self) -> str:
        if not self.lists or not self.lists[-1]:
            return "- "
        self.lists[-1] += 1
        return f"{self.lists[-1] - 1}. "

    def end_block(self) -> None:
        """Add the lines of the block that was read."""
        self._end_link()
        text, self.parts = "".join(self.parts), []
        shown = text if self.preformatted else _STRUCK.sub("", _MATHEMATICS.sub(_without_tex, text))
        self.page.hidden |= shown != text
        for sign, stand_in in _LITERAL.items():
            shown = shown.replace(stand_in, sign)
        self.page.links += [address.rstrip(_END_OF_ADDRESS) for address in _ADDRESS.findall(shown)]
        lines = shown.split("\n")
        self._add_lines(line.rstrip() if self.preformatted else " ".join(line.split()) for line in lines)

    def _add_lines(self, lines: Iterable[str]) -> None:
        for line in lines:
            if line.strip():
                self.page.lines.append((self.heading, f"{self.marker}{line}"))
                self.marker = ""
