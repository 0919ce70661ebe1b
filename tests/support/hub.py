"""A cell's GitHub in this process, with one repository, and requests to it without HTTP."""

import atexit
import functools
import shutil
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, urlsplit

import orjson

from scylla_gha.hub.cell import Blobs, Hub
from scylla_gha.hub.git_objects import write_blob, write_commit, write_tree
from scylla_gha.hub.git_store import GitRepository, GitSignature
from scylla_gha.hub.graphql.execute import answer
from scylla_gha.hub.records import Permission, RepositoryRecord, UserRecord
from scylla_gha.hub.rest import RestAnswer
from scylla_gha.hub.rest.dispatch import handle, register
from scylla_gha.hub.state import HubState
from tests.support.openapi_answers import outcome_faults

AUTHOR, REVIEWER, READER = "octocat", "hubot", "monalisa"  # author may write, reviewer may write, reader may read
OWNER, NAME = "octo-org", "demo"
REPO = f"/repos/{OWNER}/{NAME}"
FILES = {"README.md": "# Demo\n", "src/app.py": "def add(a, b):\n    return a + b\n"}


def make_hub(folder: Path) -> Hub:
    """A hub with users, and octo-org/demo: branch main with two files, branch topic with a change of each kind.

    It is a copy of one that is made once a process; the journal begins empty.
    """
    model, temporary = _model()
    shutil.copytree(temporary.name, folder, dirs_exist_ok=True)
    return Hub(folder, HubState.restored(model.state.snapshot()), Blobs(folder / "blobs"), dict(model.tokens))


@functools.cache
def _model() -> tuple[Hub, "tempfile.TemporaryDirectory[str]"]:
    temporary = tempfile.TemporaryDirectory(prefix="scylla-hub-")
    atexit.register(temporary.cleanup)
    return _new_hub(Path(temporary.name)), temporary


def _new_hub(folder: Path) -> Hub:
    state = HubState()
    owner = state.create(0, UserRecord(id=state.new_id(), created_at=state.now(), login=OWNER, kind="Organization"))
    users = {
        login: state.create(0, UserRecord(id=state.new_id(), created_at=state.now(), login=login, name=login.title()))
        for login in (AUTHOR, REVIEWER, READER)
    }
    now = state.now()
    granted: dict[str, Permission] = {AUTHOR: "admin", REVIEWER: "write", READER: "read"}
    permissions = tuple((users[login].id, permission) for login, permission in granted.items())
    record = RepositoryRecord(id=state.new_id(), created_at=now, updated_at=now, pushed_at=now, owner=owner.id,
                              name=NAME, permissions=permissions)  # fmt: skip
    state.create(owner, record)
    hub = Hub(folder, state, Blobs(folder / "blobs"), {login: user.id for login, user in users.items()})
    git = GitRepository.create(hub.git_folder(record.id))
    main = commit(git, FILES, "Begin\n", hub.session(AUTHOR).signature())
    git.set_ref("refs/heads/main", main)
    changes = {"src/app.py": "def add(a, b):\n    return a + b + 0\n", "docs/new.md": "New\n", "README.md": None}
    author = hub.session(AUTHOR).signature()
    git.set_ref("refs/heads/topic", commit(git, changes, "Change the sum\n\nAnd more.\n", author, main))
    return hub


def commit(
    git: GitRepository, files: Mapping[str, str | None], message: str, author: GitSignature, parent: str | None = None
) -> str:
    """Store a commit that changes files (None deletes one) of its parent, and return its name."""
    changes = [
        (path, "100644", None if text is None else write_blob(git, text.encode())) for path, text in files.items()
    ]
    tree = write_tree(git, parent, changes)
    return write_commit(git, tree, [parent] if parent else [], message, author, author)


@dataclass(frozen=True)
class Caller:
    """A user's requests; the token of a user is the login."""

    hub: Hub
    login: str | None = AUTHOR

    def rest(self, method: str, url: str, body: Any = None, **headers: str) -> RestAnswer:
        """The answer to a request such as ("GET", "/user"), which has to be as GitHub describes it."""
        register()
        parts = urlsplit(url)
        content = body if isinstance(body, bytes) else orjson.dumps(body) if body is not None else b""
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        session = self.hub.session(self.login)
        outcome = handle(session, method, parts.path, dict(parse_qsl(parts.query)), content, named)
        assert outcome_faults(outcome) == []
        return outcome.answer

    def get(self, url: str) -> Any:
        """The JSON of a successful GET."""
        found = self.rest("GET", url)
        assert found.status == 200, found.body
        return found.body

    def graphql(self, query: str, **variables: Any) -> dict[str, Any]:
        """The whole answer to a query."""
        return answer(self.hub.session(self.login), {"query": query, "variables": variables}).body

    def data(self, query: str, **variables: Any) -> Any:
        """The data of a query that has no errors."""
        found = self.graphql(query, **variables)
        assert "errors" not in found, found["errors"]
        return found["data"]
