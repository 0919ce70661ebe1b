"""Keywords in texts that close issues, such as "Fixes #3", when a pull request is merged into the default branch.

See https://docs.github.com/issues/tracking-your-work-with-issues/using-issues/linking-a-pull-request-to-an-issue
"""

import re
from collections.abc import Iterable
from typing import Final

from scylla_gha.hub.cell import HubSession
from scylla_gha.hub.operations.issues import record_closing
from scylla_gha.hub.operations.pull_facts import repository_of
from scylla_gha.hub.records import IssueRecord, PullRequestRecord, RepositoryRecord

_KEYWORD: Final = re.compile(
    r"\b(?:close[sd]?|fix(?:es|ed)?|resolve[sd]?):?\s+"
    r"(?:https?://github\.com/)?(?:(?P<owner>[\w-]+)/(?P<name>[\w.-]+))?"
    r"(?:#|/issues/|(?<![\w/])GH-)(?P<number>\d{1,9})\b",
    re.IGNORECASE,
)
_CODE: Final = re.compile(r"```.*?(?:```|\Z)|`[^`\n]*`|<!--.*?(?:-->|\Z)", re.DOTALL)


def issues_to_close(
    session: HubSession, repository: RepositoryRecord, texts: Iterable[str | None]
) -> list[IssueRecord]:
    """Return the issues that texts of a repository want closed, in the order of the texts; code does not count."""
    references = dict.fromkeys(
        (match["owner"], match["name"], int(match["number"]))
        for text in texts
        for match in _KEYWORD.finditer(_CODE.sub(" ", text or ""))
    )
    issues: dict[int, IssueRecord] = {}
    for owner, name, number in references:
        target = session.state.repository(owner, name) if owner else repository
        if target is None or not session.may(target, "read"):
            continue
        issue = session.state.first(IssueRecord, repository=target.id, number=number)
        if issue is not None:
            issues[issue.id] = issue
    return list(issues.values())


def closing_issues(session: HubSession, pull: PullRequestRecord) -> list[IssueRecord]:
    """Return the issues that a pull request is linked with by its text; none but into the default branch.

    Messages of commits close issues as well, but when they come into the default branch, and without a link.
    """
    repository = repository_of(session, pull)
    return issues_to_close(session, repository, [pull.body]) if pull.base_ref == repository.default_branch else []


def pulls_that_close(session: HubSession, issue: IssueRecord) -> list[PullRequestRecord]:
    """Return the pull requests of an issue's repository that close it, when merged, by a keyword."""
    pulls = session.state.where(PullRequestRecord, repository=issue.repository)
    return [pull for pull in pulls if any(linked.id == issue.id for linked in closing_issues(session, pull))]


def close_issues_of_pull(session: HubSession, pull: PullRequestRecord) -> None:
    """Close the issues that a merged pull request is linked with."""
    for issue in closing_issues(session, pull):
        close_linked_issue(session, issue, pull=pull.id)


def close_linked_issue(
    session: HubSession, issue: IssueRecord, *, pull: int | None = None, commit: str | None = None
) -> None:
    """Close an issue as completed, because of a pull request or a commit, if the user may; not a closed one again."""
    issue = session.state.need(IssueRecord, issue.id)
    repository = session.state.need(RepositoryRecord, issue.repository)
    if issue.state == "open" and (session.may(repository, "write") or issue.author == session.user.id):
        record_closing(session, issue, pull=pull, commit=commit)


def close_issues_of_commits(session: HubSession, repository: RepositoryRecord, commits: Iterable[str]) -> None:
    """Close the issues that messages of commits name which came into the default branch."""
    git = session.git(repository)
    for sha in commits:
        for issue in issues_to_close(session, repository, [git.commit(sha).message]):
            close_linked_issue(session, issue, commit=sha)
