"""Program that runs tests of Go and writes a line of JSON for each; it needs the standard library alone.

    run_go_tests.py [--shuffle] [ID ... | @FILE]
    run_go_tests.py --batch FILE

An id is that of a test ("store/db_test.go::TestOpen", "db_test.go::TestOpen/read only") or of a file; none: all tests;
@FILE: a file with a JSON list of ids. A test with subtests stands for them, and they get the lines. Each package is
compiled once; a test that ends the process, or reaches its limit, has failed; the rest then runs in a new process.

The file of a batch has a JSON object: `workers`, and `requests`, each with `tests`, `stops_late` (no test is run after
one that reached its limit) and `changes` (the text of a changed file by path, null if it is removed). The lines of a
request get its number: {"request": 3, "id": ...}; the last one is {"request": 3, "ended": true}.

| variable | content |
|---|---|
| OUTCOMES | file to which the lines are appended |
| LINES | file for the executed lines by test, as JSON; each test then runs alone; unset: they are not measured |
| TEST_SECONDS | time limit of a test |

Folders `go-build` (compiled packages, which the own cache links) and `go-modules` are looked for above the current one.
"""

import importlib.util
import json
import os
import queue
import re
import shutil
import sys
import threading
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from scylla_gha.readiness.test_runners.go_packages import TestPackage
    from scylla_gha.readiness.test_runners.go_process import ProcessTests

_SECONDS: Final = 60.0
_HIDDEN: Final = {"OUTCOMES", "LINES", "CHECKS"}  # from the tests
_BLOCK: Final = re.compile(r"(.+):(\d+)\.\d+,(\d+)\.(\d+) (\d+) (\d+)")


def _load(name: str) -> ModuleType:
    """Import a program that lies beside this one."""
    spec = importlib.util.spec_from_file_location(name, Path(__file__).with_name(f"{name}.py"))
    assert spec and spec.loader  # noqa: S101, PT018 the file is there
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


go_packages, go_process = _load("go_packages"), _load("go_process")


class GoTests:
    """Runs of the tests of one tree."""

    def __init__(self, root: Path, home: Path, go: str, *, stops_late: bool = False) -> None:
        self.tree, self.stops_late = go_packages.GoTree(root, home, go), stops_late
        self.root, self.home = root, home
        self.seconds = float(os.environ.get("TEST_SECONDS", _SECONDS))
        self.measured: dict[str, dict[str, set[int]]] = {}

    def run(self, ids: Sequence[str], *, is_shuffled: bool = False, measured: bool = False) -> Iterator[dict[str, Any]]:
        """Run tests and yield their lines."""
        packages = self.tree.packages({test.partition("::")[0] for test in ids})
        wanted = [(package, names) for package in packages if (names := _names(package, ids))]
        with ThreadPoolExecutor(1 if len(wanted) == 1 else os.cpu_count() or 1) as pool:
            programs = pool.map(lambda pair: self.tree.compiled(pair[0], measured=measured), wanted)
            for (package, names), (program, output) in zip(wanted, programs, strict=True):
                if program is None:
                    for path in sorted({package.files[name] for name in names}):
                        yield {"broken": path, "output": output[-go_process.OUTPUT_CHARS :]}
                elif measured:
                    yield from self._measured(package, program, names, ids)
                else:
                    options = ["-test.shuffle=1"] if is_shuffled else []
                    yield from self._of_package(package, [str(program), *options], names, ids)

    def _of_package(
        self, package: "TestPackage", program: Sequence[str], names: Sequence[str], ids: Sequence[str]
    ) -> Iterator[dict[str, Any]]:
        """Run tests in as few processes as they allow."""
        env = {name: text for name, text in self.tree.env.items() if name not in _HIDDEN}
        options = ("-test.v=test2json", "-test.paniconexit0", "-test.parallel=1", "-test.timeout=0")
        while names:
            argv = [*program, *options, f"-test.run=^({'|'.join(map(re.escape, names))})$"]
            tests = go_process.run_program(argv, self.root / package.folder, env, self.seconds)
            ended = {name for name in names if tests.statuses.get(name)}
            if not ended:
                if tests.code:  # else examples without expected output
                    output = f"did not run: {tests.outputs.get('', '')}"
                    yield from ({"id": package.id(name), "passed": False, "output": output} for name in names)
                return
            for name in (name for name in names if name in ended):
                yield from _lines_of(package, name, tests, ids)
            names = [] if tests.is_late and self.stops_late else [name for name in names if name not in ended]

    def _measured(
        self, package: "TestPackage", program: Path, names: Sequence[str], ids: Sequence[str]
    ) -> Iterator[dict[str, Any]]:
        """Run each test alone, and note the lines that it executed."""
        profile = self.home / "profile"
        for name in names:
            yield from self._of_package(package, [str(program), f"-test.coverprofile={profile}"], [name], ids)
            lines: dict[str, set[int]] = {}
            for row in go_packages.read_text(profile).splitlines()[1:]:
                match = _BLOCK.fullmatch(row)
                if match and int(match[5]) and int(match[6]):
                    last = int(match[3]) - (match[4] == "1")  # it ends before that column
                    lines.setdefault(match[1], set()).update(range(int(match[2]), last + 1))
            profile.unlink(missing_ok=True)
            self.measured[package.id(name)] = lines

    def write_lines(self, path: Path) -> None:
        """Write the executed lines by file and line."""
        ids = list(self.measured)
        files: dict[str, dict[str, list[int]]] = {}
        for number, test in enumerate(ids):
            for source, lines in self.measured[test].items():
                package, _, name = source.rpartition("/")
                file = files.setdefault(os.path.normpath(f"{self.tree.folders.get(package, package)}/{name}"), {})
                for line in lines:
                    file.setdefault(str(line), []).append(number)
        path.write_text(json.dumps({"tests": ids, "files": files}), encoding="utf-8")


