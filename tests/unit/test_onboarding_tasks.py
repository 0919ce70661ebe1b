import re
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest
import yaml

from scylla_gha.errors import ToolError
from scylla_gha.mining.languages import NODE, PYTEST, SAFE_NAME, RunnerProgram, is_code, is_test
from scylla_gha.mining.project_tests import ProjectStates
from scylla_gha.mining.python_requirements import pinned
from scylla_gha.mining.repository import RepositoryCheckout, checkout_of
from scylla_gha.model.sandbox import Tools
from scylla_gha.onboarding.scaffold import ScaffoldFile, ScaffoldTask, new_file
from scylla_gha.onboarding.task_from_history import Candidate, candidates, shortened, task_of
from scylla_gha.onboarding.wrong_solutions import wrong_solutions
from tests.support.adopters import DISCOUNT, commit, empty, till, words
from tests.support.commits import task_from, usable
from tests.support.git import shell


def first(root: Path) -> tuple[RepositoryCheckout, ScaffoldTask]:
    return checkout_of(root), task_from(root, usable(root)[0], Tools(python={"click": "8.1.0"}))


def test_a_commit_becomes_start_solution_and_hidden_tests(tmp_path: Path) -> None:
    _, task = first(till(tmp_path / "till"))
    assert (task.id, task.title, task.category) == (
        "101-a-discount-in-percent",
        "A discount in percent",
        "new_features",
    )
    assert task.prompt == "A discount in percent\n\nNo item of 1 or less gets it.\n"
    assert b"test_discount" not in task.solution
    assert b"src/till/money.py" in task.solution
    assert "tests/test_discount.py" not in {file.path for file in task.start.files}
    hidden = {file.path: file.content for file in task.hidden}
    assert hidden["hidden.txt"] == b"tests/test_discount.py\n"
    assert hidden["kept.txt"] == b"tests/conftest.py\ntests/test_money.py\n"
    assert hidden["kept-tests.txt"] == b"tests/test_money.py\n"
    assert b"def test_discount" in hidden["tests/tests/test_discount.py"]
    assert task.tools == Tools(python={"click": "8.1.0"})
    assert [check.guard for check in task.checks] == [False, True]


def test_tests_beside_those_of_the_change_guard_and_only_some(tmp_path: Path) -> None:
    root = empty(tmp_path / "till")
    many = {f"tests/test_{number:02d}.py": "" for number in range(30)}
    commit(root, "One", {"a.py": "x = 1\n", "tests/deep/test_b.py": "", **many})
    commit(root, "Two", {"a.py": "x = 2\n", "tests/test_a.py": "def test_a(): ...\n"})
    _, task = first(root)
    hidden = {file.path: file.content.decode().splitlines() for file in task.hidden if file.path.endswith(".txt")}
    assert hidden["kept-tests.txt"] == [f"tests/test_{number:02d}.py" for number in range(8)]
    assert len(hidden["kept.txt"]) == 31


def test_a_repository_without_code_and_tests_has_none(tmp_path: Path) -> None:
    assert usable(words(tmp_path / "words")) == []


@pytest.mark.parametrize("message", ["Merge branch x", 'Revert "a"', "wip", "Release 1.2", "bump x"])
def test_commits_that_say_nothing_are_passed_over(tmp_path: Path, message: str) -> None:
    root = till(tmp_path / "till")
    commit(root, message, {"src/till/money.py": "x = 1\n", "tests/test_x.py": "def test_x(): ...\n"})
    assert {each.commit.message.partition("\n")[0] for each in usable(root)} == {
        "feat: a discount in percent (#12)",
    }  # fmt: skip


def test_names_that_a_shell_would_read_otherwise_are_passed_over(tmp_path: Path) -> None:
    root = empty(tmp_path / "till")
    commit(root, "One", {"a.py": "x = 1\n"})
    commit(root, "Two", {"a.py": "x = 2\n", "tests/test_a.py": "", "tests/a file.txt": ""})
    assert usable(root) == []


def test_our_own_folders_are_part_of_no_task(tmp_path: Path) -> None:
    root = empty(tmp_path / "till")
    commit(root, "One", {"a.py": "x = 1\n", "fixtures/till/a.py": "x = 1\n"})
    commit(root, "Two", {"a.py": "x = 2\n", "fixtures/till/tests/test_a.py": "def test_a(): ...\n"})
    commits = candidates(ProjectStates(checkout_of(root)), ("fixtures/till/",))
    assert [commit for commit in commits if isinstance(commit, Candidate)] == []
    _, task = first(root)
    assert {file.path for file in task.start.files} == {"a.py"}


