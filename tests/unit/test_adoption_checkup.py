from scylla_gha.adoption.checkup import findings
from scylla_gha.github.setup import Environment, Hidden, Missing, Rule, Setup, Workflow
from tests.support.setups import FACTS, make_setup


def states(setup: Setup) -> dict[str, str]:
    return {each.id: each.state for each in findings(setup, "scylla-eval", "scylla-results")}


def test_where_all_is_right_all_is_ok_and_each_thing_is_told_once() -> None:
    found = findings(make_setup(), "scylla-eval", "scylla-results")
    assert {each.state for each in found} == {"ok"}
    assert len({each.id for each in found}) == len(found)


def test_what_cannot_be_seen_is_never_a_problem() -> None:
    hidden = Hidden(403)
    blind = make_setup(policy=hidden, rights=hidden, workflows=hidden, environment=hidden, pages=hidden, results=hidden,
                       secrets={"repository": hidden}, variables={"repository": hidden})  # fmt: skip
    assert set(states(blind).values()) == {"ok", "unknown"}


def test_a_workflow_that_is_off_says_why() -> None:
    off = {state: make_setup(workflows=(Workflow(path=".github/workflows/dispatch.yml", state=state),))
           for state in ("disabled_fork", "disabled_inactivity", "disabled_manually", "disabled_somehow")}  # fmt: skip
    said = {state: next(each.what for each in findings(setup, "e", "r") if each.id == "workflow dispatch.yml")
            for state, setup in off.items()}  # fmt: skip
    assert len(set(said.values())) == 4
    assert "60 days" in said["disabled_inactivity"]


def test_workflows_of_others_and_deleted_ones_are_passed_over() -> None:
    other = Workflow(path=".github/workflows/ci.yml", state="disabled_manually")
    gone = Workflow(path=".github/workflows/scylla.yml", state="deleted")
    found = states(make_setup(workflows=(other, gone)))
    assert found["workflows"] == "problem"
    assert not any(name.startswith("workflow ") for name in found)


def test_an_environment_without_reviewers_is_for_some() -> None:
    waits = make_setup(environment=Environment(protection_rules=(Rule(type="wait_timer"),)))
    assert states(waits)["environment"] == "optional"
    assert states(make_setup(environment=Missing()))["environment"] == "problem"


def test_forks_private_and_archived_repositories_are_told_of() -> None:
    assert states(make_setup(facts=FACTS.model_copy(update={"fork": True})))["fork"] == "ok"
    assert states(make_setup(facts=FACTS.model_copy(update={"archived": True})))["repository"] == "problem"
    assert "fork" not in states(make_setup())
