import subprocess
from pathlib import Path

from scylla_gha.adoption.task import File, new_file


def test_a_file_lies_in_a_folder() -> None:
    assert File("a/b", b"x", "100755").within("c") == File("c/a/b", b"x", "100755")


def test_a_new_file_is_a_patch_that_git_applies(tmp_path: Path) -> None:
    subprocess.run(["git", "apply", "-"], cwd=tmp_path, input=new_file("list.md", "- a\n- b\n"), check=True)
    assert (tmp_path / "list.md").read_text() == "- a\n- b\n"
