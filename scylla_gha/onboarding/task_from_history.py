"""Make tasks from a repository's commits, with names, titles and prompts from their messages.

The start state is the commit's parent, the commit's tests are the hidden check, and its other changes are the
reference solution.
"""

import re
import textwrap
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import islice
from types import MappingProxyType
from typing import Final

from scylla_gha.counting import counted
from scylla_gha.errors import ScyllaError
from scylla_gha.mining.languages import SAFE_NAME, is_code, is_test
from scylla_gha.mining.project_tests import ProjectStates, ProjectTests
from scylla_gha.mining.repository import (
    PLURALS,
    CommitTree,
    RepositoryCheckout,
    UserCommit,
    changed,
    commits,
    contents,
    origin_of,
    patch_of,
    patch_without_earlier_change,
    tree_of,
)
from scylla_gha.model import slug
from scylla_gha.model.sandbox import Tools
from scylla_gha.model.scenario import Checkpoint, WorkflowCategory
from scylla_gha.onboarding.scaffold import (
    FIRST,
    PROGRAM,
    ScaffoldFile,
    ScaffoldTask,
    TaskStart,
    filled,
    folders_of,
)
from scylla_gha.onboarding.wrong_solutions import wrong_solutions

_LOOK_BACK: Final = 300  # commits
_MOST_FILES: Final = 15  # in a solution, and in its tests
_MOST_LINES: Final = 400  # in a solution; a patch may have twice as many
_MOST_BYTES: Final = 2_000_000  # in the files that a commit changes, before and after; they are read into memory
_SKIPPED_MESSAGE: Final = "the message begins with a word such as revert, merge, release or WIP"
NO_TESTED_CODE: Final = "it does not change code together with tests that can be run"
_FIXTURE_FILES: Final = 1500
_FIXTURE_BYTES: Final = 5_000_000
_MOST_KEPT: Final = 8  # older test files; each is run for each solution
_WRONG: Final = 6  # wrong solutions that are tried; two must be refused
_TITLE_CHARS: Final = 100
_SKIPPED_WORDS: Final = re.compile(r"(revert|merge|wip|bump|release|fixup|squash)\b", re.IGNORECASE)
_KINDS: Final[tuple[tuple[str, WorkflowCategory], ...]] = (
    (r"fix|bug|repair|correct", "bug_fixing"),
    (r"refactor|rename|extract|clean", "refactoring"),
    (r"perf|speed|optimi[sz]e|faster", "optimization"),
)
_ID_CHARS: Final = 40
# Types of conventionalcommits.org; any other word before a colon belongs to the subject
_TYPE: Final = re.compile(r"(feat|fix|docs|style|refactor|perf|test|tests|build|ci|chore)!?:\s+")
_TRAILER: Final = re.compile(
    r"^([A-Z][A-Za-z]+(-[A-Za-z]+)+: .*|\(?cherry picked from .*|(close[sd]?|fix(e[sd])?|"
    r"resolve[sd]?) #[0-9]+\.?)$",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Candidate:
    """A commit that may become a task.

    Attributes:
        commit: the commit.
        project: how the commit's tests are run.
        code: paths of changed files other than tests.
        tests: paths of changed test files.
        kept: test files of the start state that the commit does not change.
        tree: files of the start state.
        after: files after the commit.
    """

    commit: UserCommit
    project: ProjectTests
    code: list[str]
    tests: list[str]
    kept: list[str]
    tree: CommitTree
    after: CommitTree


def candidates(states: ProjectStates, ours: tuple[str, ...]) -> Iterator[Candidate | str]:
    """Yield a candidate, or the reason why there is none, for each recent commit, newest first.

    Equal reasons have equal texts, so that they can be counted. Files in the folders `ours` are left out of tasks.
    """
    for commit in commits(states.checkout, _LOOK_BACK):
        yield _SKIPPED_MESSAGE if _SKIPPED_WORDS.match(commit.message) else candidate_of(states, commit, ours)


def candidate_of(states: ProjectStates, commit: UserCommit, ours: tuple[str, ...]) -> Candidate | str:
    """Return a commit as a candidate for a task, or the reason why it is none. `ours`: folders to leave out."""
    try:
        return _candidate(states, commit, ours)
    except ScyllaError as error:  # for example an object that a partial clone lacks
        return str(error)


def _candidate(states: ProjectStates, commit: UserCommit, ours: tuple[str, ...]) -> Candidate | str:
    checkout = states.checkout
    changes = {path: kind for path, kind in changed(checkout, commit).items() if not path.startswith(ours)}
    after = tree_of(checkout, commit.sha)
    projects = states.tests(after)
    tests = [path for path in changes if _is_of_tests(path, projects)]
    rest = [path for path in changes if path not in tests]
    project = next((project for project in projects if _is_tested(project, tests, rest, changes)), None)
    if project is None:
        return NO_TESTED_CODE
    if project.reason:
        return project.reason
    if max(len(tests), len(rest)) > _MOST_FILES:
        return f"it changes more than {_MOST_FILES} test files, or more than {_MOST_FILES} other files"
    tree = tree_of(checkout, commit.parent)
    others = [path for path in sorted(tree.blobs) if _is_of_tests(path, projects) and not path.startswith(ours)]
    unchanged_tests = [path for path in others if path not in changes]
    candidate = Candidate(commit, project, rest, tests, unchanged_tests, tree, after)
    return next(_faults(candidate), candidate)


def _faults(candidate: Candidate) -> Iterator[str]:
    """Yield reasons why a commit that changes code and its tests cannot become a task."""
    changes = (*candidate.code, *candidate.tests)
    states = (candidate.tree, candidate.after)
    yield from (f"it changes a {kind}" for path in changes for state in states if (kind := state.left_out.get(path)))
    if not all(SAFE_NAME.fullmatch(path) for path in (*candidate.tests, *candidate.kept)):
        yield "the names of test files contain spaces or special characters"
    if sum(state.blobs[path].size for path in changes for state in states if path in state.blobs) > _MOST_BYTES:
        yield f"the files that it changes have more than {_MOST_BYTES:,} bytes in all"


def _is_of_tests(path: str, projects: list[ProjectTests]) -> bool:
    return is_test(path) or any(project.runs(path) for project in projects)


def _is_tested(project: ProjectTests, tests: list[str], rest: list[str], changes: Mapping[str, str]) -> bool:
    tested = any(project.runs(path) and changes[path] in {"A", "M"} for path in tests)
    return tested and any(is_code(path, project.runner) for path in rest)


def task_name(message: str) -> str:
    """Return the name of a task (its id without the number), from its commit's message."""
    return short_name(slug(title_and_prompt(message)[0]))


def task_of(checkout: RepositoryCheckout, candidate: Candidate, name: str, tools: Tools) -> ScaffoldTask | str:
    """Return the task of a candidate, with solutions that are probably wrong, or the reason why it has none."""
    commit, runner = candidate.commit, candidate.project.runner
    solution = patch_of(checkout, commit, candidate.code)
    added = candidate.project.added
    start = start_of(checkout, candidate.tree, candidate.commit.parent, folders_of(name), added)
    if solution.count(b"\n") > 2 * _MOST_LINES:
        return f"its patch has more than {2 * _MOST_LINES} lines"
    if start is None:
        return "the repository is too large to be copied, and has no remote `origin` to fetch it from"
    subject, prompt = title_and_prompt(commit.message)
    return ScaffoldTask(
        id=f"{FIRST}-{task_name(commit.message)}",
        title=shortened(subject, _TITLE_CHARS),
        origin=f"commit {commit.sha[:12]} of this repository, which changed {runner.language} code and its tests"
        f"{_left_out(candidate.tree)}",
        category=next((kind for word, kind in _KINDS if re.match(word, commit.message, re.IGNORECASE)), "new_features"),
        prompt=prompt,
        start=start,
        solution=solution,
        wrong=_wrong(checkout, candidate, solution),
        checks=_checks(candidate),
        hidden=_hidden(checkout, candidate),
        tools=tools,
    )


def _wrong(checkout: RepositoryCheckout, candidate: Candidate, solution: bytes) -> dict[str, bytes]:
    """Return solutions that are probably wrong; the last also reverts an earlier change, as a bad merge does."""
    wrong = wrong_solutions(solution, _WRONG, lambda path: is_code(path, candidate.project.runner))
    merged = patch_without_earlier_change(checkout, candidate.commit, candidate.code)
    return wrong if merged in {None, b"", solution} else {**wrong, "earlier-change-lost": merged or b""}


def _left_out(tree: CommitTree) -> str:
    """Return counts of the entries that the start state leaves out, as text to append to the task's origin."""
    kinds = sorted(Counter(tree.left_out.values()).items())
    return f"; left out: {', '.join(counted(count, kind, PLURALS[kind]) for kind, count in kinds)}" if kinds else ""


def start_of(
    checkout: RepositoryCheckout,
    tree: CommitTree,
    commit: str,
    ours: tuple[str, ...],
    added: Mapping[str, bytes] = MappingProxyType({}),
) -> TaskStart | None:
    """Return the start state of a commit: its files if they are few, else the remote repository's address and commit.

    None: the files are too many, and there is no remote `origin`. Files in the folders `ours` are left out; `added` are
    files that a build would write.
    """
    blobs = {path: blob for path, blob in tree.blobs.items() if not path.startswith(ours)}
    if len(blobs) <= _FIXTURE_FILES and tree.size <= _FIXTURE_BYTES:
        texts = contents(checkout, list(blobs.values()))
        files = {
            path: ScaffoldFile(path, text, blob.mode) for (path, blob), text in zip(blobs.items(), texts, strict=True)
        }
        for path, content in added.items():
            if path not in files:
                rules = _not_ignored(path, files)
                files |= {path: ScaffoldFile(path, content), rules.path: rules}
        return TaskStart(files=tuple(files.values()))
    origin = origin_of(checkout)
    return TaskStart(repo=_address(origin), commit=commit) if origin else None


def _not_ignored(path: str, files: Mapping[str, ScaffoldFile]) -> ScaffoldFile:
    """Return the `.gitignore` beside a build's file, with a line added that stops git from ignoring the file."""
    folder, slash, name = path.rpartition("/")
    rules = f"{folder}{slash}.gitignore"
    before = files[rules].content.rstrip(b"\n") + b"\n" if rules in files else b""
    return ScaffoldFile(rules, before + f"!{name}\n".encode())


def _address(origin: str) -> str:
    """Return the HTTPS address, without a password, so that nobody needs a personal SSH key."""
    match = re.fullmatch(r"(?:ssh://)?git@([\w.-]+)[:/](.+?)(?:\.git)?/?", origin)
    return f"https://{match[1]}/{match[2]}" if match else re.sub(r"(?<=://)[^/@]+@", "", origin)


def _hidden(checkout: RepositoryCheckout, candidate: Candidate) -> tuple[ScaffoldFile, ...]:
    """Return the files of `checks/`: the commit's tests, lists of test files, and the script that runs them."""
    after = candidate.after.blobs
    new = [path for path in sorted(candidate.tests) if path in after]
    texts = contents(checkout, [after[path] for path in new])
    tests = [ScaffoldFile(f"tests/{path}", text, after[path].mode) for path, text in zip(new, texts, strict=True)]
    project = candidate.project
    script = filled("run.sh", before=project.runner.before, run=project.command)
    return (
        ScaffoldFile("run.sh", script.encode(), PROGRAM),
        ScaffoldFile("hidden.txt", _listed(path for path in new if project.runs(path))),
        ScaffoldFile("kept.txt", _listed(candidate.kept)),
        ScaffoldFile("kept-tests.txt", _listed(_guarding(candidate))),
        *tests,
    )


def _guarding(candidate: Candidate) -> list[str]:
    """Return unchanged test files in the folders of the changed ones; they run as a guard."""
    beside = {path.rpartition("/")[0] for path in candidate.tests}
    near = (path for path in candidate.kept if candidate.project.runs(path) and path.rpartition("/")[0] in beside)
    return list(islice(near, _MOST_KEPT))


def _listed(paths: Iterator[str] | list[str]) -> bytes:
    return "".join(f"{path}\n" for path in paths).encode()


def _checks(candidate: Candidate) -> tuple[Checkpoint, ...]:
    run, shows = 'sh "$CHECKS/run.sh"', candidate.project.runner.shows
    new, old = "The tests that came with the change pass", "The tests that were there before still pass"
    hidden = Checkpoint(id="hidden-tests", what=new, run=f"{run} hidden", stdout_matches=shows)
    kept = Checkpoint(id="kept-tests", what=old, run=f"{run} kept", stdout_matches=shows, guard=True)
    return (hidden, kept) if _guarding(candidate) else (hidden,)


def short_name(name: str) -> str:
    """Shorten a slug, between words if possible."""
    cut = name[: _ID_CHARS + 1].rpartition("-")[0] if len(name) > _ID_CHARS else name
    return re.sub(r"[._-]+", "-", cut or name[:_ID_CHARS]).strip("-") or "change"


def shortened(text: str, most: int) -> str:
    """Shorten a line to `most` characters, between words if possible; ` ...` marks the cut."""
    return textwrap.shorten(text, most, placeholder=" ...") if " " in text else text[:most]


def title_and_prompt(message: str) -> tuple[str, str]:
    """Return the title and the prompt from a commit's message, without trailers and final issue numbers."""
    first, _, rest = message.partition("\n")
    body = "\n".join(line for line in rest.splitlines() if not _TRAILER.match(line.strip())).strip()
    subject = re.sub(r"(?<!\s)\s*\(?#[0-9]+\)?$", "", first).strip() or "A change to this repository"
    title = _TYPE.sub("", re.sub(r"^\w+\(([^)]+)\)!?:", r"\1:", subject), count=1)
    title = title[0].upper() + title[1:]
    return title, f"{title}\n{f'{chr(10)}{body}{chr(10)}' if body else ''}"
