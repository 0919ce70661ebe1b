"""`scylla-gha doctor` against a local server that answers as GitHub does."""

import json
import os
import socket
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from scylla_gha.errors import GitHubError
from scylla_gha.github_api.access import GitHubAccess
from scylla_gha.github_api.client import RetryPolicy
from scylla_gha.github_api.setup import read_setup
from scylla_gha.onboarding.doctor import Finding, caller_findings
from scylla_gha.onboarding.doctor_github import findings
from tests.support.adopters import empty
from tests.support.command import COMMAND, NO_ENGINE, Said, scylla
from tests.support.git import shell
from tests.support.github_setup import (
    CALLER,
    KEY,
    NAME,
    NO_SECRETS,
    SECRET_VALUE,
    TOKEN,
    Served,
    facts,
    right,
    serve,
    variables,
)
from tests.support.library import write

FEDERATION = ("ANTHROPIC_FEDERATION_RULE_ID", "ANTHROPIC_ORGANIZATION_ID")
PINNED = "jobs:\n  evaluate:\n    uses: octo-org/scylla-gha/.github/workflows/evaluate.yml@" + "ab" * 20 + "\n"
MOVABLE = PINNED.replace("ab" * 20, "main")


@pytest.fixture
def served() -> Iterator[Served]:
    with serve(Served()) as running:
        yield running


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A repository whose workflow calls a pinned toolkit."""
    made = empty(tmp_path / "app")
    write(made / ".github/workflows/scylla.yml", PINNED)
    return made


def doctor(root: Path, served: Served, *args: str, token: str = TOKEN, name: str = NAME) -> Said:
    env = {
        "GITHUB_API_URL": served.url,
        "GITHUB_TOKEN": token,
        "GH_TOKEN": "",
        "GITHUB_REPOSITORY": name,
        "NO_COLOR": "1",
    }
    return scylla("doctor", *args, cwd=root, env=env)


def looked(served: Served, token: str | None = TOKEN) -> dict[str, Finding]:
    """Return the findings on GitHub, by name."""
    told: list[str] = []
    setup = read_setup(
        GitHubAccess(served.url, token, "GITHUB_TOKEN"), NAME, RetryPolicy(told.append), "scylla-eval", "scylla-results"
    )
    return {each.id: each for each in findings(setup, "scylla-eval", "scylla-results")}


def found(said: Said, part: str = "github") -> dict[str, tuple[str, str]]:
    """Return what was said of each finding: its state and how to mend it."""
    return {each["id"]: (each["state"], each["mend"]) for each in json.loads(said.out)[part]}


def test_where_all_is_right_there_is_nothing_to_mend(root: Path, served: Served) -> None:
    said = doctor(root, served)
    assert said.code == 0, said.out + said.err
    assert "problem" not in said.out
    assert "ok        model: ANTHROPIC_API_KEY is a secret of scylla-eval" in said.out
    assert "ok        token: GITHUB_TOKEN, with the scopes repo, workflow" in said.out
    assert "ok        caller: calls octo-org/scylla-gha@abab" in said.out
    assert TOKEN not in said.out + said.err
    assert all(line.startswith("GET ") for line in served.asked)
    assert set(served.asked) == {f"GET {path}" for path in right()}, "nothing else is asked, and each thing once"
    assert len(served.asked) == len(set(served.asked))


PROBLEMS: list[tuple[dict[str, Any], str, str]] = [
    ({"": facts(archived=True)}, "repository", "gh repo unarchive octo-org/app"),
    ({"/actions/permissions": {"enabled": False}}, "actions",
     "gh api --method PUT repos/octo-org/app/actions/permissions -F enabled=true -f allowed_actions=all"),
    ({"/actions/permissions": {"enabled": True, "allowed_actions": "local_only"}}, "allowed-actions",
     "https://github.com/octo-org/app/settings/actions"),
    ({"/actions/permissions": {"enabled": True, "allowed_actions": "selected"},
      "/actions/permissions/selected-actions": {"github_owned_allowed": True, "patterns_allowed": ["other/*"]}},
     "allowed-actions", "https://github.com/octo-org/app/settings/actions"),
    ({"/actions/workflows": {"total_count": 0, "workflows": []}}, "workflows", "scylla-gha init, commit, push"),
    ({"/actions/workflows": {"total_count": 1, "workflows": [{**CALLER, "state": "disabled_inactivity"}]}},
     "workflow scylla.yml", "gh workflow enable scylla.yml --repo octo-org/app"),
    ({"/environments/scylla-eval": 404}, "environment",
     "gh api --method PUT repos/octo-org/app/environments/scylla-eval"),
    ({"/environments/scylla-eval/secrets": NO_SECRETS}, "model",
     "gh secret set ANTHROPIC_API_KEY --env scylla-eval --repo octo-org/app"),
    ({"/environments/scylla-eval/secrets": NO_SECRETS, "/actions/variables": variables(FEDERATION[0])}, "model",
     "gh variable set ANTHROPIC_ORGANIZATION_ID --repo octo-org/app"),
]  # fmt: skip


@pytest.mark.parametrize(("told", "name", "mend"), PROBLEMS)
def test_a_problem_is_named_with_what_mends_it(served: Served, told: dict[str, Any], name: str, mend: str) -> None:
    served.told.update(told)
    said = looked(served)
    assert (said[name].state, said[name].mend) == ("problem", mend)


def test_problems_have_an_exit_code_of_their_own(root: Path, served: Served) -> None:
    served.told["/environments/scylla-eval"] = 404
    said = doctor(root, served, "--json")
    assert said.code == 12
    assert "still to correct: environment, model" in said.err
    assert found(said)["environment"][0] == "problem"


GOOD: list[tuple[dict[str, Any], str, str]] = [
    ({"/environments/scylla-eval/secrets": NO_SECRETS, "/actions/secrets": KEY}, "model", "scylla-eval is safer"),
    ({"/environments/scylla-eval/secrets": NO_SECRETS, "/actions/organization-secrets": KEY}, "model",
     "a secret of the organization"),
    ({"/environments/scylla-eval/secrets": NO_SECRETS, "/actions/variables": variables(FEDERATION[0]),
      "/environments/scylla-eval/variables": variables(*FEDERATION[1:])}, "model", "by federation"),
    ({"": facts(private=True)}, "repository", "hosted runners use minutes of your plan"),
    ({"": facts(fork=True)}, "fork", "schedules are disabled at first"),
    ({"/branches/scylla-results": 404}, "results branch", "does not exist yet; the first report creates it"),
    ({"/actions/permissions": {"enabled": True, "allowed_actions": "selected"}, "/actions/permissions/selected-actions":
      {"github_owned_allowed": True, "patterns_allowed": ["astral-sh/*"]}}, "allowed-actions", "selected actions"),
]  # fmt: skip


@pytest.mark.parametrize(("told", "name", "words"), GOOD)
def test_other_ways_are_right_as_well(served: Served, told: dict[str, Any], name: str, words: str) -> None:
    served.told.update(told)
    said = looked(served)
    assert said[name].state == "ok"
    assert words in said[name].what
    assert SECRET_VALUE not in str(said)


OPTIONAL: list[tuple[dict[str, Any], str]] = [
    ({"/pages": 404}, "pages"),
    ({"/pages": {"build_type": "legacy"}}, "pages"),
    ({"/environments/scylla-eval": {"protection_rules": [{"type": "wait_timer"}]}}, "environment"),
    ({"/branches/scylla-results": {"protected": False}}, "results branch"),
    ({"/actions/permissions/workflow": {"default_workflow_permissions": "write"}}, "token of workflows"),
]


@pytest.mark.parametrize(("told", "name"), OPTIONAL)
def test_what_only_some_want_is_no_problem(served: Served, told: dict[str, Any], name: str) -> None:
    served.told.update(told)
    said = looked(served)[name]
    assert (said.state, bool(said.mend)) == ("optional", True)


@pytest.mark.parametrize("status", [401, 403])
def test_what_the_token_may_not_see_is_unknown_and_no_verdict(served: Served, status: int) -> None:
    served.told.update({path: status for path in right() if path})
    said = looked(served)
    assert {each.id for each in said.values() if each.state == "ok"} == {"token", "repository"}
    assert {each.state for each in said.values()} == {"ok", "unknown"}
    assert f"({status})" in said["actions"].what


def test_lists_that_are_always_there_are_hidden_where_they_are_not_found(served: Served) -> None:
    served.told.update({"/environments/scylla-eval/secrets": NO_SECRETS, "/actions/secrets": 404})
    assert looked(served)["model"].state == "unknown"


def test_without_a_token_the_public_is_told(served: Served) -> None:
    served.headers = {}
    assert looked(served, None)["token"].state == "unknown"


def test_of_a_token_kind_scopes_and_end_are_told(served: Served) -> None:
    served.headers = {"github-authentication-token-expiration": "2027-01-01 00:00:00 UTC"}
    assert "a token with permissions instead of scopes; it expires 2027-01-01" in looked(served)["token"].what
    served.headers = {"x-oauth-scopes": "gist"}
    assert (looked(served)["token"].state, looked(served)["token"].mend) == ("problem", "gh auth refresh --scopes repo")
    with pytest.raises(GitHubError, match="GITHUB_TOKEN is invalid or expired"):
        looked(served, "ghp_other")


def test_a_new_fork_is_told_of_the_button(served: Served) -> None:
    served.told.update({"": facts(fork=True), "/actions/workflows": {"total_count": 0, "workflows": []}})
    assert looked(served)["workflows"].mend.startswith("press the button in https://github.com/octo-org/app/actions")


def test_pins_matter_more_where_the_repository_wants_them(root: Path, served: Served) -> None:
    write(root / ".github/workflows/scylla.yml", MOVABLE)
    (said,) = caller_findings(root)
    mend = "pin the commit: gh api repos/octo-org/scylla-gha/commits/main --jq .sha"
    assert (said.state, said.mend) == ("optional", mend)
    served.told["/actions/permissions"] = {"enabled": True, "allowed_actions": "all", "sha_pinning_required": True}
    refused = doctor(root, served, "--json")
    assert (refused.code, found(refused)["pins"]) == (12, ("problem", mend))
    write(root / ".github/workflows/scylla-comment.yml", PINNED)
    assert "workflows call several versions" in next(caller_findings(root)).what


def test_without_a_repository_this_machine_is_looked_at(tmp_path: Path, served: Served) -> None:
    said = doctor(tmp_path, served, name="")
    assert said.code == 12
    assert "problem   caller: no workflow in this folder calls the toolkit" in said.out
    assert "no repository on GitHub is known; name one by --repository" in said.out
    assert served.asked == []


def test_without_a_network_this_machine_is_checked_and_github_is_unknown(root: Path) -> None:
    away = Served(url="http://127.0.0.1:9")  # nothing listens on the port of `discard`
    said = doctor(root, away)
    here, _, on_github = said.out.partition(f"\n{NAME} on GitHub\n")
    assert "ok        caller: calls octo-org/scylla-gha@abab" in here
    assert on_github.startswith("  unknown   github: nothing could be checked: http://127.0.0.1:9 cannot be reached")
    assert "-> check the network and GITHUB_API_URL, and try again" in on_github
    assert (said.code, on_github.count("\n")) == (11, 2)
    (root / ".github/workflows/scylla.yml").unlink()
    data = doctor(root, away, "--json")
    assert (data.code, found(data, "here")["caller"]) == (12, ("problem", "scylla-gha init"))
    assert found(data) == {"github": ("unknown", "check the network and GITHUB_API_URL, and try again")}


def test_findings_on_this_machine_are_printed_before_github_is_asked(root: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as github:
        env = {**os.environ, "DOCKER_HOST": NO_ENGINE, "GITHUB_REPOSITORY": NAME,
               "GITHUB_API_URL": f"http://127.0.0.1:{github.getsockname()[1]}"}  # fmt: skip
        with subprocess.Popen([COMMAND, "doctor"], cwd=root, env=env, stdout=subprocess.PIPE) as running:
            assert running.stdout is not None
            github.accept()[0].close()
            os.set_blocking(running.stdout.fileno(), False)
            printed = os.read(running.stdout.fileno(), 1 << 16).decode()
            running.kill()
    assert "caller: calls octo-org/scylla-gha@abab" in printed


def test_a_token_that_github_refuses_hides_nothing_of_this_machine(root: Path, served: Served) -> None:
    said = doctor(root, served, "--json", token="ghp_other")
    assert (said.code, found(said, "here")["caller"][0], found(said)["github"][0]) == (11, "ok", "unknown")
    assert "GITHUB_TOKEN is invalid or expired" in said.out


def test_the_repository_is_the_one_that_this_folder_came_from(root: Path, served: Served) -> None:
    shell(root, f"git remote add origin git@github.com:{NAME}.git")
    assert json.loads(doctor(root, served, "--json", name="").out)["repository"] == NAME


def test_words_of_github_cannot_steer_a_terminal(served: Served) -> None:
    served.told[""] = facts(default_branch="main\x1b[2J")
    served.told["/actions/workflows"] = {"total_count": 0, "workflows": []}
    assert "\x1b" not in looked(served)["workflows"].what
