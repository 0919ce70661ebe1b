"""GitHub's description of its answers finds answers that GitHub would not give."""

import pytest

from tests.support.openapi_answers import answer_faults

REPO = "/repos/{owner}/{repo}"
LABEL = {"id": 1, "node_id": "LA_1", "url": "https://api.github.com/repos/o/r/labels/bug", "name": "bug",
         "description": None, "color": "ff0000", "default": True}  # fmt: skip


def test_an_answer_as_github_describes_it_has_no_fault() -> None:
    assert answer_faults("GET", f"{REPO}/labels", 200, [LABEL]) == []
    assert answer_faults("DELETE", f"{REPO}/labels/{{name}}", 204, None) == []
    assert answer_faults("GET", f"{REPO}/labels", 304, None) == []


@pytest.mark.parametrize(
    ("change", "fault"),
    [
        ({"id": "1"}, "$[0].id: '1' is not of type 'integer'"),
        ({"url": "labels/bug"}, "$[0].url: 'labels/bug' is not a 'uri'"),
        ({"name": None}, "$[0].name: None is not of type 'string'"),
    ],
)
def test_a_field_of_another_type_is_a_fault(change: dict[str, object], fault: str) -> None:
    assert answer_faults("GET", f"{REPO}/labels", 200, [LABEL | change]) == [f"GET {REPO}/labels: 200: {fault}"]


def test_a_field_that_is_missing_a_status_and_an_unknown_operation_are_faults() -> None:
    short = {name: value for name, value in LABEL.items() if name != "color"}
    assert "'color' is a required property" in answer_faults("GET", f"{REPO}/labels", 200, [short])[0]
    assert "never 202" in answer_faults("GET", f"{REPO}/labels", 202, [LABEL])[0]
    assert "is not in GitHub's description" in answer_faults("GET", "/no/such", 200, {})[0]


def test_an_error_needs_a_message() -> None:
    entry = {"resource": "Label", "field": "name", "code": "already_exists"}
    body = {"message": "Validation Failed", "errors": [entry], "documentation_url": "https://docs.github.com/rest"}
    assert answer_faults("POST", f"{REPO}/labels", 422, body) == []
    assert answer_faults("POST", f"{REPO}/labels", 422, {"errors": [entry]}) != []
