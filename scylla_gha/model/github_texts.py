"""Bases of the views of GitHub's state, and the texts in them."""

from scylla_gha.model import Record


class GitHubView(Record):
    """Base of all views."""

    id: int
    sequence: int


class SectionView(Record):
    """Part of a text: its heading, the heading's level, and the visible lines below. Items begin with `- ` or `1. `."""

    heading: str
    level: int
    lines: tuple[str, ...]


class TextView(GitHubView):
    """Base of views with a text in Markdown. In conditions, `body` is what the page shows, and `source` the Markdown.

    `links` are the targets of links that have a text, and addresses that stand in the text. `references` are the
    numbers of issues and pull requests that it names (`#3`) or links to. `commits` are the first lines of the messages
    of the commits that it names or links to, by 7 digits or more. Without a heading above them, lines belong to a
    section with the heading "" and the level 0. In stored views, `body` is the Markdown.
    """

    source: str | None = None
    links: tuple[str, ...] = ()
    references: tuple[int, ...] = ()
    commits: tuple[str, ...] = ()
    sections: tuple[SectionView, ...] = ()
