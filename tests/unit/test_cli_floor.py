import shutil
from pathlib import Path

from scylla_gha.pipeline.run_cells import low_disk_space


def test_with_enough_room_nothing_is_lacking(tmp_path: Path) -> None:
    assert low_disk_space((tmp_path, tmp_path / "not" / "there"), 0) is None
    assert low_disk_space((tmp_path,), shutil.disk_usage(tmp_path).free // 2_000_000) is None


def test_below_the_floor_it_names_the_disk_and_what_to_do(tmp_path: Path) -> None:
    floor = shutil.disk_usage(tmp_path).total // 1_000_000 + 1
    why = low_disk_space((tmp_path / "not" / "there",), floor) or ""
    assert why.startswith(f"the disk of {tmp_path} has ")
    assert f"nothing new starts below {floor} MB (limits.free_disk_mb); make room" in why
