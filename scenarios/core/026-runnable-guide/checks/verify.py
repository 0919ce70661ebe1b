"""Checks of docs/guide.md: verify.py CHECK, in the repository, with BASE in the environment."""

import ast
import os
import re
import sys
from collections.abc import Callable
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

import closed  # noqa: E402, F401
import ownsuite  # noqa: E402
from examples import (  # noqa: E402
    Example,
    console_examples,
    python_examples,
    run_console,
    run_python,
)
from page import Page, anchors, links, read_page, resolve, tables  # noqa: E402

BASE = Path(os.environ["BASE"]).resolve()
ROOT = Path.cwd().resolve()
GUIDE = ROOT / "docs" / "guide.md"
SECTIONS = ["Durations", "Steps & rounding", "Logs", "Command line: `tallytime`", "Errors", "Defaults"]
SLUGS = ["durations", "steps--rounding", "logs", "command-line-tallytime", "errors", "defaults"]
DEFAULTS = {
    ("parse", "unit"): "m",
    ("format_minutes", "style"): "clock",
    ("round_to", "step"): 6,
    ("round_to", "mode"): "nearest",
    ("read_log", "strict"): False,
    ("total", "project"): None,
    ("by_project", "sort"): "name",
}

Call = dict
Wanted = list[tuple[str, str, Callable[[Call], bool], str]]
LIBRARY: Wanted = [
    ("parse, units", "parse", lambda c: bool(re.search(r"\d\s*[hm]", c["text"])), ""),
    ("parse, clock", "parse", lambda c: ":" in c["text"], ""),
    ("parse, number", "parse", lambda c: _number(c["text"]) and c["unit"] == "m", ""),
    ("parse, unit='h'", "parse", lambda c: _number(c["text"]) and c["unit"] == "h", ""),
    ("format_minutes, default", "format_minutes", lambda c: c["style"] == "clock", ""),
    ("format_minutes, words", "format_minutes", lambda c: c["style"] == "words", ""),
    ("round_to, defaults", "round_to", lambda c: c["step"] == 6 and c["mode"] == "nearest", ""),
    ("round_to, another step", "round_to", lambda c: c["step"] not in (0, 6), ""),
    ("round_to, up", "round_to", lambda c: c["mode"] == "up", ""),
    ("round_to, down", "round_to", lambda c: c["mode"] == "down", ""),
    ("round_to, middle", "round_to", lambda c: c["mode"] == "nearest" and _middle(c), ""),
    ("read_log", "read_log", lambda c: True, ""),
    ("total, all", "total", lambda c: c["project"] is None, ""),
    ("total, one project", "total", lambda c: c["project"] is not None, ""),
    ("by_project, default", "by_project", lambda c: c["sort"] == "name", ""),
    ("by_project, time", "by_project", lambda c: c["sort"] == "time", ""),
    ("error: parse", "parse", lambda c: True, "DurationError"),
    ("error: round_to, step 0", "round_to", lambda c: c["step"] == 0, "ValueError"),
    ("error: read_log, strict", "read_log", lambda c: c["strict"] is True, "LogError"),
]


def _number(text: str) -> bool:
    return bool(re.fullmatch(r"\s*\d+(\.\d+)?\s*", text))


def _middle(call: Call) -> bool:
    return call["step"] > 1 and 2 * (call["minutes"] % call["step"]) == call["step"]


def _option(arguments: list[str], name: str, value: str | None = None) -> bool:
    for index, argument in enumerate(arguments):
        given = argument.partition("=")[2] if argument.startswith(name + "=") else None
        if argument == name:
            given = arguments[index + 1] if index + 1 < len(arguments) else ""
        if given is not None and value in (None, given):
            return True
    return False


