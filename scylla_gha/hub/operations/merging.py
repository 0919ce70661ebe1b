"""Merges of pull requests: what forbids one, the commits that GitHub makes, and what follows.

See https://docs.github.com/pull-requests/collaborating-with-pull-requests/incorporating-changes-from-a-pull-request/about-pull-request-merges
"""

from typing import Final, Literal

from scylla_gha.hub.cell import HubSession
from scylla_gha.hub.errors import ContractGapError, HubError
from scylla_gha.hub.git_objects import merged_tree, rebased, write_commit
from scylla_gha.hub.git_store import GitCommit, GitSignature
from scylla_gha.hub.operations.closing_keywords import close_issues_of_pull
from scylla_gha.hub.operations.protection import is_exempt, protection_of
from scylla_gha.hub.operations.pull_facts import (
    base_sha,
    head_sha,
    pull_commits,
    repository_of,
    unmet_rules,
)
from scylla_gha.hub.operations.pull_heads import mark_merged, retarget_stacked
from scylla_gha.hub.operations.refs import RefRefusedError, change_ref, check_change
from scylla_gha.hub.records import PullRequestRecord, RepositoryRecord, UserRecord

MergeMethod = Literal["merge", "squash", "rebase"]
NOT_MERGEABLE: Final = "Pull Request is not mergeable"
_REFUSED: Final = 405
_NAMES: Final = {"merge": "Merge commits", "squash": "Squash merges", "rebase": "Rebase merges"}


def web_flow(session: HubSession) -> GitSignature:
    """Return how GitHub signs commits that it makes for a user, as their committer."""
    return GitSignature("GitHub", "noreply@github.com", session.state.now())


def merge_pull(
    session: HubSession,
    pull: PullRequestRecord,
    *,
    method: MergeMethod = "merge",
    title: str | None = None,
    message: str | None = None,
    expected_head: str | None = None,
) -> PullRequestRecord:
    """Merge a pull request, close the issues that it is linked with, and delete its branch if the repository says so.

    Args:
        session: who merges.
        pull: what.
        method: which commits are made.
        title: headline of the commit; None or "": GitHub's own. A rebase takes none.
        message: body of the commit; None: GitHub's own.
        expected_head: commit that the head has to be; None: whatever it is.

    Raises:
        HubError: 403 without write access; 405 if it cannot be merged; 409 if the head is another commit.
    """
    repository = repository_of(session, pull)
    session.require(repository, "write")
    _check(session, repository, pull, method, expected_head)
    base = base_sha(session, pull)
    commit = _commit(session, pull, method, title or None, message)
    merged = mark_merged(session, pull, base, commit)
    close_issues_of_pull(session, merged)
    change_ref(session, repository, f"refs/heads/{pull.base_ref}", commit, merging=True)
    if repository.delete_branch_on_merge:
        _delete_head(session, merged)
    return session.state.need(PullRequestRecord, pull.id)


def enable_auto_merge(session: HubSession, pull: PullRequestRecord) -> None:
    """Refuse to merge a pull request by itself later, which a repository has to allow.

    See https://docs.github.com/pull-requests/collaborating-with-pull-requests/incorporating-changes-from-a-pull-request/automatically-merging-a-pull-request

    Raises:
        HubError: always; ContractGapError where GitHub would do it.
    """
    repository = repository_of(session, pull)
    session.require(repository, "write")
    if not repository.allow_auto_merge:
        raise HubError(422, "Auto merge is not allowed for this repository")
    raise ContractGapError("Auto-merge of a pull request")


def disable_auto_merge(session: HubSession, pull: PullRequestRecord) -> None:
    """Refuse to stop a merge by itself, which no pull request waits for.

    Raises:
        HubError: always.
    """
    session.require(repository_of(session, pull), "write")
    raise HubError(422, "Can't disable auto-merge for this pull request.")


def _check(
    session: HubSession,
    repository: RepositoryRecord,
    pull: PullRequestRecord,
    method: MergeMethod,
    expected_head: str | None,
) -> None:
    """Refuse a merge that GitHub would refuse; conflicts are found later."""
    if pull.state == "closed":
        raise HubError(_REFUSED, NOT_MERGEABLE)
    if expected_head is not None and expected_head != head_sha(session, pull):
        raise HubError(409, "Head branch was modified. Review and try the merge again.")
    if pull.draft:
        raise HubError(_REFUSED, "Pull Request is still a draft")
    allowed = {"merge": repository.allow_merge_commit, "squash": repository.allow_squash_merge,
               "rebase": repository.allow_rebase_merge}  # fmt: skip
    if not allowed[method]:
        raise HubError(_REFUSED, f"{_NAMES[method]} are not allowed on this repository.")
    _check_rule(session, repository, pull, method)


