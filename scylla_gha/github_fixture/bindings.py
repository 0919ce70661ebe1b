"""Facts for prompts, such as `{{ pr.review_me.number }}`, as they are in one repository."""

from collections.abc import Sequence
from typing import Any, Final

from scylla_gha.github_fixture.view import FixtureView

_FACTS: Final = {"id": "database_id", "node_id": "id", "number": "number", "url": "url"}


def bindings_of(view: FixtureView) -> dict[str, dict[str, str | int]]:
    """Return the facts for prompts, such as `pr.review_me` with its number, as they are in this repository.

    Numbers differ from those of the hub when something was created anew. Facts of runs and checks are left out.
    """
    bindings = {name: dict(facts) for name, facts in view.reference.world.bindings.items()
                if not name.startswith(("run.", "workflow.", "check."))}  # fmt: skip
    nodes = _nodes_by_name(view)
    for name, facts in bindings.items():
        if name.startswith("user."):
            facts["login"] = view.dialect.logins.get(name.partition(".")[2], facts["login"])
        elif name == "repo.main":
            owner, repository = view.dialect.repository.split("/")
            facts |= {"owner": owner, "name": repository, "full_name": view.dialect.repository,
                      "url": f"https://github.com/{view.dialect.repository}"}  # fmt: skip
        node = nodes.get(name)
        if node is not None:
            facts |= {
                key: getattr(node, field) for key, field in _FACTS.items() if key in facts and hasattr(node, field)
            }
        for key, text in facts.items():
            if isinstance(text, str) and key in ("title", "name"):
                facts[key] = view.dialect.spoken(view.reference.dialect.neutral(text), view.numbers)
    return bindings


def _nodes_by_name(view: FixtureView) -> dict[str, Any]:
    """Return this repository's objects by the names that the fixture gives them."""
    names = view.reference.world.names
    reference, own = view.reference.objects, view.objects
    keys: dict[int, str] = {}
    groups: Sequence[dict[str, Any]] = (reference.issues, reference.pulls, reference.comments, reference.reviews,
                                        reference.lines, reference.releases)  # fmt: skip
    for group in groups:
        keys |= {node.database_id: key for key, node in group.items()}
    threads = {thread.id: key for key, thread in reference.threads.items()}
    own_nodes: dict[str, Any] = {**own.issues, **own.pulls, **own.comments, **own.reviews, **own.lines, **own.releases}
    nodes = {name: own_nodes.get(keys[id_]) for name, id_ in names.items() if id_ in keys}
    for name in names:
        if name.startswith("thread."):
            node_id = str(view.reference.world.bindings[name]["node_id"])
            nodes[name] = own.threads.get(threads.get(node_id, ""))
    return nodes
