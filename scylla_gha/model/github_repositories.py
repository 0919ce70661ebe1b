"""Repositories on github.com that fixtures may change, and their accounts: `config/github-fixtures.yaml`."""

from typing import Annotated, Final

from pydantic import Field, StringConstraints, model_validator

from scylla_gha.model import Record
from scylla_gha.model.github_history import Key

REPOSITORIES_FILE: Final = "github-fixtures.yaml"
RepositoryName = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9][A-Za-z0-9-]*/[A-Za-z0-9_.-]*[A-Za-z0-9_-]$")]
AccountLogin = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9](-?[A-Za-z0-9])*$", max_length=39)]


class RepositoryPool(Record):
    """Repositories of one fixture. The token of a user is SCYLLA_FIXTURE_TOKEN_<USER> of the environment."""

    repositories: tuple[RepositoryName, ...] = Field(
        min_length=1, description="Repositories on github.com that trials of the fixture use in turn"
    )
    admin: Key = Field(description="Name of the fixture's user who administers and resets the repositories")
    accounts: dict[Key, AccountLogin] = Field(description="Logins on github.com, by the fixture's user")

    @model_validator(mode="after")
    def _consistent(self) -> "RepositoryPool":
        if self.admin not in self.accounts:
            raise ValueError(f"admin: {self.admin} has no account; add it to accounts")
        if len({name.lower() for name in self.repositories}) < len(self.repositories):
            raise ValueError("repositories: one is listed twice")
        return self


class GitHubRepositories(Record):
    """Allow-list: `scylla-gha fixture` changes no other repository."""

    fixtures: dict[str, RepositoryPool] = Field(
        description="Repositories that may be changed, by the name of the folder in `fixtures/`"
    )
