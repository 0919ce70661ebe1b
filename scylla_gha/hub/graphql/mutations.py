"""Parts that mutations share: inputs, ids of nodes, and errors in the words of GitHub's GraphQL interface."""

from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from scylla_gha.hub.actions_records import HubRecord
from scylla_gha.hub.cell import NOT_ALLOWED, HubSession
from scylla_gha.hub.errors import ContractGapError, HubError
from scylla_gha.hub.graphql import field
from scylla_gha.hub.operations.subjects import NO_RIGHTS, repository_of

Mutation = Callable[[HubSession, Mapping[str, Any]], dict[str, Any]]
R = TypeVar("R", bound=HubRecord)


def mutation(name: str) -> Callable[[Mutation], Mutation]:
    """Register a mutation: a function of the session and the input that returns the payload as a dict."""

    def register(function: Mutation) -> Mutation:
        def resolve(_parent: object, session: HubSession, **arguments: Any) -> dict[str, Any]:  # noqa: ANN401 of the schema
            values = arguments["input"]
            try:
                payload = function(session, values)
            except ContractGapError:
                raise
            except HubError as error:
                raise _worded(session, name, error) from error
            return {"clientMutationId": values.get("clientMutationId"), **payload}

        field(f"Mutation.{name}")(resolve)
        return function

    return register


def _worded(session: HubSession, name: str, error: HubError) -> HubError:
    """Return an error with the message that GraphQL gives: which fields are wrong, or what may not be executed."""
    message = error.message
    if message in (NO_RIGHTS, NOT_ALLOWED):
        login = session.viewer.login if session.viewer else "Somebody"
        message = f"{login} does not have the correct permissions to execute `{name[0].upper()}{name[1:]}`"
    elif message == "Validation Failed":
        messages = [entry.get("message") or _sentence(entry) for entry in error.errors if isinstance(entry, Mapping)]
        message = ", ".join(text[:1].upper() + text[1:] for text in messages) or message
    elif message == "Unprocessable Entity":
        message = ", ".join(text for text in error.errors if isinstance(text, str)) or message
    return HubError(error.status, message, error.errors, error.kind)


def _sentence(entry: Mapping[str, Any]) -> str:
    endings = {"missing_field": "can't be blank", "already_exists": "has already been taken"}
    return f"{entry.get('field')} {endings.get(str(entry.get('code')), 'is invalid')}"


def node(session: HubSession, id_: str, *kinds: type[R]) -> R:
    """Return the record of one of some kinds with a global id.

    Raises:
        HubError: NOT_FOUND, there is none, or the user may not read it.
    """
    record = session.state.by_node(id_)
    if not isinstance(record, kinds):
        raise _unresolved(id_)
    repository = repository_of(session, record)
    if repository is not None and not session.may(repository, "read"):
        raise _unresolved(id_)
    return record


def _unresolved(id_: str) -> HubError:
    return HubError(404, f"Could not resolve to a node with the global id of '{id_}'")
