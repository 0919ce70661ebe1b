"""Ends of flows through a code base: entries, and functions that write, send or execute."""

import re
from collections.abc import Iterable
from typing import Final

from scylla_gha.readiness.named_functions import is_called_implicitly
from scylla_gha.readiness.source_code import CodeIndex, Function, Language

# Tables of full names and last parts; they only choose what is asked, so a missing name costs nothing.
_PYTHON_SINKS: Final = re.compile(
    r"(?:subprocess|requests|httpx|shutil|socket|smtplib)\.\w+|os\.(?:remove|rename|replace|system|mkdir|makedirs|unlink)"
    r"|(?:.*\.)?(?:write|write_text|write_bytes|writelines|writerows?|dump|execute|executemany|executescript|commit|sendall"
    r"|sendto|urlopen|Popen|check_call|check_output|unlink|rmtree|mkdir)"
)
_SCRIPT_SINKS: Final = re.compile(
    r"fetch|axios(?:\.\w+)?|(?:.*\.)?(?:writeFile|appendFile|rename|unlink|mkdir|rm|exec|execFile|spawn|cp)(?:Sync)?"
    r"|(?:.*\.)?(?:write|send|query|createWriteStream|insertOne|updateOne|setItem)"
)
_GO_SINKS: Final = re.compile(
    r"os\.(?:WriteFile|Create|Remove|Rename|Mkdir\w*)|exec\.Command\w*|http\.(?:Get|Post|PostForm|Head|NewRequest\w*)"
    r"|(?:.*\.)?(?:Write|WriteString|Exec|ExecContext|Do|Send|Fprintf|Encode)"
)
_SINKS: Final[dict[Language, re.Pattern[str]]] = {
    "python": _PYTHON_SINKS, "javascript": _SCRIPT_SINKS, "typescript": _SCRIPT_SINKS, "go": _GO_SINKS,
}  # fmt: skip
_COMMANDS: Final = re.compile(r"(?:.*\.)?(?:command|group|route|get|post|put|delete|patch|task|callback)")


def is_sink(function: Function, callees: Iterable[str]) -> bool:
    """Return True if a function writes, sends or executes something itself.

    Args:
        function: the function.
        callees: ids of functions of the code base that it calls; those calls do not count.
    """
    own = {name.rpartition("::")[2].rpartition(".")[2] for name in callees}
    pattern = _SINKS[function.language]
    return any(pattern.fullmatch(call.name) for call in function.calls if call.name.rpartition(".")[2] not in own)


def entries(index: CodeIndex) -> list[Function]:
    """Return the functions that tests call directly, and commands and routes; those of tests are left out."""
    called = {edge.callee for edge in index.edges if _is_test(index, edge.caller)}
    names = {call.name.rpartition(".")[2] for file in index.files.values() if file.is_test for call in file.calls}
    return [
        function
        for file in index.files.values()
        if not file.is_test
        for function in file.functions
        if "#" not in function.id and f"{function.id}#2" not in index.functions and not is_called_implicitly(function)
        if function.id in called or function.short_name in names or _is_command(function)
    ]


def _is_test(index: CodeIndex, function: str) -> bool:
    return index.files[index.functions[function].path].is_test


def _is_command(function: Function) -> bool:
    return function.name == "main" or any(_COMMANDS.fullmatch(name) for name in function.decorators)
