"""Names of JavaScript and TypeScript code that can be replaced by others in all files without a change of behaviour.

A name of a variable, function, class or type is a candidate if each of its uses in each file is bound by that file. A
name of a property is one only if it is private (`#x`), a method of classes of this code base, or what its CommonJS
modules export. Names that strings, configuration or code from outside might know are kept.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, fields
from functools import cache
from pathlib import Path
from typing import Final

from scylla_gha.readiness.modules import ScriptModules
from scylla_gha.readiness.script_twins.edits import parsed
from scylla_gha.readiness.script_twins.properties import WORD, PropertyNames
from scylla_gha.readiness.script_twins.script_facts import OwnModules, ScriptFacts, script_facts

_RESERVED: Final = frozenset(
    [
        "abstract",
        "any",
        "arguments",
        "as",
        "async",
        "await",
        "boolean",
        "break",
        "case",
        "catch",
        "class",
        "const",
        "constructor",
        "continue",
        "debugger",
        "declare",
        "default",
        "delete",
        "do",
        "else",
        "enum",
        "eval",
        "export",
        "extends",
        "finally",
        "for",
        "from",
        "function",
        "get",
        "global",
        "globalThis",
        "if",
        "implements",
        "import",
        "in",
        "instanceof",
        "interface",
        "is",
        "keyof",
        "let",
        "module",
        "namespace",
        "never",
        "new",
        "null",
        "number",
        "object",
        "of",
        "package",
        "private",
        "protected",
        "public",
        "readonly",
        "require",
        "return",
        "satisfies",
        "set",
        "static",
        "string",
        "super",
        "switch",
        "symbol",
        "this",
        "throw",
        "try",
        "type",
        "typeof",
        "undefined",
        "unknown",
        "using",
        "var",
        "void",
        "while",
        "with",
        "yield",
        "exports",
        "prototype",
        "React",
        "h",
        "Fragment",
    ]
)
_BROWSER: Final = frozenset({"document", "window", "HTMLElement", "self", "customElements"})
_MOCKED: Final = "mock"  # jest lets factories of mocks see variables that begin with it


@dataclass(frozen=True, slots=True)
class SafeNames:
    """Names that can be replaced, sorted; those in `members` are replaced where they are properties as well."""

    names: tuple[str, ...]
    members: frozenset[str]


@dataclass(slots=True)
class _CodeBase:
    """Names of all scripts by their uses; `own` are those that are bound in files that hold no tests."""

    own: set[str] = field(default_factory=set)
    routines: set[str] = field(default_factory=set)
    exported: set[str] = field(default_factory=set)
    imported: set[str] = field(default_factory=set)
    unsafe: set[str] = field(default_factory=set)
    bases: dict[str, set[str]] = field(default_factory=dict)
    properties: PropertyNames = field(default_factory=PropertyNames)
    is_opened: bool = False
    is_searched: bool = False
    has_browser: bool = False


def safe_script_names(
    sources: Mapping[str, str],
    is_test: Callable[[str], bool],
    other_texts: Iterable[str],
    packages: Iterable[str] = (),
) -> SafeNames:
    """Return the names that can be replaced in all files.

    Args:
        sources: text of all scripts by path; a file that does not parse makes all its words unsafe.
        is_test: returns True for files of tests, whose own functions keep their names.
        other_texts: configuration, templates and code of other kinds, whose words may be names.
        packages: names of the packages of the code base, by which its own tests may import it.
    """
    base, modules, own_packages = _CodeBase(), ScriptModules(sources, {}), frozenset(packages)
    for path, text in sources.items():
        root = parsed(text, path)
        if root is None:
            base.unsafe |= set(WORD.findall(text))
            base.properties.words |= set(WORD.findall(text))
            continue
        facts = script_facts(root, text, OwnModules(path, modules, own_packages))
        _add(base, facts, is_test=is_test(path))
        base.has_browser |= path.endswith("x") or not _BROWSER.isdisjoint(facts.scopes.unbound)
    for text in other_texts:
        base.properties.words |= set(WORD.findall(text))
    members = {name for name in _members(base) if name not in base.own or _is_free(name, base)}
    variables = {name for name in base.own if _is_free(name, base) and (name in members or _is_no_property(name, base))}
    names = sorted(name for name in variables | members if WORD.fullmatch(name.removeprefix("#")) and name.strip("_$#"))
    return SafeNames(tuple(names), frozenset(members).intersection(names))


def _add(base: _CodeBase, facts: ScriptFacts, *, is_test: bool) -> None:
    declared = facts.scopes.names("function", "class")
    if is_test:
        base.unsafe |= declared | {name for name in facts.scopes.names() if name.lower().startswith(_MOCKED)}
        base.properties.keys |= {name for _, name in facts.properties.methods}
    else:
        base.own |= facts.scopes.names() - facts.scopes.names("outside")
    base.routines |= declared
    base.exported |= facts.exported
    base.imported |= facts.imported
    base.unsafe |= facts.unsafe
    for name, others in facts.bases.items():
        base.bases.setdefault(name, set()).update(others)
    for use in fields(PropertyNames):
        getattr(base.properties, use.name).update(getattr(facts.properties, use.name))
    base.is_opened |= facts.is_opened
    base.is_searched |= facts.is_searched


def _is_free(name: str, base: _CodeBase) -> bool:
    """Return True if nothing but the code of these scripts can know the name of a variable, function, class or type."""
    if name in base.unsafe or name in _RESERVED:
        return False
    if base.is_searched and name in base.exported:
        return False
    is_known = name in base.exported or name in base.routines
    return not is_known or (name not in base.properties.words and not _is_composed(name, base.properties))


def _is_no_property(name: str, base: _CodeBase) -> bool:
    """Return True if the name can be replaced where it is a variable, and kept where it is a property."""
    uses = base.properties
    if name in uses.routines or (name in base.imported and name not in base.exported):
        return False
    if name not in base.exported:
        return True
    others = uses.keys | uses.accesses | uses.signatures | uses.foreign | uses.exports
    return name not in uses.module_uses and not (base.is_opened and name in others)


def _members(base: _CodeBase) -> set[str]:
    """Return the properties that can be replaced: private ones, methods of own classes, and exports."""
    uses = base.properties
    bad = uses.keys | uses.foreign | uses.words | base.unsafe | _RESERVED
    inherited = {name for kind, name in uses.methods if not _is_own(kind, base, set())}
    methods = {name for _, name in uses.methods} - bad - inherited - _foreign_properties()
    exports = (uses.exports | (base.exported & uses.module_uses)) - bad - uses.accesses - uses.signatures
    exports -= {name for _, name in uses.methods}
    return {
        *uses.private,
        *(name for name in exports if not _is_composed(name, uses)),
        *(name for name in methods if not base.has_browser and not _is_composed(name, uses)),
    }


def _is_own(kind: str, base: _CodeBase, seen: set[str]) -> bool:
    """Return True if all bases and interfaces of a class are of this code base."""
    seen.add(kind)
    if kind not in base.bases:
        return kind in base.routines
    return all(other in seen or _is_own(other, base, seen) for other in base.bases[kind])


def _is_composed(name: str, uses: PropertyNames) -> bool:
    """Return True if a string may be put together to this name."""
    return any(name.startswith(prefix) for prefix in uses.prefixes) or any(
        name.endswith(suffix) for suffix in uses.suffixes
    )


@cache
def _foreign_properties() -> frozenset[str]:
    """Return the properties of objects of the language, of Node.js and of test runners."""
    text = Path(__file__).with_name("foreign_properties.txt").read_text(encoding="utf-8")
    return frozenset(text.split())
