"""Every write of the contract, and a restore: a cell never sees what another one did, and the same writes are equal."""

import string
from pathlib import Path
from typing import Any

import jmespath
import yaml

from scylla_gha.hub.cell import Hub
from scylla_gha.hub.contract import contract
from scylla_gha.hub.rest import find_route
from scylla_gha.hub.seeds import find_seed
from scylla_gha.hub.trial_files import exported_state, state_digest
from tests.support.hub import REPO, Caller

ALWAYS_REFUSED = {"enablePullRequestAutoMerge", "disablePullRequestAutoMerge"}
FIXTURE = Path(__file__).parents[1] / "support/hub_fixture"


def test_every_write_and_a_restore_leave_the_start_and_repeat(tmp_path: Path) -> None:
    seed = find_seed(FIXTURE, tmp_path / "cache")
    start = state_digest(seed.exported)
    ends, written = [], set[str]()
    for name in ("one", "two"):
        hub = seed.restore(tmp_path / name)
        assert state_digest(exported_state(hub)) == start
        written |= write_everything(hub, seed.facts["names"])
        ends.append(state_digest(exported_state(hub)))
    assert ends[0] == ends[1] != start
    assert state_digest(exported_state(seed.restore(tmp_path / "three"))) == start
    listed = contract()
    writes = {name for name in listed.rest if not name.startswith("GET ")} | set(listed.mutations)
    assert writes - written == ALWAYS_REFUSED


def write_everything(hub: Hub, names: dict[str, int]) -> set[str]:
    """Run the steps; the operations that they sent."""
    tokens = {id_: token for token, id_ in hub.tokens.items()}
    known: dict[str, Any] = {}
    written: set[str] = set()
    for user, operation, body, *rest in yaml.safe_load(
        FIXTURE.with_name("hub_writes.yaml").read_text(encoding="utf-8")
    ):
        caller = Caller(hub, tokens[names[f"user.{user}"]])
        wanted = rest[1] if len(rest) > 1 else None
        sent, answer = _send(caller, _filled(operation, known), _filled(body, known), wanted)
        written.add(sent)
        known |= {name: jmespath.search(path, answer) for name, path in ((rest[0] if rest else None) or {}).items()}
    return written


def _send(caller: Caller, operation: str, body: Any, wanted: int | str | None) -> tuple[str, Any]:
    method, _, path = operation.partition(" ")
    if not method.isupper():
        selection = wanted or "clientMutationId"
        kind = f"{method[0].upper()}{method[1:]}Input!"
        query = f"mutation($input: {kind}) {{ {method}(input: $input) {{ {selection} }} }}"
        return method, caller.data(query, input=body)[method]
    url = path if path.startswith("/") else f"{REPO}/{path}".rstrip("/")
    answer = caller.rest(method, url, body.encode() if isinstance(body, str) else body,
                         **({"content_type": "text/plain"} if isinstance(body, str) else {}))  # fmt: skip
    assert answer.status == wanted or (wanted is None and answer.status < 400), f"{operation}: {answer.body}"
    route = find_route(method, url.partition("?")[0])
    assert route is not None
    return f"{method} {route[0].template}", answer.body


def _filled(value: Any, known: dict[str, Any]) -> Any:
    """A value with known names in the place of $name; a text that is one name becomes what it names."""
    if isinstance(value, str):
        whole = value.removeprefix("$")
        return known[whole] if whole in known and whole != value else string.Template(value).safe_substitute(known)
    if isinstance(value, dict):
        return {key: _filled(part, known) for key, part in value.items()}
    return [_filled(part, known) for part in value] if isinstance(value, list) else value
