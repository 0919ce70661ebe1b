"""Validity of the readiness items on real code: yields, oracle, guessers, a lexical agent, and twins.

    .venv/bin/python -m tests.benchmarks.readiness_validity                   # this repository and five packages
    .venv/bin/python -m tests.benchmarks.readiness_validity --write           # and put the tables into the docs

Packages are fetched from PyPI and npm into a scratch folder, with tests, and not stored. No model is asked.
"""

import argparse
import json
import shutil
import subprocess
import sys
import tarfile
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from scylla_gha.config.library import Library
from scylla_gha.errors import ScyllaError
from scylla_gha.images import SandboxPool
from scylla_gha.model.readiness import DIMENSIONS, ChangedText, Dimension, ItemPart, ItemSet, ReadinessItem
from scylla_gha.model.readiness_score import GuessLevel, ObservedTrial
from scylla_gha.model.trial import Outcome
from scylla_gha.readiness.code_environment import CodeEnvironment
from scylla_gha.readiness.code_index import build_index
from scylla_gha.readiness.dimension_items import make_items
from scylla_gha.readiness.documented_intents import without_docstring
from scylla_gha.readiness.environment import detect_environment
from scylla_gha.readiness.graders.answers import grade
from scylla_gha.readiness.guessers import guess_levels
from scylla_gha.readiness.intent_task import anchored_intents
from scylla_gha.readiness.lexical_agent import LexicalAgent
from scylla_gha.readiness.make_suite import graders_of, main_language
from scylla_gha.readiness.material import ReadinessMaterial, repository_of, working_copy
from scylla_gha.readiness.recorded_tests import TestMap
from scylla_gha.readiness.score import score
from scylla_gha.readiness.source_code import CodeIndex
from scylla_gha.readiness.test_map import record_tests, runner_of
from scylla_gha.readiness.twin_items import items_in_twin
from scylla_gha.readiness.twins import EXPECTED_LOSSES, Twin, TwinKind, make_twin, twin_holds
from scylla_gha.stats.resampling import Resampling

ROOT: Final = Path(__file__).parents[2]
PAGE: Final = ROOT / "docs/readiness-validity.md"
PYPI: Final = {"click": "click==8.2.1", "cachetools": "cachetools==6.2.1", "humanize": "humanize==4.14.0",
               "isort": "isort==6.1.0"}  # fmt: skip
NPM: Final = {"find-my-way": "find-my-way@9.10.1"}
UV: Final = str(Path(sys.executable).with_name("uv"))
OWN: Final = "this repository"
TWINS: Final[tuple[tuple[TwinKind, float], ...]] = (
    ("names", 0.25), ("names", 0.5), ("names", 1.0), ("docs", 1.0), ("merging", 1.0), ("types", 1.0),
)  # fmt: skip
QUESTIONS: Final[tuple[Dimension, ...]] = ("intent-clarity", "cross-file-coherence")
INTENTS: Final = 150
UNTESTED: Final = "its suite needs a container engine and half an hour, so it is not run for this table"
BEGIN, END = "<!-- figures begin -->", "<!-- figures end -->"


@dataclass(frozen=True)
class CodeBase:
    """Material of one code base, its items, and the reasons for what could not be made."""

    name: str
    material: ReadinessMaterial
    environment: CodeEnvironment
    items: ItemSet
    seconds: dict[str, float]


