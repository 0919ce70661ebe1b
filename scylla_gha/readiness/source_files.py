"""Source files of a code base: which there are, which are left out, and why."""

import os
import re
import stat
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Final

from scylla_gha.lenient_json import InvalidJsonError, parse_json
from scylla_gha.mining.languages import is_test
from scylla_gha.readiness.languages import parser_of
from scylla_gha.readiness.source_code import SkippedFile
from scylla_gha.system.git import run_git

MOST_BYTES: Final = 1_000_000
_HEAD_BYTES: Final = 2_000
_LONG_LINE: Final = 5_000
_VENDORED: Final = {"vendor", "vendored", "_vendor", "_vendored", "node_modules", "bower_components", "third_party",
                    "thirdparty", "site-packages", "Godeps"}  # fmt: skip
_BUILT: Final = {"dist", "build", "out"}
_GENERATED_NAME: Final = re.compile(r".*(_pb2(_grpc)?\.pyi?|\.pb\.go|_generated\.go|\.generated\.[cm]?[jt]sx?)")
_MINIFIED_NAME: Final = re.compile(r".*[.-](min|bundle)\.[cm]?js")
_GENERATED_TEXT: Final = re.compile(  # in a comment
    rb"^[ \t]*(?:#|//|/\*|\*|\"\"\"|''').*(?:@generated\b|webpackBootstrap|"
    rb"\b(?:code |auto-?|automatically )?generated\b.*\bdo not (?:edit|modify)\b)",
    re.IGNORECASE | re.MULTILINE,
)
_TEST_NAME: Final = re.compile(
    r".*([._-](test|spec|e2e|bench)s?\.[cm]?[jt]sx?|_test\.go)|(.*/)?(__mocks__|testdata)/.*"
)
_UNPRINTABLE: Final = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff]")
_GO_MODULE: Final = re.compile(r"^module\s+\"?([^\s\"]+)", re.MULTILINE)
_LONE_RETURN: Final = re.compile(rb"\r(?!\n)")


@dataclass(frozen=True, slots=True)
class SourceText:
    """Text of a source file, without a byte order mark if it has one."""

    path: str
    text: str


def list_files(root: Path) -> list[str]:
    """Return the paths below a folder, sorted: what git tracks if it is a repository, else all files.

    Names that are not UTF-8 have surrogates, as `os.fsdecode` makes them. Links and submodules are not followed.
    """
    if (root / ".git").is_dir():
        listing = run_git(root / ".git", "ls-files", "-z", "--cached", work_tree=root)
        if listing.code == 0:
            return sorted({os.fsdecode(name) for name in listing.stdout.split(b"\0")[:-1]})
    return sorted(_walked(root, ""))


def _walked(folder: Path, prefix: str) -> Iterator[str]:
    pending = [(os.fspath(folder), prefix)]
    while pending:
        path, before = pending.pop()
        with os.scandir(path) as entries:
            for entry in entries:
                if entry.is_dir(follow_symlinks=False):
                    pending += [(entry.path, f"{before}{entry.name}/")] if entry.name != ".git" else []
                else:
                    yield before + entry.name


def package_names(root: Path, paths: Sequence[str]) -> tuple[dict[str, str], dict[str, str]]:
    """Return the folders of JavaScript packages by name, and the module paths of Go by folder, as their files tell.

    Args:
        root: folder of the code base.
        paths: all its files; the files of packages at the top are looked for in any case.
    """
    names, modules = {}, {}
    for path in sorted({*paths, "package.json", "go.mod"}):
        folder, _, name = path.rpartition("/")
        if name not in ("package.json", "go.mod") or set(folder.split("/")) & _VENDORED:
            continue
        source = read_source(root, path)
        if not isinstance(source, SourceText):
            continue
        if name == "package.json" and (package := _package_name(source.text)):
            names[package] = folder
        elif name == "go.mod" and (match := _GO_MODULE.search(source.text)):
            modules[folder] = match[1]
    return names, modules


def _package_name(text: str) -> str | None:
    try:
        content = parse_json(text)
    except InvalidJsonError:
        return None
    name = content.get("name") if isinstance(content, dict) else None
    return name if isinstance(name, str) else None


def source_paths(paths: Sequence[str]) -> tuple[list[str], list[SkippedFile]]:
    """Return the paths of code that people wrote, as their names tell, and the other code with the reason."""
    code = [path for path in paths if parser_of(path) is not None]
    outside = any(not _BUILT & set(PurePosixPath(path).parts[:-1]) and not path.endswith(".py") for path in code)
    wanted, skipped = [], []
    for path in code:
        reason = _reason_by_name(path, outside)
        if reason is None:
            wanted.append(path)
        else:
            skipped.append(skipped_file(path, reason))
    return wanted, skipped


def _reason_by_name(path: str, has_other_scripts: bool) -> str | None:
    if _UNPRINTABLE.search(path) or "::" in path:
        return "name with characters that answers cannot hold"
    folders = set(PurePosixPath(path).parts[:-1])
    if folders & _VENDORED:
        return "vendored"
    if _GENERATED_NAME.fullmatch(path):
        return "generated"
    if _MINIFIED_NAME.fullmatch(path):
        return "minified"
    if re.search(r"\.d\.[cm]?ts$", path):
        return "declarations only"
    is_built = folders & _BUILT and has_other_scripts and not path.endswith((".py", ".go"))
    return "build output" if is_built else None


def is_test_file(path: str) -> bool:
    """Return True for a file that holds tests of any language, or helps them."""
    return is_test(path) or bool(_TEST_NAME.fullmatch(path))


def skipped_file(path: str, reason: str) -> SkippedFile:
    """Return a left out file, whose path can be printed."""
    return SkippedFile(_UNPRINTABLE.sub(lambda match: match[0].encode("unicode_escape").decode(), path), reason)


def read_source(root: Path, path: str) -> SourceText | SkippedFile:
    """Return a file's text, or why it is left out. Links are not followed, in folders of the path neither."""
    try:
        content = _read(root, path)
    except OSError as error:
        return skipped_file(path, f"cannot be read ({error.strerror})")
    if content is None:
        return skipped_file(path, "link, or not a file")
    if len(content) > MOST_BYTES:
        return skipped_file(path, f"larger than {MOST_BYTES // 1_000} kB")
    return _checked(path, content)


def _read(root: Path, path: str) -> bytes | None:
    folder = os.path.realpath(root)
    parent = os.path.join(folder, os.path.dirname(path))  # noqa: PTH118, PTH120 called for each of 50,000 files
    resolved = os.path.realpath(parent)
    if resolved != os.path.normpath(parent) or os.path.commonpath([resolved, folder]) != folder:
        return None
    flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
    name = os.path.join(folder, path)  # noqa: PTH118
    if not stat.S_ISREG(os.lstat(name).st_mode):
        return None
    with open(os.open(name, flags), "rb") as file:  # noqa: PTH123 the descriptor follows no link
        return file.read(MOST_BYTES + 1)


def _checked(path: str, content: bytes) -> SourceText | SkippedFile:
    if _GENERATED_TEXT.search(content, 0, _HEAD_BYTES):
        return skipped_file(path, "generated")
    if b"\0" in content:
        return skipped_file(path, "binary")
    if max(map(len, content.split(b"\n"))) > _LONG_LINE:
        return skipped_file(path, f"a line is longer than {_LONG_LINE:,} bytes: minified, or data")
    if _LONE_RETURN.search(content) and b"\n" not in content:
        return skipped_file(path, "lines end in carriage returns alone")
    try:
        return SourceText(path, content.decode())
    except UnicodeDecodeError:
        return skipped_file(path, "not UTF-8")
