"""GraphQL interface of the hub, on GitHub's whole public schema.

Modules register resolvers with `@field`; a field of the schema without one is outside the contract. A resolver gets
the parent (a record, or what another resolver returned), the session, and the field's arguments by their GraphQL names.
"""

import functools
import inspect
from collections.abc import Callable
from typing import Any, TypeVar

from scylla_gha.hub.cell import HubSession

Resolver = Callable[..., Any]  # (parent, session, **arguments)
F = TypeVar("F", bound=Callable[..., Any])
RESOLVERS: dict[tuple[str, str], Resolver] = {}


def field(*names: str) -> Callable[[F], F]:
    """Register a resolver for fields such as "PullRequest.title" or "Mutation.addComment"."""

    def register(resolver: F) -> F:
        for name in names:
            kind, _, field_name = name.partition(".")
            RESOLVERS[kind, field_name] = resolver
        return resolver

    return register


@functools.cache
def arguments_of(resolver: Resolver) -> frozenset[str] | None:
    """Return the arguments of the field that a resolver heeds; None: all. Others are outside the contract."""
    if hasattr(resolver, "arguments"):
        listed: frozenset[str] | None = resolver.arguments
        return listed
    parameters = list(inspect.signature(resolver).parameters.values())[2:]
    if any(parameter.kind is parameter.VAR_KEYWORD for parameter in parameters):
        return None
    return frozenset(parameter.name for parameter in parameters)


def attributes(kind: str, **names: str) -> None:
    """Register fields that are attributes of the parent: `attributes("Label", name="name", isDefault="default")`."""
    for field_name, attribute in names.items():
        RESOLVERS[kind, field_name] = _reader(attribute)


def constants(kind: str, **values: Any) -> None:  # noqa: ANN401 whatever the schema says
    """Register fields that have the same value for every parent, such as `viewerDidAuthor` of none."""
    for field_name, value in values.items():
        RESOLVERS[kind, field_name] = _constant(value)


def _reader(attribute: str) -> Resolver:
    return lambda parent, session, **arguments: getattr(parent, attribute)  # noqa: ARG005 the signature of resolvers


def _constant(value: Any) -> Resolver:  # noqa: ANN401 as above
    return lambda parent, session, **arguments: value  # noqa: ARG005 as above


__all__ = ["RESOLVERS", "HubSession", "Resolver", "arguments_of", "attributes", "constants", "field"]