@dataclass(frozen=True)
class Agents:
    """Scores by dimension of guessers (mean level) and of the lexical agent, 0 to 100."""

    levels: tuple[GuessLevel, ...]
    lexical: dict[Dimension, float]


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("names", nargs="*", help=f"of {OWN!r}, {', '.join([*PYPI, *NPM])}; default: all")
    parser.add_argument("--anchors", type=int, default=12, help="per dimension; default 12")
    parser.add_argument("--without-twins", action="store_true")
    parser.add_argument("--write", action="store_true", help=f"put the tables into {PAGE.relative_to(ROOT)}")
    options = parser.parse_args()
    names = options.names or [OWN, *PYPI, *NPM]
    yields, reasons, agents, doses = [], [], [], []
    with tempfile.TemporaryDirectory(prefix="validity-") as scratch:
        for name in names:
            print(f"# {name}", file=sys.stderr, flush=True)
            try:
                base = code_base(name, Path(scratch), options.anchors)
                yields.append(yield_row(base, oracle(base, Path(scratch) / f"oracle-{name}")))
                reasons.append(f"- {name}: {', '.join(f'{n} {what}' for what, n in base.items.counts.items())}.")
                reasons += [f"- {name}, {DIMENSIONS[lack.dimension]}: {lack.reason}." for lack in base.items.missing]
                measured = measure(base.items, base.material.index)
                agents.append(agents_row(base, measured))
                if not options.without_twins and base.material.language == "python":
                    doses += list(twin_rows(base, measured, Path(scratch) / f"twins-{name}"))
            except (ScyllaError, OSError, subprocess.SubprocessError) as error:
                reasons.append(f"- {name}: {str(error)[:300]}.")
            text = tables(yields, reasons, agents, doses)
            print(text, flush=True)
    if options.write:
        page = PAGE.read_text(encoding="utf-8")
        before, after = page.partition(BEGIN)[0], page.partition(END)[2]
        PAGE.write_text(f"{before}{BEGIN}\n\n{text}\n\n{END}{after}", encoding="utf-8")


def code_base(name: str, scratch: Path, anchors: int) -> CodeBase:
    started = time.monotonic()
    checkout = repository_of(fetched(name, scratch / "sources"))
    copy = working_copy(checkout, scratch / f"copy-{name}")
    index = build_index(copy.root)
    seconds = {"index": time.monotonic() - started}
    language = main_language(index)
    environment = detect_environment(copy.root, language, SandboxPool("bubblewrap", Library.here(ROOT)).target)
    started = time.monotonic()
    tests = TestMap({}, reason=UNTESTED) if name == OWN else record_tests(copy.root, environment, index)
    seconds["tests"] = time.monotonic() - started
    runner = runner_of(environment) if tests.tests else None
    material = ReadinessMaterial(copy.root, index, tests, runner, checkout, 0, anchors, language)
    started = time.monotonic()
    items = make_items(material, tuple(DIMENSIONS), copy.tree, lambda line: print(line, file=sys.stderr, flush=True))
    seconds["items"] = time.monotonic() - started
    return CodeBase(name, material, environment, items, seconds)


def fetched(name: str, folder: Path) -> Path:
    """Return a git repository of the package's source distribution; this repository itself is used as it is."""
    if name == OWN:
        return ROOT
    folder.mkdir(exist_ok=True)
    before = set(folder.iterdir())
    if name in PYPI:
        run([UV, "tool", "run", "pip", "download", "-q", "--no-deps", "--no-binary", name, PYPI[name]], folder)
    else:
        run(["npm", "pack", "--silent", NPM[name]], folder)
    (archive,) = set(folder.iterdir()) - before
    target = folder / name
    with tarfile.open(archive) as tar:
        tar.extractall(target, filter="data")
    (root,) = target.iterdir()
    run(["git", "init", "-q"], root)
    run(["git", "add", "-A", "-f"], root)
    run(["git", "-c", "user.name=Dev", "-c", "user.email=dev@example.com", "commit", "-q", "-m", "Release"], root)
    return root


def run(argv: Sequence[str], folder: Path) -> None:
    subprocess.run(argv, cwd=folder, check=True, capture_output=True, timeout=600)


def oracle(base: CodeBase, folder: Path) -> dict[Dimension, tuple[int, int]]:
    """Return parts with all points and parts by dimension, for the solution of each item."""
    with ThreadPoolExecutor(2) as pool:
        graded = pool.map(lambda item: oracle_of(base, item, folder / item.id), base.items.items)
        totals: dict[Dimension, Counter[bool]] = {}
        for item, shares in zip(base.items.items, graded, strict=True):
            totals.setdefault(item.dimension, Counter()).update(shares[part] == 1 for part in shares)
            for part, share in shares.items():
                if share != 1:
                    print(f"oracle {base.name} {item.id} {part}: {share}", file=sys.stderr, flush=True)
    return {name: (count[True], count.total()) for name, count in totals.items()}


