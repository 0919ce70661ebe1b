import json
from pathlib import Path

from scylla_gha.config.library import toolkit_root
from scylla_gha.config.schemas import schemas, yaml_reference
from tests.support.command import scylla


def test_the_schemas_are_written_and_then_current(tmp_path: Path) -> None:
    assert scylla("schemas", cwd=tmp_path).code == 0
    written = {path.name: path.read_text() for path in (tmp_path / "config" / "schemas").iterdir()}
    assert written == schemas()
    assert (tmp_path / "docs/yaml-reference.md").read_text() == yaml_reference()
    assert scylla("schemas", "--check", cwd=tmp_path).code == 0


def test_a_schema_that_is_missing_or_old_is_named_and_not_written(tmp_path: Path) -> None:
    said = scylla("schemas", "--check", "--into", "here", cwd=tmp_path)
    assert (said.code, said.out) == (3, "")
    assert "here/experiment.json: differs from the code's records; run `scylla-gha schemas`" in said.err
    assert list(tmp_path.iterdir()) == []
    scylla("schemas", "--into", "here", cwd=tmp_path)
    (tmp_path / "here" / "tier.json").write_text("{}")
    assert "here/tier.json: differs" in scylla("schemas", "--check", "--into", "here", cwd=tmp_path).err


def test_a_reference_that_is_old_is_named(tmp_path: Path) -> None:
    scylla("schemas", cwd=tmp_path)
    (tmp_path / "docs/yaml-reference.md").write_text("# Old\n")
    said = scylla("schemas", "--check", cwd=tmp_path)
    assert (said.code, "docs/yaml-reference.md: differs" in said.err) == (3, True)


def test_the_reference_names_each_key_with_type_default_and_meaning() -> None:
    page = yaml_reference()
    keys = {key for text in schemas().values() for key in json.loads(text)["properties"]}
    assert {key for key in keys if f"| `{key}` |" not in page} == set()
    assert "| `limits` | [TrialLimits](#experiment-triallimits) |" in page
    assert "\n### experiment: TrialLimits\n" in page
    assert "| `attempts` | integer ≥ 1, ≤ 10 | `3` |" in page
    assert "| `question` | string |  |" in page, "a required key has no default"


def test_the_reference_in_docs_is_current() -> None:
    assert (toolkit_root() / "docs/yaml-reference.md").read_text(encoding="utf-8") == yaml_reference()
