"""Workspace of a trial: its folders, the variant's files in it, the agent's change as a patch, and a copy to judge."""

import contextlib
import hashlib
import os
import re
import shutil
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from scylla_gha.errors import FixtureError
from scylla_gha.model.trial import DiffStat
from scylla_gha.model.variant import is_agent_file
from scylla_gha.prepare.git_directory import git
from scylla_gha.prepare.start_state import StartState, TreeManifest, scan_tree
from scylla_gha.redaction import Clean, redacted_names
from scylla_gha.system import process

_NO_ENTRY: Final = b"0 " + b"0" * 40 + b"\t"
_LINK: Final = "120000"
_HEADER: Final = re.compile(rb"^diff --git a/(.+) b/\1$", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Workspace:
    """Folders of one trial, outside of any repository: the agent's clone and its HOME."""

    root: Path

    @property
    def repo(self) -> Path:
        """Folder that the agent works in."""
        return self.root / "workspace"

    @property
    def home(self) -> Path:
        """The agent's HOME."""
        return self.root / "home"


def work_root() -> Path:
    """Return the folder of workspaces: `$SCYLLA_WORK`, or this user's folder among the temporary files.

    Raises:
        FixtureError: the folder is inside a repository, whose files the agent would see.
    """
    root = Path(os.environ.get("SCYLLA_WORK") or Path(tempfile.gettempdir()) / f"work-{os.getuid()}")
    for folder in (root, *root.parents):
        if (folder / ".git").exists():
            raise FixtureError(
                f"{root}: workspaces must be outside any repository, but {folder} is one; "
                "set SCYLLA_WORK to another folder"
            )
    return root


@contextlib.contextmanager
def scratch() -> Iterator[Path]:
    """Make a temporary folder for workspaces; its name begins with this process's id, so that leftovers are found."""
    root = work_root()
    root.mkdir(mode=0o700, parents=True, exist_ok=True)
    folder = Path(tempfile.mkdtemp(prefix=f"{os.getpid()}-", dir=root))
    try:
        yield folder
    finally:
        remove_tree(folder)


def remove_stale_workspaces() -> None:
    """Remove the workspaces that killed processes left behind."""
    for folder in work_root().glob("*-*"):
        owner = folder.name.partition("-")[0]
        if owner.isdecimal() and not Path("/proc", owner).exists():
            remove_tree(folder)


def remove_tree(folder: Path) -> None:
    """Remove a folder, even if an agent removed the rights to it or nested it deeper than Python recurses.

    If its path is a link or a file, only that is removed.
    """
    if folder.is_symlink() or not folder.is_dir():
        folder.unlink(missing_ok=True)
        return
    with contextlib.suppress(RecursionError):
        shutil.rmtree(folder, ignore_errors=True)
    if folder.exists():
        _restore_rights(folder)
        process.capture(["rm", "-rf", str(folder)])


def _restore_rights(folder: Path) -> None:
    """Restore this user's rights to a folder and all folders below it; do not follow links."""
    waiting = [folder]
    while waiting:
        current = waiting.pop()
        with contextlib.suppress(OSError):  # it is gone, or its path is too long, which `rm` can handle
            current.chmod(0o700)
            with os.scandir(current) as items:
                waiting += [Path(item.path) for item in items if item.is_dir(follow_symlinks=False)]


def open_workspace(start: StartState, root: Path) -> Workspace:
    """Copy the start state into `root`.

    Raises:
        FixtureError: the copy is not the pinned commit's tree.
    """
    workspace = Workspace(root)
    shutil.copytree(start.clone, workspace.repo, symlinks=True)
    workspace.home.mkdir()
    if scan_tree(workspace.repo).tree != start.manifest.tree:
        raise FixtureError(f"{start.clone}: its copy is not the tree of commit {start.commit}; try again")
    return workspace


class NoPatchError(Exception):
    """A change for which git cannot make a patch that applies."""


def snapshot(
    start: StartState,
    workspace: Workspace,
    max_bytes: int,
    clean: Clean = lambda content: content,
    max_files: int | None = None,
) -> tuple[DiffStat, bytes]:
    """Return the agent's change as counts and as a binary patch, which has committed, staged and untracked work.

    Args:
        start: start state with which the workspace is compared.
        workspace: workspace of the agent; it is not changed.
        max_bytes: maximum growth of the workspace in bytes.
        clean: removes secrets. It cleans the contents and names from which the patch is made, so that the patch
            applies; in the patch itself, a match could reach from one file into the next.
        max_files: maximum number of files and folders beyond those of the start state; None: no limit.

    Raises:
        TooLargeError: the workspace has grown by more than `max_bytes` or `max_files`; this is the agent's failure.
        NoPatchError: git makes no patch that applies; this is the agent's failure.
    """
    most_files = None if max_files is None else len(start.manifest.paths) + max_files
    now = scan_tree(workspace.repo, start.ignored, start.manifest.size + max_bytes, most_files)
    paths = now.changed(start.manifest)
    added = [os.fsencode(path) for path in paths if path not in start.manifest.entries]
    names = redacted_names(added, map(os.fsencode, start.manifest.entries), clean)
    with scratch() as folder:  # not beside the workspace, where an agent on the host could have made such a file
        patch, plus, minus = (b"", 0, 0) if not paths else _patch(start, workspace, folder, now, clean, names)
    if patch:
        try:
            git(start.git_dir, "apply", "--check", "--binary", "-", work_tree=start.clone, stdin=patch)
        except FixtureError as error:
            raise NoPatchError(f"changes that git cannot write as a patch: {str(error)[-300:]}") from None
    shown = tuple(sorted(_printable(names.get(os.fsencode(path), os.fsencode(path))) for path in paths))
    skipped = tuple(_printable(os.fsencode(path)) for path in now.skipped)
    sha = hashlib.sha256(patch).hexdigest()
    return DiffStat(files=shown, added=plus, deleted=minus, sha256=sha, skipped=skipped), patch


def _patch(
    start: StartState, workspace: Workspace, folder: Path, now: TreeManifest, clean: Clean, names: dict[bytes, bytes]
) -> tuple[bytes, int, int]:
    """Make the patch, with git's files in `folder`; return it and the numbers of added and deleted lines."""
    paths = now.changed(start.manifest)
    (folder / "objects").mkdir()
    shutil.copyfile(start.clone / ".git" / "index", folder / "index")
    env = {
        "GIT_INDEX_FILE": str(folder / "index"),
        "GIT_OBJECT_DIRECTORY": str(folder / "objects"),
        "GIT_ALTERNATE_OBJECT_DIRECTORIES": str(start.git_dir / "objects"),
    }
    # Deleted files are removed from the index by name: in the workspace, a link or a pipe may have their path.
    deleted = b"".join(_NO_ENTRY + os.fsencode(path) + b"\0" for path in paths if path not in now.entries)
    git(start.git_dir, "update-index", "-z", "--index-info", env=env, stdin=deleted)
    if present := [path for path in paths if path in now.entries]:
        update = ("update-index", "--add", "--remove", "--replace", "-z", "--stdin")
        listed = b"".join(os.fsencode(path) + b"\0" for path in present)
        git(start.git_dir, *update, work_tree=workspace.repo, env=env, stdin=listed)
        _replace_unclean(start, workspace, now, present, clean, env)
        _rename(start, names, env)
    show = (
        "diff-index",
        "--cached",
        "--binary",
        "--full-index",
        "--no-renames",
        "--no-color",
        "--no-ext-diff",
        "--no-textconv",
        "--numstat",
        "--patch",
        start.commit,
    )
    output = git(start.git_dir, *show, env=env)
    numbers, _, patch = output.partition(b"\ndiff --git ")
    rows = [line.split(b"\t")[:2] for line in numbers.splitlines() if line[:1].isdigit()]  # not of binary files
    plus, minus = (sum(int(row[column]) for row in rows) for column in (0, 1))
    return _HEADER.sub(_quoted, b"diff --git " + patch), plus, minus


def _replace_unclean(
    start: StartState, workspace: Workspace, now: TreeManifest, paths: list[str], clean: Clean, env: dict[str, str]
) -> None:
    """Replace each file or link that contains a secret by its clean content in the index."""
    lines = b""
    for path in paths:
        mode = now.entries[path].mode
        file = workspace.repo / path
        content = os.fsencode(os.readlink(file)) if mode == _LINK else file.read_bytes()  # noqa: PTH115 as in `start_state`
        if (cleaned := clean(content)) != content:
            blob = git(start.git_dir, "hash-object", "-w", "--stdin", env=env, stdin=cleaned).strip()
            lines += b"%s %s\t%s\0" % (mode.encode(), blob, os.fsencode(path))
    if lines:
        git(start.git_dir, "update-index", "-z", "--index-info", env=env, stdin=lines)


def _rename(start: StartState, names: dict[bytes, bytes], env: dict[str, str]) -> None:
    """Rename files in the index."""
    if not names:
        return
    lines = b""
    for entry in git(start.git_dir, "ls-files", "--stage", "-z", env=env).split(b"\0"):
        mode_and_blob, _, path = entry.partition(b"\t")
        if path in names:
            lines += _NO_ENTRY + path + b"\0" + b"%s\t%s\0" % (mode_and_blob, names[path])
    git(start.git_dir, "update-index", "-z", "--index-info", env=env, stdin=lines)


def _quoted(header: re.Match[bytes]) -> bytes:
    """Quote a name with a space: git does not quote it, and `git apply` cannot read `diff --git a/x /y b/x /y`."""
    return b'diff --git "a/%s" "b/%s"' % (header[1], header[1]) if b" " in header[1] else header[0]


def materialise_diff(start: StartState, patch: bytes, into: Path) -> None:
    """Copy the start state to `into`, a new folder, and apply the diff.

    Raises:
        FixtureError: the patch does not apply to the base.
    """
    shutil.copytree(start.clone, into, symlinks=True, ignore=lambda _, names: [n for n in names if n == ".git"])
    apply_patch(start, patch, into)


def apply_patch(start: StartState, patch: bytes, tree: Path) -> None:
    """Apply a stored diff to a copy of the start state.

    Raises:
        FixtureError: the patch does not apply to the base.
    """
    if patch.strip():
        git(start.git_dir, "apply", "--binary", "--whitespace=nowarn", "-", work_tree=tree, stdin=patch)


def _printable(path: bytes) -> str:
    return path.decode("utf-8", "backslashreplace")


def own_agent_files(start: StartState) -> tuple[str, ...]:
    """Return the sorted paths of a start state's own files for agents, such as CLAUDE.md."""
    return tuple(sorted(filter(is_agent_file, start.manifest.entries)))


def with_agent_files(start: StartState, workspace: Path, files: Mapping[str, Path] | None) -> StartState:
    """Replace the files for agents in a workspace by a variant's; return the start state to compare the result with.

    git in the workspace does not show the replacement, so the agent's commits have only its own changes.

    Args:
        start: start state; the workspace is a copy of its clone.
        workspace: folder that the agent will work in.
        files: the variant's files by path in the workspace; None: the start state stays as it is.

    Raises:
        FixtureError: a link of the start state leads out of the workspace.
    """
    if files is None:
        return start
    replaced = own_agent_files(start)
    for path in replaced:
        _remove(workspace, path)
    for path, source in files.items():
        target = workspace / path
        target.parent.mkdir(parents=True, exist_ok=True)
        if not target.parent.resolve().is_relative_to(workspace.resolve()):
            raise FixtureError(f"{path}: the start state has a symbolic link here that leads out of the workspace")
        shutil.copyfile(source, target)
        target.chmod(0o755 if os.access(source, os.X_OK) else 0o644)
    _hide_from_git(workspace, replaced, files)
    entries = {path: entry for path, entry in start.manifest.entries.items() if not is_agent_file(path)}
    now = scan_tree(workspace)
    entries |= {path: now.entries[path] for path in files}
    return replace(start, manifest=TreeManifest(entries))


def _remove(workspace: Path, path: str) -> None:
    """Remove a file, and its folders that are then empty."""
    (workspace / path).unlink()
    for parent in (workspace / path).parents:
        if parent == workspace or any(parent.iterdir()):
            return
        parent.rmdir()


def _hide_from_git(workspace: Path, replaced: Iterable[str], files: Iterable[str]) -> None:
    git_dir = workspace / ".git"
    names = b"".join(os.fsencode(path) + b"\0" for path in replaced)
    if names:
        git(git_dir, "update-index", "--skip-worktree", "-z", "--stdin", work_tree=workspace, stdin=names)
    exclude = git_dir / "info" / "exclude"
    exclude.parent.mkdir(exist_ok=True)
    with exclude.open("a", encoding="utf-8", errors="surrogateescape") as lines:
        lines.writelines("/" + re.sub(r"([\\*?\[ ])", r"\\\1", path) + "\n" for path in files)
