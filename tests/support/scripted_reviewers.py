"""A fixture with scripted reviewers, and a cell of it."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from scylla_gha.hub.cell import Hub
from scylla_gha.hub.git_objects import write_blob, write_commit, write_tree
from scylla_gha.hub.records import PullRequestRecord, RepositoryRecord
from scylla_gha.hub.scripted_reviewers import ReviewScript
from scylla_gha.hub.seeds import HubSeed, find_seed
from tests.support.hub import Caller

REPO = "/repos/octo-org/demo"
HEAD = """\
begin: 2026-01-05T09:00:00Z
users:
  org: {login: octo-org, kind: Organization, permission: null}
  author: {login: octocat}
  reviewer: {login: hubot, permission: maintain}
  other: {login: monalisa}
repository: {owner: org, name: demo}
history:
  - commit: {branch: main, author: author, message: Begin, files: {src/app.py: "def add(a, b):\\n    return a - b\\n"}}
  - issue: {key: crash, title: add subtracts, author: other}
  - issue: {key: other, title: Another, author: other}
  - commit: {branch: old, author: author, message: Old, files: {src/app.py: "def add(a, b):\\n    return b - a\\n"}}
  - pull:
      key: old
      head: old
      title: Old
      author: author
      reviewers: [reviewer]
      reviews: [{author: other, event: REQUEST_CHANGES, body: "No."}]
  - protect: {pattern: main, required_reviews: 1}
scripted_reviewers:
"""
REVIEWS = """\
  - reviewer: reviewer
    pulls: {closes: issue.crash, base: main, author: author}
    reviews:
      - event: REQUEST_CHANGES
        body: "About #{{ issue.crash.number }}."
        threads: [{path: /src/*.py, line: "return a", body: "Why? See #{{ issue.other.number }}."}]
      - when: {pushed: true, replied: true, files: [{path: "src/**", matches: "^# sum$"}]}
        event: APPROVE
        reminder: {body: The comment is missing., times: 2}
"""


def write_fixture(folder: Path, reviewers: str = REVIEWS) -> Path:
    """Write `github.yaml` to a new folder."""
    folder.mkdir()
    (folder / "github.yaml").write_text(HEAD + reviewers)
    return folder


def seed_of(folder: Path, reviewers: str = REVIEWS) -> HubSeed:
    """The seed of a fixture that is written to `folder`/fixture."""
    return find_seed(write_fixture(folder / "fixture", reviewers), folder / "cache")


@dataclass
class ReviewedCell:
    """A cell in this process; after each request of the author (octocat) the script goes on."""

    seed: HubSeed
    hub: Hub
    script: ReviewScript

    @classmethod
    def of(cls, folder: Path, reviewers: str = REVIEWS) -> "ReviewedCell":
        seed = seed_of(folder, reviewers)
        hub = seed.restore(folder / "cell")
        hub.tokens = {session.user.login: session.user.id for session in map(hub.session, hub.tokens)}
        return cls(seed, hub, seed.review_script)

    def send(self, method: str, path: str, body: Any = None, status: int = 201, login: str = "octocat") -> Any:
        """The body of the answer to a request on the repository."""
        answer = Caller(self.hub, login).rest(method, REPO + path, body)
        assert answer.status == status, answer.body
        self.script.follow(self.hub)
        return answer.body

    def get(self, path: str) -> Any:
        return Caller(self.hub).get(REPO + path)

    def push(self, branch: str, text: str, path: str = "src/app.py") -> None:
        """Push a commit with a file to a branch, which begins at main."""
        session = self.hub.session("octocat")
        git = self.hub.git(self.seed.facts["names"]["repo.main"])
        tip = git.branch(branch)
        parent = tip or git.branch("main")
        assert parent is not None
        tree = write_tree(git, parent, [(path, "100644", write_blob(git, text.encode()))])
        signature = session.signature()
        sha = write_commit(git, tree, [parent], "Change\n", signature, signature)
        if tip is None:
            self.send("POST", "/git/refs", {"ref": f"refs/heads/{branch}", "sha": sha})
        else:
            self.send("PATCH", f"/git/refs/heads/{branch}", {"sha": sha}, 200)

    @property
    def repository(self) -> RepositoryRecord:
        return self.hub.state.need(RepositoryRecord, self.seed.facts["names"]["repo.main"])

    def pull(self, number: int) -> PullRequestRecord:
        pull = self.hub.state.first(PullRequestRecord, number=number)
        assert pull is not None
        return pull

    def open(self, branch: str, body: str, **fields: Any) -> int:
        """The number of a new pull request."""
        request = {"title": "Sum", "head": branch, "base": "main", "body": body, **fields}
        return int(self.send("POST", "/pulls", request)["number"])

    def reviews(self, number: int) -> list[tuple[str, str, str]]:
        """Author, state and text of the reviews."""
        return [(review["user"]["login"], review["state"], review["body"])
                for review in self.get(f"/pulls/{number}/reviews")]  # fmt: skip
