"""Protection of a branch, whole and by its parts."""

from collections.abc import Mapping
from typing import Any, Final

from scylla_gha.hub.cell import HubSession
from scylla_gha.hub.errors import ContractGapError, HubError
from scylla_gha.hub.operations.protection_rules import change_rule, exact_rule, protect, unprotect
from scylla_gha.hub.operations.repositories import require_admin
from scylla_gha.hub.records import ProtectionRecord, RepositoryRecord
from scylla_gha.hub.rest import RestAnswer, RestRequest, route
from scylla_gha.hub.rest.repository_json import api_url

_RULE: Final = "/repos/{owner}/{repo}/branches/{branch}/protection"
_CHECKS: Final = f"{_RULE}/required_status_checks"
_REVIEWS: Final = f"{_RULE}/required_pull_request_reviews"
_NEEDED: Final = ("required_status_checks", "enforce_admins", "required_pull_request_reviews", "restrictions")
_SWITCHES: Final = {
    "required_linear_history": "linear_history",
    "allow_force_pushes": "allow_force_pushes",
    "allow_deletions": "allow_deletions",
    "required_conversation_resolution": "conversation_resolution",
}
_NEVER: Final = ("block_creations", "lock_branch", "allow_fork_syncing")


@route("GET", _RULE)
def get_protection(request: RestRequest) -> RestAnswer:
    """Return the protection of a branch."""
    repository, rule = _rule(request)
    return RestAnswer(200, _protection(request.session, repository, rule))


@route("PUT", _RULE)
def put_protection(request: RestRequest) -> RestAnswer:
    """Protect a branch; what is absent is off."""
    repository, branch = request.repository(), request.params["branch"]
    require_admin(request.session, repository)
    absent = [name for name in _NEEDED if not request.has(name)]
    if absent:
        listed = ", ".join(f'"{name}"' for name in absent)
        raise HubError(422, f"Invalid request.\n\n{listed} weren't supplied.")
    if request.body["restrictions"] is not None:
        raise ContractGapError("Restrictions of who may push to a branch")
    if any(request.optional(name, bool) for name in _NEVER):
        raise ContractGapError("Blocked creation, locked branches and synced forks")
    if request.session.git(repository).branch(branch) is None:
        raise HubError(404, "Branch not found")
    rules: dict[str, Any] = {field: request.optional(name, bool) or False for name, field in _SWITCHES.items()}
    rules["enforce_admins"] = request.optional("enforce_admins", bool) or False
    if (checks := request.optional("required_status_checks", dict)) is not None:
        rules |= _check_rules(checks)
    if (reviews := request.optional("required_pull_request_reviews", dict)) is not None:
        rules |= {"required_reviews": 1, **_review_rules(reviews)}
    rule = protect(request.session, repository, branch, **rules)
    return RestAnswer(200, _protection(request.session, repository, rule))


@route("DELETE", _RULE)
def delete_protection(request: RestRequest) -> RestAnswer:
    """Remove the protection of a branch."""
    repository, rule = _rule(request, writing=True)
    unprotect(request.session, repository, rule)
    return RestAnswer(204)


def _rule(request: RestRequest, *, writing: bool = False) -> tuple[RepositoryRecord, ProtectionRecord]:
    repository = request.repository("admin" if writing else "read")
    return repository, exact_rule(request.session, repository, request.params["branch"])


def _check_rules(fields: Mapping[str, Any]) -> dict[str, Any]:
    rules: dict[str, Any] = {}
    if isinstance(fields.get("strict"), bool):
        rules["strict"] = fields["strict"]
    names = fields.get("contexts")
    if isinstance(fields.get("checks"), list):
        names = [check.get("context") if isinstance(check, dict) else None for check in fields["checks"]]
    if names is not None:
        rules["required_checks"] = _names(names)
    return rules


def _names(names: object) -> tuple[str, ...]:
    if not isinstance(names, list) or not all(isinstance(name, str) and name for name in names):
        raise HubError(422, "Invalid request.\n\nFor 'properties/contexts', an item is not a string.")
    return tuple(dict.fromkeys(names))


def _review_rules(fields: Mapping[str, Any]) -> dict[str, Any]:
    if any(fields.get(name) for name in ("dismissal_restrictions", "bypass_pull_request_allowances")):
        raise ContractGapError("Restrictions of who may dismiss reviews or pass over them")
    if fields.get("require_last_push_approval"):
        raise ContractGapError("Approval of the last push")
    names = {"dismiss_stale_reviews": "dismiss_stale_reviews", "require_code_owner_reviews": "code_owner_reviews"}
    rules: dict[str, Any] = {field: fields[name] for name, field in names.items() if isinstance(fields.get(name), bool)}
    count = fields.get("required_approving_review_count")
    if isinstance(count, int) and not isinstance(count, bool):
        rules["required_reviews"] = count
    return rules


# Answers


def _protection(session: HubSession, repository: RepositoryRecord, rule: ProtectionRecord) -> dict[str, Any]:
    url = _url(session, repository, rule)
    body: dict[str, Any] = {
        "url": url,
        "required_signatures": {"url": f"{url}/required_signatures", "enabled": False},
        "enforce_admins": _admins(url, rule),
        **{name: {"enabled": getattr(rule, field)} for name, field in _SWITCHES.items()},
        **{name: {"enabled": False} for name in _NEVER},
    }
    if rule.required_checks or rule.strict:
        body["required_status_checks"] = _checks(url, rule)
    if rule.required_reviews is not None:
        body["required_pull_request_reviews"] = _reviews(url, rule)
    return body


def _url(session: HubSession, repository: RepositoryRecord, rule: ProtectionRecord) -> str:
    return f"{api_url(session, repository)}/branches/{rule.pattern}/protection"


