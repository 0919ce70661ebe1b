"""Test framework of a JavaScript or TypeScript project, and the npm packages that its lock file pins."""

import itertools
import json
import re
import shlex
import tempfile
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Literal

import yaml

from scylla_gha.config import require_small_yaml
from scylla_gha.errors import ToolError
from scylla_gha.lenient_json import parse_json
from scylla_gha.mining.python_requirements import mapping
from scylla_gha.system import process

_SECONDS: Final = 300.0
ScriptFramework = Literal["node", "vitest", "jest", "mocha"]
# Packages that run no test
_NO_TEST_TOOL: Final = re.compile(
    r"(@[\w-]+/)?(eslint|neostandard|tstyche|tsd|benchmark|prettier|husky|lint-staged|semantic-release|standard|xo|"
    r"commitlint|release-it|np|size-limit|"
    r"typedoc|changesets|markdownlint|nyc|c8|publint|tsup|rollup|webpack|microbundle|playwright|cypress|puppeteer)"
    r"([-/].*)?$|@(eslint|typescript-eslint|commitlint|changesets|semantic-release|storybook|playwright|docusaurus)/.*"
)
_RANGE: Final = re.compile(r"[\^~<>=v\s]*[0-9*xX][^:/]*")  # no path, address or alias
_NODE_OPTIONS: Final = re.compile(r"--(import|require|loader|experimental-loader|conditions)(=.*)?|-r")
_NODE_FLAGS: Final = re.compile(r"--(experimental|no-warnings|enable|harmony)[\w-]*")
_OTHERS: Final = ("ava", "tape", "tap", "uvu", "jasmine", "bun", "deno", "karma", "qunit")
_MOST_BYTES: Final = 32_000_000
_EXACT: Final = re.compile(r"[0-9]+\.[0-9]+\.[0-9]+[0-9A-Za-z.+-]*")
_YARN_VERSION: Final = re.compile(r'  version:? "?([^"\s]+)"?\s*')
_IMPORTERS: Final = "importers"
_SECTIONS: Final = ("dependencies", "devDependencies", "optionalDependencies")


@dataclass(frozen=True, slots=True)
class NodeProject:
    """Project as its package.json describes it.

    Attributes:
        framework: runner of its tests; None: no supported runner, for the given `reason`.
        packages: npm packages at exact versions.
        options: options of the framework.
        test_files: files that it is told to run, as lines of a `.gitignore`; empty: its default.
        notes: what was left out, in sentences.
    """

    framework: ScriptFramework | None
    packages: Mapping[str, str]
    options: tuple[str, ...] = ()
    test_files: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    reason: str | None = None


def read_node_project(tree: Path, *, is_resolved: bool = True) -> NodeProject:
    """Read a project, and resolve its packages to exact versions if `is_resolved`.

    Raises:
        ToolError: npm is missing, or cannot resolve them.
    """
    package = _json(tree / "package.json")
    dependencies = {
        name: wish
        for kind in ("peerDependencies", "optionalDependencies", "devDependencies", "dependencies")
        for name, wish in _texts(package.get(kind)).items()
        if not _NO_TEST_TOOL.fullmatch(name)
    }
    script = str(_texts(package.get("scripts")).get("test", ""))
    framework = _framework(tree, dependencies, script)
    if framework is None:
        other = next((name for name in _OTHERS if name in dependencies or re.search(rf"\b{name}\b", script)), None)
        reason = (
            f"tests of {other} cannot be run; those of node, vitest, jest and mocha can"
            if other
            else ("package.json names none of the test runners that are known: node --test, vitest, jest, mocha")
        )
        return NodeProject(None, {}, reason=reason)
    options = _node_options(script) if framework == "node" else ()
    test_files = tuple(_test_files(tree, package, framework, script))
    if not is_resolved:
        return NodeProject(framework, {}, options, test_files)
    left_out = sorted(
        name for name, wish in dependencies.items() if not (_RANGE.fullmatch(wish) or wish in {"", "latest"})
    )
    ranges = {name: wish for name, wish in dependencies.items() if name not in left_out}
    notes = (f"{', '.join(left_out)}: come from no registry, and are left out",) if left_out else ()
    packages, lock_notes = _resolved(tree, ranges, str(package.get("packageManager", "")))
    if framework == "vitest" and "vitest" in packages:
        packages["@vitest/coverage-v8"] = packages["vitest"]
    return NodeProject(framework, packages, options, test_files, (*notes, *lock_notes))


