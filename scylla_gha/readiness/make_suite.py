"""Making of a suite from a repository: working copies, index, recorded tests, and the items of each dimension."""

import contextlib
import fnmatch
import shutil
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import scylla_gha
from scylla_gha.counting import counted
from scylla_gha.errors import ConfigError, FixtureError
from scylla_gha.images import SandboxPool
from scylla_gha.mining.repository import RepositoryCheckout
from scylla_gha.model import digest, one_line
from scylla_gha.model.readiness import (
    ChangedText,
    Dimension,
    MadeSuite,
    SuiteFacts,
    TwinEffect,
)
from scylla_gha.prepare.workspace import scratch
from scylla_gha.readiness.code_environment import CodeEnvironment
from scylla_gha.readiness.code_index import build_index
from scylla_gha.readiness.dimension_items import make_items
from scylla_gha.readiness.environment import detect_environment
from scylla_gha.readiness.evidence import with_features
from scylla_gha.readiness.material import ReadinessMaterial, WorkingCopy, at_revision, working_copy
from scylla_gha.readiness.recorded_tests import TestMap
from scylla_gha.readiness.source_code import CodeIndex, Language
from scylla_gha.readiness.suite import GraderFiles, SuiteSettings, SuiteSide, write_experiment, write_suite
from scylla_gha.readiness.test_map import record_tests, runner_of
from scylla_gha.readiness.test_runners.base import RunLimits
from scylla_gha.readiness.twin_sides import BuiltSide, twin_sides
from scylla_gha.store import read_record, write_record
from scylla_gha.system.process import Cancel

_GRADERS: Final = Path(__file__).with_name("graders")
_QUESTION_GRADERS: Final = ("answers.py",)
_EDIT_GRADERS: Final = ("edits.py", "pattern_rules.py")
_SHOWN: Final = 5  # files in a message
Report = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class SuiteWish:
    """Repository, dimensions and sample of a suite.

    Attributes:
        checkout: the repository; its `head` is the measured commit.
        dimensions: those that are wanted.
        wanted: anchors per dimension.
        setup: command that installs what the tests need; None: it is detected.
        head: another revision that the measured one is compared with; None: there is none.
        has_twins: changed copies of the code are measured too.
        tests: patterns of files of tests that are run; empty: all.
    """

    checkout: RepositoryCheckout
    dimensions: tuple[Dimension, ...]
    wanted: int
    seed: int
    setup: str | None = None
    head: str | None = None
    has_twins: bool = False
    tests: tuple[str, ...] = ()

    def key(self, settings: SuiteSettings, head: RepositoryCheckout | None) -> str:
        """Return a digest of all that decides which items there are; the agent and its model do not."""
        commits = [self.checkout.head, head.head if head else None]
        wishes = [self.dimensions, self.wanted, self.seed, self.setup, self.has_twins, self.tests]
        return digest([scylla_gha.__version__, commits, wishes, settings.sandbox])


def make_suite(
    wish: SuiteWish, settings: SuiteSettings, sandboxes: SandboxPool, folder: Path, report: Report
) -> MadeSuite:
    """Write the suite of a repository into a folder; items that are there already are asked again.

    Args:
        wish: the repository and what is wanted of it.
        settings: of the experiment.
        sandboxes: in which the tests run.
        folder: of the suite; what else is in it is removed.
        report: gets lines of progress.

    Raises:
        FixtureError: a commit is missing, or no language of the code is known.
        ToolError: the sandbox cannot be made ready.
    """
    head = at_revision(wish.checkout, wish.head) if wish.head else None
    key = wish.key(settings, head)
    with contextlib.suppress(ConfigError):  # one of another version is made anew
        suite = read_record(folder / "suite.json", MadeSuite)
        if suite is not None and suite.key == key:
            report("the items are those of the stored suite")
            write_experiment(folder, settings)
            return suite
    shutil.rmtree(folder, ignore_errors=True)
    with scratch() as root, contextlib.closing(Cancel()) as cancel:
        work = SuiteWork(wish, sandboxes, report, cancel)
        base = _side("", wish.checkout, work, root / "measured")
        others = [_side("head", head, work, root / "head")] if head else []
        twins = list(twin_sides(base, wish.seed, root, report)) if wish.has_twins else []
        sides = [base, *others, *(twin for twin in twins if isinstance(twin, BuiltSide))]
        write_suite(folder, [built.side for built in sides], settings)
    unusable = tuple(twin for twin in twins if isinstance(twin, TwinEffect))
    suite = MadeSuite(key=key, sides=tuple(built.facts for built in sides), unusable=unusable)
    write_record(folder / "suite.json", suite)
    return suite


