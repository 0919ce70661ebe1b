"""Facts of a pull request, computed from its records and git: its commits, its mergeability, its reviews."""

from collections.abc import Sequence
from typing import Final, Literal

from scylla_gha.hub.cell import HubSession
from scylla_gha.hub.git_diff import ChangedFile
from scylla_gha.hub.git_objects import merged_tree, write_commit
from scylla_gha.hub.git_store import GitCommit, GitSignature
from scylla_gha.hub.operations.check_facts import checks_of, state_of_check, unmet_checks
from scylla_gha.hub.operations.code_owners import code_owners
from scylla_gha.hub.operations.protection import protection_of
from scylla_gha.hub.records import (
    ProtectionRecord,
    PullRequestRecord,
    RepositoryRecord,
    ReviewRecord,
    ThreadRecord,
    UserRecord,
)

_OPINIONS: Final = ("APPROVED", "CHANGES_REQUESTED", "DISMISSED")
Decision = Literal["APPROVED", "CHANGES_REQUESTED", "REVIEW_REQUIRED"]
Mergeable = Literal["MERGEABLE", "CONFLICTING", "UNKNOWN"]
MergeState = Literal["BEHIND", "BLOCKED", "CLEAN", "DIRTY", "DRAFT", "UNKNOWN", "UNSTABLE"]


def repository_of(session: HubSession, pull: PullRequestRecord) -> RepositoryRecord:
    """Return the repository that a pull request is in, which has its base."""
    return session.state.need(RepositoryRecord, pull.repository)


def head_sha(session: HubSession, pull: PullRequestRecord) -> str:
    """Return the head commit, which stays when the branch is deleted."""
    return session.git(pull.repository).refs()[f"refs/pull/{pull.number}/head"]


def base_sha(session: HubSession, pull: PullRequestRecord) -> str:
    """Return the base's tip, as it was when the pull request was closed or merged; the head if there is no base."""
    branch = session.git(pull.repository).branch(pull.base_ref)
    return pull.closed_base or branch or head_sha(session, pull)


def fork_point(session: HubSession, pull: PullRequestRecord) -> str:
    """Return the commit from which the changes of a pull request count."""
    head, base = head_sha(session, pull), base_sha(session, pull)
    return session.git(pull.repository).merge_base(base, head) or base


def pull_commits(session: HubSession, pull: PullRequestRecord) -> list[GitCommit]:
    """Return the commits of a pull request, the oldest first."""
    return session.git(pull.repository).commits_between(base_sha(session, pull), head_sha(session, pull))


def pull_files(session: HubSession, pull: PullRequestRecord) -> list[ChangedFile]:
    """Return the files that a pull request changes."""
    return session.git(pull.repository).changed_files(fork_point(session, pull), head_sha(session, pull))


def mergeable(session: HubSession, pull: PullRequestRecord) -> Mergeable:
    """Return whether the head merges without conflict; that of a closed pull request is not known, as on GitHub."""
    if pull.state == "closed":
        return "UNKNOWN"
    tree = merged_tree(session.git(pull.repository), base_sha(session, pull), head_sha(session, pull))
    return "CONFLICTING" if tree is None else "MERGEABLE"


def potential_merge(session: HubSession, pull: PullRequestRecord) -> str | None:
    """Return the commit that merging now would give, as GitHub's refs/pull/<n>/merge; None if there is none.

    It is an object without a ref, and the same one whenever it is asked for.
    """
    git, base, head = session.git(pull.repository), base_sha(session, pull), head_sha(session, pull)
    tree = merged_tree(git, base, head) if pull.state == "open" else None
    if tree is None:
        return None
    key = ("potential-merge", base, head)
    if key not in git._known:
        github = GitSignature("GitHub", "noreply@github.com", git.commit(head).committer.date)
        git._known[key] = write_commit(git, tree, [base, head], f"Merge {head} into {base}", github, github)
    return git._known[key]


def merge_state(session: HubSession, pull: PullRequestRecord) -> MergeState:
    """Return what stands in the way of a merge, by GitHub's MergeStateStatus."""
    if pull.state == "closed":
        return "UNKNOWN"
    if mergeable(session, pull) == "CONFLICTING":
        return "DIRTY"
    if pull.draft:
        return "DRAFT"
    rule = protection_of(session, repository_of(session, pull), pull.base_ref)
    if rule is not None and unmet_rules(session, pull, rule):
        return "BLOCKED"
    git = session.git(pull.repository)
    if rule is not None and rule.strict and not git.is_ancestor(base_sha(session, pull), head_sha(session, pull)):
        return "BEHIND"
    states = {state_of_check(check) for check in checks_of(session, pull.repository, head_sha(session, pull))}
    return "CLEAN" if states <= {"SUCCESS"} else "UNSTABLE"


