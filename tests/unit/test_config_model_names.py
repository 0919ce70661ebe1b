"""Which model id a name stands for."""

import pytest

from scylla_gha.config.library import Library, toolkit_root
from scylla_gha.config.model_names import nearest_models, resolved_model

KNOWN = ("claude-opus-5", "claude-opus-4-6", "claude-sonnet-4-5-20250929", "claude-haiku-4-5-20251001", "gpt-9")
SONNET = "claude-sonnet-4-5-20250929"


@pytest.mark.parametrize(("name", "id_"), [
    ("claude-opus-5", "claude-opus-5"),
    ("claude-sonnet-4-5", SONNET),
    ("claude-sonnet-4.5", SONNET),
    ("anthropic/claude-sonnet-4-5", SONNET),
    ("openrouter/anthropic/claude-sonnet-4.5", SONNET),
    ("anthropic/claude-opus-4.6", "claude-opus-4-6"),
    ("anthropic.claude-sonnet-4-5-20250929-v1:0", SONNET),
    ("bedrock/us.anthropic.claude-sonnet-4-5-20250929-v1:0", SONNET),
    ("eu.anthropic.claude-haiku-4-5-20251001-v1:0", "claude-haiku-4-5-20251001"),
    ("apac.anthropic.claude-sonnet-4-5-20250929-v1:0", SONNET),
    ("global.anthropic.claude-opus-4-6-v1", "claude-opus-4-6"),
    ("anthropic.claude-opus-5", "claude-opus-5"),
    ("claude-sonnet-4-5@20250929", SONNET),
    ("vertex_ai/claude-haiku-4-5@20251001", "claude-haiku-4-5-20251001"),
])  # fmt: skip
def test_forms_that_are_certain(name: str, id_: str) -> None:
    assert resolved_model(name, KNOWN) == id_


@pytest.mark.parametrize("name", [
    "sonnet", "default", "", "claude", "claude-sonnet", "claude-sonnet-4", "claude-sonnet-4-5-20250930",
    "claude-opus-4", "claude-sonnet-4-5@20250101", "claude-sonnet-4-5[1m]", "anthropic/claude-sonnet-4.5:thinking",
    "openai/claude-opus-5", "claude-sonnet-4-5-latest", "moon.anthropic.claude-opus-5", "CLAUDE-OPUS-5", "x" * 100_000,
    "claude-sonnet-4-5-v1:0",
    "arn:aws:bedrock:us-east-1:1:inference-profile/us.anthropic.claude-opus-5", "anthropic/" * 5 + "claude-opus-5",
])  # fmt: skip
def test_everything_else_stays_unknown(name: str) -> None:
    assert resolved_model(name, KNOWN) is None


def test_an_alias_of_two_known_dates_is_not_certain() -> None:
    assert resolved_model("claude-sonnet-4-5", (*KNOWN, "claude-sonnet-4-5-20260101")) is None


@pytest.mark.parametrize(("name", "expected"), [
    ("claude-sonet-4-5", "; the nearest are claude-sonnet-4-5-20250929, "),
    ("us.anthropic.claude-sonnet-4-5-20251231-v1:0", "; the nearest are claude-sonnet-4-5-20250929"),
    ("sonnet", "; the nearest is claude-sonnet-4-5-20250929"),
    ("qwen", ""),
])  # fmt: skip
def test_the_nearest_known_ids_are_named(name: str, expected: str) -> None:
    assert nearest_models(name, KNOWN).startswith(expected)


def test_of_the_toolkits_own_models_every_alias_stands_for_its_dated_id() -> None:
    library = Library((toolkit_root(),))
    dated = [model for model in library.models() if model[-8:].isdecimal()]
    assert library.model_ids(model[:-9] for model in dated) == {model[:-9]: model for model in dated}
    assert library.model_ids(["claude-sonnet-77"]) == {"claude-sonnet-77": "claude-sonnet-77"}
