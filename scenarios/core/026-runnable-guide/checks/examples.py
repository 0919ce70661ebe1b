"""Take the examples out of a page, run them, and compare."""

import ast
import doctest
import json
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
from dataclasses import dataclass, field
from pathlib import Path

from page import Page

FUNCTIONS = ["parse", "format_minutes", "round_to", "read_log", "total", "by_project"]
IMPORTS = {"tallytime", "pathlib"}
FORBIDDEN = {"exec", "eval", "compile", "globals", "locals", "vars", "getattr", "setattr", "delattr"}
FORBIDDEN |= {"sys", "os", "re", "exit", "quit", "breakpoint", "argparse", "builtins"}
COMMANDS = {"tallytime", "cat", "printf"}
STATUS = re.compile(r"\[exit status (\d+)\]")
HERE = Path(__file__).resolve().parent


@dataclass
class Example:
    line: int
    source: str
    want: str
    section: str
    error: str | None = None  # expected last line of a traceback
    calls: list = field(default_factory=list)
    runs: list = field(default_factory=list)  # argument lists and exit statuses of tallytime
    status: int = 0
    fault: str = "was not run"


def python_examples(page: Page) -> tuple[list[Example], list[str]]:
    found, faults = [], []
    for block in page.blocks:
        if block.language != "python":
            continue
        try:
            pieces = doctest.DocTestParser().get_examples(block.text)
        except ValueError as error:
            faults.append(f"line {block.line}: {error}")
            continue
        if not pieces or not block.text.lstrip().startswith(">>>"):
            faults.append(f"line {block.line}: a python block must begin with >>>")
        for piece in pieces:
            line = block.line + 1 + piece.lineno
            found.append(Example(line, piece.source, piece.want, block.section, piece.exc_msg))
            faults += [f"line {line}: {fault}" for fault in _source_faults(piece.source)]
    return found, faults


def _source_faults(source: str) -> list[str]:
    if re.search(r"#\s*doctest:", source):
        return ["doctest directive"]
    try:
        tree = ast.parse(source)
    except SyntaxError:
        return ["not valid Python"]
    faults = []
    for node in ast.walk(tree):
        names: list[str] = []
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            names = [node.module or "."]
            faults += [f"{a.name} is imported" for a in node.names if a.name in FORBIDDEN or a.name[0] in "_*"]
        faults += [f"{name} is imported" for name in names if name.split(".")[0] not in IMPORTS]
        used = node.id if isinstance(node, ast.Name) else node.attr if isinstance(node, ast.Attribute) else ""
        if used in FORBIDDEN or (used.startswith("_") and used != "_"):
            faults.append(f"{used} is used")
    return faults


def run_python(base: Path, examples: list[Example]) -> None:
    """Run the examples in one session and note what is wrong with each ('' if nothing is)."""
    with tempfile.TemporaryDirectory() as directory:
        work = _samples(base, directory)
        with tempfile.TemporaryFile() as questions, tempfile.TemporaryFile() as answers:
            job = {"src": str(base / "src"), "functions": FUNCTIONS, "report": answers.fileno()}
            job["examples"] = [example.source for example in examples]
            questions.write(json.dumps(job).encode())
            questions.seek(0)
            process = subprocess.Popen(
                [sys.executable, "-I", "-B", "-S", str(HERE / "python_session.py")],
                cwd=work,
                env=_environment(directory),
                stdin=questions,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                pass_fds=[answers.fileno()],
            )
            try:
                process.wait(timeout=20)
                answers.seek(0)
                report = json.loads(answers.read() or b"[]")
            except (subprocess.TimeoutExpired, ValueError):
                report = []
            finally:
                process.kill()
                process.wait()
    for example, result in zip(examples, report, strict=False):
        example.calls = result["calls"]
        example.fault = _compare(example, result["output"], result["problem"])


def _compare(example: Example, output: str, problem: str | None) -> str:
    if problem is not None:
        if example.error is None:
            return f"expected {_short(example.want)}, found {_short(problem)}"
        return "" if example.error == problem else f"expected {_short(example.error)}, found {_short(problem)}"
    if example.error is not None:
        return f"expected {_short(example.error)}, found no exception"
    same = doctest.OutputChecker().check_output(example.want, output, doctest.DONT_ACCEPT_TRUE_FOR_1)
    return "" if same else f"expected {_short(example.want)}, found {_short(output)}"


