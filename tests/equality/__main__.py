"""Compare what this tree and another commit do: `./scylla same BASE [ROW ...]`."""

import concurrent.futures
import hashlib
import os
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import click

from tests.equality.checkouts import HERE, Checkout, base_checkout, locked, new_checkout
from tests.equality.comparison import align_numbers, compare, empty
from tests.equality.materials import Materials
from tests.equality.rows import ROWS


@dataclass(frozen=True)
class Collected:
    """Folder of what the rows collect of one checkout."""

    side: Checkout
    materials: Materials
    root: Path

    def row(self, name: str) -> Path:
        return self.root / name

    def collect(self, name: str) -> None:
        """Collect a row anew; a folder that is there is a whole one."""
        began = time.monotonic()
        partial = empty(self.root / f"{name}.partial")
        click.echo(f"same: {name} of {self.side.name}: started", err=True)
        ROWS[name].collect(self.side, self.materials, partial)
        empty(self.row(name)).rmdir()
        partial.rename(self.row(name))
        click.echo(f"same: {name} of {self.side.name}: collected in {time.monotonic() - began:.0f} s", err=True)


def collect_rows(collected: Collected, names: Sequence[str]) -> dict[str, str]:
    """Collect rows, as many at once as there are cores; return the reason of each that could not be collected."""
    failed = {}
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        rows = {pool.submit(collected.collect, name): name for name in names}
        for row in concurrent.futures.as_completed(rows):
            if (error := row.exception()) is not None:
                failed[rows[row]] = f"{collected.side.name} not collected: {type(error).__name__}: {error}"
                click.echo(f"same: {rows[row]}: {failed[rows[row]]}", err=True)
    return failed


def digest_of(*names: str) -> str:
    """Return a digest of files of this tool: what they collect is kept under it."""
    paths = [HERE / name for name in names] or sorted(path for path in HERE.rglob("*") if path.is_file())
    text = b"\0".join(path.read_bytes() for path in paths if "__pycache__" not in path.parts)
    return hashlib.sha256(text).hexdigest()[:12]


def collect_both(revision: str, names: Sequence[str], *, again: bool) -> tuple[Collected, Collected, dict[str, str]]:
    """Collect rows of BASE, unless they are there, and of this tree."""
    base, new = base_checkout(revision), new_checkout()
    folder = base.root.parent
    materials = Materials(base, folder / f"materials-{digest_of('materials.py', 'golden_runs.py', 'checkouts.py')}")
    of_base = Collected(base, materials, folder / f"rows-{digest_of()}")
    of_new = Collected(new, materials, new.work.parent / "rows")
    with locked(folder):
        failed = collect_rows(of_base, [name for name in names if again or not of_base.row(name).exists()])
    with locked(new.work.parent):
        failed |= collect_rows(of_new, [name for name in names if name not in failed])
    return of_base, of_new, failed


@click.command()
@click.argument("base")
@click.argument("rows", nargs=-1, type=click.Choice(list(ROWS)))
@click.option("--again", is_flag=True, help="Collect the rows of BASE again, although they are stored.")
def same(base: str, rows: tuple[str, ...], *, again: bool) -> None:
    """Compare what this tree and the commit BASE do, row by row; exit with 1 if anything differs.

    \b
    ./scylla same main
    ./scylla same HEAD~1 keys help
    """
    names = rows or tuple(ROWS)
    of_base, of_new, failed = collect_both(base, names, again=again)
    is_equal = True
    for name in names:
        if name in failed:
            result, where = failed[name], ""
        else:
            if ROWS[name].has_tolerance:
                align_numbers(of_base.row(name), of_new.row(name))
            found = compare(of_base.row(name), of_new.row(name), of_new.root / f"{name}.diff")
            result = f"{found.lines} differences in {found.files} files" if found.files else "equal"
            where = str(found.diff) if found.files else f"{count_files(of_base.row(name))} files"
        is_equal = is_equal and result == "equal"
        click.echo(f"{name:<12} {result:<36} {where}")
    sys.exit(0 if is_equal else 1)


def count_files(folder: Path) -> int:
    return sum(path.is_file() for path in folder.rglob("*"))


if __name__ == "__main__":
    same(prog_name="./scylla same")