def _lines_of(package: "TestPackage", name: str, tests: "ProcessTests", ids: Sequence[str]) -> Iterator[dict[str, Any]]:
    """Yield a line for each subtest without own ones, or for the test if it has none."""
    children = [other for other in tests.statuses if other.startswith(f"{name}/")]
    leaves = [other for other in children if not any(more.startswith(f"{other}/") for more in children)] or [name]
    own_fault = tests.statuses[name] == "FAIL" and not any(tests.statuses[leaf] == "FAIL" for leaf in leaves)
    for leaf in leaves:
        passed = tests.statuses[leaf] == "PASS" and not own_fault
        texts = [tests.outputs.get(part, "") for part in dict.fromkeys((leaf, name, ""))]
        output = "skipped" if tests.statuses[leaf] == "SKIP" else "".join(texts) or "failed"
        yield {"id": package.id(leaf), "passed": passed, "output": "" if passed else output[-go_process.OUTPUT_CHARS :]}
    if tests.statuses[name] == "FAIL":  # subtests that it did not reach
        prefix = package.id(name)
        reached = {package.id(leaf) for leaf in leaves}
        output = "".join(tests.outputs.get(part, "") for part in (name, "")) or "failed"
        for identifier in ids:
            if identifier.startswith(f"{prefix}/") and identifier not in reached:
                yield {"id": identifier, "passed": False, "output": output[-go_process.OUTPUT_CHARS :]}


def _names(package: "TestPackage", ids: Sequence[str]) -> list[str]:
    """Return the wanted test functions of a package."""
    if not ids:
        return list(package.files)
    files = {identifier for identifier in ids if "::" not in identifier}
    tests = {(identifier.partition("::")[0], identifier.partition("::")[2].partition("/")[0]) for identifier in ids}
    return [name for name, path in package.files.items() if path in files or (path, name) in tests]


class OutcomeFile:
    """File of the lines, which threads share."""

    def __init__(self) -> None:
        self.path, self.lock = Path(os.environ.get("OUTCOMES", "outcomes.jsonl")).absolute(), threading.Lock()

    def write(self, line: Mapping[str, Any]) -> None:
        """Append a line."""
        with self.lock, self.path.open("a", encoding="utf-8") as file:
            file.write(json.dumps(line) + "\n")


def _run_batch(batch: Mapping[str, Any], home: Path, go: str, outcomes: OutcomeFile) -> None:
    """Run requests, each on a changed copy; copies of a worker have one path, so that packages are compiled once."""
    root, workers = Path.cwd(), queue.Queue[Path]()
    for number in range(batch["workers"]):
        workers.put(home / f"worker-{number}")

    def run(number: int) -> None:
        folder, request = workers.get(), batch["requests"][number]
        try:
            tree = folder / "tree"
            shutil.rmtree(tree, ignore_errors=True)
            shutil.copytree(root, tree, symlinks=True)
            for name, text in request["changes"].items():
                _change(tree / name, text)
            for line in GoTests(tree, folder, go, stops_late=request["stops_late"]).run(request["tests"]):
                outcomes.write({"request": number, **line})
            outcomes.write({"request": number, "ended": True})
        finally:
            workers.put(folder)

    with ThreadPoolExecutor(batch["workers"]) as pool:
        list(pool.map(run, range(len(batch["requests"]))))


def _change(path: Path, text: str | None) -> None:
    path.unlink(missing_ok=True)
    if text is not None:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text.encode("utf-8", "surrogateescape"))


def main(arguments: list[str]) -> None:
    """Run the tests."""
    home, go, outcomes = Path.home() / "go-tests", go_packages.program_of_go(), OutcomeFile()
    if arguments[:1] == ["--batch"]:
        _run_batch(json.loads(Path(arguments[1]).read_text(encoding="utf-8")), home, go, outcomes)
        return
    if arguments and arguments[-1].startswith("@"):
        arguments = arguments[:-1] + json.loads(Path(arguments[-1][1:]).read_text(encoding="utf-8"))
    lines = os.environ.get("LINES")
    tests = GoTests(Path.cwd(), home, go)
    ids = [argument for argument in arguments if not argument.startswith("--")]
    for line in tests.run(ids, is_shuffled="--shuffle" in arguments, measured=bool(lines)):
        outcomes.write(line)
    if lines:
        tests.write_lines(Path(lines))


if __name__ == "__main__":
    main(sys.argv[1:])