@pytest.mark.parametrize(
    ("origin", "address"),
    [
        ("git@github.com:octo-org/app.git", "https://github.com/octo-org/app"),
        ("ssh://git@github.com/octo-org/app", "https://github.com/octo-org/app"),
        ("https://me:ghp_secret@github.com/octo-org/app.git", "https://github.com/octo-org/app.git"),
        ("https://github.com/octo-org/app", "https://github.com/octo-org/app"),
    ],
)
def test_a_large_start_is_fetched_from_an_address_without_a_password(tmp_path: Path, origin: str, address: str) -> None:
    root = empty(tmp_path / "till")
    begin = commit(root, "One", {"a.py": "x = 1\n", "data.bin": bytes(5_000_001)})
    commit(root, "Two", {"a.py": "x = 2\n", "tests/test_a.py": "def test_a(): ...\n"})
    (candidate,) = usable(root)
    assert task_of(checkout_of(root), candidate, "till", Tools()) == (
        "the repository is too large to be copied, and has no remote `origin` to fetch it from"
    )
    shell(root, f"git remote add origin {origin}")
    task = task_from(root, candidate)
    assert (task.start.files, task.start.repo, task.start.commit) == ((), address, begin)


def test_a_solution_that_is_too_long_is_no_task(tmp_path: Path) -> None:
    root = empty(tmp_path / "till")
    commit(root, "One", {"a.py": "x = 1\n"})
    commit(root, "Two", {"a.py": "x = 1\n" * 900, "tests/test_a.py": "def test_a(): ...\n"})
    assert task_of(checkout_of(root), usable(root)[0], "till", Tools()) == "its patch has more than 800 lines"


@pytest.mark.parametrize(
    ("subject", "name", "category"),
    [
        ("fix(core)!: rounding of halves (#4)", "101-core-rounding-of-halves", "bug_fixing"),
        ("Fix the rounding of halves", "101-fix-the-rounding-of-halves", "bug_fixing"),
        ("Speed up", "101-speed-up", "optimization"),
        ("Übergröße", "101-bergr-e", "new_features"),
        ("!!!", "101-change", "new_features"),
        (
            "A very long subject that goes on and on and on",
            "101-a-very-long-subject-that-goes-on-and-on",
            "new_features",
        ),
    ],
)
def test_names_and_kinds_come_from_the_subject(tmp_path: Path, subject: str, name: str, category: str) -> None:
    root = till(tmp_path / "till")
    candidate = usable(root)[0]
    task = task_from(root, replace(candidate, commit=replace(candidate.commit, message=subject)))
    assert (task.id, task.category) == (name, category)
    assert yaml.safe_load(f"id: {task.id}")


@pytest.mark.parametrize(
    ("message", "title"),
    [
        ("feat: a discount in percent (#12)", "A discount in percent"),
        ("fix(parser): keep the last line", "Parser: keep the last line"),
        ("till: round half up", "Till: round half up"),
        ("Follow-up: handle empty carts\n\nSigned-off-by: Ada <a@b.c>", "Follow-up: handle empty carts"),
        ("Fix: no item of 1 is free", "Fix: no item of 1 is free"),
    ],
)
def test_title_and_prompt_keep_the_words_of_the_subject(tmp_path: Path, message: str, title: str) -> None:
    root = till(tmp_path / "till")
    shell(root, "git reset -q --hard HEAD~2")
    commit(root, message, DISCOUNT)
    (candidate,) = usable(root)
    task = task_from(root, candidate)
    assert (task.title, task.prompt) == (title, f"{title}\n")


def test_a_long_line_is_cut_between_words() -> None:
    assert shortened("one two three four", 13) == "one two ..."
    assert shortened("one two", 13) == "one two"
    assert shortened("x" * 20, 13) == "x" * 13


@pytest.mark.parametrize(
    ("runner", "paths", "kinds"),
    [
        (PYTEST, ("tests/test_a.py", "test_a.py", "pkg/a_test.py"), {"test", "run"}),
        (
            NODE,
            ("a.test.js", "lib/a.spec.mjs", "test/a.js", "lib/__tests__/a.cjs", "test.js", "test-a.js"),
            {"test", "run"},
        ),
        (PYTEST, ("tests/conftest.py", "conftest.py", "tests/data/a.json", "spec/a.rb"), {"test"}),
        (PYTEST, ("src/attest.py",), {"code"}),
        (NODE, ("contest.js",), {"code"}),
        (PYTEST, ("README.md", "a.js"), set()),
    ],
)
def test_tests_and_code_of_a_language_are_known_by_name_or_folder(
    runner: RunnerProgram, paths: tuple[str, ...], kinds: set[str]
) -> None:
    for path in paths:
        facts = {"run": runner.default_files.match(path), "test": is_test(path), "code": is_code(path, runner)}
        assert {kind for kind, holds in facts.items() if holds} == kinds, path


@pytest.mark.parametrize("name", ["a b.py", "-rf", "it's", "a\nb", "$(x)", 'a"b'])
def test_names_that_a_shell_would_read_otherwise_are_not_safe(name: str) -> None:
    assert not SAFE_NAME.fullmatch(name)


PATCH = b"""\
diff --git a/a.py b/a.py
--- a/a.py
+++ b/a.py
@@ -1 +1,2 @@
-x = 0
+if x == 1 and y < 2:
+    return x + y
@@ -9 +10 @@
-old
+new
diff --git a/notes.md b/notes.md
new file mode 100644
--- /dev/null
+++ b/notes.md
@@ -0,0 +1 @@
+A == B
"""


