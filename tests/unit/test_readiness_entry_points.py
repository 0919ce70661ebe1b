"""Ends of chains: what tests and users call, and what writes, sends or executes."""

from pathlib import Path

from scylla_gha.readiness.code_index import build_index
from scylla_gha.readiness.entry_points import entries, sinks
from tests.support.repository import write_tree

FILES = {
    "shop/cli.py": (
        "import click, subprocess as sp\nfrom shutil import move\nfrom .store import Store, add\n"
        "@click.command()\ndef sell(): add(1)\ndef prune(args): sp.run(['x'])\ndef main(): add(2)\n"
        "def moved(): move('a', 'b')\ndef note():\n    with open('a', 'w') as file: pass\n"
        "def read():\n    with open('a', 'r') as file: file.touch()\n"
        "parser.set_defaults(func=prune)\n"
    ),
    "shop/web.py": "@app.get('/')\nasync def home(): return requests.post('x')\n",
    "shop/store.py": (
        "def add(row): return Store().execute(row)\nclass Store:\n    def execute(self, row): pass\n"
        "    def save(self, path): path.write_text('')\n"
    ),
    "tests/test_store.py": "from shop.store import Store\ndef test_save(): Store().save(1)\n",
    "web/server.js": (
        'const fs = require("node:fs");\nimport { fetch as get } from "undici";\n'
        'app.get("/x", guard, list);\nfunction list(req, res) { res.status(200).send(load()) }\nfunction guard() {}\n'
        'export function load() { return fs.promises.writeFile("a", "b") }\n'
    ),
    "web/server.test.js": 'import { load } from "./server.js";\ntest("loads", () => { load() });\n',
}  # fmt: skip


def test_chains_begin_where_tests_and_users_call(tmp_path: Path) -> None:
    write_tree(tmp_path, FILES)
    assert entries(build_index(tmp_path)) == {
        "shop/cli.py::main": "main",
        "shop/cli.py::prune": "command",
        "shop/cli.py::sell": "command",
        "shop/store.py::Store.save": "test",
        "shop/web.py::home": "route",
        "web/server.js::list": "route",
        "web/server.js::load": "test",
    }


def test_chains_end_where_something_is_written_sent_or_executed(tmp_path: Path) -> None:
    write_tree(tmp_path, FILES)
    assert sinks(build_index(tmp_path)) == {
        "shop/cli.py::moved": "writes",
        "shop/cli.py::note": "writes",
        "shop/cli.py::prune": "executes",
        "shop/store.py::Store.save": "writes",
        "shop/web.py::home": "sends",
        "web/server.js::list": "sends",
        "web/server.js::load": "writes",
    }
