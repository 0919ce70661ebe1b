"""Validity of readiness on real code: yields, oracle, guessers, a lexical agent, the Claude Code CLI, and twins.

    .venv/bin/python -m tests.benchmarks.readiness_validity                   # this repository and five packages
    .venv/bin/python -m tests.benchmarks.readiness_validity --write           # and put the tables into the docs
    .venv/bin/python -m tests.benchmarks.readiness_validity --folder work/ humanize

Packages are fetched from PyPI and npm into the folder, with tests. Sessions are those of `scylla-gha readiness`, in its
sandbox; the CLI's model is a script. Figures that are in the folder are not measured again, and an interrupted run of
the command goes on; `--again` measures the named ones anew.
"""

import argparse
import json
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from scylla_gha.errors import ScyllaError
from tests.benchmarks.readiness_validity_offline import CodeBase, agent_figures, twin_figures
from tests.benchmarks.readiness_validity_product import (
    CLAUDE,
    ORACLE,
    UnmeasuredError,
    facts_of,
    measure,
    stored_items,
    stored_report,
)
from tests.benchmarks.readiness_validity_sources import ROOT, SOURCES, Source, fetched, version_of
from tests.benchmarks.readiness_validity_tables import tables

PAGE: Final = ROOT / "docs/readiness-validity.md"
BEGIN, END = "<!-- figures begin -->", "<!-- figures end -->"
Figures = dict[str, Any]


@dataclass(frozen=True)
class Options:
    """Options of the command."""

    folder: Path
    anchors: int
    sandbox: str
    twins: bool
    again: bool
    stored: bool


def main() -> None:
    options, names, is_written = read_options()
    chosen = [source for source in SOURCES if not options.stored and (not names or source.name in names)]
    for source in chosen:
        print(f"# {source.name}", file=sys.stderr, flush=True)
        measure_source(source, options)
    known = [figures for source in SOURCES if (figures := stored(options.folder, source))]
    text = tables(known)
    print(text, flush=True)
    if is_written:
        page = PAGE.read_text(encoding="utf-8")
        before, after = page.partition(BEGIN)[0], page.partition(END)[2]
        PAGE.write_text(f"{before}{BEGIN}\n\n{text}\n\n{END}{after}", encoding="utf-8")


def read_options() -> tuple[Options, list[str], bool]:
    known = [source.name for source in SOURCES]
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("names", nargs="*", metavar="name", help=f"of {', '.join(map(repr, known))}; default: all")
    parser.add_argument("--folder", type=Path, help="of packages, runs and figures; default: a temporary one")
    parser.add_argument("--anchors", type=int, default=8, help="of each dimension; default 8")
    parser.add_argument("--sandbox", default="bubblewrap", help="default: bubblewrap")
    parser.add_argument("--without-twins", action="store_true")
    parser.add_argument("--again", action="store_true", help="measure the named ones anew")
    parser.add_argument("--stored", action="store_true", help="measure nothing; print what the folder has")
    parser.add_argument("--write", action="store_true", help=f"put the tables into {PAGE.relative_to(ROOT)}")
    values = parser.parse_args()
    if unknown := sorted({*values.names} - {*known}):
        parser.error(f"{unknown[0]!r} is no code base of the table; they are {', '.join(map(repr, known))}")
    folder = (values.folder or Path(tempfile.mkdtemp(prefix="validity-"))).resolve()
    print(f"figures: {folder}", file=sys.stderr, flush=True)
    twins = not values.without_twins
    options = Options(folder, values.anchors, values.sandbox, twins, values.again, values.stored)
    return options, values.names, values.write


def measure_source(source: Source, options: Options) -> None:
    """Measure a code base step by step; figures are stored after each, and a step that fails leaves its reason."""
    folder = options.folder / source.folder_name
    if options.again:
        shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True, exist_ok=True)
    for name, step in steps(source, folder, options):
        figures = stored(options.folder, source) or {"name": source.name}
        if name in figures and "failed" not in figures[name]:
            continue
        print(f"## {name}", file=sys.stderr, flush=True)
        figures[name] = attempted(step)
        file = folder / "figures.json"
        file.with_suffix(".new").write_text(json.dumps(figures, indent=1), encoding="utf-8")
        file.with_suffix(".new").replace(file)


def steps(source: Source, folder: Path, options: Options) -> Iterator[tuple[str, Callable[[], Figures]]]:
    """Yield the steps of a code base by name, in their order."""
    yield "version", lambda: {"version": version_of(source, fetched(source, folder))}
    yield ORACLE, lambda: measure(source, fetched(source, folder), folder, ORACLE, options.anchors, options.sandbox)
    yield "facts", lambda: facts_of(stored_report(folder))
    yield "agents", lambda: agent_figures(code_base(source, folder))
    if options.twins:
        yield "twins", lambda: {"rows": list(twin_figures(code_base(source, folder), folder / "twins"))}
    yield CLAUDE, lambda: measure(source, fetched(source, folder), folder, CLAUDE, options.anchors, options.sandbox)


def code_base(source: Source, folder: Path) -> CodeBase:
    return CodeBase.of(source, fetched(source, folder), stored_items(folder), folder / "copy")


def attempted(step: Callable[[], Figures]) -> Figures:
    """Return a step's figures with its seconds, or the reason why there are none."""
    started = time.monotonic()
    try:
        figures = step()
    except (ScyllaError, UnmeasuredError, OSError, subprocess.SubprocessError) as error:
        figures = {"failed": str(error)[:400]}
        print(f"failed: {figures['failed']}", file=sys.stderr, flush=True)
    return {**figures, "took": round(time.monotonic() - started, 1)}


def stored(folder: Path, source: Source) -> Figures | None:
    """Return the stored figures of a code base; None if there are none."""
    file = folder / source.folder_name / "figures.json"
    return json.loads(file.read_text(encoding="utf-8")) if file.is_file() else None


if __name__ == "__main__":
    main()
