"""Scripted provider that solves the sessions of a readiness run, so that a real agent CLI can be measured by a test.

It knows a session's item by its prompt, and answers as a model would: questions with Read, Grep and a Write of
ANSWER.json; edits with Read, Edit or Write, a run of the tests, and a last word. The closed-book control learns
nothing.

    with readiness_solver(tmp / "runs/readiness", wrong=0.25) as url:
        scylla("readiness", ..., env={"ANTHROPIC_BASE_URL": url, "ANTHROPIC_API_KEY": "sk-ant-..."})
"""

import base64
import json
import re
import shlex
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.support.provider import Body, Say, serve, tool_results, user_texts
from tests.support.readiness_tasks import Change, SuiteTask, suite_tasks, wrong_tasks

_LINES = 400  # of a file that are read at once
_BEFORE = 100  # lines above a change that are read too
_TOKEN = 4  # characters
_FAILED = "<tool_use_error>"
_MOST_FAILURES = 3
_FOLDER = re.compile(r"orking directory: ([^\\\s\"]+)")
_NUMBER = re.compile(r"^ *\d+[→\t]", re.MULTILINE)
_SHOWN_TEST = re.compile(r"^FAILED (\S[^\n]*?)::", re.MULTILINE)
_MANY_TESTS = 3  # files


@contextmanager
def readiness_solver(run_folder: Path, *, wrong: float = 0.0) -> Iterator[str]:
    """Serve the solver of a run on loopback, and yield its address (ANTHROPIC_BASE_URL).

    Args:
        run_folder: where the command writes its run, such as `runs/readiness`; the suite in it may be made later.
        wrong: share of each dimension's items that are answered wrong, as plausible wrong answers of the suite are.
    """
    with Solver.of(run_folder, wrong) as solver, serve(solver.answer) as provider:
        yield provider.url


class Solver:
    """Script of a provider that solves items; `answer` is the script."""

    def __init__(self, run_folder: Path, wrong: float, scratch: Path) -> None:
        self._suite = run_folder / "suite"
        self._share = wrong
        self._scratch = scratch
        self._lock = threading.Lock()
        self._tasks: dict[str, list[SuiteTask]] = {}
        self._wrong: frozenset[Path] = frozenset()
        self._loads = 0

    @classmethod
    @contextmanager
    def of(cls, run_folder: Path, wrong: float = 0.0) -> Iterator["Solver"]:
        """Yield a solver with a folder for its objects."""
        with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as scratch:
            yield cls(run_folder, wrong, Path(scratch))

    def answer(self, body: Body) -> Say:
        """Return the next step of the session that a request belongs to."""
        if not body.get("tools"):
            return Say("I cannot know that without the files.")
        tasks = self.tasks_of(body)
        if not tasks:
            return Say("I know no such task.")
        results = tool_results(body)
        task = _fitting(tasks, results)
        failed = sum(_FAILED in result for result in results)
        calls = _steps(task, session_folder(body), is_wrong=task.scenario in self._wrong, is_careful=failed > 0)
        step = calls[min(len(results) - failed, len(calls) - 1)] if failed < _MOST_FAILURES else calls[-1]
        return _priced(step, body)

    def tasks_of(self, body: Body) -> list[SuiteTask]:
        """Return the tasks with the prompt of a request: one of each side that asks the same; [] if it is no task."""
        with self._lock:
            tasks = self._known(body)
            if not tasks and (self._suite / "suite.json").is_file():
                self._load()
                tasks = self._known(body)
            return tasks

    def _known(self, body: Body) -> list[SuiteTask]:
        return next((self._tasks[text.strip()] for text in user_texts(body) if text.strip() in self._tasks), [])

    def _load(self) -> None:
        self._loads += 1
        tasks = suite_tasks(self._suite, self._scratch / f"{self._loads}.git")
        self._tasks = {}
        for task in tasks:
            self._tasks.setdefault(task.item.prompt.strip(), []).append(task)
        self._wrong = wrong_tasks(tasks, self._share)


def session_folder(body: Body) -> str:
    """Return the folder in which the CLI works, as it tells the model."""
    match = _FOLDER.search(json.dumps([body.get("system"), body["messages"]]))
    assert match is not None, "the CLI does not say where it works"
    return match[1]


def _priced(step: Say, body: Body) -> Say:
    """Return the step with usage as of a provider that has all but the newest part of the prompt in its cache."""
    size = len(json.dumps(body["messages"])) // _TOKEN
    fixed = len(json.dumps([body.get("system"), body["tools"]])) // _TOKEN
    usage = {"input_tokens": min(size, 300), "cache_read_input_tokens": fixed + max(0, size - 300)}
    written = 20 + len(json.dumps([step.text, step.arguments])) // _TOKEN
    return Say(step.text, step.tool, step.arguments, usage=usage, output_tokens=written)


