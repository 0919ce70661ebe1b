"""Calls between functions: what is certain, what is unknown, and what a text refutes."""

from pathlib import Path

import pytest

from scylla_gha.readiness.code_index import build_index
from scylla_gha.readiness.refutation import refutes
from scylla_gha.readiness.source_code import CodeIndex
from tests.support.repository import write_tree

PYTHON = {
    "src/shop/__init__.py": "from .store import Store as Shelf\nfrom shop.text import *\n",
    "src/shop/store.py": (
        "import shop.text\nfrom . import text as words\nfrom .text import clean as tidy\n"
        "class Base:\n    def load(self): pass\n    def close(self): return self.load()\n"
        "class Store(Base):\n    def __init__(self, log): self.log = log\n    def save(self, row):\n"
        "        super().close()\n        self.load()\n        self.log(row)\n        return tidy(words.upper(row))\n"
        "    @classmethod\n    def opened(cls) -> 'Store': return cls(None)\n"
        "    def __len__(self): return 0\n    def absolute(self): return shop.text.upper('a')\n"
    ),
    "src/shop/text.py": "def clean(text): return text.strip()\ndef upper(text): return text.upper()\n_shout = upper\n",
    "src/shop/app.py": (
        "import os\nfrom typing import Optional\nfrom shop import Shelf, clean\nimport shop.store as stores\n"
        "def run(shelf: Optional[Shelf], path):\n    shelf.save(1)\n    clean('')\n    os.remove(path)\n    len(path)\n"
        "def build():\n    store = stores.Store(print)\n    store.save(2)\n    return store\n"
        "def chain(): return stores.Store.opened().save(3)\n"
        "def outer(save):\n    def inner(): return build()\n    save()\n    inner()\n    (lambda: run(None, ''))()\n"
        "class Till:\n    def __init__(self, shelf: Shelf):\n        self.shelf = shelf\n"
        "    def sell(self, thing):\n        self.shelf.save(thing)\n        thing.save()\n"
        "        thing.sell_by_weight()\n"
        "    def sell_by_weight(self): return getattr(self, 'x')()\n"
    ),
    "tests/test_app.py": "from shop.app import run\nclass Store:\n    def save(self): run(1, 2)\n",
}  # fmt: skip
SCRIPT = {
    "src/index.ts": 'export { Store as Shelf } from "./store.js";\nexport * from "./text";\n'
    'export { default as boot } from "./boot";\n',
    "src/text.ts": "export const clean = (text: string): string => text.trim();\n"
    "export function upper(t: string) { return t }\n",
    "src/store.ts": (
        'import * as words from "./text";\nimport { clean as tidy } from "./text";\n'
        "export class Base { load() { return 1 } }\n"
        "export class Store extends Base {\n  go = () => { this.load(); };\n"
        "  constructor(private log: Log) { super(); }\n"
        "  save(row: string) { super.load(); this.log.put(row); return tidy(words.upper(row)); }\n}\n"
        "export class Log { put(x: string) { return x } }\n"
    ),
    "src/boot.ts": (
        'import { Shelf, clean } from "./index";\nimport legacy, { old } from "./legacy.cjs";\n'
        "export default function (shelf: Shelf | null) { shelf?.save(''); clean(''); legacy(); old(); fetch('') }\n"
        "export async function start() { const s = await opened(); s.save('x'); [1].map((n) => clean(n)); }\n"
        "export async function opened(): Promise<Shelf> { return new Shelf(null) }\n"
    ),
    "src/legacy.cjs": "function boot() {}\nmodule.exports = boot;\nmodule.exports.old = function () { boot() };\n",
}  # fmt: skip


def index_of(root: Path, files: dict[str, str]) -> CodeIndex:
    write_tree(root, files)
    return build_index(root)


def edges(index: CodeIndex, certainty: str) -> set[str]:
    shown = (f"{edge.caller} -> {edge.callee}" for edge in index.edges if edge.certainty == certainty)
    return {edge.replace("src/shop/", "").replace("src/", "") for edge in shown}


