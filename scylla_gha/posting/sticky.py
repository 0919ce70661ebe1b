"""The one comment that a suite has on a pull request.

It is edited in place, which notifies nobody; when the verdict is another one, it is posted anew, and the old one
becomes a pointer to it. Where a crash or two jobs at once left several, the newest counts, and the next posting mends
the others.
"""

from dataclasses import dataclass
from typing import Literal

from scylla_gha.github.answers import Comment
from scylla_gha.github.channel import Channel
from scylla_gha.github.comments import edit, marked, post
from scylla_gha.github.pulls import pull
from scylla_gha.model.posting import Facts
from scylla_gha.model.report import Report
from scylla_gha.posting.memory import following, is_newer, remembered, verdict_of, written
from scylla_gha.render.comment import comment, marker, pointer

_MOST_MENDED = 5


@dataclass(frozen=True, slots=True)
class Posted:
    """Where the comment is, and what became of it; `kept`: one of a later run is there."""

    url: str
    how: Literal["posted", "edited", "posted anew", "kept"]


def post_comment(channel: Channel, report: Report, facts: Facts, number: int, author: str) -> Posted:
    """Show a report on a pull request.

    Args:
        channel: to the repository.
        report: the report.
        facts: what it is about.
        number: of the pull request.
        author: our own login; comments of others are never touched.

    Raises:
        GitHubError: GitHub refused.
    """
    found = marked(channel, number, author, marker(facts.suite))
    current = found[-1] if found else None
    memory = remembered(current.body or "", facts.suite) if current else None
    if current and memory and is_newer(memory, facts):
        return Posted(current.html_url, "kept")
    verdict = verdict_of(report, facts)
    after = following(verdict, facts, memory)
    body = comment(report, facts, newest=pull(channel, number).head.sha, past=after.verdicts[1:], memory=written(after))
    if current and (memory is None or memory.shown.verdict == verdict.verdict):
        edited = edit(channel, current.id, body)
        if edited is not None:
            _mend(channel, facts, found[:-1], edited)
            return Posted(edited.html_url, "edited")
    made = post(channel, number, body, author)
    _mend(channel, facts, found, made)
    return Posted(made.html_url, "posted anew" if found else "posted")


def _mend(channel: Channel, facts: Facts, old: list[Comment], shown: Comment) -> None:
    """Leave one comment of the suite; a few at a time, for the sake of GitHub's limits."""
    for one in old[-_MOST_MENDED:]:
        if one.id != shown.id:
            edit(channel, one.id, pointer(facts.suite, shown.html_url))
