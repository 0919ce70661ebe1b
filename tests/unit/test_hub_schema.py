"""The hub's GraphQL schema is GitHub's, and the extension adds only what it lacks."""

from graphql import build_schema

from scylla_gha.hub.graphql.schema import github_schema
from tests.support.graphql_schema import LICENSE, PACKED, VERSION, from_npm, packed


def test_the_packed_schema_is_the_one_of_the_package() -> None:
    text, licence = from_npm()
    assert packed() == text
    assert LICENSE.read_text() == licence


def test_the_module_names_the_version_that_is_packed() -> None:
    assert f"@octokit/graphql-schema {VERSION}" in PACKED.with_name("schema.py").read_text()


def test_no_type_or_field_of_github_is_lost() -> None:
    whole, known = build_schema(packed(), assume_valid=True), github_schema()
    assert set(whole.type_map) <= set(known.type_map)
    fields, kept = (set(schema.mutation_type.fields) for schema in (whole, known) if schema.mutation_type)
    assert fields < kept