def test_certain_calls_of_python(tmp_path: Path) -> None:
    assert edges(index_of(tmp_path, PYTHON), "certain") == {
        "store.py::Base.close -> store.py::Base.load",
        "store.py::Store.save -> store.py::Base.close",
        "store.py::Store.save -> store.py::Base.load",
        "store.py::Store.save -> text.py::clean",
        "store.py::Store.save -> text.py::upper",
        "store.py::Store.absolute -> text.py::upper",
        "store.py::Store.opened -> store.py::Store.__init__",
        "app.py::run -> store.py::Store.save",
        "app.py::run -> text.py::clean",
        "app.py::build -> store.py::Store.__init__",
        "app.py::build -> store.py::Store.save",
        "app.py::chain -> store.py::Store.opened",
        "app.py::chain -> store.py::Store.save",
        "app.py::outer -> app.py::outer.inner",
        "app.py::outer -> app.py::run",
        "app.py::outer.inner -> app.py::build",
        "app.py::Till.sell -> store.py::Store.save",
        "app.py::Till.sell -> app.py::Till.sell_by_weight",
        "tests/test_app.py::Store.save -> app.py::run",
    }


def test_certain_calls_of_typescript(tmp_path: Path) -> None:
    assert edges(index_of(tmp_path, SCRIPT), "certain") == {
        "store.ts::Store.go -> store.ts::Base.load",
        "store.ts::Store.save -> store.ts::Base.load",
        "store.ts::Store.save -> store.ts::Log.put",
        "store.ts::Store.save -> text.ts::clean",
        "store.ts::Store.save -> text.ts::upper",
        "boot.ts::default -> store.ts::Store.save",
        "boot.ts::default -> text.ts::clean",
        "boot.ts::default -> legacy.cjs::boot",
        "boot.ts::default -> legacy.cjs::old",
        "boot.ts::start -> boot.ts::opened",
        "boot.ts::start -> store.ts::Store.save",
        "boot.ts::start -> text.ts::clean",
        "boot.ts::opened -> store.ts::Store.constructor",
        "legacy.cjs::old -> legacy.cjs::boot",
    }


def test_a_method_that_subclasses_redefine_is_unknown(tmp_path: Path) -> None:
    code = "class A:\n    def m(self): pass\n    def f(self): self.m()\nclass B(A):\n    def m(self): super().m()\n"
    index = index_of(tmp_path, {"a.py": code})
    assert edges(index, "certain") == {"a.py::B.m -> a.py::A.m"}
    assert edges(index, "unknown") == {"a.py::A.f -> a.py::A.m", "a.py::A.f -> a.py::B.m"}


@pytest.mark.parametrize(
    ("caller", "callee", "refuted"),
    [
        ("build", "run", True),
        ("build", "Till.sell", True),
        ("run", "build", True),
        ("Till.sell", "run", True),
        ("nothing", "run", True),
        ("run", "no_such", True),
        ("outer", "Till.sell", False),  # it calls its parameter
        ("Till.sell_by_weight", "run", False),  # getattr
        ("build", "Till.__init__", True),
        ("run", "Till.__init__", True),
    ],
)
def test_a_call_is_refuted_if_no_name_of_the_callee_occurs(
    caller: str, callee: str, refuted: bool, tmp_path: Path
) -> None:
    index = index_of(tmp_path, PYTHON)
    app = "src/shop/app.py::"
    assert refutes(index, app + caller, app + callee) is refuted


def test_an_alias_of_the_callee_refutes_nothing(tmp_path: Path) -> None:
    index = index_of(tmp_path, PYTHON)
    assert not refutes(index, "src/shop/store.py::Store.save", "src/shop/text.py::clean")
    assert not refutes(index, "src/shop/app.py::build", "src/shop/store.py::Store.__init__")
    assert not refutes(index, "src/shop/app.py::run", "src/shop/store.py::Store.__len__")


def test_calls_without_the_name_of_what_runs_refute_nothing(tmp_path: Path) -> None:
    code = (
        "def run(): pass\ndef dress(f):\n    def callback(): return f()\n    return callback\n"
        "class A:\n    def field(self): self.callback()\n    def method(self): self.field()\n"
        "def decorates():\n    @dress\n    def inner(): pass\n"
        "def element(rows): rows[0]()\ndef result(): dress(1)()\n"
    )
    index = index_of(tmp_path, {"a.py": code})
    callers = {name for name in ("A.field", "A.method", "decorates", "element", "result") if not refutes(
        index, f"a.py::{name}", "a.py::run")}  # fmt: skip
    assert callers == {"A.field", "decorates", "element", "result"}


def test_no_certain_call_is_refuted(tmp_path: Path) -> None:
    for files in (PYTHON, SCRIPT):
        index = index_of(tmp_path / str(len(files)), files)
        assert [edge for edge in index.edges if refutes(index, edge.caller, edge.callee)] == []
