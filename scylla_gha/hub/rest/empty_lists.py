"""Lists that are always empty, since the hub keeps none of what they list: secrets, variables, reactions and so on.

GraphQL has its own, in `graphql.connections.no_items`. A request that would write into such a list is a gap.
"""

from typing import Final

from scylla_gha.hub.errors import not_found
from scylla_gha.hub.operations.repositories import account
from scylla_gha.hub.operations.subjects import find_subject
from scylla_gha.hub.operations.workflow_files import NO_RIGHTS
from scylla_gha.hub.rest import RestAnswer, RestRequest, route

_REPO: Final = "/repos/{owner}/{repo}"
_ISSUE: Final = f"{_REPO}/issues/{{issue_number}}"
_EMPTY: Final = RestAnswer(200, [])


@route("GET", f"{_REPO}/deployments", f"{_REPO}/rulesets", f"{_REPO}/stargazers", f"{_REPO}/subscribers")
def list_nothing_of_repository(request: RestRequest) -> RestAnswer:
    """List deployments, rulesets and so on."""
    request.repository()
    return _EMPTY


@route("GET", f"{_REPO}/environments")
def list_environments(request: RestRequest) -> RestAnswer:
    """List the environments of a repository."""
    request.repository()
    return RestAnswer(200, {"total_count": 0, "environments": []})


@route("GET", f"{_REPO}/autolinks", f"{_REPO}/hooks", f"{_REPO}/invitations", f"{_REPO}/keys")
def list_nothing_of_administrators(request: RestRequest) -> RestAnswer:
    """List webhooks, deploy keys and so on, which administrators alone see."""
    if not request.session.may(request.repository(), "admin"):
        raise not_found()
    return _EMPTY


@route("GET", f"{_REPO}/actions/secrets")
def list_secrets(request: RestRequest) -> RestAnswer:
    """List the names of the secrets of Actions."""
    request.repository("write", NO_RIGHTS)
    return RestAnswer(200, {"total_count": 0, "secrets": []})


@route("GET", f"{_REPO}/actions/variables")
def list_variables(request: RestRequest) -> RestAnswer:
    """List the variables of Actions."""
    request.repository("write", NO_RIGHTS)
    return RestAnswer(200, {"total_count": 0, "variables": []})


@route("GET", f"{_ISSUE}/dependencies/blocked_by", f"{_ISSUE}/reactions", f"{_ISSUE}/sub_issues")
def list_nothing_of_issue(request: RestRequest) -> RestAnswer:
    """List reactions, sub-issues or blocking issues of an issue or pull request."""
    find_subject(request.session, request.repository(), request.number("issue_number"))
    return _EMPTY


@route("GET", "/gists", "/notifications", "/user/keys", "/user/ssh_signing_keys", "/user/starred")
def list_nothing_of_user(request: RestRequest) -> RestAnswer:
    """List what the user has: gists, notifications and so on."""
    _ = request.user
    return _EMPTY


@route("GET", "/users/{username}/received_events")
def list_received_events(request: RestRequest) -> RestAnswer:
    """List the events that a user received."""
    account(request.session, request.params["username"])
    return _EMPTY
