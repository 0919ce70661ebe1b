import os
import subprocess
from pathlib import Path

import pytest

from scylla_gha.config.library import Library
from scylla_gha.github_api.setup import (
    HiddenResource,
    MissingResource,
    Policy,
    RepositorySetup,
    SelectedActions,
    Workflow,
)
from scylla_gha.onboarding.doctor import (
    Finding,
    caller_findings,
    machine_findings,
    mode_findings,
    readiness_findings,
    repositories_findings,
    repository_of,
)
from scylla_gha.onboarding.doctor_github import action_findings, findings, model_findings, rights_finding
from tests.support.adopters import empty
from tests.support.command import NO_ENGINE
from tests.support.git import shell
from tests.support.library import write
from tests.support.setups import make_setup


def states(setup: RepositorySetup) -> dict[str, str]:
    return {each.id: each.state for each in findings(setup, "scylla-eval", "scylla-results")}


def test_where_all_is_right_all_is_ok_and_each_thing_is_told_once() -> None:
    found = findings(make_setup(), "scylla-eval", "scylla-results")
    assert {each.state for each in found} == {"ok"}
    assert len({each.id for each in found}) == len(found)
    assert "fork" not in {each.id for each in found}


def test_what_cannot_be_seen_is_never_a_problem() -> None:
    hidden = HiddenResource(403)
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


def test_what_is_hidden_says_with_which_status_and_whom_to_ask() -> None:
    settings = {status: make_setup(pages=HiddenResource(status)) for status in (401, 403)}
    said = {status: next(each for each in findings(setup, "e", "r") if each.id == "pages")
            for status, setup in settings.items()}  # fmt: skip
    assert said[403].what == "whether a site exists: this token has no access (403)"
    assert "(401)" in said[401].what
    assert "administrator" in said[401].mend
    assert "(404)" in rights_finding(make_setup(rights=MissingResource())).what


def program(folder: Path, name: str, says: str) -> None:
    write(folder / name, f"#!/bin/sh\n{says}\n").chmod(0o755)


