from pathlib import Path

from scylla_gha.config.schemas import schemas
from tests.support.command import scylla


def test_the_schemas_are_written_and_then_current(tmp_path: Path) -> None:
    assert scylla("schemas", cwd=tmp_path).code == 0
    written = {path.name: path.read_text() for path in (tmp_path / "config" / "schemas").iterdir()}
    assert written == schemas()
    assert scylla("schemas", "--check", cwd=tmp_path).code == 0


def test_a_schema_that_is_missing_or_old_is_named_and_not_written(tmp_path: Path) -> None:
    said = scylla("schemas", "--check", "--into", "here", cwd=tmp_path)
    assert (said.code, said.out) == (3, "")
    assert "here/experiment.json: is not what the records say; run `scylla-gha schemas`" in said.err
    assert list(tmp_path.iterdir()) == []
    scylla("schemas", "--into", "here", cwd=tmp_path)
    (tmp_path / "here" / "tier.json").write_text("{}")
    assert "here/tier.json: is not" in scylla("schemas", "--check", "--into", "here", cwd=tmp_path).err
