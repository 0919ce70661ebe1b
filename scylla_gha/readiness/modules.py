"""Modules that imports name: which file of the code base is meant, or none if it lies outside."""

import posixpath
import re
import sys
from collections import defaultdict
from collections.abc import Iterable, Mapping
from typing import Final, Protocol

from scylla_gha.readiness.source_code import Language, SourceFile

_ROOTS: Final = ("", "src", "lib", "python")


class ModuleMap(Protocol):
    """Modules of one language."""

    def find(self, importer: str, module: str) -> str | None:
        """Return the path of a module's file (Go: of its folder) as a file imports it; None: not of this code base."""


class PythonModules:
    """Modules of Python files; a package is its `__init__.py`."""

    def __init__(self, paths: Iterable[str]) -> None:
        """Note under which names files can be imported."""
        self._paths = frozenset(paths)
        self._packages = {posixpath.dirname(path) for path in self._paths if path.endswith("/__init__.py")}
        self._names: dict[str, dict[str, str]] = defaultdict(dict)  # by root folder
        for path in self._paths:
            for root in {self._root_of(path), *_ROOTS}:
                if not root or path.startswith(f"{root}/"):
                    self._names[root][_module_name(path[len(root) :].lstrip("/"))] = path
        self._package_roots = {posixpath.dirname(package) for package in self._packages} - self._packages

    def find(self, importer: str, module: str) -> str | None:
        """Return the path of a module's file as a file imports it."""
        if module.startswith("."):
            return self._relative(importer, module)
        own, base = posixpath.dirname(importer), self._root_of(importer)
        roots = [base, *_ROOTS] if own in self._packages else [own, base, *_ROOTS]
        top = module.partition(".")[0]
        if top in sys.stdlib_module_names:
            roots = roots[:1]
        others = () if top in sys.stdlib_module_names else sorted(self._package_roots)
        paths = (self._names[root].get(module) for root in (*roots, *others) if root in self._names)
        return next((path for path in paths if path is not None), None)

    def _relative(self, importer: str, module: str) -> str | None:
        name = module.lstrip(".")
        folder = posixpath.dirname(importer)
        for _ in range(len(module) - len(name) - 1):
            folder = posixpath.dirname(folder)
        base = posixpath.join(folder, *name.split(".")) if name else folder
        names = (f"{base}.py", posixpath.join(base, "__init__.py"))
        return next((path for path in names if path in self._paths), None)

    def _root_of(self, path: str) -> str:
        """Return the first folder above a file that is no package."""
        folder = posixpath.dirname(path)
        while folder in self._packages and folder:
            folder = posixpath.dirname(folder)
        return folder


class ScriptModules:
    """Modules of JavaScript and TypeScript files, and packages of the same repository by their names."""

    _SUFFIXES = (".ts", ".tsx", ".mts", ".cts", ".js", ".jsx", ".mjs", ".cjs")

    def __init__(self, paths: Iterable[str], packages: Mapping[str, str]) -> None:
        """Note the files, and the folders of packages by name."""
        self._paths, self._packages = frozenset(paths), packages

    def find(self, importer: str, module: str) -> str | None:
        """Return the path of a module's file as a file imports it."""
        if module.startswith("."):
            return self._file(posixpath.normpath(posixpath.join(posixpath.dirname(importer), module)))
        package = "/".join(module.split("/")[: 2 if module.startswith("@") else 1])
        if package not in self._packages:
            return None
        folder, inner = self._packages[package], module[len(package) :].lstrip("/")
        bases = [posixpath.join(folder, part, inner or "index") for part in ("", "src", "lib")]
        return next((path for base in bases if (path := self._file(posixpath.normpath(base)))), None)

    def _file(self, base: str) -> str | None:
        stem = re.sub(r"\.[cm]?jsx?$", "", base)
        names = [base, *(base + suffix for suffix in self._SUFFIXES), *(stem + suffix for suffix in self._SUFFIXES),
                 *(posixpath.join(base, f"index{suffix}") for suffix in self._SUFFIXES)]  # fmt: skip
        return next((name for name in names if name in self._paths), None)


class GoPackages:
    """Packages of Go, which are folders."""

    def __init__(self, paths: Iterable[str], modules: Mapping[str, str]) -> None:
        """Note the folders with code, and the module paths of `go.mod` files by folder."""
        self._folders = {posixpath.dirname(path) for path in paths}
        self._modules = sorted(modules.items(), key=lambda pair: -len(pair[1]))

    def find(self, importer: str, module: str) -> str | None:
        """Return the folder of a package; the importer does not matter."""
        del importer
        for folder, name in self._modules:
            if module == name or module.startswith(f"{name}/"):
                path = posixpath.normpath(posixpath.join(folder, module[len(name) :].lstrip("/")))
                path = "" if path == "." else path
                return path if path in self._folders else None
        return None


def module_maps(
    files: Mapping[str, SourceFile], packages: Mapping[str, str], go_modules: Mapping[str, str]
) -> dict[Language, ModuleMap]:
    """Return the modules of each language.

    Args:
        files: parsed files.
        packages: folders by the name in their `package.json`.
        go_modules: module paths of `go.mod` by folder.
    """
    by_language: dict[Language, list[str]] = defaultdict(list)
    for path, file in files.items():
        by_language[file.language].append(path)
    scripts = ScriptModules([*by_language["javascript"], *by_language["typescript"]], packages)
    return {
        "python": PythonModules(by_language["python"]),
        "javascript": scripts,
        "typescript": scripts,
        "go": GoPackages(by_language["go"], go_modules),
    }


def _module_name(path: str) -> str:
    name = path.removesuffix(".py").removesuffix("/__init__")
    return name.replace("/", ".")
