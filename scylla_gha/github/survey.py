"""Reads what tells which of a repository's pull requests were reverted, in as few requests as that takes."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final

from scylla_gha.github.client import Client
from scylla_gha.github.reverts import (
    Asked,
    Commit,
    Pull,
    RevertRate,
    Undo,
    revert_rate,
    reverted_numbers,
    reverted_shas,
    start_of,
)

_SHA_LENGTH: Final = 40


def survey(client: Client, asked: Asked, tell: Callable[[str], None]) -> RevertRate:
    """Read the repository and compute the rate; `tell` hears how far it is.

    Raises:
        GitHubError: GitHub gives no good answer.
    """
    pulls: list[Pull] = []
    for pull in client.merged(start_of(asked.period.since)):
        pulls.append(pull)
        tell(f"{len(pulls)} merged pull requests read")
    origins = _Origins(client, pulls)
    undos = [Undo(f"#{number}", pull.name, pull.merged_at)
             for pull in pulls for number in reverted_numbers(pull, asked.repository)]  # fmt: skip
    due = [pull for pull in pulls if asked.counts(pull) and asked.is_over(pull)]
    if due:
        last = max(map(asked.end, due))
        for read, commit in enumerate(client.commits(min(pull.merged_at for pull in due), last), 1):
            undos += origins.undos(commit)
            tell(f"{len(pulls)} merged pull requests and {read} commits read")
    return revert_rate(asked, pulls, undos)


@dataclass(slots=True)
class _Origins:
    """Which pull request a commit came from; GitHub is asked only of commits that revert or are reverted."""

    client: Client
    pulls: list[Pull]
    known: dict[str, Pull | None] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.known.update({pull.sha: pull for pull in self.pulls if pull.sha})

    def undos(self, commit: Commit) -> list[Undo]:
        """What a commit reverts; where a pull request brought it, that is what reverts, and when it was merged."""
        shas = reverted_shas(commit.message)
        if not shas:
            return []
        brought = self._of(commit.sha)
        by, at = (brought.name, brought.merged_at) if brought else (commit.sha, commit.at)
        return [Undo(self._name(sha), by, at) for sha in shas]

    def _name(self, sha: str) -> str:
        origin = self._of(sha)
        return origin.name if origin else sha

    def _of(self, sha: str) -> Pull | None:
        if len(sha) < _SHA_LENGTH:  # people shorten; GitHub is asked of whole ones only
            meant = [each for each in self.known if each.startswith(sha)]
            return self.known[meant[0]] if len(meant) == 1 else None
        if sha not in self.known:
            self.known[sha] = self.client.pull_of(sha)
        return self.known[sha]