def test_what_is_here_is_named_with_its_version(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program(tmp_path, "git", "echo git version 2.50.0")
    program(tmp_path, "node", "echo v22.1.0")
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setenv("DOCKER_HOST", NO_ENGINE)
    found = {each.id: (each.state, each.what) for each in machine_findings()}
    assert (found["git"], found["node"]) == (("ok", "2.50.0"), ("ok", "v22.1.0"))
    assert found["docker"][0] == "optional"


def test_a_git_that_cannot_merge_for_the_hub_is_for_some(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setenv("DOCKER_HOST", NO_ENGINE)
    states = []
    for version in ("2.37.9", "2.38.0", "2.39.5 (Apple Git-154)", "3.0.1", "unknown"):
        program(tmp_path, "git", f"echo 'git version {version}'")
        states.append(next(each.state for each in machine_findings() if each.id == "git"))
    assert states == ["optional", "ok", "ok", "ok", "optional"]


@pytest.mark.parametrize("says", ["exit 1", "echo v16.0.0", "echo nonsense"])
def test_what_is_not_there_too_old_or_broken_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, says: str
) -> None:
    monkeypatch.setenv("DOCKER_HOST", NO_ENGINE)
    monkeypatch.setenv("PATH", str(tmp_path))
    assert {each.id: each.state for each in machine_findings()} == {
        "python": "ok", "git": "problem", "node": "optional", "docker": "optional", "bubblewrap": "optional",
    }  # fmt: skip
    program(tmp_path, "node", says)
    assert {each.id: each.state for each in machine_findings()}["node"] == "optional"


def test_what_lacks_to_measure_readiness_is_named_with_what_to_do(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    key = {"ANTHROPIC_API_KEY": "sk-ant-canary-0123456789"}
    for name in ("node", "npm"):
        program(tmp_path, name, "echo v22.1.0")
    program(tmp_path, "claude", "echo '2.1.197 (Claude Code)'")
    monkeypatch.setenv("DOCKER_HOST", NO_ENGINE)
    with monkeypatch.context() as whole:
        whole.setenv("PATH", str(tmp_path), prepend=os.pathsep)
        (finding,) = readiness_findings(key)
        assert (finding.state, finding.id) == ("ok", "readiness")
        assert "with their tests, in bubblewrap, with claude-code" in finding.what
        (finding,) = readiness_findings({})
        assert finding.what.startswith("no key of a model provider is set, so questions can be listed but not asked")
    monkeypatch.setenv("PATH", str(tmp_path / "empty"))
    lacks = list(readiness_findings(key))
    assert {lack.state for lack in lacks} == {"optional"}
    words = [lack.what.partition(":")[0] for lack in lacks]
    assert words == ["agent CLI", "sandbox", "node and npm not on PATH"]
    assert all(lack.mend for lack in lacks)


def test_a_mode_that_cannot_be_read_and_a_program_that_all_modes_would_have_are_found(tmp_path: Path) -> None:
    assert [(each.state, each.what) for each in mode_findings(Library((tmp_path,)))] == []
    write(tmp_path / "config/modes/probe.yaml", "id: probe\ndescription: A\nprograms: {env: {system: coreutils}}\n")
    (found,) = mode_findings(Library((tmp_path,)))
    assert (found.state, found.mend) == ("optional", "set `sandbox: docker` in experiments with modes")
    assert "bin/env (of the mode probe)" in found.what
    write(tmp_path / "config/modes/probe.yaml", "id: prob\n")
    (found,) = mode_findings(Library((tmp_path,)))
    assert (found.state, found.what.startswith("the mode probe cannot be read")) == ("problem", True)


def test_tokens_that_trials_on_github_com_need_are_named(tmp_path: Path) -> None:
    library = Library((tmp_path,))
    assert list(repositories_findings(library, {})) == []
    pool = "{repositories: [my/demo-0], admin: mara, accounts: {mara: my-mara, ines: my-ines}}"
    write(tmp_path / "config/github-fixtures.yaml", f"fixtures: {{demo: {pool}}}\n")
    environ = {"SCYLLA_FIXTURE_TOKENS": "mara=one\n"}
    (finding,) = repositories_findings(library, environ)
    missing = "demo, 1 repository: these tokens are not set here: SCYLLA_FIXTURE_TOKEN_INES"
    assert (finding.state, finding.what) == ("optional", missing)
    (finding,) = repositories_findings(library, {"SCYLLA_FIXTURE_TOKENS": "mara=one\nines=two"})
    assert (finding.state, finding.what) == ("ok", "demo, 1 repository at https://github.com: all tokens are set")
    (finding,) = repositories_findings(library, {**environ, "GITHUB_API_URL": "https://ghe.example.com/api/v3"})
    assert (finding.state, "name different servers" in finding.what) == ("problem", True)
    (finding,) = repositories_findings(library, {"SCYLLA_FIXTURE_TOKENS": "sesame"})
    assert finding.what.endswith("SCYLLA_FIXTURE_TOKENS: line 1: is not USER=TOKEN; correct the secret")


@pytest.mark.parametrize(("version", "state"), [("2.335.1", "problem"), ("2.336.0", "ok"), ("no idea", "problem")])
def test_a_runner_of_this_machine_has_to_know_the_toolkits_paths(tmp_path: Path, version: str, state: str) -> None:
    listener = tmp_path / "bin" / "Runner.Listener"
    program(listener.parent, listener.name, f'if [ "$1" = --version ]; then echo {version}; else echo up; read _; fi')
    with subprocess.Popen([listener, "run"], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as runner:
        assert runner.stdout is not None
        runner.stdout.readline()
        found = [each for each in machine_findings() if each.id == "runner" and str(tmp_path) in each.what]
        runner.communicate(b"\n")
    assert [each.state for each in found] == [state]
    assert version in found[0].what or "unknown" in found[0].what


def test_the_toolkit_itself_needs_no_caller(tmp_path: Path) -> None:
    write(tmp_path / ".github/workflows/evaluate.yml", "on: workflow_call\n")
    assert list(caller_findings(tmp_path)) == []


def test_calls_of_other_projects_are_none_of_ours(tmp_path: Path) -> None:
    write(tmp_path / ".github/workflows/ci.yml", "    uses: o/other/.github/workflows/x.yml@main\n")
    (said,) = caller_findings(tmp_path)
    assert (said.state, said.mend) == ("problem", "scylla-gha init")


NONE: frozenset[str] = frozenset()
KEY, FEDERATION = "ANTHROPIC_API_KEY", ("ANTHROPIC_FEDERATION_RULE_ID", "ANTHROPIC_ORGANIZATION_ID")


def model_finding(setup: RepositorySetup, environment: str) -> Finding:
    (finding,) = model_findings(setup, environment)
    assert model_findings(setup, environment, ["anthropic"]) == [finding], "an experiment uses the only provider"
    return finding


def test_a_key_in_the_environment_or_federation_is_right() -> None:
    assert model_finding(make_setup(), "scylla-eval").mend == ""
    said = model_finding(make_setup(secrets={"environment": NONE, "repository": frozenset({KEY})}), "scylla-eval")
    assert (said.state, said.mend) == ("ok", "gh secret set ANTHROPIC_API_KEY --env scylla-eval --repo octo-org/app")
    half = model_finding(make_setup(secrets={}, variables={"repository": frozenset(FEDERATION[:1])}), "e")
    assert (half.state, f"federation are missing: {FEDERATION[1]}" in half.what) == ("problem", True)
    parts = {"environment": frozenset(FEDERATION[:1]), "repository": frozenset(FEDERATION[1:])}
    said = model_finding(make_setup(secrets={"repository": NONE}, variables=parts), "e")
    assert (said.state, "by federation" in said.what) == ("ok", True)
    assert "repo:octo-org@123/app@456:environment:e (" in said.what
    assert "repo:octo-org/app:environment:e (" in said.what


SOME = Policy(enabled=True, allowed_actions="selected")


@pytest.mark.parametrize(
    ("selected", "state"),
    [
        (SelectedActions(github_owned_allowed=True, patterns_allowed=("astral-sh/setup-uv@*",)), "ok"),
        (SelectedActions(github_owned_allowed=True, patterns_allowed=("astral-sh/*",)), "ok"),
        (SelectedActions(github_owned_allowed=True, patterns_allowed=("*",)), "ok"),
        (
            SelectedActions(github_owned_allowed=True, patterns_allowed=("astral/*", "astral-sh/setup-uv-more@v1")),
            "problem",
        ),
        (SelectedActions(github_owned_allowed=False, patterns_allowed=("astral-sh/*",)), "problem"),
        (HiddenResource(403), "unknown"),
    ],
)
def test_a_choice_of_actions_must_have_those_that_the_toolkit_takes(
    selected: SelectedActions | HiddenResource, state: str
) -> None:
    *_, said = action_findings(make_setup(policy=SOME, selected=selected))
    assert (said.id, said.state) == ("allowed-actions", state)
    (off,) = action_findings(make_setup(policy=Policy(enabled=False), selected=selected))
    assert (off.id, off.state) == ("actions", "problem"), "nothing else is said of actions that are off"


@pytest.mark.parametrize(
    ("origin", "environ", "name"),
    [
        ("git@github.com:octo-org/app.git", {}, "octo-org/app"),
        ("https://github.com/octo-org/app", {}, "octo-org/app"),
        ("https://x:token@github.com/octo-org/app.git/", {}, "octo-org/app"),
        ("ssh://git@git.example/octo-org/app", {}, None),
        ("ssh://git@git.example/octo-org/app", {"GITHUB_API_URL": "https://git.example/api/v3"}, "octo-org/app"),
        ("/srv/app.git", {}, None),
        ("git@github.com:octo-org/app", {"GITHUB_REPOSITORY": "octo-org/other"}, "octo-org/other"),
    ],
)
def test_the_repository_is_the_runners_or_that_of_origin(
    tmp_path: Path, origin: str, environ: dict[str, str], name: str | None
) -> None:
    root = empty(tmp_path / "app")
    shell(root, f"git remote add origin {origin}")
    assert repository_of(root, environ) == name


def test_outside_of_a_repository_there_is_none(tmp_path: Path) -> None:
    assert repository_of(tmp_path, {}) is None
