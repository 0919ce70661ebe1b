from collections.abc import Callable
from pathlib import Path

from scylla_gha.errors import FixtureError
from scylla_gha.mining.project_tests import ProjectStates
from scylla_gha.mining.repository import checkout_of
from scylla_gha.onboarding.find_tasks import TaskTrial, Tried, example, find_tasks
from scylla_gha.onboarding.scaffold import ScaffoldTask
from tests.support.adopters import commit, empty, till, web, words
from tests.support.commits import task_from, usable
from tests.support.git import shell
from tests.support.repository import write_tree


def tried(task: ScaffoldTask, *, nop: str | None = None, passing: tuple[str, ...] = ()) -> Tried:
    wrong = tuple((f"wrong/{name}", name in passing, "passes" if name in passing else None) for name in task.wrong)
    return (("nop", False, nop), ("solution", True, None), *wrong)


def find_task(
    root: Path, prove: Callable[[ScaffoldTask], Tried] = tried, *, wanted: int = 1, seconds: float = 600.0
) -> tuple[ScaffoldTask, list[str]]:
    """Return the only task of a repository, and the lines of progress."""
    lines: list[str] = []
    trial = TaskTrial(prove, lines.append, seconds)
    (task,) = find_tasks(ProjectStates(checkout_of(root)), root.name, trial, wanted)
    return task, lines


def test_the_first_candidate_that_holds_is_taken_with_two_wrong_ones(tmp_path: Path) -> None:
    task, said = find_task(web(tmp_path / "web"))
    assert task.id == "101-slugs-are-trimmed-and-short"
    assert len(task.wrong) == 2
    assert said[1:] == ["  accepted (1 of 1): 101-slugs-are-trimmed-and-short"]


def test_wrong_ones_that_pass_are_not_kept(tmp_path: Path) -> None:
    root = web(tmp_path / "web")
    first = next(iter(find_task(root)[0].wrong))
    assert first not in find_task(root, lambda task: tried(task, passing=(first,)))[0].wrong


def test_further_wrong_ones_are_tried_only_where_the_first_two_do_not_suffice(tmp_path: Path) -> None:
    asked: list[int] = []

    def prove(task: ScaffoldTask) -> Tried:
        asked.append(len(task.wrong))
        return tried(task)

    root = web(tmp_path / "web")
    passing = next(iter(find_task(root, prove)[0].wrong))
    assert asked == [0, 2]
    asked.clear()
    again, _ = find_task(root, lambda task: tried(task, passing=(passing,)) if prove(task) else ())
    assert len(again.wrong) == 2
    assert asked[:2] == [0, 2]
    assert asked[2] > 0


def test_guards_are_given_up_before_the_candidate(tmp_path: Path) -> None:
    def prove(task: ScaffoldTask) -> Tried:
        return tried(task, nop="these guards do not hold" if any(check.guard for check in task.checks) else None)

    task, _ = find_task(till(tmp_path / "till"), prove)
    assert [check.id for check in task.checks] == ["hidden-tests"]


def test_the_example_is_what_is_left(tmp_path: Path) -> None:
    def fails(_: ScaffoldTask) -> Tried:
        raise FixtureError("cannot fetch")

    root = web(tmp_path / "web")
    task, said = find_task(root, fails)
    assert task.id == "101-list-the-files"
    assert "  its tests cannot be run: cannot fetch" in said
    task, said = find_task(root, lambda task: tried(task, passing=tuple(task.wrong)))
    assert task.id == "101-list-the-files"
    assert said[-2:] == [
        "0 of 1 task found in 1 commit; not used:",
        "  1 commit: its tests refuse 0 of 4 wrong solutions; 2 are needed",
    ]


def test_there_is_an_end_to_trying(tmp_path: Path) -> None:
    task, said = find_task(web(tmp_path / "web"), seconds=-1.0)
    assert task.id == "101-list-the-files"
    assert said[:1] == ["no more commits are tried: the search has taken more than -1 s"]


def test_without_a_look_at_the_history_nothing_is_tried(tmp_path: Path) -> None:
    task, said = find_task(web(tmp_path / "web"), wanted=0)
    assert (task.id, said) == ("101-list-the-files", [])
    assert find_task(empty(tmp_path / "a"))[0].id == task.id


def test_an_empty_repository_gets_files_that_are_made_up(tmp_path: Path) -> None:
    task = example(checkout_of(empty(tmp_path / "a")), ())
    assert [file.path for file in task.start.files] == ["README.md", "notes/first.txt", "notes/second.txt"]
    assert "made-up files" in task.origin


def test_small_plain_text_files_are_taken_those_at_the_top_first(tmp_path: Path) -> None:
    root = words(tmp_path / "a")
    (root / "here").symlink_to("README.md")
    more = {f"docs/{number:02d}.md": "x\n" for number in range(20)}
    commit(
        root, "More", {"data.bin": b"a\0b", "large.txt": "x" * 9000, "FILE-LIST.md": "x\n", "ours/a.md": "x\n", **more}
    )
    task = example(checkout_of(root), ("ours/",))
    names = [file.path for file in task.start.files]
    assert names[:3] == ["README.md", "main.f90", "docs/00.md"]
    assert len(names) == 12


def test_solution_and_wrong_ones_list_the_files(tmp_path: Path) -> None:
    task = example(checkout_of(words(tmp_path / "a")), ())
    assert task.solution.endswith(b"+- README.md\n+- main.f90\n")
    assert task.wrong["last-one-missing"].endswith(b"@@\n+- README.md\n")
    assert task.wrong["not-sorted"].endswith(b"+- main.f90\n+- README.md\n")


def test_a_shallow_clone_is_told_how_to_get_the_older_commits(tmp_path: Path) -> None:
    web(tmp_path / "web")
    shell(tmp_path, f"git clone -q --depth 1 file://{tmp_path}/web shallow")
    _, said = find_task(tmp_path / "shallow")
    assert said == [
        "0 of 1 task found in 0 commits",
        "this clone is shallow: to try older commits, run `git fetch --unshallow`, then init again",
    ]


def test_a_fix_that_loses_the_change_before_is_a_wrong_solution(tmp_path: Path) -> None:
    root = till(tmp_path / "till")
    code = "src/till/money.py"
    first = "RATE = 1\n\n\n\n\ndef total(prices):\n    return sum(prices)\n"
    commit(root, "Move", {code: first})
    earlier = first.replace("RATE = 1", "RATE = 2")
    commit(root, "Double the rate", {code: earlier})
    test = {"tests/test_zero.py": "from till.money import total\n\n\ndef test_zero():\n    assert total(None) == 0\n"}
    commit(root, "Fix totals of nothing", {code: earlier.replace("sum(prices)", "sum(prices or [])"), **test})
    before = shell(root, "git count-objects")
    task = task_from(root, usable(root)[0])
    wrong = task.wrong["earlier-change-lost"].decode()
    assert "+RATE = 1" in wrong
    assert "+    return sum(prices or [])" in wrong
    assert shell(root, "git count-objects") == before
    write_tree(root, {code: earlier, "fix.patch": wrong})
    assert shell(root, "git apply fix.patch && head -1 src/till/money.py") == "RATE = 1"


def test_an_earlier_change_under_the_fix_is_not_undone(tmp_path: Path) -> None:
    root = till(tmp_path / "till")
    assert "earlier-change-lost" not in task_from(root, usable(root)[0]).wrong
