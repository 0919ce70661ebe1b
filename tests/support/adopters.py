"""Repositories of teams that begin with the toolkit."""

from pathlib import Path

from tests.support.git import shell
from tests.support.repository import Files, write_tree

TOOLKIT = "octo-org/scylla-gha@" + "ab" * 20

MONEY: Files = {
    "README.md": "# till\n",
    "src/till/__init__.py": "",
    "src/till/money.py": "def total(prices):\n    return sum(prices)\n",
    "tests/test_money.py": "from till.money import total\n\n\ndef test_total():\n    assert total([1, 2]) == 3\n",
    "tests/conftest.py": "",
}
DISCOUNT: Files = {
    "src/till/money.py": """\
def total(prices, discount=0):
    summed = 0
    for price in prices:
        if price > 1:
            price = price - price * discount / 100
        summed += price
    return summed
""",
    "tests/test_discount.py": """\
from till.money import total


def test_discount():
    assert total([1, 2, 10], discount=50) == 7
""",
}
SLUGS: Files = {
    "lib/slug.js": """\
export const slug = (text) => {
  const low = text.trim().toLowerCase();
  return low.length > 20 ? low.slice(0, 20) : low.replaceAll(" ", "-");
};
""",
    "test/slug.test.js": """\
import assert from "node:assert";
import test from "node:test";
import { slug } from "../lib/slug.js";

test("slug", () => {
  assert.equal(slug(" A B "), "a-b");
  assert.equal(slug("x".repeat(30)).length, 20);
});
""",
}


def commit(root: Path, message: str, files: Files) -> str:
    """Write the files, commit all, and tell the commit."""
    write_tree(root, files)
    (root / ".git" / "message").write_text(message)
    return shell(root, "git add --all && git commit -q -F .git/message && git rev-parse HEAD")


def empty(root: Path) -> Path:
    """A repository in which nothing was committed."""
    root.mkdir(parents=True)
    shell(root, "git init -q")
    return root


def till(root: Path) -> Path:
    """A Python package whose second commit brought code and its tests; the third has neither."""
    commit(empty(root), "Begin", MONEY)
    message = (
        "feat: a discount in percent (#12)\n\nNo item of 1 or less gets it.\n\nSigned-off-by: Ada <ada@example.com>\n"
    )
    commit(root, message, DISCOUNT)
    commit(root, "docs: more words", {"README.md": "# till\n\nMore words.\n"})
    return root


def web(root: Path) -> Path:
    """A JavaScript package, tested by node's own runner."""
    begin: Files = {
        "package.json": '{"name": "web", "type": "module"}\n',
        "lib/slug.js": "export const slug = (x) => x;\n",
    }
    commit(empty(root), "Begin", begin)
    commit(root, "Slugs are trimmed and short", SLUGS)
    return root


def words(root: Path) -> Path:
    """A repository in a language whose tests nobody knows how to run."""
    files: Files = {
        "README.md": "# words\n",
        "main.f90": "program words\nend program\n",
        "docs/a b.md": "a\n",
        ".hidden": "h\n",
    }
    commit(empty(root), "Begin", files)
    return root