def _framework(tree: Path, dependencies: Mapping[str, str], script: str) -> ScriptFramework | None:
    packages: tuple[ScriptFramework, ...] = ("vitest", "jest", "mocha")
    if declared := next((name for name in packages if name in dependencies), None):
        return declared
    if "--test" in script:
        return "node"
    sources = (path for suffix in ("*.js", "*.mjs", "*.cjs", "*.ts", "*.mts") for path in tree.rglob(suffix))
    is_node = any(_imports_runner(path) for path in sources if "node_modules" not in path.parts)
    return "node" if is_node else None


def _imports_runner(path: Path) -> bool:
    try:
        return re.search(rb"""['"]node:test['"]""", path.read_bytes()) is not None
    except OSError:
        return False


def _json(path: Path) -> dict[str, Any]:
    try:
        return mapping(parse_json(path.read_bytes()))
    except (OSError, ValueError):
        return {}


def _texts(content: object) -> dict[str, str]:
    return {name: text for name, text in mapping(content).items() if isinstance(text, str)}


def _node_options(script: str) -> tuple[str, ...]:
    """Return the options with which a script starts node, such as a loader of TypeScript."""
    try:
        words = shlex.split(script)
    except ValueError:
        return ()
    options: list[str] = []
    for word, after in itertools.pairwise([*words, ""]):
        if _NODE_OPTIONS.fullmatch(word):
            options += [word] if "=" in word else [word, after]
        elif _NODE_FLAGS.fullmatch(word):
            options.append(word)
    return tuple(options)


def _test_files(tree: Path, package: Mapping[str, Any], framework: ScriptFramework, script: str) -> Iterator[str]:
    """Yield the patterns of test files of a project's own configuration, as lines of a `.gitignore`."""
    if framework == "jest":
        globs = _listed(mapping(package.get("jest")).get("testMatch"))
    elif framework == "mocha":
        config = mapping(package.get("mocha")) or _json(tree / ".mocharc.json")
        globs = _listed(config.get("spec")) or _paths(script, "mocha")
    else:
        globs = _paths(script, "--test") if framework == "node" else []
    for glob in globs:
        path = glob.removeprefix("<rootDir>/").removeprefix("./").strip("/")
        yield from (f"/{line}" for line in _spread(f"{path}/**" if (tree / path).is_dir() else path))


def _listed(content: object) -> list[str]:
    texts = [content] if isinstance(content, str) else content
    return [text for text in texts if isinstance(text, str)] if isinstance(texts, list) else []


def _paths(script: str, after: str) -> list[str]:
    """Return words of a script that are files or patterns of files, after a word and within its command."""
    command = next((part for part in re.split(r"&&|\|\||;", script) if after in part), "")
    try:
        words = shlex.split(command.partition(after)[2])
    except ValueError:
        return []
    return [word for word in words if not word.startswith("-") and re.search(r"[/*]|\.[cm]?[jt]sx?$", word)]


def _spread(glob: str) -> Iterator[str]:
    """Expand the alternatives of a pattern: `{a,b}`, `?(a)`, `+(a|b)` or `@(a|b)`."""
    match = re.search(r"\{([^{}]*)\}|([?+@])\(([^()]*)\)", glob)
    if match is None:
        yield glob
        return
    choices = (match[1] if match[1] is not None else match[3]).split("," if match[1] is not None else "|")
    for choice in ["", *choices] if match[2] == "?" else choices:
        yield from _spread(glob[: match.start()] + choice + glob[match.end() :])


def _resolved(tree: Path, ranges: Mapping[str, str], manager: str) -> tuple[dict[str, str], tuple[str, ...]]:
    """Return exact versions from the lock file or from npm, and a note if npm chose some although a lock exists."""
    locked, lock_file = locked_packages(tree, ranges, manager)
    missing = {name: wish for name, wish in ranges.items() if name not in locked}
    if not missing:
        return locked, ()
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "package.json").write_text(json.dumps({"dependencies": {**missing, **locked}}), encoding="utf-8")
        argv = [
            "npm",
            "install",
            "--package-lock-only",
            "--ignore-scripts",
            "--no-audit",
            "--no-fund",
            "--force",
            "--loglevel=error",
        ]
        done = process.capture(argv, cwd=Path(folder), seconds=_SECONDS)
        if done.code:
            raise ToolError(f"npm could not resolve {', '.join(sorted(missing))}: {done.message[-500:]}")
        chosen, _ = locked_packages(Path(folder), ranges)
    note = (
        f"{lock_file} pins no version of {', '.join(sorted(missing))} as package.json wants it: npm chose one; if it "
        "does not do, name a command that installs what the tests need with --setup"
    )
    return chosen, (note,) if lock_file else ()