# name, command, status, test of the arguments, what the output contains
COMMAND = [
    ("parse", "parse", 0, lambda a: len(a) == 2, ""),
    ("parse --unit h", "parse", 0, lambda a: _option(a, "--unit", "h"), ""),
    ("parse, not a duration", "parse", 2, lambda a: True, "cannot read the duration"),
    ("sum", "sum", 0, lambda a: len(a) == 2, "Total"),
    ("sum --project", "sum", 0, lambda a: _option(a, "--project"), "Total"),
    ("sum --step", "sum", 0, lambda a: _option(a, "--step"), "Total"),
    ("sum --mode up", "sum", 0, lambda a: _option(a, "--mode", "up"), "Total"),
    ("sum --style words", "sum", 0, lambda a: _option(a, "--style", "words"), "Total"),
    ("sum, bad lines", "sum", 0, lambda a: "--strict" not in a, "skipped"),
    ("sum --strict, bad lines", "sum", 3, lambda a: "--strict" in a, ""),
    ("sum, no such file", "sum", 2, lambda a: True, "cannot open"),
    ("projects", "projects", 0, lambda a: len(a) == 2, ""),
    ("projects --sort time", "projects", 0, lambda a: _option(a, "--sort", "time"), ""),
]


class NoGuideError(Exception):
    """The guide is missing."""


def _guide() -> Page:
    if not GUIDE.is_file():
        raise NoGuideError("expected docs/guide.md, found no such file")
    return read_page(GUIDE)


def texts() -> int:
    """Print a line `ok NAME` or `FAIL NAME: why` for each check that reads texts and runs nothing."""
    for name, check in TEXTS.items():
        try:
            faults = check()
        except NoGuideError as error:
            faults = [str(error)]
        why = " ".join("; ".join(faults[:15]).split())
        print(f"FAIL {name}: {why[:500]}" if faults else f"ok {name}")
    return 0


def _report(kind: str) -> int:
    """Print which uses are missing and which examples are wrong; the checks read the two counts."""
    page = _guide()
    examples, faults = python_examples(page) if kind == "python" else console_examples(page)
    if not faults:
        (run_python if kind == "python" else run_console)(BASE, examples)
    ran = [example for example in examples if not example.fault]
    missing = _library_missing(ran) if kind == "python" else _command_missing(ran)
    total = len(LIBRARY) if kind == "python" else len(COMMAND)
    bad = faults or [f"line {example.line}: {example.fault}" for example in examples if example.fault]
    print("\n".join(bad[:12]) or f"expected {len(examples)} examples to print what the page says, and they do")
    if missing and not faults:
        print(f"expected examples that run for: {'; '.join(missing)}")
    print(f"covered {total - len(missing)}/{total}")
    print(f"{len(ran)}/{max(len(examples), 1)}")
    return 0


def _library_missing(ran: list[Example]) -> list[str]:
    return [
        name
        for name, function, test, error in LIBRARY
        if not any(_shows(example, function, test, error) for example in ran)
    ]


def _shows(example: Example, function: str, test: Callable[[Call], bool], error: str) -> bool:
    if error:
        if error not in (example.error or "").partition(":")[0]:
            return False
    elif example.error is not None or not example.want.strip():
        return False
    return any(
        name == function and test(values) and (error or _is_shown(texts, example.want))
        for name, values, *(texts) in example.calls
    )


def _is_shown(texts: list[list[str] | None], output: str) -> bool:
    """Whether a text or a number that a function returned is in the output, and is all of it but for words around."""
    kinds = texts[0] if texts else None
    return kinds is None or any(re.search(rf"(?<![\w.:]){re.escape(text)}(?![\w.:])", output) for text in kinds)


def _command_missing(ran: list[Example]) -> list[str]:
    runs = [(example.want, *run) for example in ran if example.want.strip() for run in example.runs]
    return [
        name
        for name, command, status, test, text in COMMAND
        if not any(a[:1] == [command] and found == status and test(a) and text in want for want, a, found in runs)
    ]


def page_format() -> list[str]:
    page = _guide()
    faults = list(page.problems)
    for block in page.blocks:
        if block.language not in ("python", "console"):
            faults.append(f"line {block.line}: expected a python or console block, found {block.language!r}")
    for number, _, text in page.prose:
        if re.match(r"\s*(>>>|\$ )", text):
            faults.append(f"line {number}: an example outside a fenced block")
    titles = [heading.text for heading in page.headings if heading.level == 1]
    if titles != ["User guide"]:
        faults.append(f"expected the title 'User guide', found {titles}")
    sections = [heading.text for heading in page.headings if heading.level == 2]
    if sections != SECTIONS:
        faults.append(f"expected the sections {SECTIONS}, found {sections}")
    kinds = {name: {block.language for block in page.blocks if block.section == name} for name in SECTIONS}
    needs = dict.fromkeys(SECTIONS[:3], {"python"}) | {SECTIONS[3]: {"console"}, "Errors": {"python", "console"}}
    for name, languages in needs.items():
        if not languages <= kinds[name]:
            faults.append(f"{name}: expected {sorted(languages)} examples, found {sorted(kinds[name])}")
    faults += python_examples(page)[1] + console_examples(page)[1]
    return faults


