"""Large code bases for benchmarks: same bytes each time, with files and functions of the sizes that real ones have.

Of 50,000 files three fifths are Python, a quarter TypeScript, the rest Go. Files have 3 to 1,200 lines, half of them
fewer than 65, on average 110; functions have 3 to 90 lines. They import each other, inherit, guard and handle errors.
"""

import random
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final

PER_FOLDER: Final = 40
NOUNS: Final = (
    "order", "price", "parcel", "ledger", "invoice", "route", "ticket", "batch", "signal", "quota", "tenant", "draft",
    "margin", "sensor", "branch", "shift", "policy", "claim", "payout", "cursor",
)  # fmt: skip
VERBS: Final = (
    "load", "merge", "split", "check", "store", "round", "trace", "apply", "close", "rank", "drain", "index", "parse",
    "render", "review", "settle",
)  # fmt: skip
PYTHON_STEPS: Final = (
    'if {a} < {n}:\n    raise ValueError(f"{a} is {{{a}}}, which is below {n}")',
    "{b} = [{a} + row for row in range({n}) if row % 3]",
    "for row in range({n}):\n    {a} += row * {n}\n    if {a} > 100 and row not in (1, 2):\n        break",
    "try:\n    {a} = {call}\nexcept (KeyError, OSError) as error:\n    raise RuntimeError('{word} failed') from error",
    '{b} = {{"{word}": {a}, "count": {n}, "rows": [{n}, {a}]}}',
    "# {word}s of the last {n} days are counted once, those before are not\n{a} = min({a}, {n}) or {call}",
    "while {a} > {n}:\n    {a} //= 2\n    {a} -= {call} if {a} % 2 else 1",
    "{b} = {call}",
    "{a} = {other}({a}, limit={n})",
)
SCRIPT_STEPS: Final = (
    "if ({a} < {n}) {{\n  throw new RangeError(`{a} is ${{{a}}}, below {n}`);\n}}",
    "const {b}Rows = Array.from({{ length: {n} }}, (_, row) => row + {a});",
    "for (const row of [{n}, {a}]) {{\n  if (row > {a} && row !== 3) {{\n    {a} += row;\n  }}\n}}",
    'try {{\n  {a} = {call};\n}} catch (error) {{\n  throw new Error("{word} failed", {{ cause: error }});\n}}',
    "{a} = Math.min({a}, {n}) || {call};",
    "// {word}s of the last {n} days are counted once\n{a} = {other}({a}, {n});",
    "[{a}].map((row) => row + {n}).filter((row) => row > {n}).forEach((row) => {{\n  {a} -= row;\n}});",
)
GO_STEPS: Final = (
    'if {a} < {n} {{\n\treturn 0, fmt.Errorf("{word} %d is below {n}", {a})\n}}',
    "for row := 0; row < {n}; row++ {{\n\tif row%3 == 1 && row != {a} {{\n\t\t{a} += row\n\t}}\n}}",
    "if more, err := {other}({a}, {n}); err != nil {{\n\treturn 0, err\n}} else {{\n\t{a} += more\n}}",
    "{a} = {a}*{n} - len(fmt.Sprint({a}))",
    "// {word}s of the last {n} days are counted once\n{a} -= {n}",
)


def write_code_base(root: Path, count: int) -> None:
    """Write so many files into a folder."""
    for number in range(count):
        kind = number % 20
        write = _python if kind < 12 else _script if kind < 17 else _go
        suffix = "py" if kind < 12 else "ts" if kind < 17 else "go"
        path = root / f"{_folder(number)}/{_stem(number)}.{suffix}"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(write(random.Random(number), number, count), encoding="utf-8")


def _folder(number: int) -> str:
    part = number // PER_FOLDER
    return f"src/{NOUNS[part % len(NOUNS)]}s{part // len(NOUNS)}"


def _stem(number: int) -> str:
    return f"{VERBS[number % len(VERBS)]}_{NOUNS[number * 7 % len(NOUNS)]}{number}"


def _functions(rng: random.Random) -> int:
    """Return how many functions a file has: mostly few, sometimes many."""
    return max(0, min(60, round(rng.lognormvariate(1.2, 1.05)) - (rng.random() < 0.1)))


def _names(number: int, count: int) -> list[str]:
    return [f"{VERBS[(number + n) % len(VERBS)]}_{NOUNS[(number * 3 + n * n) % len(NOUNS)]}_{n}" for n in range(count)]


