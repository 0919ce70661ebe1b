"""The single comment of a suite on a pull request, and the state that it stores in its second line.

It is edited in place, which notifies nobody; if the verdict changes, it is posted anew and the old comment becomes a
pointer to it. If a crash or two simultaneous jobs left several, the newest counts; the next post repairs the rest.
The state is read only from comments of our own login, and is still validated by schema and size.
"""

import base64
import binascii
import re
from dataclasses import dataclass
from typing import Final, Literal, TypeVar

from pydantic import ValidationError

from scylla_gha.github.client import GitHubRepository
from scylla_gha.github.issues import create_comment, edit_comment, find_marked
from scylla_gha.github.pulls import read_pull_request
from scylla_gha.github.responses import Comment
from scylla_gha.model.printable_text import one_line
from scylla_gha.model.publication import MOST_PAST, CommentFacts, CommentState, PastVerdict, RegressionState
from scylla_gha.model.report import Report
from scylla_gha.report.comment import comment, marker, pointer
from scylla_gha.report.numbers import clipped
from scylla_gha.report.summary import overall, title

_MOST_STATE: Final = 12_000  # characters
_MOST_TITLE: Final = 300
_MOST_MENDED: Final = 5
_HIDDEN_LINE: Final = re.compile(r"<!-- scylla:data ([A-Za-z0-9+/=]+) -->")


StateRecord = TypeVar("StateRecord", CommentState, RegressionState)


def write_hidden_line(state: CommentState | RegressionState) -> str:
    """Return the state as a line of base64, in which nothing can end an HTML comment."""
    return f"<!-- scylla:data {base64.b64encode(state.model_dump_json().encode()).decode()} -->"


def read_hidden_line(body: str, model: type[StateRecord], suite: str, most: int = _MOST_STATE) -> StateRecord | None:
    """Read the state from the second line of a comment or issue; None if this toolkit did not write it for the suite.

    Args:
        body: the text.
        model: the kind of state.
        suite: the suite that it must be of.
        most: characters of base64 that are read.
    """
    encoded = _HIDDEN_LINE.fullmatch(body.split("\n", 2)[1].strip()) if "\n" in body else None
    if encoded is None or len(encoded[1]) > most:
        return None
    try:
        state = model.model_validate_json(base64.b64decode(encoded[1], validate=True))
    except (ValidationError, binascii.Error, ValueError):
        return None
    return state if state.suite == suite else None


def next_state(report: Report, facts: CommentFacts, before: CommentState | None) -> CommentState:
    """Return the state after the verdict on a report is shown: that verdict, and the latest ones of other runs."""
    verdict = PastVerdict(verdict=overall(report), said=clipped(one_line(title(report)), _MOST_TITLE), head=facts.head,
                          run=facts.origin.run, at=facts.at)  # fmt: skip
    earlier = [past for past in (before.verdicts if before else ()) if past.run != verdict.run]
    return CommentState(suite=facts.suite, attempt=facts.origin.attempt, verdicts=(verdict, *earlier)[:MOST_PAST])


def is_newer(state: CommentState, facts: CommentFacts) -> bool:
    """Return whether the shown verdict is of a later run or attempt; run ids grow in time."""
    return (state.shown.run, state.attempt) > (facts.origin.run, facts.origin.attempt)


@dataclass(frozen=True, slots=True)
class PostedComment:
    """URL of the comment, and what was done; `kept`: the comment of a later run stays."""

    url: str
    how: Literal["posted", "edited", "posted anew", "kept"]


def post_comment(
    repository: GitHubRepository, report: Report, facts: CommentFacts, pull: int, author: str
) -> PostedComment:
    """Post a report on a pull request.

    Args:
        repository: the repository of the pull request.
        report: the report.
        facts: the run, pull request and commits.
        pull: number of the pull request.
        author: our own login; comments of others are never touched.

    Raises:
        GitHubError: GitHub refused.
    """
    ours = find_marked(repository, pull, author, marker(facts.suite))
    current = ours[-1] if ours else None
    before = read_hidden_line(current.body or "", CommentState, facts.suite) if current else None
    if current and before and is_newer(before, facts):
        return PostedComment(current.html_url, "kept")
    state = next_state(report, facts, before)
    head = read_pull_request(repository, pull).head.sha
    body = comment(report, facts, newest=head, past=state.verdicts[1:], state=write_hidden_line(state))
    if current and (before is None or before.shown.verdict == state.shown.verdict):
        edited = edit_comment(repository, current.id, body)
        if edited is not None:
            _point_to(repository, facts, ours[:-1], edited)
            return PostedComment(edited.html_url, "edited")
    posted = create_comment(repository, pull, body, author)
    _point_to(repository, facts, ours, posted)
    return PostedComment(posted.html_url, "posted anew" if ours else "posted")


def _point_to(repository: GitHubRepository, facts: CommentFacts, old: list[Comment], shown: Comment) -> None:
    """Turn other comments of the suite into pointers; a few at a time, because of GitHub's rate limits."""
    for superseded in old[-_MOST_MENDED:]:
        if superseded.id != shown.id:
            edit_comment(repository, superseded.id, pointer(facts.suite, shown.html_url))
