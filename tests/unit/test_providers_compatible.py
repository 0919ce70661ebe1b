"""Providers of others' APIs: which variables give access, and that the user's own server costs nothing."""

from pathlib import Path

import pytest

from scylla_gha.config.library import Library
from scylla_gha.errors import ConfigError
from scylla_gha.evaluate.model_access import RecordingOptions, has_real_key
from scylla_gha.gateway.settings import ProviderAccess, Session
from scylla_gha.providers import PROVIDERS, missing_key, missing_key_text, shared_style
from scylla_gha.redaction import Redactor

LOCAL = "SCYLLA_LOCAL_BASE_URL"
MODEL = "id: qwen3:4b\nprovider: local\ncontext_tokens: 32768\n"
PRICED = (
    "price: {input: 1, output: 2, cache_read: 0, cache_write_5m: 0, cache_write_1h: 0, date: 2026-11-28, source: us}\n"
)


@pytest.mark.parametrize(
    ("provider", "environ", "missing"),
    [
        ("openai", {}, "OPENAI_API_KEY"),
        ("openai", {"OPENAI_API_KEY": "k"}, None),
        ("openrouter", {"OPENAI_API_KEY": "k"}, "OPENROUTER_API_KEY"),
        ("local", {"SCYLLA_LOCAL_API_KEY": "k"}, LOCAL),
        ("local", {LOCAL: "http://127.0.0.1:8000"}, None),
    ],
)
def test_what_gives_access(provider: str, environ: dict[str, str], missing: str | None) -> None:
    assert missing_key(provider, environ) == missing
    assert (ProviderAccess.of(provider, environ) is None) == (missing is not None)


def test_a_missing_address_is_named() -> None:
    text = missing_key_text(["codex"], ["qwen3:4b"], "local", LOCAL)
    assert text == "codex needs the address of local to reach qwen3:4b; set SCYLLA_LOCAL_BASE_URL"


@pytest.mark.parametrize(
    ("environ", "real"),
    [
        ({LOCAL: "https://models.example"}, False),  # no key that an agent could take
        ({LOCAL: "https://models.example", "SCYLLA_LOCAL_API_KEY": "k-0123456789"}, True),
        ({LOCAL: "http://127.0.0.1:1", "SCYLLA_LOCAL_API_KEY": "k-0123456789"}, False),
        ({"OPENAI_API_KEY": "k-0123456789"}, True),
        ({"OPENAI_API_KEY": "k-0123456789", "OPENAI_BASE_URL": "http://localhost:1/v1"}, False),
    ],
)
def test_which_keys_are_real(environ: dict[str, str], real: bool) -> None:
    assert has_real_key(RecordingOptions(), environ) is real


def test_an_agent_asks_in_the_first_of_its_styles_that_the_provider_has() -> None:
    assert shared_style(("openai-responses",), "anthropic") is None
    assert shared_style(("anthropic-messages", "openai-chat"), "openai") == "openai-chat"
    assert shared_style(("anthropic-messages", "openai-chat"), "local") == "anthropic-messages"


def test_a_model_of_your_own_server_costs_nothing_unless_its_file_says_so(tmp_path: Path) -> None:
    folder = tmp_path / "config" / "models"
    folder.mkdir(parents=True)
    (folder / "free.yaml").write_text(MODEL)
    (folder / "priced.yaml").write_text(MODEL.replace("qwen3:4b", "priced") + PRICED)
    models = Library((tmp_path,)).models()
    free, priced = models["qwen3:4b"].price, models["priced"].price
    assert free is not None
    assert priced is not None
    assert (free.input, free.output, priced.input) == (0, 0, 1)


@pytest.mark.parametrize("provider", [name for name in PROVIDERS if name != "local"])
def test_dummy_keys_have_the_form_of_real_ones(provider: str) -> None:
    token = PROVIDERS[provider].new_session_token()
    assert token != PROVIDERS[provider].new_session_token()
    assert token not in Redactor().redact_bytes(f"key: {token}.".encode())[0].decode(), (
        "known forms are redacted everywhere"
    )


@pytest.mark.parametrize(
    ("provider", "fault", "end"),
    [
        ("openai", "429 insufficient_quota", "the account of OPENAI_API_KEY at openai has no credit left"),
        ("openai", "404 model_not_found", None),
        ("local", "404 not_found", "http://127.0.0.1:8000/v1 has no such model, or does not serve the agent's API"),
        (
            "gemini",
            "401 UNAUTHENTICATED",
            "https://generativelanguage.googleapis.com rejects the value of GEMINI",
        ),
        ("openrouter", "429 rate_limit_exceeded", None),
    ],
)
def test_faults_that_every_further_request_would_meet(provider: str, fault: str, end: str | None) -> None:
    keys = {name: "k-0123456789" for api in PROVIDERS.values() for name in api.credential_variables}
    access = ProviderAccess.of(provider, {**keys, LOCAL: "http://127.0.0.1:8000/v1"})
    assert access is not None
    reason = access.dead_end(fault)
    assert (reason or "").startswith(end or "")
    assert (reason is None) == (end is None)


def test_a_server_of_your_own_that_wants_a_key_names_its_variable() -> None:
    access = ProviderAccess.of("local", {LOCAL: "http://127.0.0.1:8000/v1"})
    assert access is not None
    needed = "http://127.0.0.1:8000/v1 needs a key (401 invalid_api_key); set SCYLLA_LOCAL_API_KEY"
    assert access.dead_end("401 invalid_api_key") == needed


def test_a_first_request_above_the_context_window_says_what_to_do() -> None:
    access = ProviderAccess.of("local", {LOCAL: "http://127.0.0.1:8000/v1"})
    assert access is not None
    assert "longer than the context window at http://127.0.0.1:8000/v1" in str(
        access.too_long("exceed_context_size_error")
    )
    assert access.too_long("invalid_request_error") is None


def test_an_agents_circumstances_are_regular_expressions(tmp_path: Path) -> None:
    session = Session(cell="c", role="agent", journal=tmp_path / "j", circumstances=((r"PGID: \d+", "PGID: N"),))
    ((pattern, constant),) = session.circumstance_patterns()
    assert pattern.sub(constant, b"PGID: 77") == b"PGID: N"
    wrong = session.model_copy(update={"circumstances": (("(", ""),)})
    with pytest.raises(ConfigError, match="not a regular expression"):
        wrong.circumstance_patterns()