def _neighbour(rng: random.Random, number: int, count: int, step: Callable[[int], bool]) -> int:
    """Return a file of the same language, in the same folder or another one."""
    while True:
        other = rng.randrange(max(0, number - PER_FOLDER), min(count, number + PER_FOLDER))
        if step(other % 20) or other == number:
            return other


def _steps(rng: random.Random, texts: tuple[str, ...], indent: str, others: list[str], call: str) -> Iterator[str]:
    for _ in range(max(1, min(24, round(rng.lognormvariate(1.2, 0.7))))):
        text = rng.choice(texts).format(
            a="total", b=rng.choice(NOUNS), n=rng.randrange(2, 60), word=rng.choice(NOUNS),
            other=rng.choice(others), call=call,
        )  # fmt: skip
        yield "".join(f"{indent}{line}\n" for line in text.split("\n"))


def _python(rng: random.Random, number: int, count: int) -> str:
    other = _neighbour(rng, number, count, lambda kind: kind < 12)
    names = _names(number, _functions(rng))
    module = f"{_folder(other).replace('/', '.')}.{_stem(other)}"
    lines = [f'"""Rules for the {rng.choice(NOUNS)}s of part {number}."""\n\nimport json\n',
             f"from {module} import *\nimport {module} as later\n\nLIMIT = {number % 97}\n"]  # fmt: skip
    in_class = len(names) // 2 if rng.random() < 0.6 else 0
    if in_class:
        lines.append(f"\n\nclass {NOUNS[number % 20].title()}{number}:\n    def __init__(self, total: int) -> None:\n"
                     "        self.total = total\n")  # fmt: skip
    for position, name in enumerate(names):
        indent = "    " if position < in_class else ""
        receiver = "self, " if position < in_class else ""
        own = [f"self.{other_name}" if receiver else other_name for other_name in names[: in_class or None]][:8]
        call = f"later.{_names(other, 1)[0]}(total, {position})" if rng.random() < 0.7 else "len(json.dumps(total))"
        lines.append(f"\n\n{indent}def {name}({receiver}total: int, limit: int = {position}) -> int:\n")
        if rng.random() < 0.6:
            lines.append(f'{indent}    """{name.replace("_", " ").capitalize()} below the limit of {position}.\n\n'
                         f'{indent}    Args:\n{indent}        total: so far.\n{indent}    """\n')  # fmt: skip
        lines += _steps(rng, PYTHON_STEPS, f"{indent}    ", own or ["max"], call)
        lines.append(f"{indent}    return total\n")
    return "".join(lines)


def _script(rng: random.Random, number: int, count: int) -> str:
    other = _neighbour(rng, number, count, lambda kind: 12 <= kind < 17)
    names = [name.replace("_", "") for name in _names(number, _functions(rng))]
    path = f"../../{_folder(other)}/{_stem(other)}"
    lines = [f'import * as later from "{path}";\n\nexport interface Row{number} {{\n  total: number;\n}}\n']
    for position, name in enumerate(names):
        call = f"later.{_names(other, 1)[0].replace('_', '')}(total, {position})"
        if rng.random() < 0.4:
            lines.append(f"\n/** Applies the rule of {rng.choice(NOUNS)}s below the limit. */")
        lines.append(f"\nexport function {name}(total: number, limit: number = {position}): number {{\n")
        lines += _steps(rng, SCRIPT_STEPS, "  ", names, call)
        lines.append("  return total + limit;\n}\n")
    return "".join(lines)


def _go(rng: random.Random, number: int, count: int) -> str:
    del count
    names = [f"{name.replace('_', '').title()}x{number}" for name in _names(number, _functions(rng))]
    lines = [f'package {_folder(number).rpartition("/")[2]}\n\nimport "fmt"\n\n// Store{number} keeps a total.\n',
             f"type Store{number} struct {{\n\ttotal int\n}}\n"]  # fmt: skip
    for position, name in enumerate(names):
        receiver = f"(s *Store{number}) " if position % 3 == 1 else ""
        lines.append(
            f"\n// {name} counts what is below the limit.\nfunc {receiver}{name}(total, limit int) (int, error) {{\n"
        )
        lines += _steps(rng, GO_STEPS, "\t", [name for place, name in enumerate(names) if place % 3 != 1], "")
        lines.append("\treturn total, nil\n}\n")
    return "".join(lines)
