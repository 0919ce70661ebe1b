"""Record which files and folders of the checkout a process reads, or hands to a program.

Each process of the environment in `.venv` loads a copy of this module when it starts (`install`), and does nothing
unless it or a process above it has `SCYLLA_TEST_RECORDS`, the file to which names are added. Standard library only,
and little of that, since it is loaded by every process.

A line is a kind and a path below the checkout: `file` was opened, `folder` was listed, `tree` was handed to a program
whose reads cannot be seen, so all below it counts.
"""

import os
import sys
from collections.abc import Callable, Iterable, Mapping

VARIABLE = "SCYLLA_TEST_RECORDS"
ROOT = os.path.dirname(sys.prefix)
MARKS = f"{sys.prefix}/recorded"  # one file for each recorded test process: its number, and where to write
APART = (".venv", ".git", ".mypy_cache", ".ruff_cache", ".hypothesis")
UNTOLD = ("PATH", "PWD", "OLDPWD", "VIRTUAL_ENV", "COVERAGE_PROCESS_CONFIG")
END_OF_PATH = frozenset("\0\n\t '\"`:,;=()<>|&*?[]{}$")


class Recorder:
    """What one process has read; a fork goes on with what it had."""

    def __init__(self, file: str | None = None) -> None:
        self.file = file  # None in a process that only loads modules for its forks
        self.written = set[str]()
        self.imports: dict[str, set[str]] = {}  # by importing module, where modules are loaded for forks
        self.reached = set[str]()  # modules whose imports were followed
        self.loads_for_forks = False

    def audit(self, event: str, args: tuple[object, ...]) -> None:
        """Hook of the interpreter's events."""
        if (handle := HANDLERS.get(event)) is not None:
            handle(self, args)

    def opened(self, args: tuple[object, ...]) -> None:
        path = _source(_path(args[0]) or "")
        if path and not (self.loads_for_forks and path.endswith(".py")):
            self.note("file", path)

    def listed(self, args: tuple[object, ...]) -> None:
        reader = sys._getframe(2).f_code.co_filename
        looks_for_modules = self.loads_for_forks or reader.startswith("<frozen importlib") or "/_pytest/" in reader
        if not looks_for_modules:
            self.note("folder", "." if args[0] is None else _path(args[0]))

    def linked(self, args: tuple[object, ...]) -> None:
        self.note("tree", _path(args[0]))

    def started(self, args: tuple[object, ...]) -> None:
        """Of `subprocess.Popen`: program, arguments, folder, environment."""
        program, argv, cwd, env = args
        self.hand_over(program, argv, cwd, env)

    def executed(self, args: tuple[object, ...]) -> None:
        """Of `os.exec` and `os.posix_spawn`: program, arguments, environment."""
        program, argv, env = args
        self.hand_over(program, argv, None, env)

    def ordered(self, args: tuple[object, ...]) -> None:
        """Of `os.system`."""
        self.hand_over("/bin/sh", [args[0]], None, None)

    def hand_over(self, program: object, argv: object, cwd: object, env: object) -> None:
        """Note the trees that a program is told of; a Python of `.venv` records by itself what it reads."""
        words = [os.fsdecode(word) for word in argv] if isinstance(argv, list | tuple) else [os.fsdecode(argv)]  # type: ignore[arg-type]
        if _records_itself(_path(program or words[0]) or "", words):
            return
        folder = os.fsdecode(cwd) if cwd is not None else _current_folder()  # type: ignore[arg-type]
        told = env if isinstance(env, Mapping) else os.environ
        values = [os.fsdecode(value) for name, value in told.items() if os.fsdecode(name) not in UNTOLD]
        paths = [path for word in (*words, *values, os.path.join(folder, "")) for path in _paths_in(word)]
        if _is_below(folder):
            paths += [os.path.join(folder, word) for word in words if os.path.lexists(os.path.join(folder, word))]
        for path in paths:
            # A script may load what is beside it, but not if Python is isolated.
            is_alone = "-I" in words or os.path.isdir(path)
            self.note("tree", path if is_alone else os.path.dirname(path))

    def note(self, kind: str, path: str | None) -> None:
        """Add a path of the checkout to the file, once."""
        if path is None or (self.file is None and not self.loads_for_forks):
            return
        if not _is_below(path := os.path.normpath(os.path.join(_current_folder(), path))):
            return
        name = path[len(ROOT) + 1 :] or "."
        if f"{kind} {name}" in self.written or name.partition("/")[0] in APART or "\n" in name:
            return
        self.written.add(f"{kind} {name}")
        self.write([f"{kind} {name}"])

    def write(self, lines: Iterable[str]) -> None:
        """Add lines to the file, if there is one by now."""
        if self.file is None:
            return
        added = os.open(self.file, os.O_WRONLY | os.O_APPEND)
        try:
            os.write(added, "".join(f"{line}\n" for line in lines).encode())
        finally:
            os.close(added)

    def begin(self, file: str) -> None:
        """Record this fork, with what was read while modules were loaded for it."""
        self.file = file
        self.write(self.written)

    def load_for_forks(self, load: Callable[[], None]) -> None:
        """Load modules of which each fork counts only those that it would have loaded by itself."""
        import builtins
        import importlib

        plain, plain_module = builtins.__import__, importlib.import_module

        def import_statement(name, globals=None, locals=None, fromlist=(), level=0):  # type: ignore[no-untyped-def]  # noqa: A002,ANN001,ANN202
            module = plain(name, globals, locals, fromlist, level)
            names = [name, *(f"{name}.{part}" for part in fromlist or () if f"{name}.{part}" in sys.modules)]
            self.imported((globals or {}).get("__name__", ""), names)
            return module

        def import_module(name: str, package: str | None = None) -> object:
            module = plain_module(name, package)
            self.imported(sys._getframe(1).f_globals.get("__name__", ""), [name])
            return module

        builtins.__import__, importlib.import_module = import_statement, import_module  # type: ignore[assignment]
        self.loads_for_forks = True
        load()
        self.loads_for_forks = False
        self.imports.pop(load.__module__, None)  # it imports all, which nobody needs who imports it

    def imported(self, importer: str, names: Iterable[str]) -> None:
        """Add to what the importing module needs; in a fork, note the files of all that this needs."""
        self.imports.setdefault(importer, set()).update(names)
        if self.file is not None and not self.loads_for_forks:
            self.needs(names)

    def needs(self, names: Iterable[str]) -> None:
        """Note the files of modules, of their packages, and of what these import."""
        waiting = list(names)
        while waiting:
            name = waiting.pop()
            file = getattr(sys.modules.get(name), "__file__", None)
            if name not in self.reached and file is not None and _is_below(file):
                self.reached.add(name)
                self.note("file", file)
                waiting += [*self.imports.get(name, ()), name.rpartition(".")[0]]


