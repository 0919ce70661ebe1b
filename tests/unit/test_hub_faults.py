"""Faults of the hub that a test asks for, met by HTTP clients and by the real gh and git."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from scylla_gha.errors import ConfigError, ToolError
from scylla_gha.hub.client import HubProcess
from scylla_gha.hub.control import AttachRequest
from scylla_gha.hub.faults import FaultInjector, refuse_impossible_faults
from scylla_gha.hub.trial_files import REQUESTS_FILE
from scylla_gha.model.github_requests import GitHubFault
from tests.support.hub import AUTHOR, NAME, OWNER, REPO, make_hub
from tests.support.hub_server import ServedHub, ask_socket, connected, serving_hub

ISSUES = f"{REPO}/issues"
FIXTURE = Path(__file__).parents[1] / "support/hub_fixture"
TITLES = f'{{ repository(owner: "{OWNER}", name: "{NAME}") {{ issues(first: 10) {{ nodes {{ title }} }} }} }}'


@pytest.fixture
def served(tmp_path: Path) -> Iterator[ServedHub]:
    with serving_hub(make_hub(tmp_path / "hub"), tmp_path / "served") as served:
        yield served


def set_faults(served: ServedHub, *faults: GitHubFault) -> None:
    served.endpoint.faults = FaultInjector(served.hub, faults)


def ask(served: ServedHub, method: str, url: str, body: Any = None) -> tuple[int, Any]:
    headers = {"Authorization": f"token {AUTHOR}"}
    status, content = ask_socket(served.socket, method, url, None if body is None else json.dumps(body), headers)
    return status, json.loads(content) if content else None


def titles(served: ServedHub) -> list[str]:
    return [issue["title"] for issue in ask(served, "GET", ISSUES)[1]]


def logged(served: ServedHub) -> list[tuple[str, int, str | None]]:
    entries = [json.loads(line) for line in (served.folder / REQUESTS_FILE).read_text().splitlines()]
    return [(entry["operation"], entry["status"], entry["fault"]) for entry in entries]


@pytest.mark.parametrize(("when", "written"), [("before", []), ("after", ["Crash"])])
@pytest.mark.parametrize(
    ("fault", "status"),
    [
        ({"kind": "server_error"}, 500),
        ({"kind": "server_error", "status": 502}, 502),
        ({"kind": "lost_connection"}, 0),
    ],
)
def test_a_write_whose_answer_is_an_error_or_lost(
    served: ServedHub, fault: dict[str, Any], status: int, when: Any, written: list[str]
) -> None:
    set_faults(served, GitHubFault(operation="POST */issues", when=when, **fault))
    assert ask(served, "POST", ISSUES, {"title": "Crash"})[0] == status
    assert titles(served) == written
    assert ask(served, "POST", ISSUES, {"title": "Second"})[0] == 201, "only the first one had it"
    assert [entry[1:] for entry in logged(served)] == [(status, fault["kind"]), (200, None), (201, None)]


@pytest.mark.parametrize("status", [403, 429])
def test_a_secondary_limit_refuses_the_requests_that_it_names(served: ServedHub, status: int) -> None:
    """https://docs.github.com/rest/using-the-rest-api/rate-limits-for-the-rest-api#about-secondary-rate-limits"""
    fault = GitHubFault(kind="secondary_limit", operation="POST *", nth=2, times=2, status=status, seconds=7)
    set_faults(served, fault)
    statuses = [ask(served, "POST", ISSUES, {"title": str(number)})[0] for number in range(4)]
    assert statuses == [201, status, status, 201]
    assert sorted(titles(served)) == ["0", "3"]
    set_faults(served, fault.model_copy(update={"nth": 1}))
    with connected(served.socket) as connection:
        connection.request("POST", ISSUES, "{}", {"Authorization": f"token {AUTHOR}"})
        answer = connection.getresponse()
        assert answer.headers["Retry-After"] == "7"
        assert json.loads(answer.read())["message"].startswith("You have exceeded a secondary rate limit.")


