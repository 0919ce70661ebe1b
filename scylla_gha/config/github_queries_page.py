"""Page of the queries of checkpoints on GitHub state, with the fields of what they select from."""

import inspect
import types
import typing
from collections.abc import Iterator
from typing import Final

from scylla_gha.model import Record
from scylla_gha.model.github_texts import GitHubView
from scylla_gha.model.github_views import LIST_QUERIES, OBJECT_QUERIES, PUSHES, PushView

_INTRODUCTION: Final = """\
# Queries of GitHub state

This page is generated from the code by `scylla-gha schemas`; do not edit it.

A checkpoint of kind `github` selects from one object, which `target` names, or from all of a kind
([scenarios with GitHub](github-scenarios.md)). `select` is a jmespath expression over these fields. Every object has an
`id` and a `sequence`, the number of the write that created it; 0 is the fixture's.
"""
_SIMPLE: Final = {str: "text", int: "whole number", bool: "true or false", type(None): "null"}


def queries_page() -> str:
    """Return the Markdown page."""
    return "\n".join((_INTRODUCTION, *_sections()))


def _sections() -> Iterator[str]:
    lists = {name: plural for plural, name in LIST_QUERIES.items()}
    parts: dict[str, type[Record]] = {}
    for name, view in OBJECT_QUERIES.items():
        every = f", all: `{lists[name]}`" if name in lists else ""
        yield from _section(f"`{name}`{every}", view, parts)
    yield from _section(f"all: `{PUSHES}`", PushView, parts)
    known = {*OBJECT_QUERIES.values(), PushView}
    while missing := [part for part in parts.values() if part not in known]:
        known.update(missing)
        for part in missing:
            yield from _section(part.__name__, part, parts)


def _section(title: str, view: type[Record], parts: dict[str, type[Record]]) -> Iterator[str]:
    """Yield the section of a view; note in `parts` the records that its fields hold."""
    yield f"## {title}\n\n{inspect.getdoc(view)}\n\n| field | value |\n|---|---|"
    for name, field in view.model_fields.items():
        if name in GitHubView.model_fields:
            continue
        yield f"| `{name}` | {_words(field.annotation, parts)} |"
    yield ""


def _words(annotation: object, parts: dict[str, type[Record]]) -> str:
    """Return the words for a type, such as "list of text"."""
    origin, arguments = typing.get_origin(annotation), typing.get_args(annotation)
    if origin is typing.Literal:
        return ", ".join(f"`{value}`" for value in arguments)
    if origin in (typing.Union, types.UnionType):
        return " or ".join(_words(argument, parts) for argument in arguments)
    if origin is tuple:
        return f"list of {_words(arguments[0], parts)}"
    if isinstance(annotation, type) and issubclass(annotation, Record):
        parts[annotation.__name__] = annotation
        return annotation.__name__
    return _SIMPLE.get(annotation, "object") if isinstance(annotation, type) else "object"
