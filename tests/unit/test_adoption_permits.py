import pytest

from scylla_gha.adoption.permits import action_findings, rights_finding
from scylla_gha.github.setup import DefaultRights, Hidden, Policy, Selected
from tests.support.setups import make_setup

SOME = Policy(enabled=True, allowed_actions="selected")


@pytest.mark.parametrize(
    ("selected", "state"),
    [
        (Selected(github_owned_allowed=True, patterns_allowed=("astral-sh/setup-uv@*",)), "ok"),
        (Selected(github_owned_allowed=True, patterns_allowed=("astral-sh/*",)), "ok"),
        (Selected(github_owned_allowed=True, patterns_allowed=("*",)), "ok"),
        (Selected(github_owned_allowed=True, patterns_allowed=("astral/*", "astral-sh/setup-uv-more@v1")), "problem"),
        (Selected(github_owned_allowed=False, patterns_allowed=("astral-sh/*",)), "problem"),
        (Hidden(403), "unknown"),
    ],
)
def test_a_choice_of_actions_must_have_those_that_the_toolkit_takes(selected: Selected | Hidden, state: str) -> None:
    *_, said = action_findings(make_setup(policy=SOME, selected=selected))
    assert (said.id, said.state) == ("allowed-actions", state)


def test_where_actions_are_off_nothing_else_is_said_of_them() -> None:
    (said,) = action_findings(make_setup(policy=Policy(enabled=False)))
    assert (said.id, said.state) == ("actions", "problem")


def test_rights_by_default_are_better_few() -> None:
    assert rights_finding(make_setup()).state == "ok"
    assert rights_finding(make_setup(rights=DefaultRights(default_workflow_permissions="write"))).state == "optional"
