"""Settings of a repository on GitHub that the token can read; only the names of secrets and variables."""

from dataclasses import dataclass
from http import HTTPStatus
from typing import Final, TypeVar

from pydantic import BaseModel

from scylla_gha.github_api.access import ApiRequestError, GitHubAccess
from scylla_gha.github_api.client import PAGE, ApiRequest, GitHubRepository, RequestLimits, RetryPolicy
from scylla_gha.github_api.responses import GitHubResponse

_HIDDEN: Final = (401, 403)
_LIMITS: Final = RequestLimits(attempts=3, timeout=10)  # a user waits for the answer
_EXPIRES: Final = "github-authentication-token-expiration"


class Rights(GitHubResponse):
    """The rights of the token's owner."""

    admin: bool = False
    push: bool = False


class Owner(GitHubResponse):
    """The account that owns a repository."""

    id: int


class RepositoryFacts(GitHubResponse):
    """Name, owner and properties of a repository, and the token owner's rights in it."""

    id: int
    owner: Owner
    full_name: str
    html_url: str
    private: bool
    fork: bool
    default_branch: str
    archived: bool = False
    permissions: Rights = Rights()


class Policy(GitHubResponse):
    """Actions policy of a repository: whether Actions are enabled, and which are allowed."""

    enabled: bool
    allowed_actions: str = "all"
    sha_pinning_required: bool = False


class SelectedActions(GitHubResponse):
    """The allowed actions if only selected actions are allowed."""

    github_owned_allowed: bool = False
    patterns_allowed: tuple[str, ...] = ()


class DefaultRights(GitHubResponse):
    """The default permissions of a workflow's token."""

    default_workflow_permissions: str


class Workflow(GitHubResponse):
    """A workflow file; `state` is active, deleted, or disabled_REASON."""

    path: str
    state: str


class _Workflows(GitHubResponse):
    workflows: tuple[Workflow, ...]


class _Item(GitHubResponse):
    name: str


class _NameList(GitHubResponse):
    secrets: tuple[_Item, ...] = ()
    variables: tuple[_Item, ...] = ()


class ProtectionRule(GitHubResponse):
    """A rule that a job must pass; type `required_reviewers`: a person or team must approve."""

    type: str


class Environment(GitHubResponse):
    """The environment in which the cells' jobs run."""

    protection_rules: tuple[ProtectionRule, ...] = ()


class Pages(GitHubResponse):
    """GitHub Pages site; `build_type` is `workflow`, or `legacy`: built from a branch."""

    build_type: str | None = None


class ResultsBranchInfo(GitHubResponse):
    """Protection of the results branch."""

    protected: bool


@dataclass(frozen=True, slots=True)
class MissingResource:
    """A resource that does not exist."""


@dataclass(frozen=True, slots=True)
class HiddenResource:
    """A resource that the token cannot see."""

    status: int


T = TypeVar("T", bound=BaseModel)
Names = frozenset[str]
Unread = MissingResource | HiddenResource


@dataclass(frozen=True, slots=True)
class TokenInfo:
    """The requests' token. `name` None: no token; `scopes` None: the token has fine-grained permissions."""

    name: str | None
    scopes: tuple[str, ...] | None = None
    expires: str | None = None


@dataclass(frozen=True, slots=True)
class RepositorySetup:
    """All settings; names of secrets and variables by level: environment, repository, organization."""

    token: TokenInfo
    facts: RepositoryFacts
    policy: Policy | Unread
    selected: SelectedActions | Unread
    rights: DefaultRights | Unread
    workflows: tuple[Workflow, ...] | Unread
    environment: Environment | Unread
    secrets: dict[str, Names | Unread]
    variables: dict[str, Names | Unread]
    pages: Pages | Unread
    results: ResultsBranchInfo | Unread


class _SetupReader:
    def __init__(self, repository: GitHubRepository) -> None:
        self._repository = repository
        request = ApiRequest("GET", "", "read the repository", "metadata: read")
        headers, self.facts = repository.read_with_headers(request, RepositoryFacts)
        scopes = headers.get("x-oauth-scopes")
        names = None if scopes is None else tuple(filter(None, (scope.strip() for scope in scopes.split(","))))
        access = repository.access
        self.token = TokenInfo(access.name if access.token else None, names, headers.get(_EXPIRES))

    def read(self, path: str, kind: type[T], *, is_list: bool = False) -> T | Unread:
        try:
            query = {"per_page": PAGE} if is_list else {}
            return self._repository.read(
                ApiRequest("GET", path, f"read {path}", "administration: read", query=query), kind
            )
        except ApiRequestError as error:
            if error.status in _HIDDEN:
                return HiddenResource(error.status)
            if error.status == HTTPStatus.NOT_FOUND:
                return MissingResource()
            raise

    def levels(self, noun: str, environment: str | None) -> dict[str, Names | Unread]:
        """Return the names of `secrets` or `variables` by level."""
        repository = self._names(f"/actions/{noun}")
        if isinstance(repository, MissingResource):  # every repository has this list, so the token cannot see it
            repository = HiddenResource(HTTPStatus.NOT_FOUND)
        return {
            "environment": self._names(f"{environment}/{noun}") if environment else MissingResource(),
            "repository": repository,
            "organization": self._names(f"/actions/organization-{noun}"),
        }

    def _names(self, path: str) -> Names | Unread:
        answer = self.read(path, _NameList, is_list=True)
        if not isinstance(answer, _NameList):
            return answer
        return frozenset(item.name for item in (*answer.secrets, *answer.variables))


def read_setup(
    access: GitHubAccess, repository: str, retries: RetryPolicy, environment: str, results: str
) -> RepositorySetup:
    """Read all settings with about fourteen requests.

    Args:
        access: address and token.
        repository: OWNER/NAME.
        retries: how long to wait for rate limits.
        environment: name of the cells' environment.
        results: name of the results branch.

    Raises:
        GitHubError: the repository is not visible, the token is invalid, or GitHub cannot be reached.
    """
    reader = _SetupReader(GitHubRepository(access, repository, retries, _LIMITS))
    policy = reader.read("/actions/permissions", Policy)
    is_selective = isinstance(policy, Policy) and policy.allowed_actions == "selected"
    workflows = reader.read("/actions/workflows", _Workflows, is_list=True)
    path = f"/environments/{environment}"
    cells = reader.read(path, Environment)
    existing = path if isinstance(cells, Environment) else None
    return RepositorySetup(
        token=reader.token,
        facts=reader.facts,
        policy=policy,
        selected=reader.read("/actions/permissions/selected-actions", SelectedActions)
        if is_selective
        else MissingResource(),
        rights=reader.read("/actions/permissions/workflow", DefaultRights),
        workflows=workflows.workflows if isinstance(workflows, _Workflows) else workflows,
        environment=cells,
        secrets=reader.levels("secrets", existing),
        variables=reader.levels("variables", existing),
        pages=reader.read("/pages", Pages),
        results=reader.read(f"/branches/{results}", ResultsBranchInfo),
    )
