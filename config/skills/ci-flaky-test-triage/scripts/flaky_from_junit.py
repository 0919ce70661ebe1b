#!/usr/bin/env python3
"""Find flaky tests in JUnit XML reports of several runs of the SAME commit.

Usage: python3 flaky_from_junit.py report1.xml report2.xml ...   (or folders, searched for *.xml)

A test is flaky if it passed in at least one report and failed in at least one other. Prints one line per
test that failed at least once: verdict, failures/runs, test id, first line of the first failure message.
Exit code: 0 no failure, 1 at least one failure (flaky or constant), 2 wrong use or no report.
"""

from __future__ import annotations

import sys
import xml.etree.ElementTree as ET
from collections import defaultdict
from pathlib import Path


def reports(args: list[str]) -> list[Path]:
    found: list[Path] = []
    for arg in args:
        path = Path(arg)
        found += sorted(path.rglob("*.xml")) if path.is_dir() else [path]
    return found


def outcome(case: ET.Element) -> tuple[str, str]:
    for tag in ("failure", "error"):
        node = case.find(tag)
        if node is not None:
            text = (node.get("message") or node.text or "").strip()
            return "fail", text.splitlines()[0][:110] if text else ""
    return ("skip", "") if case.find("skipped") is not None else ("pass", "")


def main(args: list[str]) -> int:
    if args and args[0] in {"-h", "--help"}:
        print(__doc__)
        return 0
    files = reports(args)
    if not files:
        print(__doc__, file=sys.stderr)
        return 2
    seen: dict[str, list[str]] = defaultdict(list)
    message: dict[str, str] = {}
    for path in files:
        try:
            root = ET.parse(path).getroot()
        except (ET.ParseError, OSError) as error:
            print(f"skipped {path}: {error}", file=sys.stderr)
            continue
        for case in root.iter("testcase"):
            name = f"{case.get('classname') or case.get('file') or ''}::{case.get('name')}".lstrip(":")
            result, text = outcome(case)
            seen[name].append(result)
            if result == "fail":
                message.setdefault(name, text)
    if not seen:
        print("no test case found in the reports", file=sys.stderr)
        return 2
    failed = {name: runs for name, runs in seen.items() if "fail" in runs}
    for name, runs in sorted(failed.items(), key=lambda kv: -kv[1].count("fail")):
        ran = [r for r in runs if r != "skip"]
        verdict = "FLAKY " if "pass" in ran else "ALWAYS"
        print(f"{verdict} {ran.count('fail')}/{len(ran)} {name}  {message[name]}")
    flaky = sum("pass" in runs for runs in failed.values())
    print(f"{len(files)} reports, {len(seen)} tests, {flaky} flaky, {len(failed) - flaky} failing every time")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
