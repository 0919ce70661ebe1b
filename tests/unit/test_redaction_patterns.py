"""Tokens of every kind, put together here so that no scanner finds one, and values that can be searched for."""

import json
import os
import urllib.parse

import pytest

from scylla_gha.redaction import Redactor
from scylla_gha.redaction.patterns import TOKEN_PATTERNS, secrets_in, unsearchable_reason

HEX = "0123456789abcdef" * 8
MIX = "aB3dE5gH7jK9mN1pQ3sT5vW7yZ" * 8
UP = "A2B3C4D5E6F7G8H9" * 8
EXAMPLES = {
    "Anthropic": "sk-ant-" + "api03-" + MIX[:93] + "AA",
    "OpenAI": "sk-proj-" + MIX[:74],
    "OpenAI, older": "sk-" + MIX[:20] + "T3Blbk" + "FJ" + MIX[20:40],
    "OpenRouter": "sk-or-v1-" + HEX[:64],
    "GitHub": "ghp_" + MIX[:36],
    "GitHub installation": "ghs_" + "12345_ey" + "J" + MIX[:100] + "." + MIX + "." + MIX[:86],
    "GitHub fine-grained": "github_pat_" + MIX[:22] + "_" + MIX[:59],
    "GitLab": "glpat-" + MIX[:20],
    "AWS key id": "AKIA" + UP[:16],
    "AWS Bedrock": "ABSK" + MIX[:120] + "=",
    "Google": "AIza" + MIX[:35],
    "Google OAuth": "GOCSPX-" + MIX[:28],
    "Google access": "ya29." + MIX[:80],
    "Slack": "xoxb-" + "123456789012-123456789012-" + MIX[:24],
    "Slack app": "xapp-" + "1-A0123456789-1234567890123-" + HEX[:64],
    "npm": "npm_" + MIX[:36],
    "PyPI": "pypi-AgE" + "IcHlwaS5vcmc" + MIX[:120],
    "Stripe": "sk_live_" + MIX[:24],
    "Hugging Face": "hf_" + MIX[:34],
    "DigitalOcean": "dop_v1_" + HEX[:64],
    "Docker Hub": "dckr_pat_" + MIX[:27],
    "SendGrid": "SG." + MIX[:22] + "." + MIX[:43],
    "Vault": "hvs." + MIX[:95],
    "age": "AGE-SECRET-KEY-1" + UP[:58],
    "JWT": "eyJhbGci" + "OiJIUzI1NiJ9.eyJ" + MIX[:40] + "." + MIX[:43],
}
WITHIN = {  # only a part of the text is the secret
    "AWS secret": ('"SecretAccessKey": "', MIX[:40], '"'),
    "Azure storage": ("AccountName=a;AccountKey=", MIX[:86] + "==", ";"),
    "Slack hook": ("https://hooks.slack.com/", "services/T00000000/B00000000/" + MIX[:24], " "),
    "npm, older": ("//registry.example/:_authToken=", MIX[:36], "\n"),
}
REDACTOR = Redactor()


@pytest.mark.parametrize("name", EXAMPLES)
def test_a_token_is_taken_out_whole_wherever_it_stands(name: str) -> None:
    token = EXAMPLES[name]
    for text in (f"{token}", f"a {token} b", f"K={token}\n", f'"{token}"', f"https://x:{token}@host/", f"({token})",
                 f"\x1b[31m{token}\x1b[0m", f"?k%3D{token}&b"):  # fmt: skip
        assert REDACTOR.redact_bytes(text.encode()) == (text.replace(token, "[redacted]").encode(), 1)


@pytest.mark.parametrize("name", EXAMPLES)
def test_after_an_escape_json_stays_json(name: str) -> None:
    token = EXAMPLES[name]
    for before in ("\n", "\t", "\x1b[1m", "\\", "é"):
        line = json.dumps({"a": before + token + '"', "b": json.dumps(before + token)})
        clean, found = REDACTOR.redact_bytes(line.encode())
        assert found == 2
        assert token[12:] not in json.dumps(json.loads(clean))


@pytest.mark.parametrize("name", WITHIN)
def test_of_a_setting_only_the_value_is_taken_out(name: str) -> None:
    before, secret, after = WITHIN[name]
    assert REDACTOR.redact_bytes(f"{before}{secret}{after}".encode()) == (f"{before}[redacted]{after}".encode(), 1)


def test_every_kind_has_an_example() -> None:
    assert {kind.name for kind in TOKEN_PATTERNS} == {*EXAMPLES, *WITHIN, "private key"}


@pytest.mark.parametrize(
    "text",
    ["ghp_short", "xAKIA" + UP[:16], "AKIA" + UP[:17], "AIza" + MIX[:36], "npm_" + MIX[:20], "sk-ant-x", "xoxb-not-one",
     "risk-ant-" + MIX[:90], "eyJhbGciOiJIUzI1NiJ9", "SG.", "hf_" + MIX[:33], "secret_access_key: see the docs"],
)  # fmt: skip
def test_what_only_begins_like_one_stays(text: str) -> None:
    assert REDACTOR.redact_bytes(text.encode()) == (text.encode(), 0)


def test_a_token_in_a_url_query_is_no_other_token() -> None:
    text = urllib.parse.urlencode({"q": "ghp_", "r": MIX[:36]})
    assert REDACTOR.redact_bytes(text.encode())[1] == 0


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


def test_a_variable_that_a_provider_names_is_a_secret_whatever_it_is_called() -> None:
    assert secrets_in({"ACME_ACCESS": GOOD}, ("ACME_ACCESS",)) == ({"ACME_ACCESS": GOOD}, {})
    assert secrets_in({"ACME_ACCESS": GOOD}) == ({}, {})