def locked_packages(tree: Path, ranges: Mapping[str, str], manager: str = "") -> tuple[dict[str, str], str]:
    """Return the pinned versions of packages, and the name of the lock file; "": there is none.

    If there are several, the lock file of `manager` counts, the `packageManager` of package.json.
    """
    present = [name for name in _READERS if (tree / name).is_file() and not (tree / name).is_symlink()]
    if not present:
        return {}, ""
    file = min(present, key=lambda name: not (manager and name.startswith(manager.partition("@")[0])))
    versions = _READERS[file](_text(tree / file), ranges)
    return {name: version for name, version in versions.items() if _EXACT.fullmatch(version)}, file


def _npm_versions(text: str, ranges: Mapping[str, str]) -> dict[str, str]:
    """Return the versions that npm's lock file pins, without packages nested in other packages."""
    lock = _parsed(json.loads, text)
    packages, old = mapping(lock.get("packages")), mapping(lock.get("dependencies"))
    entries = {name: mapping(packages.get(f"node_modules/{name}")) or mapping(old.get(name)) for name in ranges}
    return {name: str(entry["version"]) for name, entry in entries.items() if "version" in entry}


def _load_shallow(text: str) -> Any:  # noqa: ANN401 whatever the file says
    require_small_yaml(text)  # the loader in C crashes at deep nesting, and the other one takes its square in time
    return yaml.safe_load(text)


def _pnpm_versions(text: str, ranges: Mapping[str, str]) -> dict[str, str]:
    lock = _parsed(_load_shallow, "\n".join(_root_lines(text)))
    root = mapping(mapping(lock.get(_IMPORTERS)).get(".")) or lock
    entries = {name: entry for section in _SECTIONS for name, entry in mapping(root.get(section)).items()}
    texts = {name: str(mapping(entries[name]).get("version", entries[name])) for name in ranges if name in entries}
    # The version may have a suffix: `3.2.4(vite@6.0.0)`, `3.2.4_vite@6.0.0`
    matches = {name: _EXACT.match(version) for name, version in texts.items()}
    return {name: match[0] for name, match in matches.items() if match}


def _root_lines(text: str) -> Iterator[str]:
    """Yield the lines of pnpm's lock file about the root package, a small part of the file."""
    section = importer = ""
    for line in text.splitlines():
        if line[:1].strip():
            section, importer = line.partition(":")[0], ""
        elif section == _IMPORTERS and line[2:3].strip():
            importer = line.strip(" :'\"")
        if section in _SECTIONS or (section == _IMPORTERS and importer in {"", "."}):
            yield line


def _yarn_versions(text: str, ranges: Mapping[str, str]) -> dict[str, str]:
    known = dict(_yarn_entries(text))
    return {name: known[name, wish] for name, wish in ranges.items() if (name, wish) in known}


def _yarn_entries(text: str) -> Iterator[tuple[tuple[str, str], str]]:
    """Yield package and range with the version; an entry's first line lists all its ranges."""
    wishes: list[str] = []
    for line in text.splitlines():
        if line and line[0] not in " #" and line.rstrip().endswith(":"):
            wishes = line.rstrip()[:-1].replace('"', "").split(", ")
        elif wishes and (match := _YARN_VERSION.fullmatch(line)):
            for wish in wishes:
                name, _, version_range = wish[1:].partition("@")
                yield (wish[:1] + name, version_range.removeprefix("npm:")), match[1]
            wishes = []


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8-sig") if path.stat().st_size <= _MOST_BYTES else ""
    except (OSError, ValueError):
        return ""


def _parsed(parse: Callable[[str], Any], text: str) -> dict[str, Any]:
    try:
        return mapping(parse(text))
    except (ValueError, RecursionError, yaml.YAMLError):
        return {}


_READERS: Final[dict[str, Callable[[str, Mapping[str, str]], dict[str, str]]]] = {
    "package-lock.json": _npm_versions,
    "npm-shrinkwrap.json": _npm_versions,
    "pnpm-lock.yaml": _pnpm_versions,
    "yarn.lock": _yarn_versions,
}
