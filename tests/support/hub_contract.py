"""Bring the hub's contract file up to what is registered: `python -m tests.support.hub_contract`.

Clients that the file names are kept. What is new gets "gh api" or "gh api graphql", the client of requests by hand:
replace it by the command that sends it. Afterwards run `scylla-gha schemas`, which writes the page.
"""

import re
import textwrap
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from scylla_gha.hub import contract as hub_contract
from scylla_gha.hub.contract import Clients, Contract, TypeSupport, contract
from scylla_gha.hub.graphql import RESOLVERS
from scylla_gha.hub.graphql import register as graphql
from scylla_gha.hub.rest import ROUTES
from scylla_gha.hub.rest import dispatch as rest

FILE = Path(hub_contract.__file__).with_name("contract.yaml")
HEADER = """\
# What the hub supports, and the client that sends it; `scylla-gha schemas` writes docs/hub-contract.md from this file.
# A client is a command of gh, a tool of GitHub's MCP server, or `gh api` for requests written by hand (also those of
# PyGithub and octokit). `python -m tests.support.hub_contract` adds what is registered and not listed.
"""


def registered_rest() -> set[str]:
    """Operations that have a handler, such as "GET /user"; not addresses to which the hub itself redirects."""
    rest.register()
    return {f"{route.method} {route.template}" for route in ROUTES if not route.template.startswith(("/_", "/raw/"))}


def registered_graphql() -> set[tuple[str, str]]:
    """Fields that have a resolver, each with its type."""
    graphql.register()
    return set(RESOLVERS)


def updated(old: Contract) -> Contract:
    """The contract of what is registered now."""
    fields = registered_graphql()
    operations = sorted(registered_rest(), key=lambda name: tuple(reversed(name.split())))
    kinds = sorted({kind for kind, _ in fields} - {"Query", "Mutation"})
    by_hand = ("gh api graphql",)
    return Contract(
        commands=old.commands,
        rest={name: old.rest.get(name, ("gh api",)) for name in operations},
        queries={name: old.queries.get(name, by_hand) for name in _of("Query", fields)},
        mutations={name: old.mutations.get(name, by_hand) for name in _of("Mutation", fields)},
        types={kind: TypeSupport(fields=_of(kind, fields),
                                 clients=old.types[kind].clients if kind in old.types else by_hand)
               for kind in kinds},
    )  # fmt: skip


def _of(kind: str, fields: Iterable[tuple[str, str]]) -> Clients:
    return tuple(sorted(name for owner, name in fields if owner == kind))


def as_yaml(listed: Contract) -> str:
    """The file's text."""
    return HEADER + "".join(f"{line}\n" for line in _lines(listed))


def _lines(listed: Contract) -> Iterator[str]:
    yield "commands:"
    for noun, support in listed.commands.items():
        yield f"  {noun}:"
        for key, commands in (("works", support.works), ("gaps", support.gaps)):
            yield from [f"    {key}:", *(f"      - {_scalar(command)}" for command in commands)] if commands else []
    for key, clients in (("rest", listed.rest), ("queries", listed.queries), ("mutations", listed.mutations)):
        yield f"{key}:"
        yield from _mapping(clients, "  ")
    yield "types:"
    for kind, fields in listed.types.items():
        yield f"  {kind}:"
        yield from _mapping({"fields": fields.fields, "clients": fields.clients}, "    ")


def _mapping(entries: Mapping[str, Clients], indent: str) -> Iterator[str]:
    for key, values in entries.items():
        text = f"{indent}{key}: [{', '.join(map(_scalar, values))}]"
        yield from textwrap.wrap(text, 118, subsequent_indent=f"{indent}  ", break_long_words=False,
                                 break_on_hyphens=False)  # fmt: skip


def _scalar(text: str) -> str:
    return f'"{text}"' if re.search(r"[:#{}\[\],&*?|<>=!%@`']", text) else text


if __name__ == "__main__":
    FILE.write_text(as_yaml(updated(contract())), encoding="utf-8")
