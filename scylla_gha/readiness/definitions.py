"""Definitions of a code base by name, and what a called name of a file stands for."""

import posixpath
from collections import defaultdict
from collections.abc import Iterator, Mapping
from typing import Final

from scylla_gha.readiness.module_names import GLOBALS, OUTSIDE, Definition, ModuleNames
from scylla_gha.readiness.modules import ModuleMap
from scylla_gha.readiness.source_code import Function, Import, Language, SourceFile

_DEEPEST: Final = 12  # imports and types that are followed for one name
_CONSTRUCTORS: Final = ("__init__", "constructor", "__new__")


class Definitions:
    """All definitions of a code base."""

    def __init__(self, files: Mapping[str, SourceFile], maps: Mapping[Language, ModuleMap]) -> None:
        """Note the names of each module."""
        self._files, self._maps = files, maps
        self._modules: dict[str, ModuleNames] = defaultdict(ModuleNames)
        self._imports: dict[str, dict[str, list[Import]]] = {}
        self._known: dict[tuple[str, str], Definition | None] = {}
        self._ancestors_of: dict[Definition, tuple[list[Definition], bool]] = {}
        self._depth = 0
        for file in files.values():
            self._add(file)

    def _add(self, file: SourceFile) -> None:
        module = self._modules[self._module_of(file.path)]
        for function in file.functions:
            name = function.name.partition("#")[0]
            module.functions[name] = None if name in module.functions else function
        module.classes.update((definition.name, (file.path, definition)) for definition in file.classes)
        module.variables.update((name, (file.path, kind)) for name, kind in file.variables)
        imports = self._imports.setdefault(file.path, {})
        for line in file.imports:
            imports.setdefault(line.local, []).append(line)

    def called(self, path: str, function: Function | None, name: str) -> Definition | None:
        """Return what a called name stands for; None: it cannot be known.

        Args:
            path: the file with the call.
            function: the function with the call; None: it is outside of functions.
            name: as `Call.name`.
        """
        head, *rest = name.split(".")
        local = self._local(path, function, head) if function else None
        if local is None:
            return self._global(path, [head, *rest])
        return self._members(local[0], rest)

    def run_by(self, path: str, function: Function | None, name: str) -> Function | None:
        """Return the function that a call runs; None: none of this code base, or it cannot be known. See `called`."""
        definition = self.called(path, function, name)
        return self.callee(definition, name) if definition else None

    def callee(self, definition: Definition, name: str) -> Function | None:
        """Return the function that a call of a definition by a name runs: itself, a constructor, or `__call__`."""
        if definition.kind == "module":
            default = self._exported(definition.file, ["default"])
            return self.function(default) if default and default.kind == "function" else None
        if definition.kind == "function":
            return self.function(definition)
        if definition.kind == "class" or (definition.kind == "object" and name == "super"):
            return self.constructor(definition)
        return self.method(definition, "__call__") if definition.kind == "object" else None

    def constructor(self, definition: Definition) -> Function | None:
        """Return the function that runs when a class is called; None: it has none in this code base."""
        return next((function for name in _CONSTRUCTORS if (function := self.method(definition, name))), None)

    def method(self, definition: Definition, name: str) -> Function | None:
        """Return the method of a class or object, which a base class may define."""
        for ancestor in self.ancestors(definition)[0]:
            function = self._functions_of(ancestor).get(f"{ancestor.name}.{name}")
            if function is not None:
                return function
        return None

    def function(self, definition: Definition) -> Function | None:
        """Return the function of a definition of one."""
        return self._functions_of(definition).get(definition.name)

    def ancestors(self, definition: Definition) -> tuple[list[Definition], bool]:
        """Return a class and its bases in this code base, and True if all its bases are known."""
        start = Definition("class", definition.file, definition.name)
        if start not in self._ancestors_of:
            self._ancestors_of[start] = ([start], False)  # for bases that lead back to it
            self._ancestors_of[start] = self._search_bases(start)
        return self._ancestors_of[start]

    def bases(self, definition: Definition) -> Iterator[Definition | None]:
        """Return the direct bases of a class; None for one that cannot be known."""
        declaring, declared = self._modules[self._module_of(definition.file)].classes[definition.name]
        for base in declared.bases:
            yield self._global(declaring, base.split("."))

    def _search_bases(self, start: Definition) -> tuple[list[Definition], bool]:
        lineage, whole = [start], True
        for base in self.bases(start):
            if base is None or base.kind != "class":
                whole = whole and base == Definition("outside", name="object")
                continue
            more, known = self.ancestors(base)
            lineage += [ancestor for ancestor in more if ancestor not in lineage]
            whole = whole and known
        return lineage, whole

    def _module_of(self, path: str) -> str:
        is_go = path.endswith(".go")
        return f"{posixpath.dirname(path)}/*.go" if is_go else path

    def _functions_of(self, definition: Definition) -> Mapping[str, Function | None]:
        return self._modules[self._module_of(definition.file)].functions

    def _local(self, path: str, function: Function, head: str) -> tuple[Definition | None] | None:
        """Return what a name stands for inside of a function; None: it is no local name."""
        plain = head.removesuffix("()")
        if plain == "super":
            return (self._super(path, function, head),)
        for outer in _outer_functions(function.name):
            inner = self._modules[self._module_of(path)].functions.get(f"{outer}.{plain}")
            if inner is not None and self._is_function(path, outer):
                return (self._result_if_called(Definition("function", inner.path, inner.name), head),)
        kind = dict(function.variables).get(plain)
        if kind is None:
            return None
        return (self._result_if_called(self._typed(path, function, kind), head),)

    def _is_function(self, path: str, name: str) -> bool:
        return name in self._modules[self._module_of(path)].functions

    def _super(self, path: str, function: Function, head: str) -> Definition | None:
        """Return what `super` of JavaScript or `super()` of Python stands for."""
        if self._files[path].language == "python" and head == "super":
            return OUTSIDE  # the call of `super` itself
        classes = self._modules[self._module_of(path)].classes
        inside = next((name for name in _outer_functions(function.name) if name in classes), None)
        if inside is None:
            return None
        base = next(self.bases(Definition("class", path, inside)), None)
        return Definition("object", base.file, base.name) if base is not None and base.kind == "class" else base

    def _global(self, path: str, segments: list[str]) -> Definition | None:
        """Return what a name stands for at the top of a file."""
        key = path, ".".join(segments)
        if key not in self._known:
            self._known[key] = None
            if self._depth > _DEEPEST:
                return None
            self._depth += 1
            self._known[key] = self._search(path, segments)
            self._depth -= 1
        return self._known[key]

    def _search(self, path: str, segments: list[str]) -> Definition | None:
        head = segments[0].removesuffix("()")
        start = self._own(path, ".".join(segments)) if len(segments) > 1 else None
        if start is not None:
            return start  # a qualified name
        start = self._own(path, head)
        if start is not None:
            return self._members(self._result_if_called(start, segments[0]), segments[1:])
        imports = self._imports.get(path, {})
        for length in range(len(segments), 0, -1):
            lines = imports.get(".".join([*segments[: length - 1], segments[length - 1].removesuffix("()")]), [])
            targets = {self._imported(path, line) for line in lines}
            if targets:
                target = targets.pop() if len(targets) == 1 else None
                return self._members(self._result_if_called(target, segments[length - 1]), segments[length:])
        return self._starred(path, segments) or self._builtin(path, head)

    def _own(self, path: str, name: str) -> Definition | None:
        """Return what the module itself defines."""
        module = self._modules[self._module_of(path)]
        if name in module.functions:
            function = module.functions[name]
            return Definition("function", function.path, function.name) if function else None
        if name in module.classes:
            return Definition("class", module.classes[name][0], name)
        if name in module.variables and not self._imports.get(path, {}).get(name):
            declaring, kind = module.variables[name]
            return self._typed(declaring, None, kind)
        return None

    def _imported(self, path: str, line: Import) -> Definition | None:
        if not line.module:
            return self._global(path, (line.imported or "").split("."))
        modules = self._maps[self._files[path].language]
        file = modules.find(path, line.module)
        if line.imported is None:
            return Definition("module", file) if file is not None else OUTSIDE
        if file is not None and (target := self._exported(file, [line.imported])) is not None:
            return target
        dot = "" if line.module.endswith(".") else "."
        inner = modules.find(path, f"{line.module}{dot}{line.imported}")
        if inner is not None and self._files[path].language == "python":
            return Definition("module", inner)
        return None if file is not None else OUTSIDE

    def _exported(self, module: str, segments: list[str]) -> Definition | None:
        """Return what a name of a module stands for; `module` is a file, or a folder of Go."""
        if module in self._files:
            return self._global(module, segments)
        own = self._own(posixpath.join(module, "any.go"), segments[0])
        return self._members(own, segments[1:]) if own else None

    def _starred(self, path: str, segments: list[str]) -> Definition | None:
        for line in self._imports.get(path, {}).get("*", []):
            module = self._maps[self._files[path].language].find(path, line.module)
            if module is not None and (target := self._exported(module, segments)) not in (None, OUTSIDE):
                return target
        return None

    def _builtin(self, path: str, name: str) -> Definition | None:
        known = GLOBALS.get(self._files[path].language, frozenset()) if path in self._files else frozenset()
        return Definition("outside", name="object") if name == "object" else OUTSIDE if name in known else None

    def _members(self, start: Definition | None, segments: list[str]) -> Definition | None:
        """Follow attributes from a definition."""
        current = start
        for position, segment in enumerate(segments):
            if current is None or current.kind == "outside":
                return current
            if current.kind == "module":
                return self._of_module(current.file, segments[position:])
            current = self._member(current, segment, is_last=position == len(segments) - 1)
        return current

    def _of_module(self, module: str, segments: list[str]) -> Definition | None:
        target = self._exported(module, segments)
        if target is None and module.endswith("/__init__.py"):
            inner = self._maps["python"].find(module, f".{segments[0]}")
            return self._members(Definition("module", inner), segments[1:]) if inner else None
        return target

    def _member(self, owner: Definition, segment: str, *, is_last: bool) -> Definition | None:
        if owner.kind == "function":
            return None
        name = segment.removesuffix("()")
        function = self.method(owner, name)
        if function is not None and self._is_assigned(owner, name):
            return None
        if function is not None:
            target = Definition("function", function.path, function.name)
            is_property = not is_last and any("property" in decorator for decorator in function.decorators)
            return self._result(target) if is_property else self._result_if_called(target, segment)
        for ancestor in self.ancestors(owner)[0]:
            module = self._modules[self._module_of(ancestor.file)]
            inner = f"{ancestor.name}.{name}"
            if inner in module.classes:
                return self._result_if_called(Definition("class", module.classes[inner][0], inner), segment)
            declaring, declared = module.classes[ancestor.name]
            kind = dict(declared.fields).get(name)
            if kind is not None:
                return self._result_if_called(self._typed(declaring, None, kind), segment)
        return None

    def _is_assigned(self, owner: Definition, name: str) -> bool:
        """Return True if objects may have another function by the name of a method."""
        classes = (self._modules[self._module_of(a.file)].classes[a.name][1] for a in self.ancestors(owner)[0])
        return any(name == attribute for declared in classes for attribute, _ in declared.fields)

    def _typed(self, path: str, function: Function | None, kind: str) -> Definition | None:
        """Return the object that a variable of a type holds."""
        if not kind or self._depth > _DEEPEST:
            return None
        self._depth += 1
        try:
            if kind.endswith("()"):
                return self._result(self.called(path, function, kind[:-2]))
            is_class = kind.startswith("type[")
            target = self._global(path, kind.removeprefix("type[").removesuffix("]").split("."))
        finally:
            self._depth -= 1
        if target is None or target.kind == "outside" or (target.kind == "class" and is_class):
            return target
        return Definition("object", target.file, target.name) if target.kind == "class" else None

    def _result_if_called(self, target: Definition | None, segment: str) -> Definition | None:
        return self._result(target) if segment.endswith("()") else target

    def _result(self, target: Definition | None) -> Definition | None:
        """Return what a call of the definition returns."""
        if target is None or target.kind == "outside":
            return target
        if target.kind == "class":
            return Definition("object", target.file, target.name)
        function = self.function(target) if target.kind == "function" else None
        return self._typed(function.path, None, function.returns) if function else None


def _outer_functions(name: str) -> Iterator[str]:
    """Return a qualified name and those around it, from the inside out."""
    while name:
        yield name
        name = name.rpartition(".")[0]
