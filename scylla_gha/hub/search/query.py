"""Queries in GitHub's search language: words, quoted phrases, qualifiers, AND, OR, NOT and parentheses.

By https://docs.github.com/en/search-github/getting-started-with-searching-on-github/understanding-the-search-syntax
and https://docs.github.com/en/issues/tracking-your-work-with-issues/using-issues/filtering-and-searching-issues-and-pull-requests.
A space is AND. Several of repo:, user: and org: side by side are alternatives, as clients expect.
"""

import re
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass
from typing import Final

from scylla_gha.hub.errors import ContractGapError, HubError

_MOST_CHARACTERS: Final = 256  # of words, as on GitHub
_LONGEST: Final = 4_000
_MOST_TOKENS: Final = 500
_DEEPEST: Final = 5  # pairs of parentheses, as on GitHub
_VALUE: Final = r'(?:"(?:\\.|[^"\\])*"|[^\s()"])+'
_TOKEN: Final = re.compile(
    rf'\s*(?:(?P<paren>[()])|(?P<minus>-)?(?P<name>[A-Za-z][\w-]*):(?P<value>{_VALUE})|(?P<word>{_VALUE}|"))'
)
_LISTS: Final = ("label", "in")  # whose values are alternatives with commas between
_PLACES: Final = ("repo", "user", "org")


@dataclass(frozen=True, slots=True)
class SearchText:
    """Word or phrase that has to be in a text."""

    text: str


@dataclass(frozen=True, slots=True)
class SearchQualifier:
    """Qualifier such as label:bug,feature, of whose values one has to fit."""

    name: str
    values: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class SearchNot:
    """Terms that must not match."""

    node: "SearchNode"


@dataclass(frozen=True, slots=True)
class SearchGroup:
    """Parts that must all match, or (`any`) of which one must."""

    nodes: tuple["SearchNode", ...]
    any: bool = False


SearchLeaf = SearchText | SearchQualifier
SearchNode = SearchText | SearchQualifier | SearchNot | SearchGroup


@dataclass(frozen=True, slots=True)
class SearchQuery:
    """Query: what has to match, the fields in which words are looked for (None: all), and the order (None: best)."""

    node: SearchNode
    fields: frozenset[str] | None = None
    sort: str | None = None

    def leaves(self) -> Iterator[SearchLeaf]:
        """Yield the words and qualifiers that are not negated."""
        yield from _leaves(self.node)

    def values(self, *names: str) -> list[str]:
        """Return the values of qualifiers that are not negated."""
        leaves = [leaf for leaf in self.leaves() if isinstance(leaf, SearchQualifier) and leaf.name in names]
        return [value for leaf in leaves for value in leaf.values]

    def matches(self, check: Callable[[SearchLeaf], bool]) -> bool:
        """Return whether something matches for which `check` answers about words and qualifiers."""
        return _matches(self.node, check)


def _leaves(node: SearchNode) -> Iterator[SearchLeaf]:
    if isinstance(node, SearchGroup):
        for part in node.nodes:
            yield from _leaves(part)
    elif not isinstance(node, SearchNot):
        yield node


def _matches(node: SearchNode, check: Callable[[SearchLeaf], bool]) -> bool:
    if isinstance(node, SearchNot):
        return not _matches(node.node, check)
    if isinstance(node, SearchGroup):
        return (any if node.any else all)(_matches(part, check) for part in node.nodes)
    return check(node)


def invalid_query(message: str) -> HubError:
    """Return the answer to a query that GitHub refuses."""
    entry = {"message": message, "resource": "Search", "field": "q", "code": "invalid"}
    return HubError(422, "Validation Failed", (entry,))


def parse_query(text: str, known: Collection[str], outside: Collection[str] = ()) -> SearchQuery:
    """Return a query.

    Args:
        text: as the client sends it.
        known: names of qualifiers; what looks like another one is a word, as on GitHub.
        outside: names of qualifiers that GitHub has and the hub has not.

    Raises:
        HubError: it is too long or nested too deep, or asks for what is outside the contract.
    """
    parser = _Parser(text, known, outside)
    node = parser.alternatives(0)
    if sum(len(leaf.text) for leaf in _leaves(node) if isinstance(leaf, SearchText)) > _MOST_CHARACTERS:
        raise invalid_query(f"The search is longer than {_MOST_CHARACTERS} characters.")
    return SearchQuery(node, frozenset(parser.fields) or None, parser.sort)


