"""Twins: copies of a code base that behave the same and lack names, documentation, types or small functions."""

import ast
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from scylla_gha.readiness.code_index import build_index
from scylla_gha.readiness.lexical_agent import LexicalAgent
from scylla_gha.readiness.twin_merging import merge_functions
from scylla_gha.readiness.twin_names import safe_names
from scylla_gha.readiness.twin_renaming import chosen_names, rename
from scylla_gha.readiness.twin_texts import chooser, without_documentation, without_types
from scylla_gha.readiness.twins import EXPECTED_LOSSES, TWIN_KINDS, Twin, TwinKind, make_twin
from tests.support.readiness_repository import readiness_repository
from tests.support.synthetic_code import synthetic_code

ROOT = Path(__file__).parents[2]
ALL = chooser(1.0, 0, "a.py")
FOREIGN = '''\
import json
import functools
from json import dumps as to_text


class Encoder(json.JSONEncoder):
    def default(self, thing):
        return thing


class Store(dict):
    def total(self):
        return 1


class Plain:
    label = "x"

    def weigh(self, heap):
        partial = functools.partial(int, base=2)
        return f"{heap:>{len(self.label)}} {{brace}} {partial('1')}"

    def get(self, key, default=None):
        return {}.get(key, default)


def visit_leaf(node, depth=0):
    return getattr(Plain, "visit_" + node)(depth=depth)


def parse_amount(text):
    """Parse it."""
    return to_text(text)


__all__ = ["parse_amount", "Plain"]
'''


def test_only_names_that_are_safe_everywhere_are_replaced() -> None:
    names = safe_names({"a.py": FOREIGN, "tests/test_a.py": "from a import Plain\n\ndef test_it(fixture): pass\n"},
                       ["tests/test_a.py"], ["entry = 'a:Store'"])  # fmt: skip
    assert {"parse_amount", "Plain", "weigh", "heap", "text", "Encoder"} <= set(names)
    assert not {"default", "total", "get", "depth", "visit_leaf", "partial", "to_text", "json", "test_it",
                "fixture", "Store", "a"} & set(names)  # fmt: skip


def test_a_module_in_a_package_does_not_make_a_foreign_one_of_its_name_ones_own() -> None:
    own = "class Item:\n    pass\n\nclass Order:\n    pass\n"
    user = "import pytest\nfrom shop.pytest import Order\n\n\ndef hook(items: list[pytest.Item]) -> None: ...\n"
    package = {"shop/__init__.py": "", "shop/pytest.py": own, "conftest.py": user}
    assert "Item" not in safe_names(package, [], [])
    assert "Order" in safe_names(package, [], [])
    assert "Item" in safe_names({"pytest.py": own, "conftest.py": "import pytest\n"}, [], [])


def test_replaced_names_are_the_same_in_code_fields_and_exports_and_leave_texts_alone() -> None:
    code = rename(FOREIGN, {"heap": "zzz", "parse_amount": "yyy", "label": "xxx"})
    assert 'f"{zzz:>{len(self.xxx)}} {{brace}} {partial(' in code
    assert '__all__ = ["yyy", "Plain"]' in code
    assert '"""Parse it."""' in code
    ast.parse(code)


def test_a_larger_dose_has_the_names_of_a_smaller_one() -> None:
    names = [f"name_{number}" for number in range(40)] + ["_private", "Class", "CONSTANT"]
    doses = [chosen_names(names, dose, 7) for dose in (0, 0.25, 0.5, 1)]
    assert [len(dose) for dose in doses] == [0, 11, 22, 43]
    assert doses[1].items() <= doses[2].items() <= doses[3].items()
    assert len(set(doses[3].values())) == 43
    whole = doses[3]
    assert whole["_private"][0] == "_"
    assert whole["Class"].istitle()
    assert whole["CONSTANT"].isupper()


def test_documentation_goes_and_what_programs_read_stays() -> None:
    code = '''\
#!/usr/bin/env python
"""Module."""
import click

def documented(a):  # why
    """Say it."""
    # explains
    return "# no comment"

@click.command()
def command():
    """Help that click prints."""

class Empty:
    """Only text."""

def example():
    """
    >>> example()
    """
    return 1  # noqa: X
'''
    bare = without_documentation(code, ALL)
    assert re.search("Module|Say it|Only text|why|explains", bare) is None
    assert all(kept in bare for kept in ("Help that click", ">>> example()", "# noqa: X", "#!/usr", '"# no comment"'))
    assert ast.dump(ast.parse(bare)) != ast.dump(ast.parse(code))
    assert without_documentation(code, chooser(0, 0, "a.py")) == code


def test_types_of_functions_go_and_those_of_fields_stay() -> None:
    code = """\
from dataclasses import dataclass

@dataclass
class Point:
    x: int = 0

    def moved(self, by: "dict[str, int]", *rest: int, scale: float = 1.0, **more: str) -> "Point":
        total: float = by["é"] * scale; other: int
        return Point(int(total))

@registered
def read_by_programs(a: int) -> int: return a
"""
    bare = without_types(code, ALL)
    assert "def moved(self, by, *rest, scale = 1.0, **more):" in bare
    assert 'total = by["é"] * scale; pass' in bare
    assert "x: int = 0" in bare
    assert "def read_by_programs(a: int) -> int" in bare