def made(most: int = 99, patch: bytes = PATCH) -> dict[str, bytes]:
    return wrong_solutions(patch, most, lambda path: is_code(path, PYTEST))


def test_each_part_is_left_out_once() -> None:
    found = made()
    assert b"+new" not in found["part-2-left-out"]
    assert b"+if x" in found["part-2-left-out"]
    assert b"notes.md" not in found["part-3-left-out"], "a file whose only part is left out is no part of the patch"
    assert found["part-1-left-out"].count(b"diff --git") == 2


def test_one_line_is_turned_and_lengths_of_parts_stay() -> None:
    found = made()
    assert b"+if x != 1 and y < 2:" in found["equal-turned"]
    assert b"+if x == 1 or y < 2:" in found["and-turned"]
    assert b"+if x == 1 and y >= 2:" in found["less-turned"]
    assert b"+    return x - y" in found["plus-turned"]
    assert b"+    return 0" in found["result-lost"]
    turned = [patch for name, patch in found.items() if "part" not in name]
    assert all(patch.count(b"\n") == PATCH.count(b"\n") for patch in turned)


def test_only_code_that_was_added_is_turned() -> None:
    for patch in made().values():
        if b"notes.md" in patch:
            assert b"+A == B" in patch
        assert not re.search(rb"^-x = (?!0$)", patch, re.MULTILINE)


def test_there_are_at_most_so_many_and_none_is_the_right_one() -> None:
    assert len(made(3)) == 3
    one = b"diff --git a/a.py b/a.py\n--- a/a.py\n+++ b/a.py\n@@ -1 +1 @@\n-a\n+b\n"
    assert made(patch=one) == {}, "with its only part left out nothing is left, and there is nothing to turn"


def wrong_of(*lines: str, file: str = "a.py") -> dict[str, str]:
    body = "".join(f"{line}\n" for line in lines)
    head = f"diff --git a/{file} b/{file}\n--- a/{file}\n+++ b/{file}\n"
    patch = f"{head}@@ -1,{sum(line[0] != '+' for line in lines)} +1,{sum(line[0] != '-' for line in lines)} @@\n{body}"
    wrong = wrong_solutions(patch.encode(), 99, lambda _: True)
    return {name: text.decode().partition("@@\n")[2] for name, text in wrong.items()}


def test_a_fix_of_one_line_has_wrong_solutions() -> None:
    found = wrong_of(
        " def set(self, key):", "-    if self.cache.get(key):", "+    if key in self.cache:", "         return 1"
    )
    assert found["condition-negated"].splitlines()[2] == "+    if not (key in self.cache):"
    assert found["condition-true"].splitlines()[2] == "+    if True:"
    assert found["condition-false"].splitlines()[2] == "+    if False:"


def test_an_added_line_without_its_effect_is_wrong() -> None:
    assert wrong_of("+    self.cache[key] = value")["effect-lost"] == "+    pass\n"
    assert wrong_of("+  cache.set(key, 1)", file="a.ts")["effect-lost"] == "+  ;\n"
    assert wrong_of("+\tc.set(key, 1)", file="a.go")["effect-lost"] == "+\t\n"
    assert "effect-lost" not in wrong_of("+    self.open(key,", "+        value)")


@pytest.mark.parametrize(
    ("file", "line", "negated"),
    [
        ("a.js", "} else if (a) {", "} else if (!(a)) {"),
        ("a.js", "if (a) return fn(b)", None),
        ("a.py", "return all(x for x in xs if (x > 0))", None),
        ("a.go", "if a == b {", "if !(a == b) {"),
        ("a.go", "if err := f(); err != nil {", None),
        ("a.go", "for _, x := range xs {", None),
    ],
)
def test_a_negated_condition_is_code_of_its_language(file: str, line: str, negated: str | None) -> None:
    assert wrong_of(f"+{line}", file=file).get("condition-negated") == (negated and f"+{negated}\n")


def test_what_only_deletes_is_wrong_if_a_line_beside_it_is_changed_as_well() -> None:
    found = wrong_of(" if a == b:", "-    return a", " return b")
    assert found["beside-condition-negated"] == "-if a == b:\n+if not (a == b):\n-    return a\n return b\n"


def test_versions_fit_one_another() -> None:
    found = pinned(("click<8.2",), ("click>=8.1",))
    assert found["click"].startswith("8.1.")


def test_what_cannot_be_found_is_named() -> None:
    with pytest.raises(ToolError, match="no versions of click<8 are compatible"):
        pinned(("click<8",), ("click>=8",))


def test_a_file_lies_in_a_folder() -> None:
    assert ScaffoldFile("a/b", b"x", "100755").within("c") == ScaffoldFile("c/a/b", b"x", "100755")


def test_a_new_file_is_a_patch_that_git_applies(tmp_path: Path) -> None:
    subprocess.run(["git", "apply", "-"], cwd=tmp_path, input=new_file("list.md", "- a\n- b\n"), check=True)
    assert (tmp_path / "list.md").read_text() == "- a\n- b\n"
