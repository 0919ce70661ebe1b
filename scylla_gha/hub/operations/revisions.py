"""Revisions as users write them: branches, tags and SHAs, HEAD, and ancestors such as main~2 or HEAD^."""

import re
from typing import Final

from scylla_gha.hub.cell import HubSession
from scylla_gha.hub.records import RepositoryRecord

_ANCESTOR: Final = re.compile(r"(?P<start>[^~^]+)(?P<steps>(?:[~^][0-9]{0,4})*)")


def commit_at(session: HubSession, repository: RepositoryRecord, revision: str) -> str | None:
    """Return the commit of a revision; None if there is none.

    See https://docs.github.com/pull-requests/committing-changes-to-your-project/viewing-and-comparing-commits/comparing-commits
    """
    git = session.git(repository)
    matched = _ANCESTOR.fullmatch(revision)
    if matched is None:
        return None
    start = matched["start"]
    sha = git.resolve(repository.default_branch if start in ("HEAD", "@") else start)
    return git.commit_of(f"{sha}{matched['steps']}") if sha and matched["steps"] else sha
