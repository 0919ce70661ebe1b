"""Functions that get the code of a changed file, in a process that has imported the file before."""

import importlib.util
import itertools
from pathlib import Path
from types import CodeType, ModuleType

import pytest

from scylla_gha.readiness.test_runners.collected_tests import ExecutedCode
from scylla_gha.readiness.test_runners.patched_functions import ImportedFunctions, changed_functions

SHOP = '''\
"""Prices."""
import functools

RATES = {"a": 1}


def used_at_import(rate):
    return rate + 1


DEFAULT = used_at_import(2)


def counted(function):
    @functools.wraps(function)
    def inner(*args):
        return function(*args)
    return inner


@counted
def price(net, rate=2):
    return net + rate


class Cart:
    size = 3

    def total(self, net):
        return super().__hash__() * 0 + net + 1

    @property
    def first(self):
        return [self.size + number for number in range(1)][0]

    @staticmethod
    def none(): return None


class Small(Cart):
    pass


old_name = Cart.total
last = lambda number: number + 5
'''
names = itertools.count()


@pytest.fixture
def shop(tmp_path: Path) -> tuple[ModuleType, ImportedFunctions]:
    path = tmp_path / "shop.py"
    path.write_text(SHOP, encoding="utf-8")
    spec = importlib.util.spec_from_file_location(f"shop{next(names)}", path)
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    watch = ExecutedCode()
    watch.start()
    spec.loader.exec_module(module)
    executed = watch.stop()
    assert executed is not None
    return module, ImportedFunctions(tmp_path, executed)


def replaced(functions: ImportedFunctions, after: str | None, before: str | None = SHOP, name: str = "shop.py") -> bool:
    return functions.replace({name: before}, {name: after})


def test_all_that_hold_a_function_get_its_new_code(shop: tuple[ModuleType, ImportedFunctions]) -> None:
    module, functions = shop
    text = SHOP.replace("net + rate", "net - rate").replace("+ net + 1", "+ net + 2").replace("self.size +", "2 *")
    text = text.replace("number + 5", "number + 6").replace("return None", "return 0")
    assert (module.price(1), module.Small().total(1), module.Cart().first, module.last(1)) == (3, 2, 3, 6)
    assert replaced(functions, text)
    assert (module.price(1), module.Small().total(1), module.Cart().first, module.last(1)) == (-1, 3, 0, 7)
    assert module.old_name(module.Cart(), 1) == 3
    assert module.Cart.none() == 0


def test_functions_behind_a_changed_one_get_other_lines(shop: tuple[ModuleType, ImportedFunctions]) -> None:
    module, functions = shop
    assert replaced(functions, SHOP.replace("    return net + rate\n", "    rate += 1\n    return net + rate\n"))
    assert module.price(1) == 4
    assert module.Cart.none.__code__.co_firstlineno == SHOP.splitlines().index("    @staticmethod") + 2


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("return rate + 1", "return rate + 2"),  # it made DEFAULT
        ("return function(*args)", "return None"),  # so is the outer function, which was called
        ("rate=2", "rate=3"),
        ('"a": 1', '"a": 1.0'),
        ("size = 3", "size = 4"),
        ("@counted\n", ""),
        ("def price", "async def price"),
        ("def first", "def second"),
        ('"""Prices."""', '"""Rates."""'),
        ("import functools", "import functools, os"),
        ("number + 5", "number + RATES["),
        ("return super().__hash__() * 0 + net + 1", "return net"),  # __class__ is no free variable any more
    ],
)
def test_what_is_more_than_an_unused_function_needs_a_new_process(
    shop: tuple[ModuleType, ImportedFunctions], old: str, new: str
) -> None:
    module, functions = shop
    assert old in SHOP
    assert not replaced(functions, SHOP.replace("net + rate", "net - rate").replace(old, new))
    assert module.price(1) == 3


def test_files_that_are_no_imported_code(shop: tuple[ModuleType, ImportedFunctions]) -> None:
    module, functions = shop
    assert replaced(functions, "def late(): return 2\n", "def late(): return 1\n", "not_imported.py")
    assert not replaced(functions, "b", "a", "data.txt")
    assert not replaced(functions, None)
    assert not replaced(functions, SHOP, before=None)
    other = SHOP.replace("net + 1", "net + 7")  # not what was imported
    assert not replaced(functions, other.replace("net + 7", "net + 8"), other)
    assert module.Cart().total(1) == 2


def test_two_texts_differ_in_functions_alone_or_also_elsewhere() -> None:
    found = changed_functions("def a():\n    def b(): return 1\n    return b\n", "def a():\n    return 2\n", "a.py")
    assert found is not None
    assert [(old.co_name, new.co_consts) for old, new in found] == [("a", (None, 2))]
    assert changed_functions("A = 1\n", "A = 1\n", "a.py") == []
    assert changed_functions("A = 1\n", "A = True\n", "a.py") is None
    assert changed_functions("A = 1\n", "A = (\n", "a.py") is None


def test_code_of_other_threads_is_not_seen_and_that_is_known() -> None:
    import threading

    watch = ExecutedCode()
    watch.start()
    thread = threading.Thread(target=print)
    thread.start()
    thread.join()
    assert watch.stop() is None
    watch = ExecutedCode()
    watch.start()
    test_two_texts_differ_in_functions_alone_or_also_elsewhere()
    executed = watch.stop()
    assert isinstance(executed, set)
    assert all(isinstance(code, CodeType) for code in executed)
    assert changed_functions.__code__ in executed