HANDLERS: dict[str, Callable[[Recorder, tuple[object, ...]], None]] = {
    "open": Recorder.opened,
    "os.listdir": Recorder.listed,
    "os.scandir": Recorder.listed,
    "os.symlink": Recorder.linked,
    "os.link": Recorder.linked,
    "subprocess.Popen": Recorder.started,
    "os.exec": Recorder.executed,
    "os.posix_spawn": Recorder.executed,
    "os.system": Recorder.ordered,
}


def _is_below(path: str) -> bool:
    return path == ROOT or path.startswith(f"{ROOT}/")


def _current_folder() -> str:
    try:
        return os.getcwd()
    except FileNotFoundError:  # it was removed
        return "/"


def _path(argument: object) -> str | None:
    """Return the path of an event: a name, or what a descriptor of a folder stands for."""
    if isinstance(argument, int):
        try:
            return os.readlink(f"/proc/self/fd/{argument}")
        except OSError:
            return None
    return os.fsdecode(argument)  # type: ignore[arg-type]


def _source(path: str) -> str:
    """Return the source of a compiled module, else the path itself."""
    folder, cached, name = path.partition("/__pycache__/")
    return f"{folder}/{name.partition('.')[0]}.py" if cached else path


def _records_itself(program: str, words: list[str]) -> bool:
    """Return True for a Python of `.venv`, and for a script that it runs, unless it runs without site-packages."""
    if "/" not in program:
        program = next((f"{folder}/{program}" for folder in os.get_exec_path()
                        if os.access(f"{folder}/{program}", os.X_OK)), program)  # fmt: skip
    if not program.startswith(f"{sys.prefix}/bin/") or "-S" in words:
        return False
    if os.path.basename(program).startswith("python"):
        return True
    with open(program, "rb") as file:
        return file.read(2) == b"#!"


def _paths_in(word: str) -> Iterable[str]:
    """Yield the paths of the checkout that are in a word, such as an option's value or a shell script."""
    at = word.find(ROOT)
    while at >= 0:
        end = at + len(ROOT)
        while end < len(word) and word[end] not in END_OF_PATH:
            end += 1
        yield word[at:end]
        at = word.find(ROOT, end)


def _told_file() -> str | None:
    """Return the file to write to: of this process, or of one above it, which may have left the variable out."""
    if file := os.environ.get(VARIABLE):
        return file
    pid = os.getpid()
    while pid > 1 and os.path.isdir(MARKS):
        try:
            if os.path.exists(mark := f"{MARKS}/{pid}"):
                with open(mark, encoding="utf-8") as marked:
                    file = marked.read()
                if os.path.exists(file):  # else of a run that was killed, whose process had the same number
                    return file
            with open(f"/proc/{pid}/stat", "rb") as status:
                pid = int(status.read().rpartition(b")")[2].split()[1])
        except OSError:  # a process has ended meanwhile
            return None
    return None


def for_forks(load: Callable[[], None]) -> Recorder:
    """Load modules into this process, and return what begins to record in a fork of it."""
    recorder = Recorder()
    sys.addaudithook(recorder.audit)
    recorder.load_for_forks(load)
    return recorder


def record_into(file: str, recorder: Recorder) -> None:
    """Record this process and all below it from now on."""
    os.makedirs(MARKS, exist_ok=True)
    with open(f"{MARKS}/{os.getpid()}", "w", encoding="utf-8") as mark:
        mark.write(file)
    os.environ[VARIABLE] = file
    recorder.begin(file)


def start() -> Recorder | None:
    """Begin to record if a test is being recorded."""
    file = _told_file()
    if not file or not os.path.exists(file):
        return None
    recorder = Recorder(file)
    sys.addaudithook(recorder.audit)
    return recorder


def install() -> None:
    """Have all processes of this environment load a copy of this module."""
    import sysconfig

    packages = sysconfig.get_path("purelib")
    with open(__file__, encoding="utf-8") as file:
        text = file.read()
    for name, content in (
        ("scylla_test_recorder.py", text),
        ("scylla_test_recorder.pth", "import scylla_test_recorder\n"),
    ):
        partial = f"{packages}/{name}.{os.getpid()}"
        with open(partial, "w", encoding="utf-8") as file:
            file.write(content)
        os.replace(partial, f"{packages}/{name}")


if __name__ == "scylla_test_recorder":
    RECORDER = start()
