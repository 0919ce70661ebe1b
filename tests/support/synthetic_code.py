"""A large Python code base of drawn words, for tests that need many questions and run none of its code."""

import random
import re
from pathlib import Path

from tests.support.repository import write_tree

_LAYERS = 5  # modules whose functions call each other; those of the highest one are tested
_FIRST = re.findall(
    r"\w+",
    """load parse render merge filter encode decode publish archive restore validate schedule
measure convert compress collect resolve compare rotate sample""",
)
_SECOND = re.findall(
    r"\w+",
    """invoice customer ledger voucher parcel meadow harvest orchard lantern gallery museum
theatre violin trumpet canyon glacier volcano island harbour lighthouse compass telescope satellite antenna turbine
piston gearbox anchor rudder sextant""",
)
_THIRD = re.findall(
    r"\w+",
    """weekly daily yearly hourly remote local cached stale nested broken hidden shared frozen
signed""",
)


def synthetic_code(root: Path, modules: int, functions: int = 10, seed: int = 0) -> Path:
    """Write a package whose functions have telling names and docstrings, and call functions of the module before."""
    draw = random.Random(seed)
    triples = [(a, b, c) for a in _FIRST for b in _SECOND for c in _THIRD]
    draw.shuffle(triples)
    files = {"shop/__init__.py": ""}
    names: list[list[str]] = []
    for number in range(modules):
        own = [triples.pop() for _ in range(functions)]
        calls = {f"{a}_{b}": draw.choice(names[-1]) for a, b, _ in own} if number % _LAYERS else {}
        names.append([f"{a}_{b}_{c}" for a, b, c in own])
        files[f"shop/m{number:03d}.py"] = _module(number, own, list(calls.values()), draw)
    for number in range(_LAYERS - 1, modules, _LAYERS):
        tests = [f"def test_{name}():\n    assert m{number:03d}.{name}(1) > 0\n" for name in names[number]]
        files[f"tests/test_m{number:03d}.py"] = "\n\n".join([f"from shop import m{number:03d}", *tests])
    return write_tree(root, files)


def _module(number: int, own: list[tuple[str, str, str]], calls: list[str], draw: random.Random) -> str:
    imported = sorted(set(calls))
    lines = [f"from shop.m{number - 1:03d} import {', '.join(imported)}\n"] if imported else []
    for at, (first, second, third) in enumerate(own):
        size = draw.randint(1, 6)
        lines += [
            "", f"def {first}_{second}_{third}(amount: int) -> int:",
            f'    """{first.capitalize()} the {third} {second}."""',
            *(f"    amount = amount + {draw.randint(1, 99)}" for _ in range(size)),
            f"    return {calls[at % len(calls)]}(amount)" if calls else "    return amount", "",
        ]  # fmt: skip
    return "\n".join(lines)
