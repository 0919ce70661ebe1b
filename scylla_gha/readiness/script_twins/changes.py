"""Change of JavaScript and TypeScript code for a kind of twin: the scripts of a folder, and their transformation."""

import posixpath
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from scylla_gha.readiness.languages import parser_of
from scylla_gha.readiness.modules import ScriptModules
from scylla_gha.readiness.script_twins.comments import without_comments
from scylla_gha.readiness.script_twins.names import safe_script_names
from scylla_gha.readiness.script_twins.properties import WORD
from scylla_gha.readiness.script_twins.renaming import rename_script
from scylla_gha.readiness.script_twins.types import without_value_types
from scylla_gha.readiness.source_code import Language
from scylla_gha.readiness.source_files import (
    SourceText,
    is_test_file,
    list_files,
    package_names,
    read_source,
    source_paths,
)
from scylla_gha.readiness.twin_renaming import chosen_names
from scylla_gha.readiness.twin_texts import chooser

SCRIPTS: Final[tuple[Language, ...]] = ("javascript", "typescript")
_OTHERS: Final = (
    ".json", ".jsonc", ".json5", ".vue", ".svelte", ".astro", ".mdx", ".html", ".htm", ".ejs", ".hbs", ".pug", ".snap",
    ".graphql", ".yml", ".yaml", ".toml",
)  # fmt: skip
_LARGEST: Final = 2_000_000  # bytes of a file whose words are read
_LOCKS: Final = frozenset({"package-lock.json", "npm-shrinkwrap.json", "pnpm-lock.yaml"})
_RELATIVE: Final = re.compile(r"""['"`](\.{1,2}(?:/[^'"`\n]*)?)['"`]""")
_REASONS: Final = frozenset({"vendored", "minified", "build output"})  # read only if a script imports the file
Transform = Callable[[str, str], str]


@dataclass(frozen=True, slots=True)
class ScriptChange:
    """Scripts of a code base and how a twin changes them.

    Attributes:
        texts: scripts that people wrote, by path.
        transform: returns the changed text of a path and a text.
        names: new names by old ones, if names are replaced.
    """

    texts: Mapping[str, str]
    transform: Transform
    names: Mapping[str, str] = field(default_factory=dict)


def script_change(root: Path, kind: str, dose: float, seed: int) -> ScriptChange:
    """Return the change of a kind for the JavaScript and TypeScript code in a folder; "merging" changes nothing."""
    listed = list_files(root)
    texts, others = _read(root, listed)
    if kind == "names":
        safe = safe_script_names(texts, is_test_file, others, package_names(root, listed)[0])
        words = {word for text in texts.values() for word in WORD.findall(text)}
        names = chosen_names(safe.names, dose, seed, words)
        return ScriptChange(texts, lambda path, text: rename_script(text, path, names, safe.members), names)
    remove = {"docs": without_comments, "types": without_value_types}.get(kind)

    def transform(path: str, text: str) -> str:
        if remove is None or is_test_file(path):
            return text
        return remove(text, path, chooser(dose, seed, path))

    return ScriptChange(texts, transform)


def _read(root: Path, listed: Sequence[str]) -> tuple[dict[str, str], list[str]]:
    """Return the scripts that people wrote, and the texts of other files that may name what is in them."""
    wanted, skipped = source_paths([path for path in listed if _is_script(path)])
    sources = {path: read_source(root, path) for path in wanted}
    texts = {path: source.text for path, source in sources.items() if isinstance(source, SourceText)}
    unread = {path: "generated" for path in sources if path not in texts} | {file.path: file.reason for file in skipped}
    linked = _linked(texts, unread)
    others = [path for path, reason in unread.items() if reason not in _REASONS or path in linked]
    others += [path for path in listed if path.endswith(_OTHERS) and posixpath.basename(path) not in _LOCKS
               and "node_modules" not in path.split("/")]  # fmt: skip
    return texts, list(_texts(root, others))


def _is_script(path: str) -> bool:
    parser = parser_of(path)
    return parser is not None and parser.language in SCRIPTS


def _linked(texts: Mapping[str, str], unread: Iterable[str]) -> set[str]:
    """Return the unread scripts that a script names by a relative path."""
    modules, bases = ScriptModules(texts, {}), set()
    for path, text in texts.items():
        for relative in set(_RELATIVE.findall(text)):
            if modules.find(path, relative) is None:
                bases.add(posixpath.normpath(posixpath.join(posixpath.dirname(path), relative)))
    stems = {re.sub(r"\.[cm]?[jt]sx?$", "", base) for base in bases}
    return {
        path for path in unread if path in bases or any(path.startswith((f"{stem}.", f"{stem}/")) for stem in stems)
    }


def _texts(root: Path, paths: Iterable[str]) -> Iterator[str]:
    for path in paths:
        file = root / path
        if file.is_file() and not file.is_symlink() and file.stat().st_size <= _LARGEST:
            yield file.read_bytes().decode("utf-8", "replace")