def oracle_of(base: CodeBase, item: ReadinessItem, folder: Path) -> dict[str, float]:
    if not item.has_shell:
        answer = json_of(item.solution[0])
        return {part.id: share(part, answer) for part in item.parts if not part.from_trace}
    if base.environment.programs:  # packages that only the box has, where this grader does not run
        return {}
    with edit_folders(base, item, folder) as (work, checks):
        return {part.id: run_grader(base, part.id, work, checks) for part in item.parts}


def json_of(change: ChangedText) -> object:
    return json.loads(change.text or "null")


def share(part: ItemPart, answer: object) -> float:
    return float(grade(part.id, part.key, answer))


@contextmanager
def edit_folders(base: CodeBase, item: ReadinessItem, folder: Path) -> Iterator[tuple[Path, Path]]:
    """Provide the solved code base and the folder of checks, beside the start state."""
    start, work, checks = folder / "start", folder / "work", folder / "checks"
    shutil.copytree(base.material.root, start, symlinks=True)
    for path, content in base.environment.files.items():
        write(start / path, content.decode("utf-8", "surrogateescape"))
    apply(start, item.start)
    shutil.copytree(start, work, symlinks=True)
    apply(work, item.solution)
    for name, text in graders_of(base.material).edits.items():
        write(checks / name, text)
    write(checks / "key.json", json.dumps({part.id: part.key for part in item.parts}))
    apply(checks / "hidden", item.hidden)
    try:
        yield work, checks
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def apply(root: Path, changes: Sequence[ChangedText]) -> None:
    for change in changes:
        if change.text is None:
            (root / change.path).unlink(missing_ok=True)
        else:
            write(root / change.path, change.text)


def write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(text.encode("utf-8", "surrogateescape"))


def run_grader(base: CodeBase, part: str, work: Path, checks: Path) -> float:
    env = {"PATH": base.environment.path, "CHECKS": str(checks), "BASE": str(checks.parent / "start"),
           "HOME": str(checks), "LANG": "C.UTF-8", "PYTHONDONTWRITEBYTECODE": "1"}  # fmt: skip
    argv = ["python3", str(checks / "edits.py"), part]
    done = subprocess.run(argv, cwd=work, env=env, capture_output=True, text=True, check=False, timeout=300)
    worth, _, of = (done.stdout.strip().splitlines() or ["0/1"])[-1].partition("/")
    return int(worth) / int(of) if of.isdigit() else 0.0


def measure(items: ItemSet, index: CodeIndex) -> Agents:
    sizes = {path: len(file.text) for path, file in index.files.items()}
    levels = guess_levels(items, share, sizes=sizes, draws=200)
    return Agents(levels, lexical_scores(items, index, levels))


def lexical_scores(items: ItemSet, index: CodeIndex, levels: Sequence[GuessLevel]) -> dict[Dimension, float]:
    agent = LexicalAgent(index)
    trials = []
    for item in items.items:
        answer = {} if item.has_shell else agent.answer(item)
        parts = {part.id: share(part, answer) for part in item.parts if not item.has_shell and not part.from_trace}
        trials.append(ObservedTrial(item=item.id, outcome=Outcome.COMPLETED, parts=parts))
    result = score(items, trials, levels, Resampling(draws=99))
    return {row.dimension: row.score for row in result.dimensions if row.score is not None}


def twin_rows(base: CodeBase, plain: Agents, folder: Path) -> Iterator[str]:
    """Yield a row for each twin: if its tests pass, and what the lexical agent scores before and after."""
    runner, tests = base.material.runner, base.material.tests
    for kind, dose in TWINS:
        twin = make_twin(base.material.root, kind, dose, 0, folder / f"{kind}-{dose:g}")
        holds = "not run" if runner is None else "yes" if twin_holds(twin, runner, tests) else "NO"
        index = build_index(twin.root)
        asked = items_in_twin(base.items, twin, index, base.items.tree)
        same = {item.id for item in asked.items}
        shared = base.items.model_copy(update={"items": tuple(item for item in base.items.items if item.id in same)})
        before, after = (lexical_scores(items, own, plain.levels)
                         for items, own in ((shared, base.material.index), (asked, index)))  # fmt: skip
        hits, count = located(base.material, twin, index)
        cells = [f"{before[name]:.0f} to {after[name]:.0f}" if name in before and name in after else "n/a"
                 for name in QUESTIONS]  # fmt: skip
        changes = [after[name] - before[name] for number, name in ((1, QUESTIONS[0]), (3, QUESTIONS[1]))
                   if number in EXPECTED_LOSSES[kind] and name in before and name in after]  # fmt: skip
        sign = "-" if not changes else "falls" if max(changes) < -1 else "RISES" if max(changes) > 1 else "within 1"
        what = f"{kind} {100 * dose:.0f} %"
        yield f"| {base.name} | {what} | {holds} | {hits:.2f} of {count} | {cells[0]} | {cells[1]} | {sign} |"
        shutil.rmtree(twin.root, ignore_errors=True)


