"""Mutations of pull requests."""

from collections.abc import Mapping
from typing import Any, Final, Literal

from scylla_gha.hub.cell import HubSession
from scylla_gha.hub.errors import ContractGapError, HubError
from scylla_gha.hub.graphql.issue_mutations import changes_of
from scylla_gha.hub.graphql.mutations import mutation, node
from scylla_gha.hub.operations.merging import MergeMethod, disable_auto_merge, enable_auto_merge, merge_pull
from scylla_gha.hub.operations.pull_branches import revert_pull, update_branch
from scylla_gha.hub.operations.pull_facts import repository_of
from scylla_gha.hub.operations.pull_states import change_pull_state, close_pull, reopen_pull, set_draft
from scylla_gha.hub.operations.pulls import create_pull, update_pull
from scylla_gha.hub.operations.review_requests import not_a_collaborator, request_reviews, users_named
from scylla_gha.hub.records import PullRequestRecord, RepositoryRecord, UserRecord

_METHODS: Final[Mapping[str, MergeMethod]] = {"MERGE": "merge", "SQUASH": "squash", "REBASE": "rebase"}
_UPDATES: Final[Mapping[str, Literal["merge", "rebase"]]] = {"MERGE": "merge", "REBASE": "rebase"}


def pull_of(session: HubSession, values: Mapping[str, Any]) -> PullRequestRecord:
    """Return the pull request that an input names."""
    return node(session, values["pullRequestId"], PullRequestRecord)


@mutation("createPullRequest")
def _create(session: HubSession, values: Mapping[str, Any]) -> dict[str, Any]:
    repository = node(session, values["repositoryId"], RepositoryRecord)
    source, base, head = values.get("headRepositoryId"), values["baseRefName"], values["headRefName"]
    try:
        pull = create_pull(
            session,
            repository,
            head=head,
            base=base,
            title=values["title"],
            body=values.get("body"),
            draft=bool(values.get("draft")),
            maintainer_can_modify=values.get("maintainerCanModify") is not False,
            head_repository=node(session, source, RepositoryRecord) if source else None,
        )
    except HubError as error:
        fields = [entry.get("field") for entry in error.errors if isinstance(entry, Mapping)]
        if fields in (["head"], ["base"]):
            message = (f"Head sha can't be blank, Base sha can't be blank, No commits between {base} and {head}, "
                       f"{str(fields[0]).title()} ref must be a branch")  # fmt: skip
            raise HubError(422, message) from error
        raise
    return {"pullRequest": pull}


@mutation("updatePullRequest")
def _update(session: HubSession, values: Mapping[str, Any]) -> dict[str, Any]:
    if values.get("projectIds"):
        raise ContractGapError("UpdatePullRequestInput.projectIds")
    pull = update_pull(
        session,
        pull_of(session, values),
        changes_of(session, values),
        base=values.get("baseRefName"),
        maintainer_can_modify=values.get("maintainerCanModify"),
    )
    state = values.get("state")
    if state is not None:
        pull = change_pull_state(session, pull, state.lower())
    return {"pullRequest": pull, "actor": session.user}


@mutation("closePullRequest")
def _close(session: HubSession, values: Mapping[str, Any]) -> dict[str, Any]:
    return {"pullRequest": close_pull(session, pull_of(session, values))}


@mutation("reopenPullRequest")
def _reopen(session: HubSession, values: Mapping[str, Any]) -> dict[str, Any]:
    try:
        return {"pullRequest": reopen_pull(session, pull_of(session, values))}
    except HubError as error:
        if error.message == "Validation Failed":
            raise HubError(422, "Could not open the pull request.") from error
        raise


@mutation("markPullRequestReadyForReview")
def _mark_ready(session: HubSession, values: Mapping[str, Any]) -> dict[str, Any]:
    return {"pullRequest": set_draft(session, pull_of(session, values), draft=False)}


@mutation("convertPullRequestToDraft")
def _convert_to_draft(session: HubSession, values: Mapping[str, Any]) -> dict[str, Any]:
    return {"pullRequest": set_draft(session, pull_of(session, values), draft=True)}


@mutation("mergePullRequest")
def _merge(session: HubSession, values: Mapping[str, Any]) -> dict[str, Any]:
    if values.get("authorEmail"):
        raise ContractGapError("MergePullRequestInput.authorEmail")
    pull = merge_pull(
        session,
        pull_of(session, values),
        method=_METHODS[values.get("mergeMethod") or "MERGE"],
        title=values.get("commitHeadline"),
        message=values.get("commitBody"),
        expected_head=values.get("expectedHeadOid"),
    )
    return {"pullRequest": pull, "actor": session.user}


@mutation("enablePullRequestAutoMerge")
def _enable_auto_merge(session: HubSession, values: Mapping[str, Any]) -> dict[str, Any]:
    enable_auto_merge(session, pull_of(session, values))
    return {}


@mutation("disablePullRequestAutoMerge")
def _disable_auto_merge(session: HubSession, values: Mapping[str, Any]) -> dict[str, Any]:
    disable_auto_merge(session, pull_of(session, values))
    return {}


@mutation("updatePullRequestBranch")
def _update_branch(session: HubSession, values: Mapping[str, Any]) -> dict[str, Any]:
    method = _UPDATES[values.get("updateMethod") or "MERGE"]
    pull = pull_of(session, values)
    return {"pullRequest": update_branch(session, pull, method=method, expected_head=values.get("expectedHeadOid"))}


@mutation("revertPullRequest")
def _revert(session: HubSession, values: Mapping[str, Any]) -> dict[str, Any]:
    pull = pull_of(session, values)
    reverting = revert_pull(session, pull, title=values.get("title"), body=values.get("body"),
                            draft=bool(values.get("draft")))  # fmt: skip
    return {"pullRequest": pull, "revertPullRequest": reverting}


@mutation("requestReviews")
def _request_reviews(session: HubSession, values: Mapping[str, Any]) -> dict[str, Any]:
    pull = pull_of(session, values)
    if values.get("teamIds"):
        raise not_a_collaborator(session, repository_of(session, pull))
    users = [node(session, id_, UserRecord) for id_ in values.get("userIds") or ()]
    changed = request_reviews(session, pull, users, replace=not values.get("union"))
    return {"pullRequest": changed, "actor": session.user}


@mutation("requestReviewsByLogin")
def _request_reviews_by_login(session: HubSession, values: Mapping[str, Any]) -> dict[str, Any]:
    pull = pull_of(session, values)
    repository = repository_of(session, pull)
    if values.get("teamSlugs"):
        raise not_a_collaborator(session, repository)
    logins = [*(values.get("userLogins") or ()), *(values.get("botLogins") or ())]
    users = users_named(session, repository, logins)
    changed = request_reviews(session, pull, users, replace=not values.get("union"))
    return {"pullRequest": changed, "actor": session.user}
