"""Accounts that act in fixture repositories: login, token and API client of each user of a fixture."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Final
from urllib.parse import urlsplit

from scylla_gha.errors import ConfigError, GitHubError
from scylla_gha.github_api.access import GitHubAccess, access_from
from scylla_gha.github_api.client import ApiRequest, GitHubRepository, RequestLimits, RetryPolicy
from scylla_gha.github_api.responses import User
from scylla_gha.github_com import token_variable
from scylla_gha.model.github_fixture import REPOSITORIES_FILE, RepositoryPool

PUBLIC_SITE: Final = "https://github.com"
_MAX_CALLS: Final = 2000
_NOT_A_USER: Final = (403, 404)  # HTTP statuses of `/user` for tokens of apps


def site_of(environ: Mapping[str, str]) -> str:
    """Return the address of GitHub's site; it must be on the API's server, since both receive the token.

    Raises:
        GitHubError: GITHUB_API_URL and GITHUB_SERVER_URL name different servers, or one is not safe.
    """
    api = _anonymous(environ).api
    site = environ.get("GITHUB_SERVER_URL", "").strip().rstrip("/") or PUBLIC_SITE
    of_api, of_site = urlsplit(api), urlsplit(site)
    hosts = {(of_site.hostname, of_site.port), (f"api.{of_site.hostname}", of_site.port)}
    if of_site.scheme != of_api.scheme or (of_api.hostname, of_api.port) not in hosts:
        raise GitHubError(
            f"GITHUB_API_URL ({api}) and GITHUB_SERVER_URL ({site}) name different servers, and a token would be "
            "sent to both; set both for one server, or neither for github.com"
        )
    return site


def _anonymous(environ: Mapping[str, str]) -> GitHubAccess:
    """Return access to the API without a token."""
    return access_from({"GITHUB_API_URL": environ.get("GITHUB_API_URL", "")})


@dataclass
class FixtureAccounts:
    """API clients of one repository, one per user.

    Attributes:
        pool: logins by user, and the name of the administrator.
        repository: OWNER/NAME.
        environ: environment with the tokens.
    """

    pool: RepositoryPool
    repository: str
    environ: Mapping[str, str] = field(repr=False)
    retries: RetryPolicy
    limits: RequestLimits
    _clients: dict[str, GitHubRepository] = field(default_factory=dict)

    @property
    def admin(self) -> GitHubRepository:
        """The client of the user who administers the repository."""
        return self.client(self.pool.admin)

    @property
    def calls(self) -> int:
        """Number of requests that all clients have sent."""
        return sum(client.calls for client in self._clients.values())

    def client(self, user: str) -> GitHubRepository:
        """Return the client of a user.

        Raises:
            ConfigError: the user has no account or no token.
        """
        if user not in self._clients:
            self.require([user])
            self._clients[user] = GitHubRepository(self.access(user), self.repository, self.retries, self.limits)
        return self._clients[user]

    def access(self, user: str) -> GitHubAccess:
        """Return the API's address with the token of a user."""
        variable = token_variable(user)
        site_of(self.environ)
        return GitHubAccess(_anonymous(self.environ).api, self.environ[variable].strip(), variable)

    def has_token(self, user: str) -> bool:
        """Return whether a user has an account and a token."""
        return user in self.pool.accounts and bool(self.environ.get(token_variable(user), "").strip())

    def login(self, user: str) -> str:
        """Return the login of a user."""
        return self.pool.accounts[user]

    def require(self, users: Iterable[str], others: Iterable[str] = ()) -> None:
        """Require accounts and tokens before the first change; the error names all that are missing.

        Args:
            users: users who act, so need an account and a token.
            others: users who need only an account.

        Raises:
            ConfigError: an account or a token is missing.
        """
        wanted = sorted(set(users))
        accounts = [user for user in sorted({*wanted, *others}) if user not in self.pool.accounts]
        tokens = [token_variable(user) for user in wanted if user not in accounts and not self.has_token(user)]
        lines = []
        if accounts:
            lines.append(
                f"{REPOSITORIES_FILE}: accounts: no login for {', '.join(accounts)}; add "
                f"{'it' if len(accounts) == 1 else 'them'}"
            )
        if tokens:
            lines.append(f"set {', '.join(tokens)}: tokens of accounts that have to act in {self.repository}")
        if lines:
            raise ConfigError("\n".join(lines))

    def require_logins(self, users: Iterable[str]) -> None:
        """Ask GitHub whose tokens these are, and refuse tokens of other accounts. Tokens of apps are not checked.

        Raises:
            ConfigError: a token belongs to another account.
            GitHubError: GitHub does not accept a token.
        """
        lines = []
        for user in sorted(set(users)):
            variable, login = token_variable(user), self.login(user)
            request = ApiRequest("GET", "//user", f"ask whose token {variable} has", "")
            owner = self.client(user).find(request, User, *_NOT_A_USER)
            if owner is not None and owner.login.lower() != login.lower():
                lines.append(
                    f"{variable}: is a token of {owner.login}, but {REPOSITORIES_FILE} gives {user} the login {login}; "
                    "correct one of them"
                )
        if lines:
            raise ConfigError("\n".join(lines))

    def users(self) -> dict[str, str]:
        """Return the fixture's users by login in lower case."""
        shared = self.pool.shared_accounts()
        return {login.lower(): shared[user] for user, login in sorted(self.pool.accounts.items())}


def limits_of(environ: Mapping[str, str]) -> RequestLimits:
    """Return the clients' request limits; for a server on this machine, pauses are short or absent."""
    is_local = _anonymous(environ).is_local
    return RequestLimits(
        between_writes=0.0 if is_local else 1.0, backoff=0.05 if is_local else 2.0, max_calls=_MAX_CALLS
    )


def retries_of(report: Callable[[str], None]) -> RetryPolicy:
    """Return a retry policy for all clients; its pauses last half an hour in total at most."""
    return RetryPolicy(report, seconds=1800.0)
