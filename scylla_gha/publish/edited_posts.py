"""Posts that store their state and are edited: comments of suites, and issues on regressions and agent CLIs.

The comment is edited in place, which notifies nobody; if the verdict changes, it is posted anew and the old comment
becomes a pointer to it. If a crash or two simultaneous jobs left several comments, the newest counts; the next post
turns the others into pointers. The issue on a regression is opened when the regression is confirmed, and closed when
no arm is worse any more. The issue on agent CLIs is open while the newest version of a CLI differs from the stored one.

A post is found by its author and its first line; its second line has the state. The state is read only from posts by
our login, and validated.
"""

import base64
import binascii
import hashlib
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Literal, TypeVar

from pydantic import ValidationError

from scylla_gha.github_api.client import GitHubRepository
from scylla_gha.github_api.pulls import (
    create_comment,
    edit_comment,
    find_issue,
    find_marked,
    open_issue,
    read_pull_request,
    update_issue,
)
from scylla_gha.github_api.responses import Comment, Issue
from scylla_gha.model import one_line
from scylla_gha.model.publication import (
    MOST_PAST,
    AgentUpdates,
    ArmVerdict,
    CommentFacts,
    CommentState,
    PastVerdict,
    RegressionState,
    RunPage,
)
from scylla_gha.model.report import Report
from scylla_gha.report.comment import comment, marker, pointer
from scylla_gha.report.document import Markdown, Table, clipped, code, escape, render
from scylla_gha.report.summary import marked, overall, title

LABEL: Final = "scylla-regression"
_MOST_STATE: Final = 12_000  # characters of a comment's
_MOST_ISSUE_STATE: Final = 400_000
_MOST_TITLE: Final = 300
_MOST_MENDED: Final = 5
_MOST_ARMS: Final = 30  # that a text names
_MOST_NAME: Final = 80
_MOST_REASON: Final = 250
_HIDDEN_LINE: Final = re.compile(r"<!-- scylla:data ([A-Za-z0-9+/=]+) -->")
State = Literal["quiet", "alarm", "unconfirmed", "opened", "updated", "reopened", "still open", "recovered"]
StateRecord = TypeVar("StateRecord", CommentState, RegressionState)
_UPDATES_LABEL: Final = "scylla-agents"
_UPDATES_MARKER: Final = "<!-- scylla:agent-updates -->"
_TITLE: Final = "Agent CLIs: the newest version differs from what is stored"
_ABOUT: Final = "The newest version of an agent CLI differs from what is stored"
_DIGEST: Final = re.compile(r"<!-- scylla:data ([0-9a-f]{64}) -->")
_MOST_ROWS: Final = 60  # of an agent; an issue holds 65,536 characters
_MOST_TEXT: Final = 500
UpdatesState = Literal["quiet", "opened", "updated", "reopened", "closed"]


def write_hidden_line(state: CommentState | RegressionState) -> str:
    """Return the state as an HTML comment with base64, so that no text can end the comment."""
    return f"<!-- scylla:data {base64.b64encode(state.model_dump_json().encode()).decode()} -->"


def read_hidden_line(body: str, model: type[StateRecord], suite: str, most: int = _MOST_STATE) -> StateRecord | None:
    """Read the state from the second line of a comment or issue; None if this toolkit did not write it for the suite.

    Args:
        body: the text.
        model: the kind of state.
        suite: suite that the state must belong to.
        most: maximum characters of base64; None is returned for more.
    """
    encoded = _HIDDEN_LINE.fullmatch(body.split("\n", 2)[1].strip()) if "\n" in body else None
    if encoded is None or len(encoded[1]) > most:
        return None
    try:
        state = model.model_validate_json(base64.b64decode(encoded[1], validate=True))
    except (ValidationError, binascii.Error, ValueError):
        return None
    return state if state.suite == suite else None


def _next_state(report: Report, facts: CommentFacts, before: CommentState | None) -> CommentState:
    """Return the state: this report's verdict first, then the latest verdicts of other runs."""
    verdict = PastVerdict(
        verdict=overall(report),
        said=clipped(one_line(title(report)), _MOST_TITLE),
        head=facts.head,
        run=facts.origin.run,
        at=facts.at,
    )
    earlier = [past for past in (before.verdicts if before else ()) if past.run != verdict.run]
    return CommentState(suite=facts.suite, attempt=facts.origin.attempt, verdicts=(verdict, *earlier)[:MOST_PAST])


