"""Calls between functions of a code base."""

from collections.abc import Iterator, Mapping

from scylla_gha.readiness.source_code import CallEdge, SourceFile


def call_edges(files: Mapping[str, SourceFile]) -> Iterator[CallEdge]:
    """Return the calls whose target is defined in the same file."""
    for file in files.values():
        names = {function.name: function.id for function in file.functions if "#" not in function.name}
        for function in file.functions:
            for call in function.calls:
                if call.name in names and call.name not in dict(function.variables):
                    yield CallEdge(function.id, names[call.name], call.line, "certain")
