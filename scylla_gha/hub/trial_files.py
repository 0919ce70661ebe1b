"""Files that a trial leaves of its GitHub: states and journal as canonical JSON, and the repositories as a git bundle.

`github.json` holds {version, names, start, end, journal}. A state is {records: {kind: [fields of a record]}, refs:
{repository: {ref: object}}}; records name others by id, and repositories are named by id. `names` are the fixture's
names of records, such as `pr.review_me`. The journal has the writes of the trial alone.
`github.bundle` holds all commits, with refs such as `refs/start/<repository>/heads/main` and `refs/end/...`.
"""

import hashlib
import re
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import orjson

from scylla_gha.hub.actions_records import HubRecord
from scylla_gha.hub.cell import Hub
from scylla_gha.hub.git_store import GitRepository
from scylla_gha.hub.records import KINDS, RepositoryRecord

STATE_FILE: Final = "github.json"
BUNDLE_FILE: Final = "github.bundle"
REQUESTS_FILE: Final = "github-requests.jsonl"
_VERSION: Final = 1
_QUICK: Final = (
    "-c",
    "pack.threads=1",
    "-c",
    "core.bigFileThreshold=1m",
    "-c",
    "pack.window=0",
)  # new deltas take long
_OPTIONS: Final = orjson.OPT_SORT_KEYS | orjson.OPT_UTC_Z


def kind_name(kind: type[HubRecord]) -> str:
    """Return the name of a kind in the files, such as `pull_request`."""
    return re.sub(r"(?<!^)(?=[A-Z])", "_", kind.__name__.removesuffix("Record")).lower()


def exported_state(hub: Hub) -> dict[str, Any]:
    """Return the records and refs of a cell as plain data."""
    records = {kind_name(kind): sorted(hub.state.where(kind), key=lambda record: record.id) for kind in KINDS}
    refs = {str(repository.id): dict(sorted(hub.git(repository).refs().items()))
            for repository in hub.state.where(RepositoryRecord)}  # fmt: skip
    plain: dict[str, Any] = orjson.loads(orjson.dumps({"records": records, "refs": refs}, option=_OPTIONS))
    return plain


def state_digest(state: Mapping[str, Any]) -> str:
    """Return the SHA-256 of an exported state without its times."""
    return hashlib.sha256(orjson.dumps(_without_times(state), option=_OPTIONS)).hexdigest()


def _without_times(value: object) -> object:
    if isinstance(value, Mapping):
        return {key: _without_times(part) for key, part in value.items() if not key.endswith("_at")}
    return [_without_times(part) for part in value] if isinstance(value, list) else value


def write_trial_files(folder: Path, hub: Hub, start: Mapping[str, Any], names: Mapping[str, int]) -> None:
    """Write a cell's `github.json` and `github.bundle`.

    Args:
        folder: where to write them.
        hub: the cell's GitHub at the end of the trial.
        start: what `exported_state` returned before the trial.
        names: ids of records by the fixture's names of them.

    Raises:
        ToolError: git cannot make the bundle.
    """
    end = exported_state(hub)
    journal = [{**orjson.loads(orjson.dumps(entry, option=_OPTIONS)), "kind": _kind_of(entry.kind)}
               for entry in hub.state.journal]  # fmt: skip
    content = {"version": _VERSION, "names": names, "start": start, "end": end, "journal": journal}
    (folder / STATE_FILE).write_bytes(orjson.dumps(content, option=_OPTIONS | orjson.OPT_INDENT_2))
    _write_bundle(folder / BUNDLE_FILE, hub, {"start": start["refs"], "end": end["refs"]})


def _kind_of(name: str) -> str:
    return next(kind_name(kind) for kind in KINDS if kind.__name__ == name)


def _write_bundle(target: Path, hub: Hub, refs: Mapping[str, Mapping[str, Mapping[str, str]]]) -> None:
    """Bundle the refs of all repositories, from an empty repository that reads the objects of all of them."""
    lines = [
        f"{sha} {name.replace('refs/', f'refs/{when}/{repository}/', 1)}\n"
        for when, repositories in refs.items()
        for repository, names in repositories.items()
        for name, sha in names.items()
    ]
    if not lines:
        return
    with tempfile.TemporaryDirectory() as folder:
        git = GitRepository.create(Path(folder) / "all.git")
        objects = (hub.git_folder(record.id).resolve() / "objects" for record in hub.state.where(RepositoryRecord))
        (git.path / "objects/info/alternates").write_text("".join(f"{path}\n" for path in objects))
        (git.path / "packed-refs").write_text("# pack-refs with: \n" + "".join(sorted(lines, key=lambda x: x[41:])))
        git.run(*_QUICK, "bundle", "create", "--quiet", str(target.resolve()), "--all")
