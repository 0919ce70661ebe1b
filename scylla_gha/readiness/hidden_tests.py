"""Tests that an agent must not see: they are cut out of their files."""

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Final

from tree_sitter import Node

from scylla_gha.model.readiness import ChangedText
from scylla_gha.readiness.mutations import Mutant, replaced, with_mutants
from scylla_gha.readiness.source_code import CodeIndex, LineSpan, SourceFile
from scylla_gha.readiness.syntax import lines_of, syntax_is_whole, syntax_tree

CONTROL: Final = "CONTROL"
# What stands before and behind a test file's own name
_TEST_NAME: Final = re.compile(
    r"^(?P<before>test_)\w+(?=\.py$)|^\w+?(?P<behind>_test)(?=\.(?:py|go)$)|^[^.]+(?=[.-](?:test|spec)\.[cm]?[jt]sx?$)"
)
_CALLED: Final = re.compile(r"(test|it)(\.\w+)*")


Spans = dict[str, set[LineSpan]]  # lines of test files, by path


def spans_of_tests(index: CodeIndex, tests: Iterable[str]) -> Spans:
    """Return the lines of tests; without those that are written elsewhere (in a base class), or made by a loop."""
    spans: Spans = {}
    for test in tests:
        path, _, name = test.partition("::")
        span = _span(index, path, name) if path in index.files else None
        if span:
            spans.setdefault(path, set()).add(span)
    return spans


def spans_naming(index: CodeIndex, name: str) -> Spans:
    """Return the lines of all tests in whose text a name occurs as a word."""
    word = re.compile(rf"(?<![\w$]){re.escape(name)}(?![\w$])")
    spans: Spans = {}
    for file in index.files.values():
        if file.is_test and word.search(file.text):
            cut = {span for span in _all_tests(file) if word.search(_lines(file, span))}
            spans |= {file.path: cut} if cut else {}
    return spans


def without_tests(index: CodeIndex, spans: Mapping[str, Collection[LineSpan]]) -> tuple[ChangedText, ...]:
    """Return the test files without these lines; a file that has no other test is removed."""
    return tuple(_without(index, index.files[path], set(cut)) for path, cut in sorted(spans.items()) if cut)


def _span(index: CodeIndex, path: str, name: str) -> LineSpan | None:
    file = index.files[path]
    if file.language in {"javascript", "typescript"}:
        return _call_span(file, re.split(r" > |::", name)[-1])
    name = name.partition("/")[0] if file.language == "go" else name.partition("[")[0].replace("::", ".")
    function = index.functions.get(f"{path}::{name}")
    return function.span if function else None


def _without(index: CodeIndex, file: SourceFile, cut: set[LineSpan]) -> ChangedText:
    outer = [span for span in cut if not any(span != other and _contains(other, span) for other in cut)]
    blanks = [replaced(file, "", "cut", span, "") for span in outer]
    text = with_mutants(file.text, blanks)
    if not syntax_is_whole(text, file.language, file.path):  # a class has lost its last statement
        blanks = [replaced(file, "", "cut", span, _pass(file, span)) for span in outer]
        text = with_mutants(file.text, blanks)
    if not _has_tests_besides(file, outer) and not _is_imported(index, file):
        return ChangedText(path=file.path, text=None)
    return ChangedText(path=file.path, text=_without_unused(file, text, blanks) if file.language == "go" else text)


def _without_unused(file: SourceFile, text: str, blanks: Sequence[Mutant]) -> str:
    """Return a text of Go also without the imports that only removed lines used: they would not compile."""
    removed = "".join(blank.before for blank in blanks)
    unused = []
    for line in file.imports:
        used = re.compile(rf"(?<![\w.\"]){re.escape(line.local)}\.")
        if used.search(removed) and not used.search(text):
            unused.append(replaced(file, "", "cut", LineSpan(line.line, line.line), ""))
    return with_mutants(file.text, [*blanks, *unused]) if unused else text


def _contains(outer: LineSpan, inner: LineSpan) -> bool:
    return outer.first <= inner.first and inner.last <= outer.last


