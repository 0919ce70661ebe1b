"""Ends of chains of calls: functions that tests and users call, and functions that write, send or execute."""

import re
from collections.abc import Iterator
from typing import Final, Literal

from scylla_gha.readiness.definitions import Definitions
from scylla_gha.readiness.modules import module_maps
from scylla_gha.readiness.source_code import CodeIndex, Function, Language, SourceFile
from scylla_gha.readiness.syntax import lines_of

EntryKind = Literal["test", "command", "route", "main"]
SinkKind = Literal["writes", "sends", "executes"]

_COMMAND: Final = re.compile(r"(.*\.)?(command|group|callback|task)")
_ROUTE: Final = re.compile(r"(.*\.(route|get|post|put|patch|delete|websocket|api_route))|Get|Post|Put|Patch|Delete")
_PASSED: Final[tuple[tuple[EntryKind, re.Pattern[str]], ...]] = (
    ("command", re.compile(r"\.set_defaults\(\s*\w+\s*=\s*(?P<name>[\w.]+)|\.action\(\s*(?P<other>[\w.]+)\s*\)")),
    ("route", re.compile(
        r"\b(?:app|router|server|api|mux|http|r|e)\.(?:get|post|put|patch|delete|all|use|route|GET|POST|PUT|PATCH|DELETE|"
        r"HandleFunc|Handle)\(\s*[\"'`][^\"'`\n]*[\"'`]\s*,\s*(?:[\w.]+\s*,\s*)*(?P<name>[\w.]+)\s*\)")),
)  # fmt: skip
_SCRIPTS: Final[dict[SinkKind, str]] = {
    "writes": r"(.*\.)?(writeFile|appendFile|writeFileSync|appendFileSync|createWriteStream|setItem|unlink|unlinkSync|"
    r"mkdirSync|rmSync|renameSync|copyFileSync)|process\.std(out|err)\.write",
    "sends": r"(globalThis\.|window\.)?fetch|axios(\.\w+)?|https?\.(request|get)|net\.connect|got(\.\w+)?|"
    r"res(ponse)?(\..*)?\.(send|json|end|redirect|render)|(.*\.)?(postMessage|sendBeacon|sendMail)",
    "executes": r"(child_process\.|cp\.)?(exec|execSync|execFile|execFileSync|spawn|spawnSync|fork)|execa|"
    r"\w*(db|pool|client|connection|conn|knex|database|sql|stmt)\w*(\..*)?\.(query|execute|exec|run)",
}
_TABLES: Final[dict[Language, dict[SinkKind, str]]] = {
    "python": {
        "writes": r".*\.(write_text|write_bytes|writelines|unlink|mkdir|to_csv|to_json|to_parquet)|"
        r"(json|pickle|yaml|marshal|toml|plistlib|tomli_w)\.(dump|dump_all)|"
        r"os\.(write|remove|unlink|rename|replace|makedirs|mkdir|rmdir|symlink|link|chmod)|"
        r"shutil\.(copy\w*|move|rmtree|make_archive)|tempfile\.\w+|sys\.std(out|err)(\.buffer)?\.write",
        "sends": r"(requests|httpx|aiohttp|session|self\.session|client)\."
        r"(get|post|put|patch|delete|head|request|stream)|"
        r"(urllib\.request\.|urllib3\.)?(urlopen|urlretrieve)|socket\.(socket|create_connection)|"
        r".*\.(sendall|sendto|sendmail|send_message|publish)|smtplib\.\w+|http\.client\.\w+",
        "executes": r"subprocess\.\w+|os\.(system|popen|exec\w+|spawn\w+|kill|killpg)|asyncio\.create_subprocess_\w+|"
        r".*\.(execute|executemany|executescript)|exec|eval|runpy\.\w+|pexpect\.\w+",
    },
    "javascript": _SCRIPTS,
    "typescript": _SCRIPTS,
    "go": {
        "writes": r"os\.(WriteFile|Create|CreateTemp|OpenFile|Remove|RemoveAll|Rename|Mkdir|MkdirAll|Symlink|Truncate)|"
        r"ioutil\.WriteFile|io\.(WriteString|Copy)|fmt\.Fprint\w*|.*\.(WriteString|WriteTo)|json\.NewEncoder",
        "sends": r"http\.(Get|Post|PostForm|Head|NewRequest\w*|Error|Redirect)|net\.(Dial\w*|Listen\w*)|rpc\.\w+|"
        r"smtp\.SendMail|.*[cC]lient\.Do",
        "executes": r"exec\.Command(Context)?|syscall\.(Exec|Kill)|.*\.(Exec|ExecContext|Query|QueryRow|QueryContext)",
    },
}
_OPENS: Final = re.compile(r"(\.open\(|\bopen\([^\n]*,)\s*(mode\s*=\s*)?[\"']([wax]|r\+)[bt+]*[\"']")


