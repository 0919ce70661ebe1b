#!/usr/bin/env python3
"""Check the anchors of a GitHub review before it is posted.

usage: check_review.py PR.diff REVIEW.json

PR.diff is the output of `gh pr diff N` (or `git diff BASE...HEAD`), REVIEW.json the body for
POST /repos/{owner}/{repo}/pulls/{n}/reviews. Prints each comment with the text of its line.
Exit status: 0 all comments can be placed, 1 at least one cannot, 2 wrong use.
"""

import json
import re
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

HUNK = re.compile(r"^@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@")
ESCAPE = re.compile(rb"\\([0-7]{3}|.)")
NAMED = {b"n": b"\n", b"t": b"\t", b'"': b'"', b"\\": b"\\"}
EVENTS = ("APPROVE", "COMMENT", "REQUEST_CHANGES")

Lines = dict[int, tuple[int, str]]  # line number -> (hunk number, text)


def clean_path(text: str) -> str:
    """Return the path of a `---` or `+++` line without quotes and without its a/ or b/ prefix."""
    text = text.rstrip("\t\r\n")
    if text.startswith('"'):
        raw = text[1:-1].encode()
        raw = ESCAPE.sub(lambda m: bytes([int(m[1], 8)]) if m[1].isdigit() else NAMED.get(m[1], m[1]), raw)
        text = raw.decode("utf-8", "replace")
    return text if text == "/dev/null" else text[2:]


class Diff:
    """Lines of a unified diff that a review comment can point at."""

    def __init__(self, lines: Iterable[str]) -> None:
        """Read the diff; lengths of hunks decide where a hunk ends, not the first character of a line."""
        self.files: dict[str, dict[str, Lines]] = {}
        self._sides: dict[str, Lines] = {}
        self._old_path = ""
        self._hunk = 0
        self._next = {"LEFT": 0, "RIGHT": 0}
        self._open = {"LEFT": 0, "RIGHT": 0}
        for line in lines:
            if any(self._open.values()):
                self._body(line.rstrip("\n"))
            else:
                self._header(line.rstrip("\n"))

    def _body(self, line: str) -> None:
        mark = line[:1]
        if mark == "\\":
            return
        for side in {"+": ["RIGHT"], "-": ["LEFT"]}.get(mark, ["LEFT", "RIGHT"]):
            self._sides[side][self._next[side]] = (self._hunk, line[1:])
            self._next[side] += 1
            self._open[side] -= 1

    def _header(self, line: str) -> None:
        found = HUNK.match(line)
        if found:
            self._hunk += 1
            self._next = {"LEFT": int(found[1]), "RIGHT": int(found[3])}
            self._open = {"LEFT": int(found[2] or 1), "RIGHT": int(found[4] or 1)}
        elif line.startswith("--- "):
            self._old_path = clean_path(line[4:])
        elif line.startswith("+++ "):
            new = clean_path(line[4:])
            self._sides = {"LEFT": {}, "RIGHT": {}}
            self.files[self._old_path if new == "/dev/null" else new] = self._sides


def near(lines: Lines, wanted: int) -> str:
    """Name the ranges of lines that a comment may use, nearest ones only."""
    ranges: list[list[int]] = []
    for number in sorted(lines):
        if ranges and number == ranges[-1][1] + 1:
            ranges[-1][1] = number
        else:
            ranges.append([number, number])
    ranges.sort(key=lambda r: min(abs(r[0] - wanted), abs(r[1] - wanted)))
    return ", ".join(f"{a}-{b}" for a, b in sorted(ranges[:4])) or "none"


def check_form(comment: dict[str, Any], diff: Diff) -> str:
    """Return what is wrong before the line is looked at, or an empty text."""
    path, side = comment.get("path"), comment.get("side", "RIGHT")
    if not comment.get("body", "").strip():
        return "body is empty"
    if "position" in comment:
        return "use line and side, not position"
    if path not in diff.files:
        return f"path is not in the diff: {path}"
    if side not in ("LEFT", "RIGHT"):
        return f"side must be LEFT or RIGHT, not {side}"
    if "```suggestion" in comment["body"] and side == "LEFT":
        return "a suggestion needs side RIGHT"
    return ""


def check_comment(comment: dict[str, Any], diff: Diff) -> tuple[str, str]:
    """Return (problem or empty text, text of the anchored line)."""
    problem = check_form(comment, diff)
    if problem:
        return problem, ""
    side, line, start = comment.get("side", "RIGHT"), comment.get("line"), comment.get("start_line")
    lines = diff.files[comment["path"]][side]
    if not isinstance(line, int) or line not in lines:
        wanted = line if isinstance(line, int) else 1
        return f"line {line} ({side}) is outside the hunks; nearest lines: {near(lines, wanted)}", ""
    if start is not None:
        start_lines = diff.files[comment["path"]].get(comment.get("start_side", side), {})
        if start_lines is lines and start >= line:
            return "start_line must be smaller than line; leave it out for one line", ""
        if start not in start_lines or start_lines[start][0] != lines[line][0]:
            return f"start_line {start} is not in the hunk of line {line}", ""
    return "", lines[line][1]


def check_head(review: dict[str, Any]) -> list[str]:
    """Return what is wrong with event, body and commit of the review."""
    event, problems = review.get("event"), []
    if event not in EVENTS:
        problems.append(f"event is {event!r}: without one of {', '.join(EVENTS)} nobody sees the review")
    if event in ("COMMENT", "REQUEST_CHANGES") and not review.get("body", "").strip():
        problems.append(f"body is required for {event}")
    if not re.fullmatch(r"[0-9a-f]{40}", review.get("commit_id", "")):
        problems.append("commit_id is not a full SHA: a push during the review would move the comments")
    return problems


def report(diff: Diff, review: dict[str, Any]) -> tuple[list[str], int]:
    """Return the lines to print and the number of problems."""
    out = [f"BAD  {problem}" for problem in check_head(review)]
    bad, seen = len(out), set()
    for number, comment in enumerate(review.get("comments", []), 1):
        problem, text = check_comment(comment, diff)
        key = (comment.get("path"), comment.get("line"), comment.get("side", "RIGHT"))
        if key in seen and not problem:
            problem = "second comment at the same place: join them"
        seen.add(key)
        place = f"{number} {comment.get('path')}:{comment.get('line')}"
        out.append(f"BAD  {place}: {problem}" if problem else f"ok   {place} | {text.strip()}")
        bad += bool(problem)
    return [*out, f"{len(review.get('comments', []))} comments, {bad} problems"], bad


def main() -> int:
    """Read both files, print the report."""
    try:
        diff_file, review_file = (Path(name) for name in sys.argv[1:])
    except ValueError:
        sys.stderr.write(__doc__ or "")
        return 2
    with diff_file.open(encoding="utf-8", errors="replace", newline="\n") as stream:
        diff = Diff(stream)
    lines, bad = report(diff, json.loads(review_file.read_text(encoding="utf-8")))
    sys.stdout.write("\n".join(lines) + "\n")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