def _fitting(tasks: list[SuiteTask], results: list[str]) -> SuiteTask:
    """Return the task whose code base is the one that was read; sides of one run may ask the same."""
    if len(tasks) == 1 or not results:
        return tasks[0]
    read = set(_NUMBER.sub("", results[0]).splitlines())
    return max(tasks, key=lambda task: len(read & set(_decoded(task.text(_anchor_file(task))).splitlines())))


def _anchor_file(task: SuiteTask) -> str:
    return task.item.anchor.partition("::")[0]


def _decoded(text: bytes | None) -> str:
    return (text or b"").decode("utf-8", "replace")


def _steps(task: SuiteTask, folder: str, *, is_wrong: bool, is_careful: bool) -> list[Say]:
    """Return all steps of a session in their order: one for each tool call, and the last word.

    Careful ones write whole files with the shell, where there is one, since an edit failed.
    """
    changes = task.wrong if is_wrong else task.solution
    readings = [Say("I read it.", "Read", {"file_path": f"{folder}/{path}", "offset": first, "limit": _LINES})
                for path, first in _readings(task, changes)]  # fmt: skip
    writings = [_writing(change, folder, by_shell=is_careful and task.item.has_shell) for change in changes]
    if task.item.has_shell:
        return [*readings, *writings, _test_run(task), Say("The change is made.")]
    name = task.item.anchor.rpartition("::")[2].rpartition(".")[2]
    search = Say("I look who names it.", "Grep", {"pattern": rf"\b{re.escape(name)}\b", "path": folder})
    return [readings[0], search, *readings[1:], *writings, Say("The answer is written.")]


def _readings(task: SuiteTask, changes: tuple[Change, ...]) -> Iterator[tuple[str, int]]:
    """Yield the files to read and their first line: the anchor's, all of a chain, and what is changed."""
    anchor = _anchor_file(task)
    own = {change.path: _first_changed(change) for change in changes if change.before is not None and change.after}
    others = task.item.files if task.item.dimension == "cross-file-coherence" else ()
    for path in dict.fromkeys([anchor, *others, *own]):
        if task.text(path):
            yield path, max(1, own.get(path, 0) - _BEFORE)


def _first_changed(change: Change) -> int:
    old, new = (change.before or b"").splitlines(), (change.after or b"").splitlines()
    return 1 + next((at for at, (was, now) in enumerate(zip(old, new, strict=False)) if was != now), len(old))


def _writing(change: Change, folder: str, *, by_shell: bool) -> Say:
    """Return the tool call that makes a change."""
    path = f"{folder}/{change.path}"
    if change.after is None:
        return Say("I remove it.", "Bash", {"command": f"rm {shlex.quote(path)}"})
    if by_shell or not _is_plain(change):
        text = base64.b64encode(change.after).decode()
        return Say("I write it.", "Bash", {"command": f"printf %s {text} | base64 -d > {shlex.quote(path)}"})
    if change.before is None:
        return Say("I write it.", "Write", {"file_path": path, "content": change.after.decode()})
    old, new = _smallest_edit(change.before.decode(), change.after.decode())
    return Say("I change it.", "Edit", {"file_path": path, "old_string": old, "new_string": new})


def _is_plain(change: Change) -> bool:
    """True if both texts are UTF-8 that tools for editing leave as it is."""
    try:
        texts = [text.decode() for text in (change.before, change.after) if text is not None]
    except UnicodeDecodeError:
        return False
    return (
        not any(re.search(r"[\r\ufeff\u2018\u2019\u201c\u201d]|[ \t]$", text, re.MULTILINE) for text in texts)
        and change.before != b""
    )


def _smallest_edit(before: str, after: str) -> tuple[str, str]:
    """Return the lines to replace, with as many lines around as make them unique, and their replacement."""
    old, new = before.splitlines(keepends=True), after.splitlines(keepends=True)
    first = 0
    while first < min(len(old), len(new)) and old[first] == new[first]:
        first += 1
    rest = 0
    while rest < min(len(old), len(new)) - first and old[-1 - rest] == new[-1 - rest]:
        rest += 1
    while True:
        part = "".join(old[first : len(old) - rest])
        if part.strip() and before.count(part) == 1:
            return part, "".join(new[first : len(new) - rest])
        assert first or rest, "the file is empty"
        first, rest = max(0, first - 1), max(0, rest - 1)


def _test_run(task: SuiteTask) -> Say:
    """Return the tool call that runs the tests that the agent can see: the shown one's file, else some that exist."""
    shown = _SHOWN_TEST.findall(task.item.prompt)
    named = dict.fromkeys([*shown, *(test.partition("::")[0] for test in task.item.tests)])
    files = [path for path in named if task.text(path) is not None][:_MANY_TESTS]
    paths = " ".join(shlex.quote(path) for path in files)
    if task.language == "python":
        return Say("I run its tests.", "Bash", {"command": f"python3 -m pytest -q {paths} 2>&1 | tail -n 5"})
    programs = f"if command -v vitest; then vitest run {paths}; else node --test {paths}; fi 2>&1 | tail -n 20"
    return Say("I run its tests.", "Bash", {"command": programs})
