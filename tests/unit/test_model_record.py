import ast
import hashlib
from pathlib import Path
from typing import Any

import pytest
from pydantic import TypeAdapter, ValidationError

import scylla_gha.model
from scylla_gha.model import Record, Slug, digest, slug

SLUG: TypeAdapter[str] = TypeAdapter(Slug)


class Probe(Record):
    count: int = 0
    share: float = 0.0
    names: tuple[str, ...] = ()


@pytest.mark.parametrize(
    ("given", "fault"),
    [
        ({"count": "1"}, "valid integer"),
        ({"count": 1.0}, "valid integer"),
        ({"count": True}, "valid integer"),
        ({"names": ["a"]}, "valid tuple"),
        ({"share": float("nan")}, "finite number"),
        ({"share": float("inf")}, "finite number"),
        ({"cuont": 1}, "Extra inputs are not permitted"),
    ],
)
def test_record_refuses_what_is_not_exactly_its_type(given: dict[str, Any], fault: str) -> None:
    with pytest.raises(ValidationError, match=fault):
        Probe.model_validate(given)


def test_record_cannot_be_changed() -> None:
    field = "count"
    with pytest.raises(ValidationError, match="frozen"):
        setattr(Probe(), field, 1)


def test_digest_is_the_sha256_of_canonical_json() -> None:
    canonical = b'{"a":[null,true,"\\u00e9"],"b":1}'
    assert digest({"b": 1, "a": [None, True, "é"]}) == hashlib.sha256(canonical).hexdigest()


@pytest.mark.parametrize(
    ("one", "other"),
    [([1, 23], [12, 3]), (["a", "b"], ["a,b"]), (None, "null"), (0, None), (0, False), ("1", 1), ({}, [])],
)
def test_digest_differs_for_different_data(one: object, other: object) -> None:
    assert digest(one) != digest(other)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("T0/00-empty", "t0-00-empty"),
        ("Claude Opus 4.5", "claude-opus-4.5"),
        ("--..x..--", "x"),
        ("a__b", "a-b"),
        ("naïve", "na-ve"),
        ("../../etc/passwd", "etc-passwd"),
        ("é", ""),
    ],
)
def test_slug_keeps_only_letters_digits_and_dots(text: str, expected: str) -> None:
    assert slug(text) == expected


@pytest.mark.parametrize("name", ["a", "0", "a-b.c_d", "x" * 120])
def test_slug_type_accepts(name: str) -> None:
    assert SLUG.validate_python(name) == name


@pytest.mark.parametrize(
    "name", ["", "A", "-a", "a-", "a--b", "a/b", "..", "a b", "a\n", "é", "x" * 121], ids=lambda name: repr(name)[:12]
)
def test_slug_type_refuses(name: str) -> None:
    with pytest.raises(ValidationError):
        SLUG.validate_python(name)


def test_model_package_re_exports_nothing() -> None:
    tree = ast.parse(Path(scylla_gha.model.__file__).read_text(encoding="utf-8"))
    modules = [node.module or "." for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)]
    assert modules
    assert [module for module in modules if module.startswith((".", "scylla_gha"))] == []
