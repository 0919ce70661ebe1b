"""Contract of the hub: what it supports, and the client that sends it; `docs/hub-contract.md` is generated from it."""

import functools
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Annotated, Final

from pydantic import Field

from scylla_gha.config import load_yaml
from scylla_gha.counting import counted
from scylla_gha.model import Record

Clients = tuple[str, ...]
_INTRODUCTION: Final = """\
# Contract of the hub

This page is generated from `scylla_gha/hub/contract.yaml` by `scylla-gha schemas`; do not edit it.

The hub is a GitHub of its own for each cell. It answers what this page lists. All else of GitHub is a gap: REST answers
501, GraphQL an error of the type `NOT_AVAILABLE`. Both name what is missing, and the trial's record counts them.
A REST path or a GraphQL field that GitHub does not have gets GitHub's own error and is not counted.
"""
_COMMANDS: Final = """\
## Commands

`gh` is the GitHub CLI 2.102; tests run each command of the second column. Commands of the third column are gaps.
"""


class CommandSupport(Record):
    """Commands of one noun: those that work, and those that meet a gap."""

    works: Annotated[Clients, Field(description="Commands that work, with the options that were tried")]
    gaps: Annotated[Clients, Field(description="Commands that end with NOT_AVAILABLE or 501")] = ()


class TypeSupport(Record):
    """Fields of a GraphQL type that are answered, and who sends them."""

    fields: Clients
    clients: Clients


class Contract(Record):
    """Contract of the hub: the operations that it supports (`scylla_gha/hub/contract.yaml`)."""

    commands: dict[str, CommandSupport]
    rest: Annotated[dict[str, Clients], Field(description="REST operation in GitHub's notation -> its clients")]
    queries: Annotated[dict[str, Clients], Field(description="Field of Query -> its clients")]
    mutations: Annotated[dict[str, Clients], Field(description="Field of Mutation -> its clients")]
    types: Annotated[dict[str, TypeSupport], Field(description="Other GraphQL type -> its fields and clients")]

    @property
    def graphql(self) -> frozenset[tuple[str, str]]:
        """All fields, each with its type."""
        roots = {("Query", name) for name in self.queries} | {("Mutation", name) for name in self.mutations}
        return frozenset(roots | {(kind, name) for kind, support in self.types.items() for name in support.fields})


@functools.cache
def contract() -> Contract:
    """Return the contract of this version."""
    return load_yaml(Path(__file__).with_name("contract.yaml"), Contract)


def contract_page() -> str:
    """Return the Markdown page that lists the contract."""
    return "\n".join((_INTRODUCTION, *_sections(contract())))


def _sections(listed: Contract) -> Iterator[str]:
    yield _COMMANDS
    yield from _table(("noun", "works", "gap"), (
        (noun, _lines(support.works), _lines(support.gaps)) for noun, support in listed.commands.items()
    ))  # fmt: skip
    yield f"\n## REST\n\n{counted(len(listed.rest), 'operation')}.\n"
    yield from _clients_table("operation", listed.rest)
    yield f"\n## GraphQL\n\n{counted(len(listed.graphql), 'field')} of {counted(len(listed.types) + 2, 'type')}.\n"
    yield "### Query\n"
    yield from _clients_table("field", listed.queries)
    yield "\n### Mutation\n"
    yield from _clients_table("field", listed.mutations)
    yield "\n### Types\n"
    yield from _table(("type", "fields", "sent by"), (
        (f"`{kind}`", ", ".join(support.fields), ", ".join(support.clients)) for kind, support in listed.types.items()
    ))  # fmt: skip
    yield ""


def _clients_table(subject: str, rows: Mapping[str, Clients]) -> Iterator[str]:
    yield from _table((subject, "sent by"), ((f"`{name}`", ", ".join(clients)) for name, clients in rows.items()))


def _table(header: tuple[str, ...], rows: Iterator[tuple[str, ...]]) -> Iterator[str]:
    yield f"| {' | '.join(header)} |"
    yield "|" + "---|" * len(header)
    yield from (f"| {' | '.join(row)} |" for row in rows)


def _lines(commands: Clients) -> str:
    return "<br>".join(f"`{command}`" for command in commands)
