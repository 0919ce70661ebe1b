from pathlib import Path

from scylla_gha.adoption.example import example
from scylla_gha.adoption.repository import checkout_of
from tests.support.adopters import commit, empty, words


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
