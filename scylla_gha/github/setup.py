"""How a repository is set up on GitHub, as far as the token may see it; of secrets and variables the names alone."""

from dataclasses import dataclass
from typing import Any, Final, TypeVar

from github import Auth, Github
from github.GithubException import GithubException, RateLimitExceededException
from pydantic import BaseModel, ConfigDict

from scylla_gha.github.access import Access
from scylla_gha.github.faults import explained
from scylla_gha.github.patience import Patience, PatientRetry

_HIDDEN: Final = (401, 403)  # to this token
_NOT_FOUND: Final = 404
_PAGE: Final = 100
_EXPIRES: Final = "github-authentication-token-expiration"


class _Answer(BaseModel):
    """What is read of an answer; all else in it is passed over."""

    model_config = ConfigDict(frozen=True, extra="ignore")


class Rights(_Answer):
    """What the token's owner may do."""

    admin: bool = False
    push: bool = False


class Owner(_Answer):
    """The account that a repository belongs to."""

    id: int


class Facts(_Answer):
    """The repository itself."""

    id: int
    owner: Owner
    full_name: str
    html_url: str
    private: bool
    fork: bool
    default_branch: str
    archived: bool = False
    permissions: Rights = Rights()


class Policy(_Answer):
    """Whether Actions are on, and which may be used."""

    enabled: bool
    allowed_actions: str = "all"
    sha_pinning_required: bool = False


class Selected(_Answer):
    """Which actions may be used, where not all may."""

    github_owned_allowed: bool = False
    patterns_allowed: tuple[str, ...] = ()


class DefaultRights(_Answer):
    """What a workflow's token may do where the workflow says nothing."""

    default_workflow_permissions: str


class Workflow(_Answer):
    """A workflow file that GitHub knows; `state` is active, deleted, or disabled_ and why."""

    path: str
    state: str


class _Workflows(_Answer):
    workflows: tuple[Workflow, ...]


class _Named(_Answer):
    name: str


class _Secrets(_Answer):
    secrets: tuple[_Named, ...]


class _Variables(_Answer):
    variables: tuple[_Named, ...]


class Rule(_Answer):
    """A rule that a job waits for; of `required_reviewers` it is at least one person or team."""

    type: str


class Environment(_Answer):
    """The environment of the cells."""

    protection_rules: tuple[Rule, ...] = ()


class Pages(_Answer):
    """The site; `build_type` is workflow, or legacy: from a branch."""

    build_type: str | None = None


class Branch(_Answer):
    """The branch of the results."""

    protected: bool


@dataclass(frozen=True, slots=True)
class Missing:
    """GitHub says that there is none."""


@dataclass(frozen=True, slots=True)
class Hidden:
    """GitHub does not tell this token."""

    status: int


T = TypeVar("T", bound=BaseModel)
Names = frozenset[str]


@dataclass(frozen=True, slots=True)
class Token:
    """The token that asked; None for scopes: it is of the kind that has permissions instead."""

    name: str | None
    scopes: tuple[str, ...] | None = None
    expires: str | None = None


@dataclass(frozen=True, slots=True)
class Setup:
    """All that is looked at. Secrets and variables are by where they are: environment, repository, organization."""

    token: Token
    facts: Facts
    policy: Policy | Missing | Hidden
    selected: Selected | Missing | Hidden
    rights: DefaultRights | Missing | Hidden
    workflows: tuple[Workflow, ...] | Missing | Hidden
    environment: Environment | Missing | Hidden
    secrets: dict[str, Names | Missing | Hidden]
    variables: dict[str, Names | Missing | Hidden]
    pages: Pages | Missing | Hidden
    results: Branch | Missing | Hidden


class _Reader:
    def __init__(self, access: Access, repository: str, patience: Patience) -> None:
        self._access, self._repository = access, repository
        self._requester = Github(
            auth=Auth.Token(access.token) if access.token else None, base_url=access.api, timeout=20, per_page=_PAGE,
            seconds_between_requests=None, retry=PatientRetry.within(patience),
        ).requester  # fmt: skip
        with explained(access, repository):
            headers, told = self._get("")
            self.facts = Facts.model_validate(told)
        scopes = headers.get("x-oauth-scopes")
        words = None if scopes is None else tuple(filter(None, (each.strip() for each in scopes.split(","))))
        self.token = Token(access.name if access.token else None, words, headers.get(_EXPIRES))

    def ask(self, path: str, kind: type[T]) -> T | Missing | Hidden:
        with explained(self._access, self._repository):
            try:
                return kind.model_validate(self._get(path)[1])
            except RateLimitExceededException:
                raise
            except GithubException as error:
                if error.status in _HIDDEN:
                    return Hidden(error.status)
                if error.status == _NOT_FOUND:
                    return Missing()
                raise

    def _get(self, path: str) -> tuple[dict[str, Any], Any]:
        paged = {"per_page": _PAGE} if path.endswith(("secrets", "variables", "/workflows")) else None
        return self._requester.requestJsonAndCheck("GET", f"/repos/{self._repository}{path}", parameters=paged)

    def secrets(self, path: str) -> Names | Missing | Hidden:
        found = self.ask(path, _Secrets)
        return frozenset(each.name for each in found.secrets) if isinstance(found, _Secrets) else found

    def variables(self, path: str) -> Names | Missing | Hidden:
        found = self.ask(path, _Variables)
        return frozenset(each.name for each in found.variables) if isinstance(found, _Variables) else found


def read_setup(access: Access, repository: str, patience: Patience, environment: str, results: str) -> Setup:
    """Ask for all of it; about fourteen requests, which change nothing.

    Args:
        access: where GitHub is, and the token.
        repository: OWNER/NAME.
        patience: with waits.
        environment: name of the cells' environment.
        results: name of the results branch.

    Raises:
        GitHubError: the repository itself cannot be seen, the token is wrong, or GitHub is out of reach.
    """
    reader = _Reader(access, repository, patience)
    policy = reader.ask("/actions/permissions", Policy)
    choosy = isinstance(policy, Policy) and policy.allowed_actions == "selected"
    listed = reader.ask("/actions/workflows", _Workflows)
    place = f"/environments/{environment}"
    found = reader.ask(place, Environment)
    inside = isinstance(found, Environment)
    return Setup(
        token=reader.token,
        facts=reader.facts,
        policy=policy,
        selected=reader.ask("/actions/permissions/selected-actions", Selected) if choosy else Missing(),
        rights=reader.ask("/actions/permissions/workflow", DefaultRights),
        workflows=listed.workflows if isinstance(listed, _Workflows) else listed,
        environment=found,
        secrets={
            "environment": reader.secrets(f"{place}/secrets") if inside else Missing(),
            "repository": _seen(reader.secrets("/actions/secrets")),
            "organization": reader.secrets("/actions/organization-secrets"),
        },
        variables={
            "environment": reader.variables(f"{place}/variables") if inside else Missing(),
            "repository": _seen(reader.variables("/actions/variables")),
            "organization": reader.variables("/actions/organization-variables"),
        },
        pages=reader.ask("/pages", Pages),
        results=reader.ask(f"/branches/{results}", Branch),
    )


def _seen(found: Names | Missing | Hidden) -> Names | Hidden:
    """A repository always has such a list; where GitHub says that there is none, the token may not see it."""
    return Hidden(_NOT_FOUND) if isinstance(found, Missing) else found
