from dataclasses import replace
from pathlib import Path

import pytest
import yaml

from scylla_gha.adoption.mining import candidates, shortened, task_of
from scylla_gha.adoption.repository import Checkout, checkout_of
from scylla_gha.adoption.task import Task
from tests.support.adopters import DISCOUNT, commit, empty, till, words
from tests.support.git import shell


def first(root: Path) -> tuple[Checkout, Task]:
    checkout = checkout_of(root)
    task = task_of(checkout, next(candidates(checkout, ())), "till", {"click": "8.1.0"})
    assert task is not None
    return checkout, task


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
    assert dict(task.python) == {"click": "8.1.0", "pytest": "9.2.0"}
    assert [check.guard for check in task.checks] == [False, True]


def test_tests_beside_those_of_the_change_guard_and_only_some(tmp_path: Path) -> None:
    root = empty(tmp_path / "till")
    many = {f"tests/test_{number:02d}.py": "" for number in range(30)}
    commit(root, "One", {"a.py": "x = 1\n", "tests/deep/test_b.py": "", **many})
    commit(root, "Two", {"a.py": "x = 2\n", "tests/test_a.py": "def test_a(): ...\n"})
    _, task = first(root)
    hidden = {file.path: file.content.decode().splitlines() for file in task.hidden if file.path.endswith(".txt")}
    assert hidden["kept-tests.txt"] == [f"tests/test_{number:02d}.py" for number in range(20)]
    assert len(hidden["kept.txt"]) == 31


def test_a_repository_without_code_and_tests_has_none(tmp_path: Path) -> None:
    assert list(candidates(checkout_of(words(tmp_path / "words")), ())) == []


@pytest.mark.parametrize("message", ["Merge branch x", 'Revert "a"', "wip", "Release 1.2", "bump x"])
def test_commits_that_say_nothing_are_passed_over(tmp_path: Path, message: str) -> None:
    root = till(tmp_path / "till")
    commit(root, message, {"src/till/money.py": "x = 1\n", "tests/test_x.py": "def test_x(): ...\n"})
    assert {each.commit.message.partition("\n")[0] for each in candidates(checkout_of(root), ())} == {
        "feat: a discount in percent (#12)",
    }  # fmt: skip


def test_names_that_a_shell_would_read_otherwise_are_passed_over(tmp_path: Path) -> None:
    root = empty(tmp_path / "till")
    commit(root, "One", {"a.py": "x = 1\n"})
    commit(root, "Two", {"a.py": "x = 2\n", "tests/test_a.py": "", "tests/a file.txt": ""})
    assert list(candidates(checkout_of(root), ())) == []


def test_our_own_folders_are_part_of_no_task(tmp_path: Path) -> None:
    root = empty(tmp_path / "till")
    commit(root, "One", {"a.py": "x = 1\n", "fixtures/till/a.py": "x = 1\n"})
    commit(root, "Two", {"a.py": "x = 2\n", "fixtures/till/tests/test_a.py": "def test_a(): ...\n"})
    assert list(candidates(checkout_of(root), ("fixtures/till/",))) == []
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
    checkout = checkout_of(root)
    (candidate,) = candidates(checkout, ())
    assert task_of(checkout, candidate, "till", {}) is None, "there is nowhere to fetch it from"
    shell(root, f"git remote add origin {origin}")
    task = task_of(checkout, candidate, "till", {})
    assert task is not None
    assert (task.start.files, task.start.repo, task.start.commit) == ((), address, begin)


def test_a_solution_that_is_too_long_is_no_task(tmp_path: Path) -> None:
    root = empty(tmp_path / "till")
    commit(root, "One", {"a.py": "x = 1\n"})
    commit(root, "Two", {"a.py": "x = 1\n" * 900, "tests/test_a.py": "def test_a(): ...\n"})
    checkout = checkout_of(root)
    assert task_of(checkout, next(candidates(checkout, ())), "till", {}) is None


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
    checkout = checkout_of(till(tmp_path / "till"))
    candidate = next(candidates(checkout, ()))
    task = task_of(checkout, replace(candidate, commit=replace(candidate.commit, message=subject)), "till", {})
    assert task is not None
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
    (candidate,) = candidates(checkout_of(root), ())
    task = task_of(checkout_of(root), candidate, "till", {})
    assert task is not None
    assert (task.title, task.prompt) == (title, f"{title}\n")


def test_a_long_line_is_cut_between_words() -> None:
    assert shortened("one two three four", 13) == "one two ..."
    assert shortened("one two", 13) == "one two"
    assert shortened("x" * 20, 13) == "x" * 13
