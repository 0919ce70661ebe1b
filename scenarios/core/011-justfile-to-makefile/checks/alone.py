"""Runs checks one after another, each in a process of its own, and prints `ok NAME` or `FAIL NAME: why` for each.

They share what was imported, and nothing else: a check that does not end, or that ends its process, fails alone. If the
programs that it starts change a file that later checks read, it fails, and so do these.
"""

import os
import select
import signal
from collections.abc import Callable, Iterable
from pathlib import Path

SECONDS = 30  # of one check
SHOWN = 500  # characters of a fault


def run_alone(checks: dict[str, Callable[[], str]], roots: Iterable[Path]) -> int:
    """Run checks, which return what is wrong or an empty text; the files in `roots` have to stay as they are."""
    roots = list(roots)
    before = contents(roots)
    for name, check in checks.items():
        fault = outcome(check)
        if contents(roots) != before:
            fault = f"the files that checks read were changed while they ran; {fault}"
        print(f"FAIL {name}: {' '.join(fault.split())[:SHOWN]}" if fault else f"ok {name}", flush=True)
    return 0


def contents(roots: list[Path]) -> dict[str, bytes]:
    """The files of some folders; a link counts as where it leads."""
    paths = [path for root in roots for path in root.rglob("*")]
    links = {str(path): os.fsencode(os.readlink(path)) for path in paths if path.is_symlink()}
    return links | {str(path): path.read_bytes() for path in paths if path.is_file() and not path.is_symlink()}


def outcome(check: Callable[[], str]) -> str:
    """What is wrong, found out in a child process."""
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        tell(check, writer)
    os.close(writer)
    with os.fdopen(reader, encoding="utf-8", errors="replace") as stream:
        ended = select.select([stream], [], [], SECONDS)[0]
        if not ended:
            os.kill(child, signal.SIGKILL)
        answer = stream.read()
    os.waitpid(child, 0)
    if not ended:
        return f"no end after {SECONDS} seconds"
    return answer[1:] if answer else "the check ended without a result"


def tell(check: Callable[[], str], writer: int) -> None:
    """Run the check and write its result into the pipe; ends the process."""
    try:
        try:
            fault = check()
        except Exception as error:  # a file that is missing, not YAML, or of another shape
            fault = f"{type(error).__name__}: {error}"
        os.write(writer, f"={fault[:4000]}".encode("utf-8", "replace"))
    finally:
        os._exit(0)