def test_lists_show_the_state_before_a_write_and_single_objects_the_present_one(served: ServedHub) -> None:
    set_faults(served, GitHubFault(kind="stale_reads", operation="POST *", reads=2))
    number = ask(served, "POST", ISSUES, {"title": "Crash"})[1]["number"]
    query = {"query": TITLES}
    assert titles(served) == []
    assert ask(served, "GET", f"{ISSUES}/{number}")[1]["title"] == "Crash"
    assert ask(served, "POST", "/graphql", query)[1]["data"]["repository"]["issues"]["nodes"] == []
    assert titles(served) == ["Crash"]
    assert ask(served, "POST", "/graphql", query)[1]["data"]["repository"]["issues"]["nodes"] == [{"title": "Crash"}]
    assert [fault for _, _, fault in logged(served)] == ["stale_reads"] * 2 + [None, "stale_reads", None, None]


def test_gh_and_git_meet_faults_too(served: ServedHub) -> None:
    set_faults(
        served,
        GitHubFault(kind="lost_connection", operation="mutation createIssue", when="before"),
        GitHubFault(kind="server_error", operation="git-receive-pack", status=503, when="before"),
    )
    create = ("gh", "issue", "create", "-R", f"{OWNER}/{NAME}", "--title", "Crash", "--body", "It crashes")
    assert "EOF" in served.run(*create, code=1)
    assert "/issues/1" in served.run(*create)
    served.run("git", "clone", "-q", f"https://github.com/{OWNER}/{NAME}", "work")
    push = ("git", "push", "-q", "origin", "HEAD:refs/heads/new")
    assert "503" in served.run(*push, cwd=served.folder / "work", code=1)
    served.run(*push, cwd=served.folder / "work")


def test_faults_are_set_and_ended_through_the_control_interface(tmp_path: Path) -> None:
    limit = GitHubFault(kind="secondary_limit", operation="GET */labels", times=100)
    with HubProcess.start() as hub:
        cache, folder, socket = (tmp_path / name for name in ("cache", "hub", "hub.sock"))
        request = AttachRequest(cell="one", fixture=FIXTURE, cache=cache, folder=folder, socket=socket, faults=(limit,))
        cell = hub.attach(request)
        labels = "/repos/octo-org/demo/labels"
        assert ask_socket(cell.socket, "GET", labels)[0] == 403
        hub.set_faults(cell, [limit.model_copy(update={"status": 429})])
        assert ask_socket(cell.socket, "GET", labels)[0] == 429
        hub.set_faults(cell, [])
        assert ask_socket(cell.socket, "GET", labels)[0] == 200
        with pytest.raises(ToolError, match=r"faults.0: operation: 'POST \*/isues' is no operation of the contract"):
            hub.set_faults(cell, [limit.model_copy(update={"operation": "POST */isues"})])
        hub.detach(cell)
        with pytest.raises(ToolError, match=r"one: the hub does not take its faults .*not attached"):
            hub.set_faults(cell, [limit])


def test_a_status_that_a_kind_does_not_have_is_refused() -> None:
    with pytest.raises(ValidationError, match="secondary_limit must be 403 or 429, not 500"):
        GitHubFault(kind="secondary_limit", status=500)


@pytest.mark.parametrize(
    "operation", ["mutation createIsue", "query repo, nothing", "git-push", "PUTS *", "mutations *"]
)
def test_a_fault_of_an_operation_that_does_not_exist_is_refused(operation: str) -> None:
    possible = ("*", "POST *", "mutation *", "mutation updateRepository*", "query rateLimit, repository", "info/refs *")
    refuse_impossible_faults([GitHubFault(kind="server_error", operation=name) for name in possible])
    with pytest.raises(ConfigError, match=r"^faults\.0: operation: .* is no operation of the contract"):
        refuse_impossible_faults([GitHubFault(kind="server_error", operation=operation)])
