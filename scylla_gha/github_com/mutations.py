"""Changes that may be repeated, sent several at a time as one GraphQL document each."""

import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from scylla_gha.github_api.client import FieldError, GitHubRepository, GraphQLRequest

NO_OBJECT: Final = "0" * 40
ANY_OBJECT: Final = "*"  # unknown object of a ref
_MOST_AT_ONCE: Final = 20  # GitHub ends a request after ten seconds


@dataclass(frozen=True, slots=True)
class Mutation:
    """One change: the mutation's name and input. `user` None is the administrator."""

    name: str
    fields: Mapping[str, Any]
    user: str | None = None

    @property
    def is_removal(self) -> bool:
        """True for deletions, which succeed if the object does not exist any more."""
        return self.name.startswith("delete")


@dataclass(frozen=True, slots=True)
class FailedMutation:
    """Change that GitHub refused, with the reason."""

    mutation: Mutation
    error: FieldError

    def __str__(self) -> str:
        """Return mutation and reason for messages."""
        return f"{self.mutation.name}: {self.error.message}"


def batches(mutations: Sequence[Mutation]) -> Iterator[tuple[str | None, list[Mutation]]]:
    """Yield consecutive changes of one user, at most twenty at a time."""
    for user, group in itertools.groupby(mutations, key=lambda mutation: mutation.user):
        listed = list(group)
        for at in range(0, len(listed), _MOST_AT_ONCE):
            yield user, listed[at : at + _MOST_AT_ONCE]


def send_mutations(client: GitHubRepository, mutations: Sequence[Mutation], what: str) -> list[FailedMutation]:
    """Send changes in one request; return the refused ones. GitHub makes the others nevertheless."""
    inputs = {f"i{at}": mutation.fields for at, mutation in enumerate(mutations)}
    types = ", ".join(
        f"$i{at}: {mutation.name[0].upper()}{mutation.name[1:]}Input!" for at, mutation in enumerate(mutations)
    )
    calls = " ".join(
        f"m{at}: {mutation.name}(input: $i{at}) {{ clientMutationId }}" for at, mutation in enumerate(mutations)
    )
    request = GraphQLRequest(f"mutation({types}) {{ {calls} }}", what, "contents: write", inputs)
    failed = []
    for error in client.graphql(request).errors:
        mutation = mutations[int(error.name[1:])] if error.name[1:].isdecimal() else mutations[0]
        if not (mutation.is_removal and error.kind == "NOT_FOUND"):
            failed.append(FailedMutation(mutation, error))
    return failed


def ref_updates(repository: str, updates: Mapping[str, tuple[str | None, str | None]]) -> Mutation:
    """Return one atomic change of refs, which GitHub refuses if a ref has moved meanwhile.

    Args:
        repository: global id.
        updates: objects before and after by ref; None: the ref does not exist.
    """
    changes = [
        {
            "name": name,
            **({} if before == ANY_OBJECT else {"beforeOid": before or NO_OBJECT}),
            "afterOid": after or NO_OBJECT,
            "force": True,
        }
        for name, (before, after) in sorted(updates.items())
    ]
    return Mutation("updateRefs", {"repositoryId": repository, "refUpdates": changes})
