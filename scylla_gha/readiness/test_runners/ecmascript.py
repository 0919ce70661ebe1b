"""Runner of JavaScript and TypeScript tests: node's own runner, vitest, jest, and mocha."""

import functools
import json
import re
import shlex
from collections.abc import Collection, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, replace
from pathlib import Path
from threading import BoundedSemaphore
from typing import Final, Self

from scylla_gha.readiness.recorded_tests import TestOutcome, TestRequest
from scylla_gha.readiness.test_runners.base import BoxCommand, BoxRun, run_in_box
from scylla_gha.readiness.test_runners.box_runner import CORES, BoxRunner

_PROGRAM: Final = "run_script_tests.mjs"
_REPORTER: Final = "node_reporter.mjs"
_WANTED: Final = "wanted.json"
_TEST_FILE: Final = re.compile(
    r"(.*/)?([^/]+[._-](test|spec)|test([.-][^/]+)?)\.[cm]?[jt]sx?|(.*/)?__tests__/[^/]+\.[cm]?[jt]sx?"
)
_LATE: Final = re.compile(r".*(no end within|test timed out after)")  # of node's runner, or of a whole process
_IN_TEST_FOLDER: Final = re.compile(r"(.*/)?tests?/[^/]+\.[cm]?[jt]s")  # node and mocha run all of them


@dataclass(frozen=True, slots=True)
class ScriptRunner(BoxRunner):
    """Runner of one of the frameworks in an environment; single tests are picked from the outcomes of their file.

    Attributes:
        stops_late: no file is run after one that reached its time limit.
    """

    stops_late: bool = False

    @property
    def programs(self) -> Mapping[str, str]:
        """The program that runs the tests, and the reporter for node."""
        return {name: _text(name) for name in (_PROGRAM, _REPORTER)}

    def command(self, tests: Collection[str]) -> str:
        """Return the shell command that runs these tests."""
        return self._command(" ".join(shlex.quote(test) for test in tests))

    def _command(self, arguments: str) -> str:
        options = "".join(f"{shlex.quote(f'--option={option}')} " for option in self.environment.options)
        return f'node "$CHECKS/{_PROGRAM}" {self.environment.framework} {options}{arguments}'.strip()

    def run(self, tree: Path, tests: Collection[str] | None = None) -> Mapping[str, TestOutcome]:
        """Run tests in a copy of a tree."""
        run = self.record(tree, tests)
        wanted = {test for test in tests or () if "::" in test}
        return {**{test: TestOutcome(False, self._reason(run, test)) for test in wanted}, **run.outcomes}

    def _reason(self, run: BoxRun, test: str) -> str:
        """Return why a test has no outcome."""
        broken = run.broken.get(test.partition("::")[0], "")
        return f"no end within {self.limits.test:g} s" if _LATE.match(broken) else f"did not run: {run.output[-1000:]}"

    def kept(self, tree: Path, files: Collection[str] = ()) -> AbstractContextManager[Self]:  # noqa: ARG002
        """Give this runner for several threads; it keeps nothing."""
        return nullcontext(replace(self, slots=BoundedSemaphore(CORES + 1)))

    def run_many(self, requests: Sequence[TestRequest]) -> list[Mapping[str, TestOutcome]]:
        """Run several requests at once."""
        return replace(self, stops_late=all(request.is_probe for request in requests)).run_each(requests)

    def record(
        self,
        tree: Path,
        tests: Collection[str] | None = None,
        *,
        is_reversed: bool = False,  # noqa: ARG002 files run at once in any case
        measured: bool = False,
    ) -> BoxRun:
        """Run tests, with the executed lines if `measured`."""
        names = sorted(self._test_files(tree) if tests is None else tests)
        programs = {**self.programs, _WANTED: json.dumps(names)}
        late = {"STOPS_LATE": "1"} if self.stops_late else {}
        extra = {**late, "FILE_SECONDS": f"{self.limits.test:g}", "SUITE_SECONDS": f"{self.limits.run * 0.6:g}"}
        text = self._command(f'"@$CHECKS/{_WANTED}"')
        return run_in_box(self.environment, tree, BoxCommand(text, programs, self.limits, measured, extra), self.cancel)

    def _test_files(self, tree: Path) -> list[str]:
        is_node = self.environment.framework in {"node", "mocha"}
        paths = (path.relative_to(tree).as_posix() for path in tree.rglob("*") if path.is_file())
        return [
            path for path in paths
            if "node_modules/" not in path
            and (_TEST_FILE.fullmatch(path) or (is_node and _IN_TEST_FOLDER.fullmatch(path)))
        ]  # fmt: skip


@functools.cache
def _text(name: str) -> str:
    return Path(__file__).with_name(name).read_text(encoding="utf-8")