@dataclass(frozen=True, slots=True)
class PostedComment:
    """URL of the comment, and the action; `kept`: a later run's comment was not changed."""

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
    this_run = facts.origin.run, facts.origin.attempt  # run ids grow in time
    if current and before and (before.shown.run, before.attempt) > this_run:
        return PostedComment(current.html_url, "kept")
    state = _next_state(report, facts, before)
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
    """Turn the newest other comments of the suite into pointers; only a few, because of GitHub's rate limits."""
    for superseded in old[-_MOST_MENDED:]:
        if superseded.id != shown.id:
            edit_comment(repository, superseded.id, pointer(facts.suite, shown.html_url))


@dataclass(frozen=True, slots=True)
class RegressionPost:
    """State of the issue, and its URL; empty: there is no issue."""

    state: State
    url: str = ""


@dataclass(frozen=True, slots=True)
class RegressionSuite:
    """The suite of an issue; `author` is our own login."""

    name: str
    experiment: str
    author: str
    page: RunPage

    @property
    def marker(self) -> str:
        """First line of the issue, by which it is found."""
        return f"<!-- scylla:alert suite={self.name} -->"


def open_regression(
    repository: GitHubRepository, suite: RegressionSuite, first: Sequence[ArmVerdict], confirmed: Sequence[ArmVerdict]
) -> RegressionPost:
    """Open the issue, update it, or reopen it.

    Args:
        repository: where the issue is.
        suite: the suite of the issue.
        first: verdicts of the first measurement on all arms.
        confirmed: verdicts of the confirming measurement, on the arms that are worse in both; at least one.

    Raises:
        GitHubError: GitHub refused.
    """
    arms = tuple(verdict.arm[:300] for verdict in confirmed)[:500]
    state = RegressionState(suite=suite.name, arms=arms, run=suite.page.run)
    body = "\n".join((suite.marker, write_hidden_line(state), opened_text(suite, first, confirmed)))
    existing = find_issue(repository, suite.author, suite.marker, LABEL)
    if existing is None:
        title = f"{suite.experiment}: an agent does worse than it did"
        return RegressionPost("opened", open_issue(repository, suite.author, title, body, LABEL).html_url)
    before = read_hidden_line(existing.body or "", RegressionState, suite.name, _MOST_ISSUE_STATE)
    is_same = before is not None and set(before.arms) == set(state.arms)
    news = other_arms_text([verdict.arm for verdict in confirmed], suite.page)
    return RegressionPost(*_show_again(repository, existing, body, news, suite.author, is_same=is_same))


def close_regression(
    repository: GitHubRepository, suite: RegressionSuite, verdicts: Sequence[ArmVerdict]
) -> RegressionPost:
    """Close the issue if every arm that it names is proved to be not worse; otherwise leave it open.

    Raises:
        GitHubError: GitHub refused.
    """
    issue = find_issue(repository, suite.author, suite.marker, LABEL)
    if issue is None or issue.state == "closed":
        return RegressionPost("quiet")
    state = read_hidden_line(issue.body or "", RegressionState, suite.name, _MOST_ISSUE_STATE)
    by_arm = {verdict.arm[:300]: verdict for verdict in verdicts}
    if state is None or not all(arm in by_arm and by_arm[arm].not_worse for arm in state.arms):
        return RegressionPost("still open", issue.html_url)
    text = recovered_text([by_arm[arm] for arm in state.arms], suite.page)
    return RegressionPost("recovered", _close(repository, issue, text, suite.author))


def _show_again(
    repository: GitHubRepository, issue: Issue, body: str, news: str, author: str, *, is_same: bool
) -> tuple[Literal["updated", "reopened"], str]:
    """Replace the issue's text and open it; comment the news if it was closed or its findings differ."""
    url = update_issue(repository, issue.number, body, "open").html_url
    if issue.state == "closed" or not is_same:
        create_comment(repository, issue.number, news, author)
    return "reopened" if issue.state == "closed" else "updated", url