def console_examples(page: Page) -> tuple[list[Example], list[str]]:
    found, faults = [], []
    for block in page.blocks:
        if block.language != "console":
            continue
        start = len(found)
        for offset, line in enumerate(block.text.split("\n")[:-1], start=1):
            if line.startswith("$ "):
                found.append(Example(block.line + offset, line[2:], "", block.section))
                faults += [f"line {block.line + offset}: {fault}" for fault in _command_faults(line[2:])]
            elif len(found) > start:
                found[-1].want += line + "\n"
            else:
                faults.append(f"line {block.line + offset}: a console block must begin with '$ '")
                break
        if len(found) == start:
            faults.append(f"line {block.line}: no command in a console block")
    for example in found:
        *rest, last = example.want.split("\n")[:-1] or [""]
        if match := STATUS.fullmatch(last):
            example.want = "".join(line + "\n" for line in rest)
            example.status = int(match[1])
    return found, faults


def _command_faults(command: str) -> list[str]:
    lexer = shlex.shlex(command, posix=True, punctuation_chars="|<>;&()")
    lexer.whitespace_split = True
    lexer.commenters = ""
    try:
        tokens = list(lexer)
    except ValueError as error:
        return [str(error)]
    if "`" in command or "$" in command:
        return ["only plain commands are used"]
    faults, expects = [], True
    for token in tokens:
        if expects and token not in COMMANDS:
            faults.append(f"{token} is used")
        expects = token == "|"
        if not token.strip("|<>;&()") and token not in {"|", "<", ">"}:
            faults.append(f"{token} is used")
    return faults


def run_console(base: Path, examples: list[Example]) -> None:
    with tempfile.TemporaryDirectory() as directory:
        work = _samples(base, directory)
        tools = Path(directory) / "bin"
        tools.mkdir()
        log = Path(directory) / "runs"
        shim = tools / "tallytime"
        script = (
            "import json, sys; sys.path.insert(0, {!r}); from tallytime.cli import main\nstatus = None\n"
            "try:\n    status = main(sys.argv[1:])\nexcept SystemExit as error:\n    status = error.code\n"
            "sys.stdout.flush()\nopen({!r}, 'a').write(json.dumps([sys.argv[1:], status]) + '\\n')\nsys.exit(status)\n"
        ).format(str(base / "src"), str(log))
        shim.write_text(f'#!/bin/sh\nexec {shlex.quote(sys.executable)} -I -B -S -c {shlex.quote(script)} "$@"\n')
        shim.chmod(0o755)
        environment = _environment(directory) | {"PATH": f"{tools}:/usr/bin:/bin"}
        for example in examples:
            log.write_text("")
            try:
                done = subprocess.run(
                    ["/bin/sh", "-c", example.source],
                    cwd=work,
                    env=environment,
                    stdin=subprocess.DEVNULL,
                    stdout=subprocess.PIPE,
                    stderr=subprocess.STDOUT,
                    timeout=5,
                )
            except subprocess.TimeoutExpired:
                example.fault = "did not end"
                continue
            example.runs = [json.loads(line) for line in log.read_text().splitlines()]
            output = done.stdout.decode("utf-8", "replace")
            if output and not output.endswith("\n"):
                output += "\n"
            if done.returncode != example.status:
                example.fault = f"expected exit status {example.status}, found {done.returncode}"
            elif output != example.want:
                example.fault = f"expected {_short(example.want)}, found {_short(output)}"
            else:
                example.fault = ""


def _samples(base: Path, directory: str) -> Path:
    work = Path(directory) / "work"
    shutil.copytree(base / "docs" / "samples", work)
    for path in [work, *work.rglob("*")]:
        path.chmod(0o755 if path.is_dir() else 0o644)
    return work


def _environment(home: str) -> dict[str, str]:
    fixed = {"HOME": home, "LANG": "C.UTF-8", "TZ": "UTC", "COLUMNS": "80", "NO_COLOR": "1"}
    return fixed | {"PATH": "/usr/bin:/bin"}


def _short(text: str) -> str:
    text = text.rstrip("\n")
    return repr(text if len(text) <= 90 else text[:87] + "...")
