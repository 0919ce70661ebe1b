"""Time and memory of the index, by hand: `python tests/benchmarks/readiness_index.py [--files 400] [--root DIR]`.

Without a folder it writes files of Python, TypeScript and Go of about 85 lines, with calls between them. Seconds
are of this process (the machine may be busy), memory is the most that the process ever had.
"""

import argparse
import resource
import tempfile
import time
from collections import Counter
from pathlib import Path

from scylla_gha.readiness.anchors import sample
from scylla_gha.readiness.code_index import build_index
from scylla_gha.readiness.entry_points import entries, sinks
from scylla_gha.readiness.refutation import refutes

PYTHON = '''
def step_{file}_{n}(rows: list[int], limit: int = {n}) -> int:
    """Count the rows of step {n} in file {file} that stay below the limit."""
    if limit < 0:
        raise ValueError(f"limit {{limit}} is negative")
    total = 0
    for row in rows:
        if row < limit and row not in (1, 2, 3):
            total += later.step_{next}_{n}(rows[1:], limit - 1)
        else:
            total -= min(row, limit)
    try:
        store = Store{file}(total)
        return store.save(total)
    except OSError as error:
        raise RuntimeError("not saved") from error
'''
STORE = """
class Store{file}:
    def __init__(self, total: int) -> None:
        self.total = total

    def save(self, total: int) -> int:
        return self.total + total
"""
SCRIPT = """
/** Counts the rows of step {n} in file {file} that stay below the limit. */
export function step_{file}_{n}(rows: number[], limit: number = {n}): number {{
  if (limit < 0) {{
    throw new RangeError(`limit ${{limit}} is negative`);
  }}
  let total = 0;
  for (const row of rows) {{
    if (row < limit && row !== 1) {{
      total += later.step_{next}_{n}(rows.slice(1), limit - 1);
    }} else {{
      total -= Math.min(row, limit);
    }}
  }}
  return rows.map((row) => row + total).length;
}}
"""
GO = """
// Step{file}x{n} counts the rows that stay below the limit.
func Step{file}x{n}(rows []int, limit int) (int, error) {{
	if limit < 0 {{
		return 0, fmt.Errorf("limit %d is negative", limit)
	}}
	total := 0
	for _, row := range rows {{
		if row < limit && row != 1 {{
			more, err := Step{next}x{n}(rows[1:], limit-1)
			if err != nil {{
				return 0, err
			}}
			total += more
		}}
	}}
	return total, nil
}}
"""


def write(root: Path, count: int) -> None:
    for file in range(count):
        folder = root / f"part{file // 50}"
        folder.mkdir(exist_ok=True)
        fields = [{"file": file, "next": file + 1, "n": n} for n in range(5)]
        if file % 4 == 1:
            text = f'import * as later from "./m{file + 1}";\n' + "".join(SCRIPT.format(**field) for field in fields)
            (folder / f"m{file}.ts").write_text(text)
        elif file % 4 == 3:
            text = 'package part\n\nimport "fmt"\n' + "".join(GO.format(**field) for field in fields)
            (folder / f"m{file}.go").write_text(text)
        else:
            text = f"import m{file + 1} as later\n{STORE.format(file=file)}" + "".join(
                PYTHON.format(**f) for f in fields
            )
            (folder / f"m{file}.py").write_text(text)


def measure(root: Path) -> None:
    started, before = time.process_time(), resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    wall = time.monotonic()
    index = build_index(root)
    seconds = time.process_time() - started
    megabytes = sum(len(file.text) for file in index.files.values()) / 1e6
    edges = Counter(edge.certainty for edge in index.edges)
    print(f"{len(index.files):,} files, {megabytes:.1f} MB, {len(index.functions):,} functions, {dict(edges)}")
    print(
        f"index: {seconds:.1f} s of processor time, {time.monotonic() - wall:.1f} s, {seconds / megabytes:.2f} s a MB"
    )
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    print(f"memory: {peak / 1000:.0f} MB, {before / 1000:.0f} MB before")
    started = time.process_time()
    drawn = sample(index.functions.values(), 1, 192)
    found = len(entries(index)), len(sinks(index))
    print(f"anchors {len(drawn)}, entries and sinks {found}: {time.process_time() - started:.1f} s")
    started = time.process_time()
    refuted = sum(refutes(index, first.id, second.id) for first in drawn for second in drawn)
    print(f"{len(drawn) ** 2:,} refutations, {refuted:,} hold: {time.process_time() - started:.1f} s")


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--files", type=int, default=400)
    parser.add_argument("--root", type=Path)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        if options.root is None:
            write(Path(folder), options.files)
        measure(options.root or Path(folder))
