"""Changes of branch protection."""

from collections.abc import Sequence

from scylla_gha.hub.cell import HubSession
from scylla_gha.hub.errors import HubError
from scylla_gha.hub.operations.repositories import require_admin
from scylla_gha.hub.records import ProtectionRecord, RepositoryRecord

_MOST_REVIEWS = 6


def exact_rule(session: HubSession, repository: RepositoryRecord, branch: str) -> ProtectionRecord:
    """Return the rule of the very name of a branch, for those who administer the repository.

    Raises:
        HubError: 404, there is no branch or no rule, or the user may not see it.
    """
    if not session.may(repository, "admin"):
        raise HubError(404, "Not Found")
    if session.git(repository).branch(branch) is None:
        raise HubError(404, "Branch not found")
    rule = session.state.first(ProtectionRecord, repository=repository.id, pattern=branch)
    if rule is None:
        raise HubError(404, "Branch not protected")
    return rule


def protect(session: HubSession, repository: RepositoryRecord, pattern: str, **rules: object) -> ProtectionRecord:
    """Protect the branches that match a pattern; a rule of that pattern is replaced.

    Raises:
        HubError: the user does not administer the repository, or a value is out of range.
    """
    require_admin(session, repository)
    _check(rules)
    state = session.state
    current = state.first(ProtectionRecord, repository=repository.id, pattern=pattern)
    blank = ProtectionRecord(
        id=current.id if current else state.new_id(),
        created_at=current.created_at if current else state.now(),
        repository=repository.id,
        pattern=pattern,
        **rules,  # type: ignore[arg-type]
    )
    if current is None:
        return state.create(session.user, blank)
    names = [name for name in ProtectionRecord.__dataclass_fields__ if name not in ("id", "created_at")]
    return state.update(session.user, current, **{name: getattr(blank, name) for name in names})


def change_rule(
    session: HubSession, repository: RepositoryRecord, rule: ProtectionRecord, **rules: object
) -> ProtectionRecord:
    """Change fields of a rule.

    Raises:
        HubError: the user does not administer the repository, or a value is out of range.
    """
    require_admin(session, repository)
    _check(rules)
    return session.state.update(session.user, rule, **rules)


def unprotect(session: HubSession, repository: RepositoryRecord, rule: ProtectionRecord) -> None:
    """Remove a rule.

    Raises:
        HubError: the user does not administer the repository.
    """
    require_admin(session, repository)
    session.state.delete(session.user, rule)


def _check(rules: dict[str, object]) -> None:
    reviews = rules.get("required_reviews")
    if isinstance(reviews, int) and not 0 <= reviews <= _MOST_REVIEWS:
        raise HubError(422, f"Invalid request.\n\n{reviews} must be between 0 and {_MOST_REVIEWS}.")
    checks = rules.get("required_checks")
    if isinstance(checks, Sequence) and len(checks) > 100:  # noqa: PLR2004 GitHub's limit
        raise HubError(422, "Invalid request.\n\nToo many required status checks.")
