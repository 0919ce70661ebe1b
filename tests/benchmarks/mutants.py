"""Break lines of the package, one at a time, and count how many breaks the tests notice.

    ./scylla coverage                                         # once: which test reaches which line
    .venv/bin/python -m tests.benchmarks.mutants --lines 20 --seed 1
    .venv/bin/python -m tests.benchmarks.mutants --into new.json --against base.json

The last line compares two trees: 300 lines are drawn from each by the same rule and seed, since a change of structure
moves lines. Run it with `--into base.json` in a clone of the commit before the change first; it exits with 1 if the
share of caught mutants is lower by more than 3 points.

Lines are drawn over the whole package by the seed. Each is changed in one way (a comparison turned, a constant moved, a
call left out ...), and only the tests that reach the line are run, with `-x` and for two minutes at most. The file is
put back afterwards, also after an interrupt. Run it in a clone: it changes files.
"""

import argparse
import ast
import json
import random
import re
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import repeat
from pathlib import Path

import coverage

SECONDS = 120
PACKAGES = ("scylla_gha", "github_hub")
MOST_LOST = 0.03  # of the share of caught mutants
PHASE, TEST = re.compile(r"\|(setup|run|teardown)$"), re.compile(r"\|(?=tests/)")
COMPARISONS = {ast.Eq: ast.NotEq, ast.NotEq: ast.Eq, ast.Lt: ast.GtE, ast.LtE: ast.Gt, ast.Gt: ast.LtE, ast.GtE: ast.Lt,
               ast.Is: ast.IsNot, ast.IsNot: ast.Is, ast.In: ast.NotIn, ast.NotIn: ast.In}  # fmt: skip
OPERATORS = {ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.FloorDiv, ast.Div: ast.Mult, ast.FloorDiv: ast.Mult}


@dataclass(frozen=True)
class Mutant:
    """One changed line: the new source of the file, and the tests that reach the line."""

    path: Path
    line: int
    change: str
    source: str
    tests: tuple[str, ...]


def changes(tree: ast.Module, line: int) -> Iterator[tuple[str, ast.AST]]:
    """Find what can be changed on a line: a name for the change, and its node."""
    for node in ast.walk(tree):
        if getattr(node, "lineno", 0) == line and (change := change_of(node)):
            yield change, node


def change_of(node: ast.AST) -> str | None:
    change = None
    match node:
        case ast.Compare() if type(node.ops[0]) in COMPARISONS:
            change = "comparison turned"
        case ast.BoolOp():
            change = "and/or exchanged"
        case ast.BinOp() if type(node.op) in OPERATORS and not is_text(node):
            change = "operator exchanged"
        case ast.Constant(value=bool() | int()):
            change = "constant changed"
        case ast.Return(value=ast.expr()):
            change = "returns None"
        case ast.Expr(value=ast.Call()):
            change = "call left out"
    return change


def is_text(node: ast.BinOp) -> bool:
    return any(isinstance(side, ast.JoinedStr) or (isinstance(side, ast.Constant) and isinstance(side.value, str))
               for side in (node.left, node.right))  # fmt: skip


def apply(change: str, node: ast.AST) -> None:
    match node:
        case ast.Compare():
            node.ops[0] = COMPARISONS[type(node.ops[0])]()
        case ast.BoolOp():
            node.op = ast.Or() if isinstance(node.op, ast.And) else ast.And()
        case ast.BinOp():
            node.op = OPERATORS[type(node.op)]()
        case ast.Constant():
            node.value = not node.value if isinstance(node.value, bool) else node.value + 1  # type: ignore[operator]
        case ast.Return():
            node.value = ast.Constant(None)
        case ast.Expr():
            node.value = ast.Constant(None)
        case _:
            raise AssertionError(change)


def drawn(data: coverage.CoverageData, lines: int, seed: int) -> Iterator[Mutant]:
    """Draw lines that can be changed, each with one of its changes."""
    choose = random.Random(seed)
    files = sorted(path for package in PACKAGES for path in Path(package).rglob("*.py"))
    every = [(path, number) for path in files for number in range(1, len(path.read_text().splitlines()) + 1)]
    choose.shuffle(every)
    for path, number in every:
        if lines == 0:
            return
        possible = list(changes(ast.parse(path.read_text()), number))
        if not possible:
            continue
        at = choose.randrange(len(possible))
        tree = ast.parse(path.read_text())
        change, node = list(changes(tree, number))[at]
        apply(change, node)
        lines -= 1
        yield Mutant(path, number, change, ast.unparse(tree), reaching(data, path, number))


def reaching(data: coverage.CoverageData, path: Path, line: int) -> tuple[str, ...]:
    """The ids of the tests that reach a line: a context is `id|phase`, or in other processes `id` or `first id|id`."""
    found = {name for name in data.measured_files() if Path(name).match(f"*/{path}")}
    contexts = {context for name in found for context in data.contexts_by_lineno(name).get(line, [])}
    return tuple(sorted({TEST.split(context)[-1] for context in map(PHASE.sub, repeat(""), contexts) if context}))


def is_caught(mutant: Mutant) -> str:
    """Run the tests that reach the line on the changed file: `caught`, `survived` or `not reached`."""
    if not mutant.tests:
        return "not reached"
    before = mutant.path.read_text()
    argv = [sys.executable, "-m", "pytest", "-x", "-q", "--no-cov", "-p", "no:xdist", *mutant.tests]
    try:
        mutant.path.write_text(mutant.source)
        done = subprocess.run(argv, capture_output=True, text=True, timeout=SECONDS, check=False)
    except subprocess.TimeoutExpired:
        return f"survived {SECONDS} s"
    finally:
        mutant.path.write_text(before)
    return {0: "survived", 1: "caught", 2: "caught"}.get(done.returncode, f"pytest ended with {done.returncode}")


def lost_share(verdicts: dict[str, str], against: Path) -> float:
    """Print the shares of caught mutants of this tree and of another one, and return how much lower this one's is."""
    others: dict[str, str] = json.loads(against.read_text())
    here, there = (sum(verdict == "caught" for verdict in each.values()) / len(each) for each in (verdicts, others))
    print(f"{100 * here:.1f} % of {len(verdicts)} caught here, {100 * there:.1f} % of {len(others)} in {against}")
    return there - here


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--lines", type=int, default=300)
    parser.add_argument("--seed", type=int, default=7)
    parser.add_argument("--data", default=".coverage", help="the coverage data with contexts (default .coverage)")
    parser.add_argument("--into", type=Path, help="file to write the verdicts to, as JSON")
    parser.add_argument("--against", type=Path, help="verdicts of another tree, which --into wrote")
    options = parser.parse_args()
    data = coverage.CoverageData(options.data)
    data.read()
    verdicts: dict[str, str] = {}
    for mutant in drawn(data, options.lines, options.seed):
        verdict = is_caught(mutant)
        verdicts[f"{mutant.path}:{mutant.line}: {mutant.change}"] = verdict
        print(f"{mutant.path}:{mutant.line}: {mutant.change}, {len(mutant.tests)} tests: {verdict}", flush=True)
        if options.into:
            options.into.write_text(json.dumps(verdicts, indent=1))
    print(f"{sum(verdict == 'caught' for verdict in verdicts.values())} of {len(verdicts)} caught")
    if options.against and lost_share(verdicts, options.against) > MOST_LOST:
        sys.exit(1)


if __name__ == "__main__":
    main()
