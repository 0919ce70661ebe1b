import json
import re
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import yaml

from scylla_gha.config.library import toolkit_root
from scylla_gha.config.schemas import schemas

ROOT = toolkit_root()
FILES = sorted([*ROOT.glob("config/*/*.yaml"), *ROOT.glob("scenarios/*/*/*.yaml")])
COMMENT = re.compile(r"# yaml-language-server: \$schema=(\S+)")
KIND_OF_FOLDER = {
    "experiments": "experiment",
    "tiers": "tier",
    "models": "model",
    "prices": "prices",
    "inventories": "inventory",
    "agent-sessions": "agent-session",
    "images": "image",
    "modes": "mode",
    "agent-clis": "agent-cli",
}


def plain(file: Path) -> Any:
    """Return the faults that an editor shows: the data as JSON has it."""
    return json.loads(json.dumps(yaml.safe_load(file.read_text(encoding="utf-8")), default=str))


def kind_of(file: Path) -> str:
    return KIND_OF_FOLDER.get(file.parent.name, file.stem)


def test_there_is_something_to_check() -> None:
    assert {kind_of(file) for file in FILES} == {
        "experiment",
        "tier",
        "model",
        "inventory",
        "agent-session",
        "prices",
        "image",
        "mode",
        "agent-cli",
        "scenario",
        "rubric",
    }


def test_schemas_on_disk_are_those_of_the_records() -> None:
    on_disk = {path.name: path.read_text(encoding="utf-8") for path in (ROOT / "config" / "schemas").iterdir()}
    assert on_disk == schemas()


@pytest.mark.parametrize("name", sorted(schemas()))
def test_a_schema_is_a_valid_schema(name: str) -> None:
    schema = json.loads(schemas()[name])
    jsonschema.Draft202012Validator.check_schema(schema)
    assert schema["$schema"] == "https://json-schema.org/draft/2020-12/schema"
    assert schema["additionalProperties"] is False


@pytest.mark.parametrize("file", FILES, ids=lambda file: str(file.relative_to(ROOT)))
def test_a_yaml_file_names_its_schema_in_its_first_line(file: Path) -> None:
    found = COMMENT.fullmatch(file.read_text(encoding="utf-8").splitlines()[0])
    assert found is not None
    named = (file.parent / found[1]).resolve()
    assert named == ROOT / "config" / "schemas" / f"{kind_of(file)}.json"
    assert named.is_file()


@pytest.mark.parametrize("file", FILES, ids=lambda file: str(file.relative_to(ROOT)))
def test_a_yaml_file_is_as_its_schema_says(file: Path) -> None:
    validator = jsonschema.Draft202012Validator(json.loads(schemas()[f"{kind_of(file)}.json"]))
    assert [error.message for error in validator.iter_errors(plain(file))] == []


@pytest.mark.parametrize(
    ("kind", "data", "expected"),
    [
        ("tier", {"id": "T9"}, "'T9' is not one of"),
        ("rubric", {"categories": [], "extra": 1}, "'extra' was unexpected"),
        ("experiment", {"seed": "x"}, "'x' is not of type 'integer'"),
        ("model", {"context_tokens": 0}, "0 is less than or equal to the minimum of 0"),
        ("prices", {"prices": {"m": {"input": -1}}}, "-1 is less than the minimum of 0"),
        ("scenario", {"id": "001-A/../b"}, "'001-A/../b' does not match"),
    ],
)
def test_a_schema_tells_an_editor_what_is_wrong(kind: str, data: Any, expected: str) -> None:
    validator = jsonschema.Draft202012Validator(json.loads(schemas()[f"{kind}.json"]))
    assert [error.message for error in validator.iter_errors(data) if expected in error.message]