def entries(index: CodeIndex) -> dict[str, EntryKind]:
    """Return the functions where chains begin, by id: tests call them, or users through commands, routes and `main`."""
    definitions = Definitions(index.files, module_maps(index.files, {}, {}))
    in_tests = {function.id for function in index.functions.values() if index.files[function.path].is_test}
    called = {edge.callee for edge in index.edges if edge.certainty == "certain" and edge.caller in in_tests}
    kinds: dict[str, EntryKind] = dict.fromkeys(called - in_tests, "test")
    for file in index.files.values():
        calls = _tested(file, definitions) if file.is_test else _started(file, definitions)
        for function, kind in calls:
            if not index.files[function.path].is_test:
                kinds.setdefault(function.id, kind)
    return dict(sorted(kinds.items()))


def sinks(index: CodeIndex) -> dict[str, SinkKind]:
    """Return the functions that write, send or execute something themselves, by id; those of tests are left out."""
    kinds: dict[str, SinkKind] = {}
    own_names = frozenset(function.short_name for function in index.functions.values())
    for file in index.files.values():
        if not file.is_test:
            kinds.update(_sinks_of(file, own_names))
    return dict(sorted(kinds.items()))


def _tested(file: SourceFile, definitions: Definitions) -> Iterator[tuple[Function, EntryKind]]:
    """Return what tests call outside of functions, as those of JavaScript do."""
    for call in file.calls:
        target = definitions.run_by(file.path, None, call.name)
        if target is not None:
            yield target, "test"


def _started(file: SourceFile, definitions: Definitions) -> Iterator[tuple[Function, EntryKind]]:
    for function in file.functions:
        if any(map(_COMMAND.fullmatch, function.decorators)):
            yield function, "command"
        elif any(map(_ROUTE.fullmatch, function.decorators)):
            yield function, "route"
        elif function.name == "main":
            yield function, "main"
    for kind, pattern in _PASSED:
        for match in pattern.finditer(file.text):
            name = next(name for name in match.groups() if name)
            target = definitions.run_by(file.path, None, name)
            if target is not None:
                yield target, kind


def _sinks_of(file: SourceFile, own_names: frozenset[str]) -> Iterator[tuple[str, SinkKind]]:
    table = {kind: re.compile(pattern) for kind, pattern in _TABLES[file.language].items()}
    lines = lines_of(file.text)
    imports = {line.local: f"{line.module.removeprefix('node:')}.{line.imported or ''}".rstrip(".")
               for line in file.imports if line.module and file.language != "go"}  # fmt: skip
    for function in file.functions:
        for call in function.calls:
            name, is_imported = _full_name(call.name, imports)
            is_own = name.rpartition(".")[2] in own_names and not is_imported
            kind = next((kind for kind, pattern in table.items() if pattern.fullmatch(name)), None)
            if kind is None and call.name.rpartition(".")[2] == "open" and _OPENS.search(lines[call.line - 1]):
                kind = "writes"
            if kind is not None and not is_own:
                yield function.id, kind
                break


def _full_name(name: str, imports: dict[str, str]) -> tuple[str, bool]:
    """Return a called name with the module that it is imported from, and True if it is imported."""
    head, dot, rest = name.partition(".")
    module = imports.get(head)
    return (name, False) if module is None else (module + dot + rest, not module.startswith("."))