def _check_rule(
    session: HubSession, repository: RepositoryRecord, pull: PullRequestRecord, method: MergeMethod
) -> None:
    """Refuse a merge that the base's protection forbids."""
    rule = protection_of(session, repository, pull.base_ref)
    if rule is None:
        return
    if rule.linear_history and method == "merge":
        raise HubError(_REFUSED, "This branch must not contain merge commits.")
    if is_exempt(session, repository, rule):
        return
    reasons = unmet_rules(session, pull, rule)
    git = session.git(repository)
    if rule.strict and not git.is_ancestor(base_sha(session, pull), head_sha(session, pull)):
        reasons.append("The head branch is not up to date with the base branch.")
    if reasons:
        raise HubError(_REFUSED, " ".join(reasons))


def _commit(
    session: HubSession, pull: PullRequestRecord, method: MergeMethod, title: str | None, message: str | None
) -> str:
    """Store the commits of a merge and return the last one."""
    git, base, head = session.git(pull.repository), base_sha(session, pull), head_sha(session, pull)
    if method == "rebase":
        # GitHub makes new commits whose committer is who merges, even if the branch is up to date.
        commit = rebased(git, base, head, session.signature())
        if commit is None:
            raise HubError(_REFUSED, "This branch can't be rebased")
        return commit
    tree = merged_tree(git, base, head)
    if tree is None:
        raise HubError(_REFUSED, NOT_MERGEABLE)
    if method == "merge":
        owner = _owner_of_head(session, pull)
        headline = title or f"Merge pull request #{pull.number} from {owner}/{pull.head_ref}"
        text = _joined(headline, pull.title if message is None else message)
        return write_commit(git, tree, [base, head], text, session.signature(), web_flow(session))
    commits = [commit for commit in pull_commits(session, pull) if len(commit.parents) == 1]
    author = session.signature(session.state.need(UserRecord, pull.author))
    headline = title or squash_title(pull, commits)
    body = squash_body(commits, author) if message is None else message
    return write_commit(git, tree, [base], _joined(headline, body), author, web_flow(session))


def _joined(title: str, body: str) -> str:
    return f"{title}\n\n{body}" if body else title


def _owner_of_head(session: HubSession, pull: PullRequestRecord) -> str:
    """Return the login of who owns the head's repository, or of the author if that is deleted."""
    source = session.state.get(RepositoryRecord, pull.head_repository)
    return session.state.need(UserRecord, source.owner if source else pull.author).login


def squash_title(pull: PullRequestRecord, commits: list[GitCommit]) -> str:
    """Return GitHub's headline of a squashed commit: the only commit's, or the pull request's title."""
    return f"{commits[0].headline if len(commits) == 1 else pull.title} (#{pull.number})"


def squash_body(commits: list[GitCommit], author: GitSignature) -> str:
    """Return GitHub's body of a squashed commit: the messages of its commits, and who else wrote some."""
    if len(commits) == 1:
        body = commits[0].body
    else:
        body = "\n\n".join(f"* {_joined(commit.headline, commit.body)}" for commit in commits)
    others = {commit.author.email: commit.author.name for commit in commits if commit.author.email != author.email}
    lines = [f"Co-authored-by: {name} <{email}>" for email, name in others.items()]
    trailers = [line for line in lines if line not in body]
    return "\n\n".join(part for part in (body, "\n".join(trailers)) if part)


def _delete_head(session: HubSession, pull: PullRequestRecord) -> None:
    """Delete the branch of a merged pull request, if it may be deleted; one of a fork stays.

    See https://docs.github.com/repositories/configuring-branches-and-merges-in-your-repository/configuring-pull-request-merges/managing-the-automatic-deletion-of-branches
    """
    others = session.state.where(PullRequestRecord, head_repository=pull.head_repository, head_ref=pull.head_ref,
                                 state="open")  # fmt: skip
    if pull.head_repository != pull.repository or others:
        return
    repository, ref = repository_of(session, pull), f"refs/heads/{pull.head_ref}"
    try:
        check_change(session, repository, ref, None)
    except RefRefusedError:
        return  # protected, or gone already
    retarget_stacked(session, pull)
    change_ref(session, repository, ref, None)