MERGED = '''\
def _shipping(total, express=False):
    """Cost of sending."""
    if total > 50:
        return 0
    return 9 if express else 5


def _taxed(amount, rate):
    share = amount * rate
    return amount + share


def bill(amount, share):
    """What to pay."""
    gross = _taxed(amount, share)
    return _shipping(gross, express=True) + 0 if gross < 0 else _shipping2(gross)


def _shipping2(total):
    return total * 2


class Desk:
    def __init__(self):
        self.log = []

    def _note(self, text):
        self.log.append(text)

    def open(self, text):
        self._note(text.upper())
        return self.log


def loop(rows):
    for row in rows:
        return _first(row)


def _first(row):
    if row:
        return "yes"
'''


def test_merged_functions_give_the_same_results() -> None:
    merged = merge_functions({"a.py": MERGED}, frozenset(), 1.0, 0)
    code = merged.texts["a.py"]
    assert merged.homes == {"a.py::_taxed": "a.py::bill", "a.py::Desk._note": "a.py::Desk.open",
                            "a.py::_first": "a.py::loop"}  # fmt: skip
    before: dict[str, object] = {}
    after: dict[str, object] = {}
    exec(MERGED, before)
    exec(code, after)
    calls = ["bill(100, 0.25)", "bill(-4, 0.5)", "Desk().open('a')", "loop([1])", "loop([0, 1])", "loop([])"]
    assert [eval(call, after) for call in calls] == [eval(call, before) for call in calls]


def run_tests(tree: Path) -> subprocess.CompletedProcess[str]:
    env = {"PATH": os.environ["PATH"], "PYTHONPATH": str(tree), "PYTHONDONTWRITEBYTECODE": "1"}
    return subprocess.run([sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider"], cwd=tree, env=env,
                          capture_output=True, text=True, check=False)  # fmt: skip


@pytest.mark.parametrize("kind", [kind for kind in TWIN_KINDS if kind != "merging"])
def test_the_tests_of_a_twin_pass_and_the_code_base_is_not_written(kind: TwinKind, tmp_path: Path) -> None:
    root = readiness_repository(tmp_path / "code", "python", history=False)
    before = {path: path.read_bytes() for path in root.rglob("*") if path.is_file()}
    twin = make_twin(root, kind, 1.0, 3, tmp_path / "twin")
    assert twin.changed_files
    done = run_tests(twin.root)
    assert done.returncode == 0, done.stdout
    assert {path: path.read_bytes() for path in root.rglob("*") if path.is_file()} == before
    again = make_twin(root, kind, 1.0, 3, tmp_path / "again")
    assert [(again.root / path).read_bytes() for path in again.changed_files] == [
        (twin.root / path).read_bytes() for path in twin.changed_files]  # fmt: skip


def test_a_merged_function_is_its_caller_in_the_twin(tmp_path: Path) -> None:
    (tmp_path / "code").mkdir()
    (tmp_path / "code" / "a.py").write_text(MERGED)
    twin = make_twin(tmp_path / "code", "merging", 1.0, 3, tmp_path / "twin")
    assert twin.changed_files == ("a.py",)
    assert [twin.id_of(name) for name in ("a.py::_taxed", "a.py::bill")] == ["a.py::bill", "a.py::bill"]
    assert "a.py::_taxed" not in build_index(twin.root).functions


def hits(twin: Twin, questions: dict[str, str]) -> float:
    """Share of documented functions that the lexical agent finds by their docstrings."""
    agent = LexicalAgent(build_index(twin.root))
    return sum(twin.id_of(target) in agent.locate(text, 5) for target, text in questions.items()) / len(questions)


def test_the_lexical_agent_falls_with_the_dose_of_names_and_documentation(tmp_path: Path) -> None:
    root = synthetic_code(tmp_path / "code", 12)
    index = build_index(root)
    questions = {function.id: function.docstring or "" for function in index.functions.values() if function.docstring}
    assert len(questions) == 120
    by_dose = {}
    for kind in ("names", "docs"):
        twins = [make_twin(root, kind, dose, 1, tmp_path / f"{kind}{dose}") for dose in (0, 0.25, 0.5, 1)]
        by_dose[kind] = [hits(twin, questions) for twin in twins]
        assert by_dose[kind] == sorted(by_dose[kind], reverse=True), by_dose
    assert by_dose["names"][0] == by_dose["docs"][0] > 0.9
    bare = make_twin(make_twin(root, "docs", 1.0, 1, tmp_path / "a").root, "names", 1.0, 1, tmp_path / "b")
    assert hits(bare, questions) < 0.1
    assert EXPECTED_LOSSES == {"names": (1, 3), "docs": (1, 4), "merging": (2, 3), "types": ()}
