"""Commits of a suite's start states and answers, made in one run of git from the tree of a working copy."""

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from scylla_gha.model.readiness import ANSWER_FILE, ChangedText
from scylla_gha.prepare.git_directory import git
from scylla_gha.readiness.material import WorkingCopy
from scylla_gha.system.git import run_git

_PERSON: Final = b"Maintainer <maintainer@example.com> 1767225600 +0000"  # as in fixtures: the hash shows content alone
_PLAIN: Final = "100644"
_IGNORE_FILE: Final = ".gitignore"
_QUOTED: Final = {ord('"'): b'\\"', ord("\\"): b"\\\\", ord("\n"): b"\\n"}


@dataclass(frozen=True, slots=True)
class StartCommits:
    """Writer of commits without parents, each of the working copy's files with some changes."""

    copy: WorkingCopy
    modes: Mapping[str, str]

    @classmethod
    def of(cls, copy: WorkingCopy) -> "StartCommits":
        """Return the writer for a working copy."""
        lines = git(copy.git_dir, "ls-tree", "-r", "-z", copy.tree).split(b"\0")[:-1]
        names = (line.partition(b"\t") for line in lines)
        return cls(copy, {os.fsdecode(name): facts.split()[0].decode() for facts, _, name in names})

    def write(self, changes: Sequence[Iterable[ChangedText]]) -> list[str]:
        """Return the hash of one commit for each set of changes.

        Raises:
            FixtureError: git cannot write them.
        """
        marks = self.copy.git_dir / "marks"
        stream = b"".join(self._commit(number, texts) for number, texts in enumerate(changes, 1))
        git(self.copy.git_dir, "fast-import", "--quiet", "--force", f"--export-marks={marks}", stdin=stream)
        commits = dict(line.split(" ") for line in marks.read_text().splitlines())
        return [commits[f":{number}"] for number in range(1, len(changes) + 1)]

    def _commit(self, number: int, texts: Iterable[ChangedText]) -> bytes:
        head = (b"commit refs/readiness/%d\nmark :%d\nauthor %b\ncommitter %b\ndata 14\nInitial commit\n"
                % (number, number, _PERSON, _PERSON))  # fmt: skip
        whole = b'M 040000 %b ""\n' % self.copy.tree.encode()
        last = {change.path: change for change in texts}
        return b"".join((head, whole, *(self._change(change) for change in last.values()), b"\n"))

    def _change(self, change: ChangedText) -> bytes:
        path = _quoted(change.path)
        if change.text is None:
            return b"D %b\n" % path if change.path in self.modes else b""
        content = change.text.encode("utf-8", "surrogateescape")
        mode = self.modes.get(change.path, _PLAIN).encode()
        return b"M %b inline %b\ndata %d\n%b\n" % (mode, path, len(content), content)

    def patch(self, start: str, end: str) -> bytes:
        """Return the patch from one commit to another."""
        form = ("-p", "--binary", "--full-index", "--no-renames", "--no-color", "--no-ext-diff", "--no-textconv")
        return git(self.copy.git_dir, "diff-tree", "-r", *form, start, end)

    def bundle(self, commits: Iterable[str], file: Path, side: str) -> None:
        """Write a git bundle with these commits, each of which git can fetch from it by its hash."""
        refs = "".join(f"update refs/starts/{side}/{commit} {commit}\n" for commit in sorted(set(commits)))
        git(self.copy.git_dir, "update-ref", "--stdin", stdin=refs.encode())
        file.parent.mkdir(parents=True, exist_ok=True)
        options = ("-c", "pack.threads=1", "bundle", "create", "--quiet")
        git(self.copy.git_dir, *options, str(file), f"--glob=refs/starts/{side}/*")

    def answer_changes(self) -> Iterator[ChangedText]:
        """Yield changes after which an agent can leave an answer: an old one is gone, and git does not ignore it."""
        yield ChangedText(path=ANSWER_FILE, text=None)
        checked = run_git(self.copy.git_dir, "check-ignore", "--quiet", "--no-index", ANSWER_FILE,
                          work_tree=self.copy.root)  # fmt: skip
        if checked.code == 0:
            rules = self.copy.root / _IGNORE_FILE
            text = rules.read_text(encoding="utf-8", errors="surrogateescape") if rules.is_file() else ""
            yield ChangedText(path=_IGNORE_FILE, text=f"{text.rstrip()}\n!/{ANSWER_FILE}\n")


def _quoted(path: str) -> bytes:
    name = os.fsencode(path)
    return b'"' + b"".join(_QUOTED.get(byte, bytes([byte])) for byte in name) + b'"'