class _Parser:
    """Reader of tokens by recursive descent; `in:` and `sort:` are taken out, wherever they stand."""

    def __init__(self, text: str, known: Collection[str], outside: Collection[str]) -> None:
        self.fields: set[str] = set()
        self.sort: str | None = None
        self._known, self._outside = known, outside
        if len(text) > _LONGEST:
            raise invalid_query(f"The search is longer than {_LONGEST} characters.")
        self._tokens = list(_TOKEN.finditer(text))
        self._at = 0
        if len(self._tokens) > _MOST_TOKENS:
            raise invalid_query("The search has too many terms.")

    def alternatives(self, depth: int) -> SearchNode:
        """Read parts with OR between them, until a closing parenthesis."""
        if depth > _DEEPEST:
            raise invalid_query("The search is nested too deep.")
        groups: list[list[SearchNode]] = [[]]
        negated = False
        while (token := self._next()) is not None and token["paren"] != ")":
            if token["word"] in ("AND", "OR", "NOT"):
                negated = token["word"] == "NOT"
                groups += [[]] if token["word"] == "OR" else []
                continue
            node = self.alternatives(depth + 1) if token["paren"] else self._leaf(token)
            if node is not None:
                groups[-1].append(SearchNot(node) if negated else node)
            negated = False
        sides = [_all(group) for group in groups if group]
        return sides[0] if len(sides) == 1 else SearchGroup(tuple(sides), any=bool(sides))

    def _next(self) -> re.Match[str] | None:
        self._at += 1
        return self._tokens[self._at - 1] if self._at <= len(self._tokens) else None

    def _leaf(self, token: re.Match[str]) -> SearchNode | None:
        name = (token["name"] or "").lower()
        if name in self._outside:
            raise ContractGapError(f"Search by {name}:")
        if name not in (*self._known, "in", "sort"):
            text = _unquoted(token[0].strip())
            return SearchText(text) if text.strip() else None
        parts = _split(token["value"]) if name in _LISTS else [token["value"]]
        values = tuple(_unquoted(part) for part in parts)
        if name == "in":
            self.fields.update(value.lower() for value in values)
            return None
        if name == "sort":
            self.sort = values[0].lower()
            return None
        node = SearchQualifier(name, values)
        return SearchNot(node) if token["minus"] else node


def _split(value: str) -> list[str]:
    """Return the parts between commas that are not within quotes."""
    return re.findall(r'(?:"(?:\\.|[^"\\])*"|[^,])+', value) or [value]


def _unquoted(text: str) -> str:
    return (
        re.sub(r"\\(.)", r"\1", text[1:-1]) if len(text) > 1 and text[0] == text[-1] == '"' else text.replace('"', "")
    )


def _all(nodes: list[SearchNode]) -> SearchNode:
    """Return parts that must all match; places side by side become one alternative."""
    places = [node for node in nodes if isinstance(node, SearchQualifier) and node.name in _PLACES]
    if len(places) > 1:
        nodes = [node for node in nodes if node not in places] + [SearchGroup(tuple(places), any=True)]
    return nodes[0] if len(nodes) == 1 else SearchGroup(tuple(nodes))


def words_of(text: str) -> list[str]:
    """Return the words of a text without case and endings, so that "tests" finds "testing"."""
    return [_stem(word) for word in re.findall(r"\w+", text.casefold())]


def _stem(word: str) -> str:
    for ending in ("ing", "ed", "es", "s"):
        if word.endswith(ending) and len(word) - len(ending) > 2:  # noqa: PLR2004 a stem has three letters
            return word[: -len(ending)].rstrip("e")
    return word.rstrip("e") if len(word) > 3 else word  # noqa: PLR2004 as above


def contains_words(wanted: list[str], text: str) -> bool:
    """Return whether a text has these words, one after another."""
    words, size = words_of(text), len(wanted)
    return any(words[at : at + size] == wanted for at in range(len(words) - size + 1))