def _pass(file: SourceFile, span: LineSpan) -> str:
    first = lines_of(file.text)[span.first - 1]
    return f"{first[: len(first) - len(first.lstrip())]}pass\n" if file.language == "python" else ""


def _has_tests_besides(file: SourceFile, cut: Iterable[LineSpan]) -> bool:
    lines = {line for span in cut for line in range(span.first, span.last + 1)}
    return any(span.first not in lines for span in _all_tests(file))


def _all_tests(file: SourceFile) -> list[LineSpan]:
    if file.language in {"javascript", "typescript"}:
        return [span for span, _ in _test_calls(file)]
    test_name = re.compile("Test|Example|Fuzz" if file.language == "go" else "[Tt]est")
    return [function.span for function in file.functions if test_name.match(function.short_name)]


def _is_imported(index: CodeIndex, file: SourceFile) -> bool:
    """Return True if another file seems to import this one."""
    stem = file.path.rpartition("/")[2].partition(".")[0]
    return any(
        stem in re.split(r"[./]", imported.module) or imported.imported == stem
        for other in index.files.values()
        if other.path != file.path
        for imported in other.imports
    )


def _lines(file: SourceFile, span: LineSpan) -> str:
    return "".join(lines_of(file.text)[span.first - 1 : span.last])


def _call_span(file: SourceFile, title: str) -> LineSpan | None:
    spans = [span for span, text in _test_calls(file) if text == title]
    return spans[0] if len(spans) == 1 else None


def _test_calls(file: SourceFile) -> Iterator[tuple[LineSpan, str]]:
    """Yield the lines and the title of each `test("title", ...)` that is a statement of whole lines."""
    pending = [syntax_tree(file.text, file.language, file.path).root_node]
    lines = lines_of(file.text)
    while pending:
        node = pending.pop()
        pending += reversed(node.children)
        title = _title(node)
        if title is not None and not lines[node.start_point[0]][: node.start_point[1]].strip():
            yield LineSpan(node.start_point[0] + 1, node.end_point[0] + 1), title


def _title(node: Node) -> str | None:
    call = node.children[0] if node.type == "expression_statement" and node.children else None
    called = call.child_by_field_name("function") if call and call.type == "call_expression" else None
    arguments = call.child_by_field_name("arguments") if call else None
    if called is None or arguments is None or not _CALLED.fullmatch((called.text or b"").decode()):
        return None
    first = arguments.named_children[0] if arguments.named_children else None
    if first is None or first.type not in {"string", "template_string"}:
        return None
    return (first.text or b"").decode()[1:-1].replace('\\"', '"').replace("\\'", "'")


# -- a test that must fail --------------------------------------------------------------------------------------------


def control_of(file: SourceFile) -> dict[str, str] | None:
    """Return path, id and text of a test beside a file's that fails in any code, with CONTROL for a name of its own.

    None: the file is not named as test files are.
    """
    folder, slash, name = file.path.rpartition("/")
    renamed = _TEST_NAME.sub(lambda match: f"{match['before'] or ''}{CONTROL}{match['behind'] or ''}", name)
    if renamed == name:
        return None
    path = f"{folder}{slash}{renamed}"
    if file.language == "python":
        return {"path": path, "id": f"{path}::test_{CONTROL}", "text": f"def test_{CONTROL}():\n    assert False\n"}
    if file.language == "go":
        package = re.search(r"^package \w+", file.text, re.MULTILINE)
        head = f'{package[0] if package else "package main"}\n\nimport "testing"\n\n'
        name = f"Test_{CONTROL}"  # a small letter behind `Test` would make it no test
        text = f'{head}func {name}(t *testing.T) {{\n\tt.Fatal("control")\n}}\n'
        return {"path": path, "id": f"{path}::{name}", "text": text}
    heads = re.findall(r"^(?:import|const) [^\n]*(?:node:test|vitest|@jest/globals)[^\n]*\n", file.text, re.MULTILINE)
    called = "it" if re.search(r"^\s*it\(", file.text, re.MULTILINE) else "test"
    text = f'{"".join(heads)}\n{called}("{CONTROL}", () => {{\n  throw new Error("control");\n}});\n'
    return {"path": path, "id": f"{path}::{CONTROL}", "text": text}
