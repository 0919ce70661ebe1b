"""Anchors of tasks: functions that are drawn so that a commit changes only those whose code it touches."""

import hashlib
import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence

from scylla_gha.readiness.source_code import CodeIndex, Function
from scylla_gha.readiness.syntax import lines_of


def sample(functions: Iterable[Function], seed: int, wanted: int, most_per_file: int = 3) -> list[Function]:
    """Return functions by stratified sampling, in the order of their hashes.

    Strata are the top folders; each gets its share of `wanted`, and what a small one cannot give goes to the others.
    In a stratum those with the smallest hashes of seed, path and name are taken. Functions whose name a file defines
    more than once are left out.

    Args:
        functions: the eligible ones.
        seed: another one draws others.
        wanted: number of functions; fewer are returned if there are not so many.
        most_per_file: number of functions of one file at most.
    """
    strata: dict[str, list[Function]] = defaultdict(list)
    for function in _limited(sorted(_unambiguous(functions), key=lambda f: hash_of(f, seed)), most_per_file):
        strata[stratum_of(function.path)].append(function)
    quotas = _quotas({name: len(members) for name, members in strata.items()}, wanted)
    drawn = [function for name, members in strata.items() for function in members[: quotas[name]]]
    return sorted(drawn, key=lambda function: hash_of(function, seed))


def hash_of(function: Function, seed: int) -> str:
    """Return the hash by which functions are ordered; it depends on nothing but seed, path and name."""
    return hashlib.sha256(f"{seed}\0{function.path}\0{function.name}".encode()).hexdigest()


def stratum_of(path: str) -> str:
    """Return the top folder of a path, below `src` and the like; "" for files at the top."""
    folders = path.split("/")[:-1]
    while len(folders) > 1 and folders[0] in ("src", "lib", "packages", "pkg", "internal"):
        folders = folders[1:]
    return "/".join(folders[:2])


def function_text(index: CodeIndex, function: Function) -> str:
    """Return all lines of a function."""
    lines = lines_of(index.files[function.path].text)
    return "".join(lines[function.span.first - 1 : function.span.last])


def function_digest(index: CodeIndex, function: Function) -> str:
    """Return the SHA-256 of a function's text."""
    return hashlib.sha256(function_text(index, function).encode()).hexdigest()


def _unambiguous(functions: Iterable[Function]) -> Iterator[Function]:
    members = list(functions)
    again = {(function.path, function.name.partition("#")[0]) for function in members if "#" in function.name}
    return (function for function in members if (function.path, function.name.partition("#")[0]) not in again)


def _limited(functions: Iterable[Function], most: int) -> Iterator[Function]:
    counts: Counter[str] = Counter()
    for function in functions:
        counts[function.path] += 1
        if counts[function.path] <= most:
            yield function


def _quotas(sizes: dict[str, int], wanted: int) -> dict[str, int]:
    """Return each stratum's number: even shares; what small strata leave goes to the larger ones, by name at last."""
    quotas = dict.fromkeys(sizes, 0)
    left = min(wanted, sum(sizes.values()))
    while left > 0:
        open_strata: Sequence[str] = sorted(name for name in sizes if quotas[name] < sizes[name])
        share = max(1, math.floor(left / len(open_strata)))
        for name in open_strata:
            granted = min(share, sizes[name] - quotas[name], left)
            quotas[name] += granted
            left -= granted
    return quotas