def reader_paths() -> list[str]:
    page = _guide()
    faults = []
    for number, _, target in links(page):
        if problem := resolve(ROOT, GUIDE, target):
            faults.append(f"line {number}: {target} {problem}")
    contents = {target for _, section, target in links(page) if not section}
    for slug in SLUGS:
        if not contents & {f"#{slug}", f"guide.md#{slug}"}:
            faults.append(f"expected a link to #{slug} in the list at the start")
        elif slug not in anchors(page):
            faults.append(f"expected a heading for #{slug}")
    if not any(target.split("#")[0] in ("log-format.md", "./log-format.md") for _, _, target in links(page)):
        faults.append("expected a link to log-format.md")
    readme = ROOT / "README.md"
    listed = [t for _, section, t in links(read_page(readme)) if section == "Documentation"] if readme.is_file() else []
    if not any((ROOT / target.split("#")[0]).resolve() == GUIDE for target in listed):
        faults.append(f"expected docs/guide.md in the list of README.md, found {listed}")
    return faults


def defaults_table() -> list[str]:
    found: dict[tuple[str, str], object] = {}
    faults = []
    for table in tables(_guide(), "Defaults"):
        if table and table[0] == ["Function", "Option", "Default"]:
            for row in table[1:]:
                cells = [match[1] if (match := re.fullmatch(r"`([^`]+)`", cell)) else None for cell in row]
                if len(cells) != 3 or None in cells:
                    faults.append(f"expected three cells in backticks, found {row}")
                    continue
                key = (cells[0].removesuffix("()"), cells[1])
                try:
                    found[key] = ast.literal_eval(cells[2])
                except (ValueError, SyntaxError):
                    faults.append(f"expected a Python value, found {cells[2]}")
    for key in sorted(DEFAULTS.keys() | found.keys()):
        expected, value = repr(DEFAULTS.get(key, "no row")), repr(found.get(key, "no row"))
        if expected != value:
            faults.append(f"{' '.join(key)}: expected {expected}, found {value}")
    return faults


def left_alone() -> list[str]:
    faults = []
    for top in ("src", "tests", "docs", "pyproject.toml", "CHANGELOG.md", ".gitignore"):
        before, after = _files(BASE, top), _files(ROOT, top)
        after.pop("docs/guide.md", None)
        faults += [
            f"{name} differs" for name in sorted(before.keys() | after.keys()) if before.get(name) != after.get(name)
        ]
    readme = ROOT / "README.md"
    rest = iter(readme.read_text(encoding="utf-8").splitlines() if readme.is_file() else [])
    for line in (BASE / "README.md").read_text(encoding="utf-8").splitlines():
        if line not in rest:
            faults.append(f"README.md: expected to find still {line!r}")
            break
    return faults


def _files(root: Path, top: str) -> dict[str, bytes]:
    start = root / top
    paths = [start] if start.is_file() else start.rglob("*")
    return {
        str(path.relative_to(root)): path.read_bytes()
        for path in paths
        if path.is_file() and "__pycache__" not in path.parts
    }


TEXTS: dict[str, Callable[[], list[str]]] = {
    "format": page_format,
    "links": reader_paths,
    "defaults": defaults_table,
    "left-alone": left_alone,
}
CHECKS: dict[str, Callable[[], int]] = {
    "python": lambda: _report("python"),
    "console": lambda: _report("console"),
    "texts": texts,
    "own-tests": lambda: ownsuite.run(BASE, ROOT),
}

if __name__ == "__main__":
    try:
        raise SystemExit(CHECKS[sys.argv[1]]())
    except NoGuideError as error:
        print(error)
        print("0/1")
        raise SystemExit(1) from None