def _close(repository: GitHubRepository, issue: Issue, text: str, author: str) -> str:
    """Close the issue with a comment; return its URL."""
    create_comment(repository, issue.number, text, author)
    return update_issue(repository, issue.number, issue.body or "", "closed").html_url


def opened_text(suite: RegressionSuite, first: Sequence[ArmVerdict], confirmed: Sequence[ArmVerdict]) -> str:
    """Return the issue's text below its first two lines; arguments as in `open_regression`."""
    before = {verdict.arm: verdict for verdict in first}
    rows = [
        (_name(verdict.arm), _name(verdict.against), _reason(before[verdict.arm]), _reason(verdict))
        for verdict in confirmed[:_MOST_ARMS]
    ]
    return render(
        "regression_issue.md.j2",
        {
            "arms": Table(("arm", "against", "first measurement", "confirming one"), rows),
            "count": len(confirmed),
            "experiment": suite.experiment,
            "page": suite.page,
        },
    )


def recovered_text(verdicts: Sequence[ArmVerdict], page: RunPage) -> str:
    """Return the comment with which the issue is closed."""
    lines = [f"- {_name(verdict.arm)}: {escape(_reason(verdict))}\n" for verdict in verdicts[:_MOST_ARMS]]
    return f"Recovered: none of the arms does worse any more ({page.url}).\n\n{''.join(lines)}"


def other_arms_text(arms: Sequence[str], page: RunPage) -> str:
    """Return the comment on a confirmed regression of other arms than before."""
    names = ", ".join(_name(arm) for arm in arms[:_MOST_ARMS])
    return f"A new measurement confirms the regression ({page.url}) of {names}.\n"


def _name(arm: str) -> Markdown:
    return code(clipped(arm, _MOST_NAME))


def _reason(verdict: ArmVerdict) -> str:
    return marked(verdict.verdict, clipped(verdict.why, _MOST_REASON))


def keep_updates_issue(
    repository: GitHubRepository, updates: AgentUpdates, page: RunPage, author: str
) -> tuple[UpdatesState, str]:
    """Open, update or close the issue; return its new state and its URL (empty without an issue).

    Args:
        repository: where the issue is.
        updates: the measured agent CLIs.
        page: the run that measured them.
        author: our own login; issues of others are never touched.

    Raises:
        GitHubError: GitHub refused.
    """
    existing = find_issue(repository, author, _UPDATES_MARKER, _UPDATES_LABEL)
    differing = [update for update in updates.agents if update.differences]
    if not differing:
        if existing is None or existing.state == "closed":
            return "quiet", ""
        text = f"There are no differences any more ({page.url}).\n"
        return "closed", _close(repository, existing, text, author)
    digest = hashlib.sha256(AgentUpdates(agents=tuple(differing)).model_dump_json().encode()).hexdigest()
    body = f"{_UPDATES_MARKER}\n<!-- scylla:data {digest} -->\n{issue_text(updates, page)}"
    if existing is None:
        return "opened", open_issue(repository, author, _TITLE, body, _UPDATES_LABEL, _ABOUT).html_url
    before = _DIGEST.search((existing.body or "")[:500])
    is_same = before is not None and before[1] == digest
    news = f"Measured again, with other differences ({page.url}).\n"
    return _show_again(repository, existing, body, news, author, is_same=is_same)


def issue_text(updates: AgentUpdates, page: RunPage) -> str:
    """Return the issue's text below its first two lines. Names and reasons come from the CLIs, and are escaped."""
    agents = []
    for update in updates.agents:
        shown = update.differences[:_MOST_ROWS]
        rows = [
            (code(clipped(difference.part, _MOST_TEXT)), escape(clipped(difference.text, _MOST_TEXT)))
            for difference in shown
        ]
        agents.append(
            {
                "name": code(update.agent),
                "version": code(update.version),
                "sub_tests": update.sub_tests,
                "stored": code(update.stored) if update.stored else None,
                "table": Table(("what", "difference"), rows),
                "left": len(update.differences) - len(shown),
                "id": f"{update.agent}@{update.version}",
            }
        )
    return render("agent_updates_issue.md.j2", {"agents": agents, "page": page})