def _admins(url: str, rule: ProtectionRecord) -> dict[str, Any]:
    return {"url": f"{url}/enforce_admins", "enabled": rule.enforce_admins}


def _checks(url: str, rule: ProtectionRecord) -> dict[str, Any]:
    return {
        "url": f"{url}/required_status_checks",
        "strict": rule.strict,
        "contexts": list(rule.required_checks),
        "contexts_url": f"{url}/required_status_checks/contexts",
        "checks": [{"context": name, "app_id": None} for name in rule.required_checks],
    }


def _reviews(url: str, rule: ProtectionRecord) -> dict[str, Any]:
    return {
        "url": f"{url}/required_pull_request_reviews",
        "dismiss_stale_reviews": rule.dismiss_stale_reviews,
        "require_code_owner_reviews": rule.code_owner_reviews,
        "require_last_push_approval": False,
        "required_approving_review_count": rule.required_reviews,
    }


# Parts


@route("GET", f"{_RULE}/enforce_admins")
def get_admins(request: RestRequest) -> RestAnswer:
    """Return whether administrators are bound as well."""
    repository, rule = _rule(request)
    return RestAnswer(200, _admins(_url(request.session, repository, rule), rule))


@route("POST", f"{_RULE}/enforce_admins")
def bind_admins(request: RestRequest) -> RestAnswer:
    """Bind administrators as well."""
    repository, rule = _rule(request, writing=True)
    rule = change_rule(request.session, repository, rule, enforce_admins=True)
    return RestAnswer(200, _admins(_url(request.session, repository, rule), rule))


@route("DELETE", f"{_RULE}/enforce_admins")
def free_admins(request: RestRequest) -> RestAnswer:
    """Let administrators pass over requirements."""
    repository, rule = _rule(request, writing=True)
    change_rule(request.session, repository, rule, enforce_admins=False)
    return RestAnswer(204)


def _required(rule: ProtectionRecord, *, reviews: bool = False) -> None:
    if reviews and rule.required_reviews is None:
        raise HubError(404, "Pull request reviews protection not enabled")
    if not reviews and not (rule.required_checks or rule.strict):
        raise HubError(404, "Required status checks not enabled")


@route("GET", _CHECKS)
def get_checks(request: RestRequest) -> RestAnswer:
    """Return the required checks."""
    repository, rule = _rule(request)
    _required(rule)
    return RestAnswer(200, _checks(_url(request.session, repository, rule), rule))


@route("PATCH", _CHECKS)
def patch_checks(request: RestRequest) -> RestAnswer:
    """Change the required checks."""
    repository, rule = _rule(request, writing=True)
    _required(rule)
    rule = change_rule(request.session, repository, rule, **_check_rules(request.body))
    return RestAnswer(200, _checks(_url(request.session, repository, rule), rule))


@route("DELETE", _CHECKS)
def delete_checks(request: RestRequest) -> RestAnswer:
    """Require no checks."""
    repository, rule = _rule(request, writing=True)
    change_rule(request.session, repository, rule, required_checks=(), strict=False)
    return RestAnswer(204)


@route("GET", f"{_CHECKS}/contexts")
def get_contexts(request: RestRequest) -> RestAnswer:
    """List the names of the required checks."""
    _, rule = _rule(request)
    _required(rule)
    return RestAnswer(200, list(rule.required_checks))


@route("PUT", f"{_CHECKS}/contexts")
def put_contexts(request: RestRequest) -> RestAnswer:
    """Replace the names of the required checks."""
    return _with_contexts(request, _contexts(request))


@route("POST", f"{_CHECKS}/contexts")
def add_contexts(request: RestRequest) -> RestAnswer:
    """Add names of required checks."""
    return _with_contexts(request, tuple(dict.fromkeys((*_rule(request)[1].required_checks, *_contexts(request)))))


@route("DELETE", f"{_CHECKS}/contexts")
def remove_contexts(request: RestRequest) -> RestAnswer:
    """Remove names of required checks."""
    gone = _contexts(request)
    return _with_contexts(request, tuple(name for name in _rule(request)[1].required_checks if name not in gone))


def _contexts(request: RestRequest) -> tuple[str, ...]:
    return _names(request.body.get("contexts", request.body.get("")))


def _with_contexts(request: RestRequest, names: tuple[str, ...]) -> RestAnswer:
    repository, rule = _rule(request, writing=True)
    rule = change_rule(request.session, repository, rule, required_checks=names)
    return RestAnswer(200, list(rule.required_checks))


@route("GET", _REVIEWS)
def get_reviews(request: RestRequest) -> RestAnswer:
    """Return which reviews are required."""
    repository, rule = _rule(request)
    _required(rule, reviews=True)
    return RestAnswer(200, _reviews(_url(request.session, repository, rule), rule))


@route("PATCH", _REVIEWS)
def patch_reviews(request: RestRequest) -> RestAnswer:
    """Change which reviews are required."""
    repository, rule = _rule(request, writing=True)
    rules = {"required_reviews": 1 if rule.required_reviews is None else rule.required_reviews,
             **_review_rules(request.body)}  # fmt: skip
    rule = change_rule(request.session, repository, rule, **rules)
    return RestAnswer(200, _reviews(_url(request.session, repository, rule), rule))


@route("DELETE", _REVIEWS)
def delete_reviews(request: RestRequest) -> RestAnswer:
    """Require no reviews."""
    repository, rule = _rule(request, writing=True)
    change_rule(request.session, repository, rule, required_reviews=None, dismiss_stale_reviews=False,
                code_owner_reviews=False)  # fmt: skip
    return RestAnswer(204)
