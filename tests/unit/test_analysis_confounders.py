from typing import Any

import pytest

from scylla_gha.analysis.side_by_side import confounders
from scylla_gha.model.result import Result
from tests.support.records import make_cell, make_result

SAME = (("nop", "nop"),)


def rows(**given: Any) -> list[Result]:
    return [make_result(make_cell(scenario=name), **given) for name in ("001-one", "002-two")]


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"sandbox": "docker"}, "A and B have different sandboxes: host and docker."),
        ({"network": "none"}, "A and B have different sandboxes: host and host (network: none)."),
        ({"agent_version": "2"}, "nop: A and B have different agent versions: 1 and 2."),
        ({"threshold": 0.8}, "A and B have different thresholds: 0.6 and 0.8."),
        (
            {"workspace_digest": "other"},
            "2 scenarios did not start from the same state in A and in B: 001-one, 002-two.",
        ),
        ({"model": "n"}, "nop: A and B have different models: m and n."),
    ],
)
def test_what_differs_beside_the_question_is_warned_of(given: dict[str, Any], message: str) -> None:
    usual = {"threshold": 0.6, "model": "m"}
    (warning,) = confounders(rows(**usual), rows(**{**usual, **given}), SAME)
    assert warning.startswith(message)


def test_nothing_is_said_of_what_is_alike_or_unknown() -> None:
    assert list(confounders(rows(), rows(), SAME)) == []
    assert list(confounders(rows(), rows(agent_version=None, workspace_digest=None), SAME)) == []
    assert list(confounders([], rows(), ())) == []


def test_other_models_of_arms_with_other_names_are_the_question() -> None:
    other = [row.model_copy(update={"arm": "new"}) for row in rows(model="n")]
    assert list(confounders(rows(model="m"), other, (("nop", "new"),))) == []
