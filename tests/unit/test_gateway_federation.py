import pytest

from scylla_gha.gateway.federation import ASKED_WITH, RULE, federation_from

GIVEN = {RULE: "fdrl_1", "ANTHROPIC_ORGANIZATION_ID": "org", ASKED_WITH[0]: "https://h/?a=1", ASKED_WITH[1]: "secret"}


def test_a_job_with_an_identity_and_a_rule_has_access() -> None:
    found = federation_from({**GIVEN, "ANTHROPIC_SERVICE_ACCOUNT_ID": "svac_1", "ANTHROPIC_WORKSPACE_ID": ""})
    assert found is not None
    assert (found.rule, found.organization, found.service_account, found.workspace) == ("fdrl_1", "org", "svac_1", None)
    assert "secret" not in repr(found)


@pytest.mark.parametrize("lacking", GIVEN)
def test_without_one_of_them_there_is_none(lacking: str) -> None:
    assert federation_from({**GIVEN, lacking: " "}) is None
