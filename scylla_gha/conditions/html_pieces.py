"""Scanner of HTML as a browser reads it: text, and tags by name. Comments, attributes and odd markup are no text."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from html import unescape
from typing import Final, Literal

_NAME: Final = re.compile(r"/?([a-zA-Z][^\s/>]*)")
_COMMENT_END: Final = re.compile(r"--!?>")
_ATTRIBUTE: Final = re.compile(r"[\s/]*([^\s/>=]*)")
_VALUE_BEGINS: Final = re.compile(r"\s*=\s*")
_UNQUOTED: Final = re.compile(r"[^\s>]*")


@dataclass(frozen=True, slots=True)
class HtmlPiece:
    """Text, the name of a tag with its attributes, or what nobody sees."""

    kind: Literal["text", "open", "close", "comment"]
    value: str
    attributes: tuple[tuple[str, str], ...] = ()

    def attribute(self, name: str) -> str:
        """Return the value of an attribute; empty if there is none."""
        return next((value for key, value in self.attributes if key == name), "")


def html_pieces(html: str) -> Iterator[HtmlPiece]:
    """Yield the pieces of a document. What a tag or comment without its end swallows is a comment."""
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
    """Return the value of an attribute, and the position after it; without its last quote it goes on to the end."""
    quote = html[begin : begin + 1]
    if quote in {'"', "'"}:
        end = html.find(quote, begin + 1)
        return unescape(html[begin + 1 : end if end >= 0 else None]), end + 1 if end >= 0 else len(html)
    unquoted = _UNQUOTED.match(html, begin)
    assert unquoted  # noqa: S101 it may be empty
    return unescape(unquoted[0]), unquoted.end()