def located(material: ReadinessMaterial, twin: Twin | None, index: CodeIndex) -> tuple[float, int]:
    """Return how often the lexical agent has a target among its first five, and over how many intents."""
    agent, hits = LexicalAgent(index), []
    for anchor, intent in anchored_intents(replace(material, wanted=INTENTS), Counter()):
        bare = None if intent.commit else without_docstring(material.index.files[anchor.path], anchor)
        if twin is not None and bare is not None:
            bare = twin.transform(anchor.path, bare)
        targets = {twin.id_of(target) if twin else target for target in intent.targets}
        changes = [] if bare is None else [ChangedText(path=anchor.path, text=bare)]
        if targets & set(index.functions):
            hits.append(bool(targets & set(agent.locate(intent.text, 5, changes))))
    return (sum(hits) / len(hits) if hits else 0.0), len(hits)


def yield_row(base: CodeBase, right: Mapping[Dimension, tuple[int, int]]) -> str:
    counts = Counter(item.dimension for item in base.items.items)
    own = sum(len(file.functions) for file in base.material.index.files.values() if not file.is_test)
    cells = [f"{counts[name]}" for name in DIMENSIONS]
    good, total = (sum(pair[at] for pair in right.values()) for at in (0, 1))
    seconds = " / ".join(f"{base.seconds[step]:.0f}" for step in ("index", "tests", "items"))
    tests = f"{len(base.material.tests.tests)} + {len(base.material.tests.unstable)}"
    return (f"| {base.name} | {base.material.language} | {own} | {tests} | {' | '.join(cells)} | {good} of {total} | "
            f"{seconds} |")  # fmt: skip


def agents_row(base: CodeBase, measured: Agents) -> str:
    levels = {level.form: level.level for level in measured.levels}
    forms = ("locate", "explain", "context", "completeness", "accuracy", "fails")
    shown = [next((f"{worth:.2f}" for form, worth in levels.items() if form.startswith(wanted)), "-")
             for wanted in forms]  # fmt: skip
    lexical = [f"{measured.lexical[dimension]:.0f}" if dimension in measured.lexical else "n/a"
               for dimension in QUESTIONS]  # fmt: skip
    hits, count = located(base.material, None, base.material.index)
    return f"| {base.name} | {' | '.join(shown)} | {' | '.join(lexical)} | {hits:.2f} of {count} |"


YIELDS: Final = """\
| code base | language | functions | stable + other tests | 1 | 2 | 3 | 4 | oracle: parts with all points | \
seconds: index / tests / items |
|---|---|---|---|---|---|---|---|---|---|"""
AGENTS: Final = """\
| code base | locate | explain | context | completeness | accuracy | fails | lexical agent: 1 | 3 | among first five |
|---|---|---|---|---|---|---|---|---|---|"""
DOSES: Final = """\
| code base | twin | tests pass | among first five | 1 | 3 | sign where a fall is expected |
|---|---|---|---|---|---|---|"""


def tables(yields: Sequence[str], reasons: Sequence[str], agents: Sequence[str], doses: Sequence[str]) -> str:
    parts = [
        "### Yields and oracle", "\n".join([YIELDS, *yields]), *(["\n".join(reasons)] if reasons else []),
        "### Guessing levels and lexical agent", "\n".join([AGENTS, *agents]), "### Twins", "\n".join([DOSES, *doses]),
    ]  # fmt: skip
    return "\n\n".join(parts)


if __name__ == "__main__":
    main()
