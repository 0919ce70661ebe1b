"""Lines of review threads at the pull request's head: where they moved to, and which are outdated."""

import re
from collections.abc import Iterator
from typing import Final

from scylla_gha.hub.cell import HubSession
from scylla_gha.hub.git_diff import ChangedFile
from scylla_gha.hub.git_store import GitRepository
from scylla_gha.hub.operations.pull_facts import base_sha, head_sha
from scylla_gha.hub.records import PullRequestRecord, ThreadRecord

_HUNK: Final = re.compile(r"@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@")
_CONTEXT: Final = 3  # lines of a comment's hunk before its own, as on GitHub


def current_line(session: HubSession, thread: ThreadRecord, line: int | None) -> int | None:
    """Return where a line of a thread's commit is at the head; None if it was changed, or if the thread has no line."""
    pull = session.state.need(PullRequestRecord, thread.pull)
    git, head, base = session.git(pull.repository), head_sha(session, pull), base_sha(session, pull)
    old, new = thread.commit, head
    if thread.side == "LEFT":
        old, new = git.merge_base(base, old) or base, git.merge_base(base, head) or base
    if line is None or old == new:
        return line
    return _moved(_file(git, old, new, thread.path), line)


def is_outdated(session: HubSession, thread: ThreadRecord) -> bool:
    """Return whether the lines of a thread changed since; for a thread on a file, whether the file is gone."""
    if thread.line is not None:
        return current_line(session, thread, thread.line) is None
    pull = session.state.need(PullRequestRecord, thread.pull)
    file = _file(session.git(pull.repository), thread.commit, head_sha(session, pull), thread.path)
    return file is not None and file.status == "removed"


def diff_hunk(session: HubSession, thread: ThreadRecord) -> str:
    """Return the part of the diff that a thread was begun on, up to its line; empty if it is not in the diff."""
    pull = session.state.need(PullRequestRecord, thread.pull)
    git = session.git(pull.repository)
    base = git.merge_base(base_sha(session, pull), thread.commit) or thread.commit
    file = _file(git, base, thread.commit, thread.path)
    if file is None or file.patch is None:
        return ""
    if thread.line is None:
        return file.patch
    for header, lines in hunks(file.patch):
        for position, (old, new, _) in enumerate(lines):
            if thread.line == (old if thread.side == "LEFT" else new):
                first = _first_line(thread, position)
                return "\n".join([header, *(text for _, _, text in lines[first : position + 1])])
    return ""


def _first_line(thread: ThreadRecord, position: int) -> int:
    """Return from where a hunk is shown: from its start, as GitHub does, unless that is far above the lines."""
    span = (thread.line or 0) - (thread.start_line or thread.line or 0)
    return 0 if position < 20 else max(0, position - span - _CONTEXT)  # noqa: PLR2004 GitHub shortens long hunks


def _file(git: GitRepository, old: str, new: str, path: str) -> ChangedFile | None:
    files = git.changed_files(old, new)
    return next((file for file in files if path in (file.previous or file.path, file.path)), None)


def _moved(file: ChangedFile | None, line: int) -> int | None:
    """Return a line's number after a change of its file; None if it was changed."""
    if file is None:
        return line
    if file.status == "removed" or (file.patch is None and file.status != "renamed"):
        return None
    shift = 0
    for header, lines in hunks(file.patch or ""):
        olds = [old for old, _, _ in lines if old is not None]
        if not olds:
            start = _numbers(header)[0]
            shift += len(lines) if start < line else 0
        elif line > olds[-1]:
            shift += sum(text.startswith("+") for _, _, text in lines) - sum(t.startswith("-") for _, _, t in lines)
        elif line >= olds[0]:
            return next((new for old, new, _ in lines if old == line), None)
    return line + shift


def hunks(patch: str) -> Iterator[tuple[str, list[tuple[int | None, int | None, str]]]]:
    """Yield each hunk's header, and its lines with their numbers before and after the change."""
    for part in re.split(r"^(?=@@ -)", patch, flags=re.MULTILINE):
        header, _, rest = part.partition("\n")
        if not header:
            continue
        old, new = _numbers(header)
        lines: list[tuple[int | None, int | None, str]] = []
        for text in rest.removesuffix("\n").split("\n"):
            if text.startswith("\\"):
                continue
            lines.append((None if text.startswith("+") else old, None if text.startswith("-") else new, text))
            old += not text.startswith("+")
            new += not text.startswith("-")
        yield header, lines


def _numbers(header: str) -> tuple[int, int]:
    matched = _HUNK.match(header)
    return (int(matched[1]), int(matched[3])) if matched else (1, 1)