@dataclass(frozen=True, slots=True)
class SuiteWork:
    """Work on a suite: what is wanted, where its tests run, who hears of progress, and what ends it."""

    wish: SuiteWish
    sandboxes: SandboxPool
    report: Report
    cancel: Cancel


def _side(name: str, checkout: RepositoryCheckout, work: SuiteWork, root: Path) -> BuiltSide:
    copy, wish, report = working_copy(checkout, root), work.wish, work.report
    for note in copy.notes:
        report(f"note: {note}")
    index = build_index(copy.root)
    language = main_language(index)
    report(f"{name or 'code'}: {counted(len(index.functions), 'function')} in {counted(len(index.files), 'file')}, "
           f"mostly {language}")  # fmt: skip
    environment = detect_environment(copy.root, language, work.sandboxes.target, wish.setup)
    tests = recorded(copy, environment, index, wish.tests, report, work.cancel)
    material = ReadinessMaterial(
        root=copy.root, index=index, tests=tests, runner=runner_of(environment, work.cancel) if tests.tests else None,
        checkout=checkout, seed=wish.seed, wanted=wish.wanted, language=language,
    )  # fmt: skip
    items = with_features(make_items(material, wish.dimensions, copy.tree, report), index)
    side = SuiteSide(name, items, copy, environment.tools, graders_of(material), _texts(environment.files))
    return BuiltSide(side, _facts(side, copy, environment), material)


def main_language(index: CodeIndex) -> Language:
    """Return the language of most functions that are no tests.

    Raises:
        FixtureError: there is no function of a known language.
    """
    counts = Counter(file.language for file in index.files.values() if not file.is_test for _ in file.functions)
    if not counts:
        reasons = Counter(skipped.reason for skipped in index.skipped)
        left_out = f" ({', '.join(f'{count} {reason}' for reason, count in reasons.most_common(3))})" if reasons else ""
        raise FixtureError("no function in Python, JavaScript, TypeScript or Go was found in the tracked files"
                           f"{left_out}; readiness knows these four languages")  # fmt: skip
    return counts.most_common(1)[0][0]


def recorded(
    copy: WorkingCopy,
    environment: CodeEnvironment,
    index: CodeIndex,
    patterns: Sequence[str],
    report: Report,
    cancel: Cancel | None = None,
) -> TestMap:
    """Run the tests and return which are stable; without a way to run them, the map says why.

    Raises:
        FixtureError: no file of tests matches the patterns.
    """
    if environment.reason is not None:
        report(f"note: {environment.reason}")
        return TestMap(tests={}, reason=environment.reason)
    report(f"running the project's tests three times, each at most {RunLimits().run:.0f} s")
    tests = record_tests(copy.root, environment, index, cancel, tests=_test_files(index, patterns))
    stable, unstable = counted(len(tests.tests), "test is", "tests are"), len(tests.unstable)
    not_stable = f", {counted(unstable, 'is', 'are')} not ({one_line(tests.unstable[0])})" if unstable else ""
    report(f"note: {tests.reason}" if tests.reason else f"{stable} stable{not_stable}; {tests.seconds:.1f} s a run")
    return tests


def _test_files(index: CodeIndex, patterns: Sequence[str]) -> list[str] | None:
    """Return the files of tests that match a pattern; None without patterns: all files."""
    files = [path for path, file in index.files.items() if file.is_test]
    for pattern in patterns:
        if not fnmatch.filter(files, pattern):
            raise FixtureError(
                f"--tests {pattern}: no file of tests matches; they are {', '.join(files[:_SHOWN]) or 'none'}"
            )
    return sorted(path for path in files if any(fnmatch.fnmatchcase(path, pattern) for pattern in patterns)) or None


def graders_of(material: ReadinessMaterial) -> GraderFiles:
    """Return the programs of `checks/`."""
    texts = {name: (_GRADERS / name).read_text(encoding="utf-8") for name in (*_QUESTION_GRADERS, *_EDIT_GRADERS)}
    programs = material.runner.programs if material.runner else {}
    return GraderFiles(
        questions={name: texts[name] for name in _QUESTION_GRADERS},
        edits={**{name: texts[name] for name in _EDIT_GRADERS}, **programs},
    )


def _texts(files: Mapping[str, bytes]) -> tuple[ChangedText, ...]:
    return tuple(ChangedText(path=path, text=text.decode("utf-8", "surrogateescape")) for path, text in files.items())


def _facts(side: SuiteSide, copy: WorkingCopy, environment: CodeEnvironment) -> SuiteFacts:
    return SuiteFacts(
        side=side.name, commit=copy.commit, tree=copy.tree, language=side.items.language, yields=side.items.counts,
        planned=dict(Counter(item.dimension for item in side.items.items)), missing=side.items.missing,
        notes=(*copy.notes, *environment.notes),
    )  # fmt: skip
