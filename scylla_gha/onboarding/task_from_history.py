"""Tasks from the commits of a repository.

The start is the commit's parent, its tests are the hidden check, and the rest of it is the reference solution.
"""

import re
import textwrap
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import islice
from typing import Final

from scylla_gha.mining.languages import LANGUAGES, SAFE_NAME, Language, is_code, is_test
from scylla_gha.mining.repository import (
    CommitTree,
    RepositoryCheckout,
    UserCommit,
    changed,
    commits,
    contents,
    origin_of,
    patch_of,
    tree_of,
)
from scylla_gha.model import slug
from scylla_gha.model.scenario import WorkflowCategory
from scylla_gha.onboarding.scaffold import (
    FIRST,
    PROGRAM,
    ScaffoldFile,
    ScaffoldTask,
    TaskCheck,
    TaskStart,
    filled,
    folders_of,
)
from scylla_gha.onboarding.wrong_solutions import wrong_solutions

_LOOK_BACK: Final = 300  # commits
_MOST_FILES: Final = 15  # of a solution, and of its tests
_MOST_LINES: Final = 400  # of a solution
_MOST_TEST_BYTES: Final = 1_000_000
_FIXTURE_FILES: Final = 1500
_FIXTURE_BYTES: Final = 5_000_000
_MOST_KEPT: Final = 20  # test files from before the commit; whole suites may take an hour
_WRONG: Final = 4  # wrong solutions that are tried; two must fail
_ID_CHARS: Final = 40
_TITLE_CHARS: Final = 100
_DULL: Final = re.compile(r"(revert|merge|wip|bump|release|fixup|squash)\b", re.IGNORECASE)
# Types of conventionalcommits.org; any other word before a colon belongs to the subject
_TYPE: Final = re.compile(r"(feat|fix|docs|style|refactor|perf|test|tests|build|ci|chore)!?:\s+")
_TRAILER: Final = re.compile(r"^([A-Z][A-Za-z]+(-[A-Za-z]+)+: .*|\(?cherry picked from .*|(close[sd]?|fix(e[sd])?|"
                             r"resolve[sd]?) #[0-9]+\.?)$", re.IGNORECASE)  # fmt: skip
_KINDS: Final[tuple[tuple[str, WorkflowCategory], ...]] = (
    (r"fix|bug|repair|correct", "bug_fixing"),
    (r"refactor|rename|extract|clean", "refactoring"),
    (r"perf|speed|optimi[sz]e|faster", "optimization"),
)


@dataclass(frozen=True, slots=True)
class Candidate:
    """A commit that may become a task, with its files of code and of tests.

    Attributes:
        kept: test files of the start state that the commit does not change.
        tree: files of the start state.
    """

    commit: UserCommit
    language: Language
    code: list[str]
    tests: list[str]
    kept: list[str]
    tree: CommitTree


def candidates(checkout: RepositoryCheckout, ours: tuple[str, ...]) -> Iterator[Candidate]:
    """Yield commits that changed code and tests, newest first.

    Args:
        checkout: the repository.
        ours: folders of this toolkit's files; they are left out of tasks.
    """
    for commit in commits(checkout, _LOOK_BACK):
        if _DULL.match(commit.message):
            continue
        candidate = _candidate(checkout, commit, ours)
        if candidate is not None:
            yield candidate


def _candidate(checkout: RepositoryCheckout, commit: UserCommit, ours: tuple[str, ...]) -> Candidate | None:
    changes = {path: kind for path, kind in changed(checkout, commit).items() if not path.startswith(ours)}
    tests = [path for path in changes if is_test(path)]
    rest = [path for path in changes if path not in tests]
    language = next((language for language in LANGUAGES if _is_tested(language, tests, rest, changes)), None)
    if language is None or max(len(tests), len(rest)) > _MOST_FILES:
        return None
    tree = tree_of(checkout, commit.parent)
    kept = [path for path in sorted(tree.blobs) if is_test(path) and path not in changes and not path.startswith(ours)]
    if not tree.whole or not all(SAFE_NAME.fullmatch(path) for path in (*tests, *kept)):
        return None
    return Candidate(commit, language, rest, tests, kept, tree)


def _is_tested(language: Language, tests: list[str], rest: list[str], changes: Mapping[str, str]) -> bool:
    tested = any(language.runs(path) and changes[path] in {"A", "M"} for path in tests)
    return tested and any(is_code(path, language) for path in rest)


