import os

import pytest

from scylla_gha.redaction.eligibility import secrets_in, unsearchable_reason
from scylla_gha.redaction.redactor import Redactor

GOOD = "v4lue-0f-a-secret"


@pytest.mark.parametrize("name", ["ANTHROPIC_API_KEY", "GITHUB_TOKEN", "GH_TOKEN", "CLAUDE_CODE_OAUTH_TOKEN", "APIKEY",
                                  "PGPASSWORD", "DB_PASSWORD_2", "client_secret", "AZURE_CREDENTIALS", "MY_PAT",
                                  "ACTIONS_ID_TOKEN_REQUEST_TOKEN", "ANTHROPIC_AUTH_TOKEN"])  # fmt: skip
def test_names_that_say_secret(name: str) -> None:
    assert secrets_in({name: GOOD}) == ({name: GOOD}, {})


@pytest.mark.parametrize("name", ["PATH", "MAX_TOKENS", "TOKENIZERS_PARALLELISM", "PIP_KEYRING_PROVIDER", "KEYBOARD",
                                  "PYTHONPATH", "SSH_AUTH_SOCK"])  # fmt: skip
def test_other_names(name: str) -> None:
    assert secrets_in({name: GOOD}) == ({}, {})


def test_values_that_cannot_be_looked_for_are_told_with_their_reason() -> None:
    environment = {
        "A_KEY": "short",
        "B_TOKEN": "production",
        "C_SECRET": "",
        "D_KEY": f" {GOOD}\n",
        "E_KEY": "11111111",
    }
    fit, told = secrets_in(environment)
    assert fit == {"D_KEY": GOOD}
    assert told == {"A_KEY": "shorter than 8 characters", "B_TOKEN": "a plain word",
                    "E_KEY": "made of fewer than 4 different characters"}  # fmt: skip


def test_a_long_passphrase_is_a_secret() -> None:
    assert unsearchable_reason("correct horse battery staple") is None


def test_bytes_of_an_environment_that_are_no_text() -> None:
    value = os.fsdecode(b"b\xff\xfe-secret-0123")
    fit, _ = secrets_in({"A_KEY": value})
    assert Redactor(fit.values()).redact_bytes(b"x b\xff\xfe-secret-0123 y") == (b"x [redacted] y", 1)
