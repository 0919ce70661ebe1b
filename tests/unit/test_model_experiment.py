import pytest

from scylla_gha.model.experiment import RetrySettings, TrialLimits
from tests.support.records import make_experiment

SIZES = ("memory_mb", "disk_mb", "processes", "cpus")


@pytest.mark.parametrize("field", SIZES)
def test_the_size_of_a_container_is_keyed_where_there_is_one(field: str) -> None:
    other = TrialLimits.model_validate({field: 1000})
    assert other.keyed(limits_resources=True) != TrialLimits().keyed(limits_resources=True)
    assert other.keyed(limits_resources=False) == TrialLimits().keyed(limits_resources=False)
    assert field not in other.keyed(limits_resources=False)


def test_what_is_not_set_or_does_not_reach_the_agent_is_not_keyed() -> None:
    assert "free_disk_mb" not in TrialLimits().keyed(limits_resources=True)
    for name in ("tokens", "requests", "diff_files"):
        assert name not in TrialLimits().keyed(limits_resources=False)
        assert name not in TrialLimits.model_validate_json(TrialLimits().model_dump_json()).keyed(
            limits_resources=False
        )
        assert TrialLimits.model_validate({name: 5}).keyed(limits_resources=False)[name] == 5


def test_one_attempt_without_a_pause_is_possible() -> None:
    assert RetrySettings(attempts=1, backoff_seconds=0.0).attempts == 1


@pytest.mark.parametrize("judges", [(), ("m", "n"), ("m", "n", "o")])
def test_a_panel_is_of_several_or_none(judges: tuple[str, ...]) -> None:
    assert make_experiment(judges=judges).judges == judges


def test_unless_it_is_configured_nothing_is_put_into_requests_and_no_role_has_a_budget() -> None:
    plain = make_experiment()
    assert plain.model_settings.agent.configured() == plain.model_settings.judge.configured() == {}
    assert plain.role_budget_usd.by_role() == {}
    given = make_experiment(model_settings={"judge": {"temperature": 0.0}}, role_budget_usd={"judge": 1.0})
    assert given.model_settings.judge.configured() == {"temperature": 0.0}
    assert given.role_budget_usd.by_role() == {"judge": 1.0}
