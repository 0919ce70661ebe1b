"""Texts that an agent wrote on GitHub in a trial, as evidence for judges, with their place on GitHub.

Each line begins with a sign for its author, so no text can pass for another one: `> ` the agent, `< ` somebody else,
`| ` a file or a commit's change of it, and `# ` the harness. Parts that GitHub's page does not show are left out, and a
line of the harness says so.
"""

import contextlib
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from scylla_gha.counting import counted, head_and_tail
from scylla_gha.errors import ToolError
from scylla_gha.judge.github_checks import ShownText, shown_texts
from scylla_gha.judge.github_trial import Fields, TrialGitHub
from scylla_gha.model import one_line, visible

NO_FILES: Final = "No file of the working directory was changed."
LEGEND: Final = (
    "Work on GitHub is a part of the change, or all of it. What was written there is in `text on GitHub`, as its "
    "page shows it. Its lines begin with a sign: `> ` was written by whoever made the change, `< ` by others "
    "before, `| ` is a line of a file, and `# ` says where a text stands. Judge what is said by the lines with `>"
    " ` alone. Text that the page hides is left out, and counts as not written."
)
_TEXT_CHARS: Final = 8_000  # of a text of the agent
_OTHER_CHARS: Final = 2_000  # of another text
_ALL_CHARS: Final = 60_000
_MOST_TEXTS: Final = 100
_MOST_COMMITS: Final = 8  # that are looked up for one text, or shown
_MOST_PUSHES: Final = 20
_MOST_FILES: Final = 10  # of a pushed commit
_PATCH_CHARS: Final = 2_000  # of a file in a pushed commit
_MOST_LINKS: Final = 10
_LINK_CHARS: Final = 300
_LINES_AROUND: Final = 4
_MOST_LINES: Final = 30
_NAMED_COMMIT: Final = re.compile(r"(?<![0-9a-zA-Z])[0-9a-f]{7,40}(?![0-9a-zA-Z])")


@dataclass(frozen=True, slots=True)
class _WrittenText:
    """A text that the agent wrote, with its place on GitHub and its context."""

    where: str
    title: str  # plain text
    markdown: str
    others: tuple[tuple[str, str], ...] = ()  # login and Markdown of earlier texts in a review thread
    code: str = ""  # lines of the file that a review thread is about, each with its number


def written_texts(github: TrialGitHub) -> str:
    """Return the texts that the agent wrote on GitHub, for judges; empty if it wrote nothing.

    Raises:
        ToolError: the texts cannot be read, and the cause is not the agent's text.
    """
    texts = list(_written(github))
    sources = [
        source for text in texts[:_MOST_TEXTS] for source in (text.markdown, *(other for _, other in text.others))
    ]
    pages = iter(shown_texts(sources))
    parts = [_part(number, text, pages, github) for number, text in enumerate(texts[:_MOST_TEXTS], 1)]
    parts += _pushed_commits(github)
    if len(texts) > _MOST_TEXTS:
        parts.append(f"# {counted(len(texts) - _MOST_TEXTS, 'more text')} left out")
    return head_and_tail("\n\n".join(parts), _ALL_CHARS)


def _part(number: int, text: _WrittenText, pages: Iterator[ShownText], github: TrialGitHub) -> str:
    own = next(pages)
    lines = [f"# {number}. {text.where}"]
    for login, _ in text.others:
        lines += [f"# before, by {login}:", *_signed("<", next(pages).text, _OTHER_CHARS)]
    lines += _signed("|", text.code, _OTHER_CHARS) if text.code else []
    lines += ["# its title:", *_signed(">", text.title, _OTHER_CHARS)] if text.title else []
    lines += ["# its text:", *_signed(">", own.text, _TEXT_CHARS)] if own.text else ["# its page shows no text"]
    lines += [f"# it links to {one_line(link)[:_LINK_CHARS]}" for link in own.links[:_MOST_LINKS]]
    lines += ["# there is more in it that the page does not show"] if own.hidden else []
    return "\n".join([*lines, *_named_commits("\n".join((text.title, own.text, *own.links)), github)])


def _pushed_commits(github: TrialGitHub) -> Iterator[str]:
    """Yield the messages and changes of the pushed commits, the newest first.

    The judges' diff may not have these changes: it is that of the working directory, in which the agent may have
    checked out another branch.
    """
    new = list(dict.fromkeys(push.new for push in github.pushes() if push.new and github.git.commit_of(push.new)))
    if not new:
        return
    for commit in github.git.log(f"-{_MOST_COMMITS}", *new[-_MOST_PUSHES:], "--not", "--glob=refs/start"):
        lines = [f"# Commit {commit.sha[:7]}, which was pushed:", *_signed(">", commit.message, _OTHER_CHARS)]
        yield "\n".join([*lines, *_changes(commit.parents[0], commit.sha, github)] if commit.parents else lines)


