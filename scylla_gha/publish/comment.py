"""The single comment of a suite on a pull request, and the state that it stores in its second line.

It is edited in place, which notifies nobody; if the verdict changes, it is posted anew and the old comment becomes a
pointer to it. If a crash or two simultaneous jobs left several, the newest counts; the next post repairs the rest.
The state is read only from comments of our own login, and is still validated by schema and size.
"""

import base64
import binascii
import re
from dataclasses import dataclass
from typing import Final, Literal

from pydantic import ValidationError

from scylla_gha.github.client import GitHubRepository
from scylla_gha.github.issues import create_comment, edit_comment, find_marked
from scylla_gha.github.pulls import read_pull_request
from scylla_gha.github.responses import Comment
from scylla_gha.model.publication import MOST_PAST, CommentFacts, CommentState, PastVerdict
from scylla_gha.model.report import Report
from scylla_gha.report.comment import comment, marker, pointer
from scylla_gha.report.numbers import clipped, plain
from scylla_gha.report.summary import overall, title

_LINE: Final = re.compile(r"<!-- scylla:data ([A-Za-z0-9+/=]{1,12000}) -->")
_MOST_SAID: Final = 300


def write_state(memory: CommentState) -> str:
    """Return the state as a line of base64, in which nothing can end an HTML comment."""
    return f"<!-- scylla:data {base64.b64encode(memory.model_dump_json().encode()).decode()} -->"


def read_state(body: str, suite: str) -> CommentState | None:
    """Read the state from a comment's text; None if this toolkit did not write it for the suite."""
    found = _LINE.fullmatch(body.split("\n", 2)[1].strip()) if "\n" in body else None
    if found is None:
        return None
    try:
        memory = CommentState.model_validate_json(base64.b64decode(found[1], validate=True))
    except (ValidationError, binascii.Error, ValueError):
        return None
    return memory if memory.suite == suite else None


def verdict_of(report: Report, facts: CommentFacts) -> PastVerdict:
    """Return the verdict on a report, as later comments list it."""
    return PastVerdict(verdict=overall(report), said=clipped(plain(title(report)), _MOST_SAID), head=facts.head,
                run=facts.origin.run, at=facts.at)  # fmt: skip


def next_state(verdict: PastVerdict, facts: CommentFacts, before: CommentState | None) -> CommentState:
    """Return the state after a verdict is shown: that verdict, and the latest ones of other runs."""
    earlier = [one for one in (before.verdicts if before else ()) if one.run != verdict.run]
    return CommentState(suite=facts.suite, attempt=facts.origin.attempt,
                  verdicts=(verdict, *earlier)[:MOST_PAST])  # fmt: skip


def is_newer(memory: CommentState, facts: CommentFacts) -> bool:
    """Return whether the shown verdict is of a later run or attempt; run ids grow in time."""
    return (memory.shown.run, memory.attempt) > (facts.origin.run, facts.origin.attempt)


_MOST_MENDED = 5


@dataclass(frozen=True, slots=True)
class PostedComment:
    """URL of the comment, and what was done; `kept`: the comment of a later run stays."""

    url: str
    how: Literal["posted", "edited", "posted anew", "kept"]


def post_comment(
    channel: GitHubRepository, report: Report, facts: CommentFacts, number: int, author: str
) -> PostedComment:
    """Post a report on a pull request.

    Args:
        channel: to the repository.
        report: the report.
        facts: the run, pull request and commits.
        number: of the pull request.
        author: our own login; comments of others are never touched.

    Raises:
        GitHubError: GitHub refused.
    """
    found = find_marked(channel, number, author, marker(facts.suite))
    current = found[-1] if found else None
    memory = read_state(current.body or "", facts.suite) if current else None
    if current and memory and is_newer(memory, facts):
        return PostedComment(current.html_url, "kept")
    verdict = verdict_of(report, facts)
    after = next_state(verdict, facts, memory)
    body = comment(
        report,
        facts,
        newest=read_pull_request(channel, number).head.sha,
        past=after.verdicts[1:],
        memory=write_state(after),
    )
    if current and (memory is None or memory.shown.verdict == verdict.verdict):
        edited = edit_comment(channel, current.id, body)
        if edited is not None:
            _mend(channel, facts, found[:-1], edited)
            return PostedComment(edited.html_url, "edited")
    made = create_comment(channel, number, body, author)
    _mend(channel, facts, found, made)
    return PostedComment(made.html_url, "posted anew" if found else "posted")


def _mend(channel: GitHubRepository, facts: CommentFacts, old: list[Comment], shown: Comment) -> None:
    """Turn other comments of the suite into pointers; a few at a time, because of GitHub's rate limits."""
    for one in old[-_MOST_MENDED:]:
        if one.id != shown.id:
            edit_comment(channel, one.id, pointer(facts.suite, shown.html_url))