def unmet_rules(session: HubSession, pull: PullRequestRecord, rule: ProtectionRecord) -> list[str]:
    """Return which reviews, checks and conversations a protection requires that are missing, in GitHub's words."""
    states = [review.state for review in opinions(session, pull, writers_only=True)]
    reasons = []
    if rule.required_reviews and states.count("APPROVED") < rule.required_reviews:
        many = "reviews are" if rule.required_reviews > 1 else "review is"
        reasons.append(f"At least {rule.required_reviews} approving {many} required by reviewers with write access.")
    elif rule.required_reviews and "CHANGES_REQUESTED" in states:
        reasons.append("Changes have been requested by reviewers with write access.")
    if rule.code_owner_reviews and (owners := missing_owners(session, pull)):
        reasons.append(f"Waiting on code owner review from {', '.join(owners)}.")
    checks = checks_of(session, pull.repository, head_sha(session, pull))
    if (reason := unmet_checks(rule.required_checks, checks)) is not None:
        reasons.append(reason)
    threads = session.state.where(ThreadRecord, pull=pull.id)
    if rule.conversation_resolution and any(thread.resolved_by is None for thread in threads):
        reasons.append("A conversation must be resolved before this pull request can be merged.")
    return reasons


def missing_owners(session: HubSession, pull: PullRequestRecord) -> list[str]:
    """Return the logins of the code owners of those changed files that none of their owners has approved."""
    approved = {review.author for review in opinions(session, pull) if review.state == "APPROVED"}
    owners = owners_of_files(session, pull).values()
    missing = dict.fromkeys(user for users in owners if not approved & users for user in sorted(users))
    return [session.state.need(UserRecord, user).login for user in missing]


def owners_of_files(session: HubSession, pull: PullRequestRecord) -> dict[str, set[int]]:
    """Return the code owners of each changed file, by the CODEOWNERS file of the base."""
    paths = [file.path for file in pull_files(session, pull)]
    return code_owners(session, repository_of(session, pull), base_sha(session, pull), paths)


def submitted_reviews(session: HubSession, pull: PullRequestRecord) -> list[ReviewRecord]:
    """Return the reviews that everybody sees, in the order of their submission."""
    reviews = [review for review in session.state.where(ReviewRecord, pull=pull.id) if review.state != "PENDING"]
    return sorted(reviews, key=lambda review: review.submitted_at or review.created_at)


def latest_reviews(session: HubSession, pull: PullRequestRecord) -> list[ReviewRecord]:
    """Return each reviewer's last review, but for those who were asked for another one."""
    latest = _last_by_author(submitted_reviews(session, pull))
    return [review for review in latest if review.author not in pull.requested_reviewers]


def opinions(session: HubSession, pull: PullRequestRecord, *, writers_only: bool = False) -> list[ReviewRecord]:
    """Return each reviewer's last review that approves, requests changes or was dismissed; comments change nothing."""
    reviews = [review for review in submitted_reviews(session, pull) if review.state in _OPINIONS]
    latest = _last_by_author(reviews)
    return [review for review in latest if not writers_only or _may_write(session, pull, review.author)]


def _last_by_author(reviews: Sequence[ReviewRecord]) -> list[ReviewRecord]:
    last: dict[int, ReviewRecord] = {}
    for review in reviews:
        last.pop(review.author, None)
        last[review.author] = review
    return list(last.values())


def _may_write(session: HubSession, pull: PullRequestRecord, user: int) -> bool:
    reviewer = session.state.need(UserRecord, user)
    return HubSession(session.hub, reviewer).may(repository_of(session, pull), "write")


def review_decision(session: HubSession, pull: PullRequestRecord) -> Decision | None:
    """Return what the reviews of those with write access amount to; None where no review is required.

    See https://github.com/orgs/community/discussions/24375
    """
    rule = protection_of(session, repository_of(session, pull), pull.base_ref)
    if rule is None or not rule.required_reviews:
        return None
    states = [review.state for review in opinions(session, pull, writers_only=True)]
    if "CHANGES_REQUESTED" in states:
        return "CHANGES_REQUESTED"
    return "APPROVED" if states.count("APPROVED") >= rule.required_reviews else "REVIEW_REQUIRED"
