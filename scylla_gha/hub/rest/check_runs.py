"""Check runs, check suites and commit statuses."""

import datetime
from collections.abc import Mapping, Sequence
from typing import Any, Final

from scylla_gha.hub.actions_records import AnnotationRecord, CheckRecord
from scylla_gha.hub.errors import ContractGapError, HubError, not_found
from scylla_gha.hub.operations.check_facts import checks_of
from scylla_gha.hub.operations.checks import (
    CheckRunFields,
    CheckSuiteFacts,
    NewStatus,
    combined_state,
    commit_of_check,
    create_check_run,
    create_status,
    find_suite,
    statuses_of,
    suites_of,
    update_check_run,
)
from scylla_gha.hub.records import RepositoryRecord
from scylla_gha.hub.rest import RestAnswer, RestRequest, route
from scylla_gha.hub.rest.check_json import check_run_json, check_suite_json, combined_status_json, status_json

_REPO: Final = "/repos/{owner}/{repo}"
_LEVELS: Final = ("notice", "warning", "failure")
_MOST_ANNOTATIONS: Final = 50


def _commit(request: RestRequest, name: str = "ref") -> tuple[RepositoryRecord, str]:
    repository = request.repository()
    return repository, commit_of_check(request.session, repository, request.params[name])


# Check runs


@route("GET", f"{_REPO}/commits/{{ref}}/check-runs")
def list_check_runs(request: RestRequest) -> RestAnswer:
    """List the check runs of a commit: of each name the last one, or all."""
    repository, sha = _commit(request)
    checks = checks_of(request.session, repository.id, sha)
    if request.query.get("filter") == "all":
        checks = request.session.state.where(CheckRecord, sha=sha, repository=repository.id)
    return _page(request, repository, [check for check in checks if check.kind == "check_run"])


def _page(request: RestRequest, repository: RepositoryRecord, checks: Sequence[CheckRecord]) -> RestAnswer:
    wanted = {"name": request.query.get("check_name"), "status": request.query.get("status")}
    shown = [
        check
        for check in checks
        if all(value is None or getattr(check, name) == value for name, value in wanted.items())
    ]
    return request.page(shown, lambda check: check_run_json(request.session, repository, check), "check_runs")


def _check(request: RestRequest) -> tuple[RepositoryRecord, CheckRecord]:
    repository = request.repository()
    check = request.session.state.get(CheckRecord, request.number("check_run_id"))
    if check is None or check.repository != repository.id or check.kind != "check_run":
        raise not_found()
    return repository, check


@route("GET", f"{_REPO}/check-runs/{{check_run_id}}")
def get_check_run(request: RestRequest) -> RestAnswer:
    """Return a check run."""
    repository, check = _check(request)
    return RestAnswer(200, check_run_json(request.session, repository, check))


@route("POST", f"{_REPO}/check-runs")
def post_check_run(request: RestRequest) -> RestAnswer:
    """Create a check run, as an app."""
    repository = request.repository()
    name, sha = request.needed("name", str), request.needed("head_sha", str)
    check = create_check_run(request.session, repository, sha, _fields(request, name))
    return RestAnswer(201, check_run_json(request.session, repository, check))


@route("PATCH", f"{_REPO}/check-runs/{{check_run_id}}")
def patch_check_run(request: RestRequest) -> RestAnswer:
    """Change a check run, as the app that made it."""
    repository, check = _check(request)
    check = update_check_run(request.session, repository, check, _fields(request, request.optional("name", str)))
    return RestAnswer(200, check_run_json(request.session, repository, check))


def _fields(request: RestRequest, name: str | None) -> CheckRunFields:
    output = request.optional("output", dict) or {}
    for field, value in {**{key: request.body.get(key) for key in ("external_id", "actions")},
                         **{key: output.get(key) for key in ("text", "images")}}.items():  # fmt: skip
        if value:
            raise ContractGapError(f"The field {field} of a check run")
    title, summary = (output.get(key) for key in ("title", "summary"))
    if not all(value is None or isinstance(value, str) for value in (title, summary)):
        raise HubError(422, "Invalid request.\n\nFor 'properties/output', a field is not a string.")
    return CheckRunFields(
        name=name,
        status=request.optional("status", str),
        conclusion=request.optional("conclusion", str),
        details_url=request.optional("details_url", str),
        title=title,
        summary=summary,
        started_at=_time(request.optional("started_at", str)),
        completed_at=_time(request.optional("completed_at", str)),
        annotations=_annotations(output.get("annotations") or []),
    )


