from scylla_gha.adoption.model_access import FEDERATION, KEY, model_finding
from scylla_gha.github.setup import Hidden
from tests.support.setups import make_setup

NONE: frozenset[str] = frozenset()


def test_a_key_in_the_environment_or_federation_is_right() -> None:
    assert model_finding(make_setup(), "scylla-eval").mend == ""
    parts = {"environment": frozenset(FEDERATION[:1]), "repository": frozenset(FEDERATION[1:])}
    said = model_finding(make_setup(secrets={"repository": NONE}, variables=parts), "e")
    assert (said.state, "by federation" in said.what) == ("ok", True)
    assert "repo:octo-org@123/app@456:environment:e (" in said.what
    assert "repo:octo-org/app:environment:e (" in said.what


def test_a_key_elsewhere_is_right_and_could_lie_better() -> None:
    said = model_finding(make_setup(secrets={"environment": NONE, "repository": frozenset({KEY})}), "scylla-eval")
    assert (said.state, said.mend) == ("ok", "gh secret set ANTHROPIC_API_KEY --env scylla-eval --repo octo-org/app")


def test_half_a_federation_names_what_lacks() -> None:
    said = model_finding(make_setup(secrets={}, variables={"repository": frozenset(FEDERATION[:1])}), "e")
    assert said.state == "problem"
    assert f"there is no {FEDERATION[1]}" in said.what


def test_what_is_hidden_may_hold_it() -> None:
    assert model_finding(make_setup(secrets={"repository": Hidden(403)}), "e").state == "unknown"
    assert model_finding(make_setup(secrets={"repository": NONE}), "e").state == "problem"