def task_of(
    checkout: RepositoryCheckout, candidate: Candidate, name: str, pins: Mapping[str, str]
) -> ScaffoldTask | None:
    """Return the task of a candidate, with solutions that may be wrong; None if it is too large.

    Args:
        checkout: the repository.
        candidate: one of its commits.
        name: name of the fixture and the suite.
        pins: exact versions of Python packages that its tests need, without those of the language.
    """
    commit, language = candidate.commit, candidate.language
    solution = patch_of(checkout, commit, candidate.code)
    start = _start(checkout, candidate, folders_of(name))
    hidden = _hidden(checkout, candidate)
    if (
        start is None
        or solution.count(b"\n") > 2 * _MOST_LINES
        or sum(len(f.content) for f in hidden) > _MOST_TEST_BYTES
    ):
        return None
    subject, prompt = _words(commit.message)
    return ScaffoldTask(
        id=f"{FIRST}-{_short(slug(subject))}",
        title=shortened(subject, _TITLE_CHARS),
        origin=f"commit {commit.sha[:12]} of this repository, which changed {language.name} code and its tests",
        category=next((kind for word, kind in _KINDS if re.match(word, commit.message, re.IGNORECASE)), "new_features"),
        prompt=prompt,
        start=start,
        solution=solution,
        wrong=wrong_solutions(solution, _WRONG, lambda path: is_code(path, language)),
        checks=_checks(candidate),
        hidden=hidden,
        python={**pins, **language.tools},
        system=language.system,
    )


def _short(name: str) -> str:
    """Shorten a slug, between words if possible."""
    cut = name[: _ID_CHARS + 1].rpartition("-")[0] if len(name) > _ID_CHARS else name
    return re.sub(r"[._-]+", "-", cut or name[:_ID_CHARS]).strip("-") or "change"


def shortened(text: str, most: int) -> str:
    """Shorten a line between words; ` ...` marks the cut."""
    return textwrap.shorten(text, most, placeholder=" ...") if " " in text else text[:most]


def _words(message: str) -> tuple[str, str]:
    """Return title and prompt from a commit's message, without trailers and issue numbers."""
    first, _, rest = message.partition("\n")
    body = "\n".join(line for line in rest.splitlines() if not _TRAILER.match(line.strip())).strip()
    subject = re.sub(r"\s*\(?#[0-9]+\)?$", "", first).strip() or "A change of this repository"
    title = _TYPE.sub("", re.sub(r"^\w+\(([^)]+)\)!?:", r"\1:", subject), count=1)
    title = title[0].upper() + title[1:]
    return title, f"{title}\n{f'{chr(10)}{body}{chr(10)}' if body else ''}"


def _start(checkout: RepositoryCheckout, candidate: Candidate, ours: tuple[str, ...]) -> TaskStart | None:
    blobs = {path: blob for path, blob in candidate.tree.blobs.items() if not path.startswith(ours)}
    if len(blobs) <= _FIXTURE_FILES and candidate.tree.size <= _FIXTURE_BYTES:
        texts = contents(checkout, list(blobs.values()))
        files = (ScaffoldFile(path, text, blob.mode) for (path, blob), text in zip(blobs.items(), texts, strict=True))
        return TaskStart(files=tuple(files))
    origin = origin_of(checkout)
    return TaskStart(repo=_address(origin), commit=candidate.commit.parent) if origin else None


def _address(origin: str) -> str:
    """Return the address by HTTPS, without a password, so that it works without a personal SSH key."""
    match = re.fullmatch(r"(?:ssh://)?git@([\w.-]+)[:/](.+?)(?:\.git)?/?", origin)
    return f"https://{match[1]}/{match[2]}" if match else re.sub(r"(?<=://)[^/@]+@", "", origin)


def _hidden(checkout: RepositoryCheckout, candidate: Candidate) -> tuple[ScaffoldFile, ...]:
    """Return the files of `checks/`: the commit's tests, lists of names, and the script that runs them."""
    after = tree_of(checkout, candidate.commit.sha).blobs
    new = [path for path in sorted(candidate.tests) if path in after]
    texts = contents(checkout, [after[path] for path in new])
    tests = [ScaffoldFile(f"tests/{path}", text, after[path].mode) for path, text in zip(new, texts, strict=True)]
    language = candidate.language
    script = filled("run.sh", before=language.before, run=language.run)
    return (
        ScaffoldFile("run.sh", script.encode(), PROGRAM),
        ScaffoldFile("hidden.txt", _listed(path for path in new if language.runs(path))),
        ScaffoldFile("kept.txt", _listed(candidate.kept)),
        ScaffoldFile("kept-tests.txt", _listed(_guarding(candidate))),
        *tests,
    )


def _guarding(candidate: Candidate) -> list[str]:
    """Return test files from before the commit that lie in the same folders as the changed ones."""
    beside = {path.rpartition("/")[0] for path in candidate.tests}
    near = (path for path in candidate.kept if candidate.language.runs(path) and path.rpartition("/")[0] in beside)
    return list(islice(near, _MOST_KEPT))


def _listed(paths: Iterator[str] | list[str]) -> bytes:
    return "".join(f"{path}\n" for path in paths).encode()


def _checks(candidate: Candidate) -> tuple[TaskCheck, ...]:
    shows = candidate.language.shows
    run = 'sh "$CHECKS/run.sh"'
    hidden = TaskCheck("hidden-tests", "The tests that came with the change pass", f"{run} hidden", shows=shows)
    kept = TaskCheck(
        "kept-tests", "The tests that were there before still pass", f"{run} kept", guard=True, shows=shows
    )
    return (hidden, kept) if _guarding(candidate) else (hidden,)