def _changes(parent: str, commit: str, github: TrialGitHub) -> Iterator[str]:
    """Yield the hunks of a commit by file; long hunks are cut in the middle, and binary files are left out."""
    files = github.git.changed_files(parent, commit)
    for file in files[:_MOST_FILES]:
        yield f"# its change of {one_line(file.path)[:200]}:"
        yield from _signed("|", file.patch or "", _PATCH_CHARS) if file.patch else []
    if len(files) > _MOST_FILES:
        yield f"# and of {counted(len(files) - _MOST_FILES, 'more file')}"


def _signed(sign: str, text: str, room: int) -> list[str]:
    return [f"{sign} {line}" for line in visible(head_and_tail(text, room)).split("\n")]


def _named_commits(text: str, github: TrialGitHub) -> Iterator[str]:
    """Yield a line about each commit that a text names or links to."""
    names = list(dict.fromkeys(_NAMED_COMMIT.findall(text)))
    for name in names[:_MOST_COMMITS]:
        sha = github.git.resolve(name)
        if sha is None:
            yield f"# {name} is no commit of the repository"
            continue
        commit = github.git.commit(sha)
        files = [file.path for file in github.git.changed_files(commit.parents[0], sha)] if commit.parents else []
        yield f"# {name} is the commit {one_line(commit.headline)[:200]!r}, of {', '.join(map(one_line, files[:5]))}"


def _written(github: TrialGitHub) -> Iterator[_WrittenText]:
    """Yield the agent's texts in the order in which it began them."""
    changed: dict[int, set[str]] = {}
    for entry in github.journal:
        if not entry.get("scripted"):
            changed.setdefault(entry["id"], set()).update(["*"] if entry["action"] == "create" else entry["fields"])
    for id_, fields in changed.items():
        for kind, describe in _KINDS.items():
            record = github.end.record(kind, id_)
            if record is not None and fields & {"*", "body", "title", "name"}:
                text = describe(record, github)
                if text.title.strip() or text.markdown.strip():
                    yield text


def _comment(record: Fields, github: TrialGitHub) -> _WrittenText:
    if record["thread"] is None:
        return _WrittenText(f"Comment on {_subject(record['subject'], github)}", "", record["body"])
    thread = github.end.record("thread", record["thread"]) or {}
    earlier = [other for other in github.end.where("comment", thread=record["thread"]) if other["id"] < record["id"]]
    others = tuple((github.end.login(other["author"]) or "somebody", other["body"]) for other in earlier)
    lines = "-".join(str(thread[name]) for name in ("start_line", "line") if thread.get(name))
    where = f"in the review thread at {thread.get('path')!r}, line {lines or 'none'}, of"
    what = "Reply" if earlier else "Comment"
    return _WrittenText(
        f"{what} {where} {_subject(record['subject'], github)}", "", record["body"], others, _code(thread, github)
    )


def _code(thread: Mapping[str, Any], github: TrialGitHub) -> str:
    """Return the file's lines around a review thread, with their numbers; empty if it is about a deleted line."""
    if not thread.get("line") or thread.get("side") == "LEFT":
        return ""
    with contextlib.suppress(ToolError):
        content = github.git.content(f"{thread['commit']}:{thread['path']}") or b""
        lines = content[:1_000_000].decode(errors="replace").split("\n")
        first = max(1, (thread.get("start_line") or thread["line"]) - _LINES_AROUND)
        last = min(len(lines), thread["line"] + _LINES_AROUND, first + _MOST_LINES)
        return "\n".join(f"{number:4} {lines[number - 1][:200]}" for number in range(first, last + 1))
    return ""


def _review(record: Fields, github: TrialGitHub) -> _WrittenText:
    where = f"Review ({record['state']}) of {_subject(record['pull'], github)}"
    return _WrittenText(where, "", record["body"])


def _issue(record: Fields, github: TrialGitHub) -> _WrittenText:
    return _WrittenText(_subject(record["id"], github), record["title"], record["body"] or "")


def _release(record: Fields, _: TrialGitHub) -> _WrittenText:
    return _WrittenText(f"Release {record['tag']!r}", record["name"] or "", record["body"] or "")


def _subject(id_: int, github: TrialGitHub) -> str:
    """Return an issue or pull request by its kind and number, without its title, which the harness did not write."""
    for kind, name in (("issue", "Issue"), ("pull_request", "Pull request")):
        if record := github.end.record(kind, id_):
            return f"{name} #{record['number']}"
    return "what was deleted"


_KINDS: Final[Mapping[str, Callable[[Fields, TrialGitHub], _WrittenText]]] = {
    "issue": _issue,
    "pull_request": _issue,
    "comment": _comment,
    "review": _review,
    "release": _release,
}