def _time(text: str | None) -> datetime.datetime | None:
    if text is None:
        return None
    try:
        time = datetime.datetime.fromisoformat(text)
    except ValueError:
        raise HubError(422, f"Invalid request.\n\n{text[:40]!r} is not a valid timestamp.") from None
    return (time if time.tzinfo else time.replace(tzinfo=datetime.UTC)).astimezone(datetime.UTC)


def _annotations(items: object) -> tuple[AnnotationRecord, ...]:
    if not isinstance(items, list) or len(items) > _MOST_ANNOTATIONS:
        raise HubError(422, f"Invalid request.\n\nNo more than {_MOST_ANNOTATIONS} annotations are allowed.")
    return tuple(_annotation(item) for item in items)


def _annotation(item: object) -> AnnotationRecord:
    fields: Mapping[str, Any] = item if isinstance(item, Mapping) else {}
    path, first, last, level, message, title = (
        fields.get(name) for name in ("path", "start_line", "end_line", "annotation_level", "message", "title")
    )
    texts = isinstance(path, str) and isinstance(message, str) and (title is None or isinstance(title, str))
    if not texts or not isinstance(first, int) or not isinstance(last, int) or level not in _LEVELS:
        raise HubError(422, "Invalid request.\n\nFor 'properties/output/annotations', an item is invalid.")
    return AnnotationRecord(path=str(path), start_line=first, end_line=last, level=level, message=str(message),
                            title=title)  # fmt: skip


# Check suites


@route("GET", f"{_REPO}/commits/{{ref}}/check-suites")
def list_check_suites(request: RestRequest) -> RestAnswer:
    """List the check suites of a commit."""
    repository, sha = _commit(request)
    suites = suites_of(request.session, repository, sha)
    return request.page(suites, lambda suite: check_suite_json(request.session, repository, suite), "check_suites")


def _suite(request: RestRequest) -> tuple[RepositoryRecord, CheckSuiteFacts]:
    repository = request.repository()
    suite = find_suite(request.session, repository, request.number("check_suite_id"))
    if suite is None:
        raise not_found()
    return repository, suite


@route("GET", f"{_REPO}/check-suites/{{check_suite_id}}")
def get_check_suite(request: RestRequest) -> RestAnswer:
    """Return a check suite."""
    repository, suite = _suite(request)
    return RestAnswer(200, check_suite_json(request.session, repository, suite))


@route("GET", f"{_REPO}/check-suites/{{check_suite_id}}/check-runs")
def list_runs_of_suite(request: RestRequest) -> RestAnswer:
    """List the check runs of a suite."""
    repository, suite = _suite(request)
    return _page(request, repository, suite.checks)


# Statuses


@route("POST", f"{_REPO}/statuses/{{sha}}")
def post_status(request: RestRequest) -> RestAnswer:
    """Create a status of a commit."""
    repository = request.repository()
    new = NewStatus(request.needed("state", str), request.optional("context", str) or "default",
                    request.optional("description", str), request.optional("target_url", str))  # fmt: skip
    status = create_status(request.session, repository, request.params["sha"], new)
    return RestAnswer(201, status_json(request.session, repository, status))


# The second path is that of `statuses_url`, which GitHub answers without describing it.
@route("GET", f"{_REPO}/commits/{{ref}}/statuses", f"{_REPO}/statuses/{{sha}}")
def list_statuses(request: RestRequest) -> RestAnswer:
    """List all statuses of a commit, the newest first."""
    repository, sha = _commit(request, "ref" if "ref" in request.params else "sha")
    statuses = statuses_of(request.session, repository, sha)
    return request.page(statuses, lambda status: status_json(request.session, repository, status))


@route("GET", f"{_REPO}/commits/{{ref}}/status")
def get_combined_status(request: RestRequest) -> RestAnswer:
    """Return the combined status of a commit."""
    repository, sha = _commit(request)
    checks = checks_of(request.session, repository.id, sha)
    statuses = [check for check in checks if check.kind == "status"]
    body = combined_status_json(request.session, repository, sha, combined_state(statuses), statuses)
    return RestAnswer(200, body)
