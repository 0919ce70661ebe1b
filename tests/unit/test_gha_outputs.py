from pathlib import Path

from scylla_gha.gha.outputs import write_outputs
from tests.support.outputs import read_outputs


def test_a_value_cannot_end_itself(tmp_path: Path) -> None:
    values = {"a": "x\nend\nb<<y\nz", "c": "", "d": "%0A::set-output"}
    write_outputs({"GITHUB_OUTPUT": str(tmp_path / "o")}, values)
    write_outputs({"GITHUB_OUTPUT": str(tmp_path / "o")}, {"e": "1"})
    assert read_outputs(tmp_path / "o") == {**values, "e": "1"}


def test_outside_of_actions_nothing_is_written(tmp_path: Path) -> None:
    write_outputs({}, {"a": "x"})
    write_outputs({"GITHUB_OUTPUT": ""}, {"a": "x"})
    assert list(tmp_path.iterdir()) == []
