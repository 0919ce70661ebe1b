"""Mutants of functions: they parse, leave strings and comments alone, and come in an order of their own text."""

import ast
import re
from dataclasses import replace

import pytest

from scylla_gha.readiness.edit_items import item_id
from scylla_gha.readiness.mutations import guard_removals, mutants, replaced, with_mutants
from scylla_gha.readiness.source_code import Function, Guard, Language, LineSpan, SourceFile

PYTHON = '''\
def price(amount, rate):
    """Return the price; 1 < 2 and so on."""
    if amount < 0:
        raise ValueError("amount < 0 and not 1")
    if rate == 0 and not amount:  # rate == 0
        return 0
    while amount > 100:
        amount -= 10
    return amount + rate * 2
'''
TYPESCRIPT = """\
export function price(amount: number, rate: Array<number>): number {
  if (amount < 0) {
    throw new RangeError("amount < 0 && !1");
  }
  if (rate.length === 0 && !amount) return 0; // 1 < 2
  return amount + rate[0] * 2;
}
"""


def function_of(text: str, language: Language, path: str, body: LineSpan) -> tuple[SourceFile, Function]:
    guards = (Guard(LineSpan(3, 4), "amount < 0") if language == "python" else Guard(LineSpan(2, 4), "amount < 0"),)
    span = LineSpan(1, len(text.splitlines()))
    function = Function(path, "price", language, span, body, None, None, 6, 3, (), guards, (), (), (), (), False)
    return SourceFile(path, language, text, False, (function,), (), frozenset()), function


CASES = [
    pytest.param(*function_of(PYTHON, "python", "shop/price.py", LineSpan(3, 9)), id="python"),
    pytest.param(*function_of(TYPESCRIPT, "typescript", "src/price.ts", LineSpan(2, 6)), id="typescript"),
]


@pytest.mark.parametrize(("file", "function"), CASES)
def test_each_kind_of_fault_is_one_changed_line_of_code(file: SourceFile, function: Function) -> None:
    faults = list(mutants(file, function, 7))
    names = {fault.name for fault in faults}
    common = {"less-turned", "condition-negated", "number-changed", "plus-turned", "times-turned", "result-lost"}
    assert common <= names
    assert names & {"and-turned", "both-turned"}
    assert "taken-away-turned" not in names, "a loop might never end"
    texts = [with_mutants(file.text, [fault]) for fault in faults]
    assert len(set(texts)) == len(texts)
    for text in texts:
        changed = [(old, new) for old, new in zip(file.text.splitlines(), text.splitlines(), strict=True) if old != new]
        assert len(changed) == 1
        old, new = changed[0]
        assert old.partition('"')[2] == new.partition('"')[2], "texts stay"
        assert "while" not in old
    if file.language == "python":
        assert all(ast.parse(text) for text in texts)
        assert "    if not (amount < 0):\n" in "".join(texts)


@pytest.mark.parametrize(("file", "function"), CASES)
def test_a_removed_guard_leaves_the_rest(file: SourceFile, function: Function) -> None:
    (fault,) = guard_removals(file, function, 7)
    lines = [line for at, line in enumerate(file.text.splitlines(keepends=True), 1) if at not in fault.span]
    assert with_mutants(file.text, [fault]) == "".join(lines)
    assert "ValueError" in fault.before or "RangeError" in fault.before


def test_the_order_is_the_seeds_and_no_other_function_has_a_say() -> None:
    file, function = function_of(PYTHON, "python", "shop/price.py", LineSpan(3, 9))
    order = [fault.after for fault in mutants(file, function, 7)]
    assert order == [fault.after for fault in mutants(file, function, 7)]
    assert order != [fault.after for fault in mutants(file, function, 8)]
    moved, lower = function_of("\n\n" + PYTHON, "python", "shop/price.py", LineSpan(5, 11))
    lower = replace(lower, span=LineSpan(3, 11))
    assert [fault.after for fault in mutants(moved, lower, 7)] == order


def test_faults_of_several_functions_go_into_one_copy() -> None:
    file, function = function_of(PYTHON, "python", "shop/price.py", LineSpan(3, 9))
    (guard,) = guard_removals(file, function, 7)
    stub = replaced(file, function.id, "stub", LineSpan(7, 9), "    return 1\n")
    text = with_mutants(file.text, [guard, stub])
    assert text.splitlines()[2:] == [
        "    if rate == 0 and not amount:  # rate == 0",
        "        return 0",
        "    return 1",
    ]


def test_ids_of_items_are_names_of_scenarios() -> None:
    _, function = function_of(PYTHON, "python", "shop/price.py", LineSpan(3, 9))
    method = replace(function, name=f"Cache.__get_item__.{'long_name' * 9}")
    name = item_id("repair", method, 7)
    assert re.fullmatch(r"[0-9]{3}-repair-cache-get-item-[a-z-]+[a-z]", name)
    assert "--" not in name
    assert len(name) <= 54


def test_code_that_does_not_parse_has_no_mutants() -> None:
    file, function = function_of(PYTHON.replace("while", "whilst"), "python", "shop/price.py", LineSpan(3, 9))
    assert list(mutants(file, function, 7)) == []
    assert list(guard_removals(file, function, 7)) == []
