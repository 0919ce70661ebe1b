from pathlib import Path

import pytest

from scylla_gha.providers.anthropic.federation_token import federation_in
from scylla_gha.providers.federation import Federation

RULES = {"ANTHROPIC_FEDERATION_RULE_ID": "fdrl_1", "ANTHROPIC_ORGANIZATION_ID": "o"}
FILE = {"ANTHROPIC_IDENTITY_TOKEN_FILE": "/run/identity"}
ASK = {"ACTIONS_ID_TOKEN_REQUEST_URL": "https://vstoken.example/x?v=1", "ACTIONS_ID_TOKEN_REQUEST_TOKEN": "t"}


@pytest.mark.parametrize(
    "environ",
    [
        pytest.param({}, id="nothing"),
        pytest.param(FILE, id="no rule"),
        pytest.param(RULES, id="no identity"),
        pytest.param({**RULES, "ACTIONS_ID_TOKEN_REQUEST_URL": "https://x/y"}, id="nothing to ask GitHub with"),
        pytest.param({**RULES, **ASK, "ACTIONS_ID_TOKEN_REQUEST_URL": "http://x.example/y"}, id="in clear text"),
    ],
)
def test_what_is_not_whole_is_no_federation(environ: dict[str, str]) -> None:
    assert federation_in(environ) is None


def test_a_file_goes_before_github() -> None:
    found = federation_in({**RULES, **FILE, **ASK, "ANTHROPIC_WORKSPACE_ID": "wrkspc_1"})
    assert found == Federation(
        rule="fdrl_1",
        organization="o",
        workspace="wrkspc_1",
        file=Path("/run/identity"),
        audience="https://api.anthropic.com",
    )


def test_the_token_of_the_job_is_not_in_what_is_printed() -> None:
    found = federation_in({**RULES, **ASK, "ACTIONS_ID_TOKEN_REQUEST_TOKEN": "canary"})
    assert found is not None
    assert found.token == "canary"
    assert "canary" not in repr(found)
