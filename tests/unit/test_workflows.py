"""Rules of every workflow and action that no linter knows."""

import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from tests.support.workflows import ACTIONS, FILES, GITHUB, ROOT, WORKFLOWS, Node, Step, expressions, jobs, steps, texts

ALLOWED = {"actions/checkout", "actions/upload-artifact", "actions/download-artifact", "actions/cache/restore",
           "actions/cache/save", "actions/setup-node", "actions/upload-pages-artifact", "actions/deploy-pages",
           "actions/attest-build-provenance", "astral-sh/setup-uv", "pypa/gh-action-pypi-publish"}  # fmt: skip
WRITES = {"contents", "pull-requests", "checks", "statuses", "actions", "issues"}
OURS = re.compile(r"\$/\.github/(actions/[a-z]+|workflows/[a-z-]+\.yml)")
ALL_JOBS = [pytest.param(name, job, node, id=f"{name}-{job}") for name, job, node in jobs()]
ALL_STEPS = [pytest.param(step, id=step.at) for step in steps()]
STARTS = ["comment", "dispatch", "evaluate", "regression", "site"]


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(ROOT)))
def test_actions_of_others_are_pinned_by_commit_with_their_release(path: Path) -> None:
    for line in path.read_text().splitlines():
        if (found := re.match(r"\s*(?:- )?uses: (\S+)(.*)", line)) is None or OURS.fullmatch(found[1]):
            continue
        action, _, commit = found[1].partition("@")
        assert action in ALLOWED
        assert re.fullmatch(r"[0-9a-f]{40}", commit)
        assert re.fullmatch(r" # v\d+\.\d+\.\d+", found[2])


def test_an_action_has_one_pin() -> None:
    text = "\n".join(path.read_text() for path in FILES)
    pins = {(name.replace("/restore", "").replace("/save", ""), rest)
            for name, rest in re.findall(r"uses: ([a-z][\w/-]+)@(\S+ # \S+)", text)}  # fmt: skip
    assert len(pins) == len({name for name, _ in pins})


def test_what_is_called_of_our_own_is_there() -> None:
    found = {name for path in FILES for name in OURS.findall(path.read_text())}
    assert {f"actions/{name}" for name in ACTIONS} <= found
    for name in found:
        place = GITHUB / name
        assert (place if place.suffix else place / "action.yml").is_file()


@pytest.mark.parametrize("name", WORKFLOWS)
def test_nothing_is_granted_but_by_a_job(name: str) -> None:
    assert WORKFLOWS[name]["permissions"] == {}


@pytest.mark.parametrize(("name", "job", "node"), ALL_JOBS)
def test_every_job_names_what_it_may_and_ends_in_time(name: str, job: str, node: Node) -> None:
    assert isinstance(node["permissions"], dict)
    if "uses" not in node:
        assert 1 <= node["timeout-minutes"] <= 350, f"{name} {job}"


def test_only_who_reports_may_write_to_the_repository() -> None:
    writers = {f"{name} {job}": {what for what, how in node["permissions"].items() if how == "write"}
               for name, job, node in jobs() if "uses" not in node}  # fmt: skip
    assert {name: what for name, what in writers.items() if what} == {
        "agents tell": {"issues"},
        "comment slash": {"actions", "issues", "pull-requests"},
        "evaluate cell": {"id-token"},
        "evaluate report": {"contents", "pull-requests", "checks", "statuses"},
        "evaluate next": {"actions", "contents"},
        "evaluate pin": {"contents"},
        "evaluate refused": {"pull-requests"},
        "readiness measure": {"id-token"},
        "readiness tell": {"contents", "pull-requests"},
        "publish publish": {"checks", "issues", "pull-requests", "statuses"},
        "release publish": {"attestations", "id-token"},
        "release release": {"contents"},
        "release major": {"contents"},
        "skills measure": {"id-token"},
        "skills tell": {"pull-requests"},
        "regression look": {"issues"},
        "regression tell": {"issues"},
        "site deploy": {"id-token", "pages"},
    }


def test_secrets_are_only_in_the_job_of_an_environment_that_cannot_write() -> None:
    users = {f"{name} {job}" for name, job, node in jobs() if "uses" not in node
             and any("secrets." in text for text in texts(node))}  # fmt: skip
    assert users == {"evaluate cell", "readiness measure", "skills measure"}
    for measure in (WORKFLOWS[name]["jobs"]["measure"] for name in ("readiness", "skills")):
        assert not WRITES & {what for what, how in measure["permissions"].items() if how == "write"}
        (keyed,) = (step for step in measure["steps"] if any("secrets." in text for text in texts(step)))
        assert re.search("scylla-gha (readiness|skill) ", keyed["run"])
    cell = WORKFLOWS["evaluate"]["jobs"]["cell"]
    assert cell["environment"]["name"] == "${{ inputs.environment }}"
    assert not WRITES & {what for what, how in cell["permissions"].items() if how == "write"}
    assert not any("github.token" in text or "GITHUB_TOKEN" in text for text in texts(ACTIONS["cell"]))


def test_cells_without_a_model_work_where_there_is_nothing_to_steal() -> None:
    with_model, without = (WORKFLOWS["evaluate"]["jobs"][name] for name in ("cell", "builtin-cell"))
    assert "environment" not in without
    assert without["permissions"] == {"contents": "read"}
    conditions = [job["if"].rpartition(" && ")[2] for job in (with_model, without)]
    assert conditions == [f"needs.plan.outputs.needs_model {how} 'true' }}}}" for how in ("==", "!=")]
    *same, last = zip(with_model["steps"], without["steps"], strict=True)
    assert all(one == other for one, other in same)
    given = {name for name, value in last[0]["with"].items() if last[1]["with"].get(name) != value}
    assert given == {
        "anthropic-api-key",
        "anthropic-base-url",
        "federation-rule",
        "federation-organization",
        "federation-service-account",
        "fixture-admin-tokens",
        "fixture-agent-tokens",
        "openai-api-key",
        "gemini-api-key",
        "openrouter-api-key",
        "local-api-key",
        "local-base-url",
    }


def test_reviewers_are_asked_once_before_all_cells() -> None:
    of = WORKFLOWS["evaluate"]["jobs"]
    assert of["approval"]["environment"]["name"] != of["cell"]["environment"]["name"]
    assert "strategy" not in of["approval"]
    for name in ("cell", "builtin-cell"):
        assert of[name]["needs"] == ["plan", "approval", "pin"]
        assert "!failure()" in of[name]["if"], "a refused approval is a failure"


def test_what_a_pull_request_brings_is_run_in_containers() -> None:
    (step,) = (step for step in WORKFLOWS["evaluate"]["jobs"]["plan"]["steps"] if step.get("id") == "plan")
    condition = "(inputs.pull || inputs.base || (inputs.head && inputs.head != github.sha))"
    assert step["with"]["sandbox"] == f"${{{{ {condition} && 'docker' || '' }}}}"


def test_secrets_are_named_never_inherited() -> None:
    for _, _, node in jobs():
        assert node.get("secrets") != "inherit"


def test_the_key_goes_to_the_one_step_that_needs_it() -> None:
    keyed = [
        step for step in ACTIONS["cell"]["runs"]["steps"] if any("anthropic-api-key" in text for text in texts(step))
    ]
    assert ["scylla-gha cell" in step["run"] for step in keyed] == [True]


def test_the_step_of_agents_has_no_administrators_token_of_repositories() -> None:
    of_cell = ACTIONS["cell"]["runs"]["steps"]
    with_admin = [
        step for step in of_cell if any("fixture-admin-tokens" in text for text in texts(step.get("env", {})))
    ]
    commands = ['scylla-gha fixture lease --shard "$SHARD" -- "$EXPERIMENT"',
                'scylla-gha fixture free --shard "$SHARD" -- "$EXPERIMENT"']  # fmt: skip
    assert [step["run"] for step in with_admin] == commands
    assert [step["if"].rpartition("&& ")[2] for step in with_admin] == ["inputs.fixture-admin-tokens != ''"] * 2
    (work,) = (step for step in of_cell if "scylla-gha cell" in step.get("run", ""))
    assert work["env"]["SCYLLA_FIXTURE_TOKENS"] == "${{ inputs.fixture-agent-tokens }}"
    assert of_cell.index(with_admin[0]) < of_cell.index(work) < of_cell.index(with_admin[1])


def test_tokens_of_repositories_never_go_where_code_of_a_pull_request_is_evaluated() -> None:
    (step,) = (step for step in WORKFLOWS["evaluate"]["jobs"]["cell"]["steps"] if "shard" in step.get("with", {}))
    own = "!(inputs.pull || inputs.base || (inputs.head && inputs.head != github.sha))"
    for who in ("admin", "agent"):
        secret = f"secrets.SCYLLA_FIXTURE_{who.upper()}_TOKENS"
        assert step["with"][f"fixture-{who}-tokens"] == f"${{{{ {own} && {secret} || '' }}}}"
    for name in ("comment", "publish", "ci"):
        assert not any("SCYLLA_FIXTURE" in text for text in texts(WORKFLOWS[name])), name


def test_the_images_are_handed_on_before_an_agent_works() -> None:
    """A cell never saves a cache, from which later runs would take what an agent left."""
    assert not any("cache/save" in step.get("uses", "") for step in ACTIONS["cell"]["runs"]["steps"])
    saving = [job for _, job, node in jobs() for step in node.get("steps", ())
              if step.get("with", {}).get("save-cache") is True]  # fmt: skip
    assert saving == ["plan", "report"]


@pytest.mark.parametrize("step", ALL_STEPS)
def test_scripts_get_values_by_their_environment(step: Step) -> None:
    assert expressions(step.script) == []


def test_no_checkout_leaves_credentials() -> None:
    found = [step.node for step in steps() if "actions/checkout" in step.node.get("uses", "")]
    assert found
    assert all(node["with"]["persist-credentials"] is False for node in found)


def test_no_code_of_a_pull_request_is_fetched_where_a_comment_starts_it() -> None:
    for name in ("comment", "publish"):
        assert not any("checkout" in text for text in texts(WORKFLOWS[name]["jobs"]))
    assert WORKFLOWS["comment"]["on"] == {"issue_comment": {"types": ["created"]}}
    assert set(WORKFLOWS["publish"]["on"]) == {"workflow_run"}


def test_a_run_of_a_fork_leaves_what_it_may_not_post() -> None:
    of_fork = WORKFLOWS["ci"]["jobs"]["scenarios"]
    assert of_fork["with"]["publish"] is False
    assert of_fork["with"]["results-branch"] == ""
    assert "secrets" not in of_fork
    assert WORKFLOWS["publish"]["on"]["workflow_run"]["workflows"] == [WORKFLOWS["ci"]["name"]]


def test_a_confirming_run_in_the_same_run_has_artifacts_of_its_own() -> None:
    of = WORKFLOWS["regression"]["jobs"]
    assert of["confirm"]["with"]["prefix"] == "confirm-"
    assert of["sample"]["with"]["epoch"] != of["confirm"]["with"]["epoch"]
    assert all("github.run_id" in of[job]["with"]["epoch"] for job in ("sample", "confirm"))


def test_a_regression_is_looked_for_in_the_whole_campaign() -> None:
    regression, evaluate = WORKFLOWS["regression"], WORKFLOWS["evaluate"]
    assert "needs.sample.outputs.dispatched != 'true'" in regression["jobs"]["look"]["if"]
    assert "dispatched" in evaluate["on"]["workflow_call"]["outputs"]
    for name in ("wave", "campaign", "epoch"):
        assert f"inputs.{name}" in regression["jobs"]["sample"]["with"][name]
        assert all(name in regression["on"][event]["inputs"] for event in ("workflow_dispatch", "workflow_call"))


@pytest.mark.parametrize("name", ["plan", "cell", "report", "alert"])
def test_runs_that_the_repository_brought_are_removed_first(name: str) -> None:
    assert "rm -rf runs" in ACTIONS[name]["runs"]["steps"][0]["run"]


@pytest.mark.parametrize("name", sorted(set(WORKFLOWS) - {"evaluate"}))
def test_every_start_has_a_group_of_its_own(name: str) -> None:
    group = WORKFLOWS[name]["concurrency"]["group"]
    assert expressions(group), "one group for all would have runs wait for strangers"


def test_reports_wait_for_each_other_and_none_is_thrown_out() -> None:
    found = WORKFLOWS["evaluate"]["jobs"]["report"]["concurrency"]
    group = found.pop("group")
    assert found == {"queue": "max", "cancel-in-progress": False}
    assert group.startswith("scylla-results-${{ github.repository }}${{ !inputs.publish && format('-{0}-")


def test_a_failed_cell_stops_neither_others_nor_the_report() -> None:
    of = WORKFLOWS["evaluate"]["jobs"]
    assert of["cell"]["strategy"]["fail-fast"] is False
    assert "!cancelled()" in of["report"]["if"]
    assert "!= '[]'" in of["cell"]["if"]
    assert of["report"]["needs"] == ["plan", "approval", "cell", "builtin-cell"]
    known_to_the_next_wave = {"inputs.publish", "inputs.results-branch != ''"}
    assert known_to_the_next_wave < set(of["next"]["if"].removeprefix("${{ ").removesuffix(" }}").split(" && "))


def test_artifacts_of_another_attempt_have_another_name() -> None:
    uploads = [step.node for step in steps() if "upload-artifact" in step.node.get("uses", "")]
    assert len(uploads) >= 5
    for node in uploads:
        assert node["with"]["name"].endswith("-${{ github.run_attempt }}")
        assert node["with"]["retention-days"]


@pytest.mark.parametrize("name", STARTS)
def test_inputs_are_described_and_few_enough(name: str) -> None:
    for event in ("workflow_dispatch", "workflow_call"):
        inputs = (WORKFLOWS[name]["on"].get(event) or {}).get("inputs", {})
        assert len(inputs) <= 25
        assert all(len(each["description"]) > 10 and each["type"] for each in inputs.values())


def test_what_is_handed_to_the_reusable_workflow_is_there() -> None:
    taken = WORKFLOWS["evaluate"]["on"]["workflow_call"]["inputs"]
    for name, job, node in jobs():
        if node.get("uses", "").endswith("evaluate.yml"):
            assert set(node["with"]) <= set(taken), f"{name} {job}"
            needed = {each for inner in WORKFLOWS["evaluate"]["jobs"].values() for each in inner["permissions"].items()}
            granted = {(what, how) for what, most in node["permissions"].items() for how in ("read", most)}
            assert needed - {("contents", "read")} <= granted, f"{name} {job}"


def test_what_the_reusable_workflow_gives_is_made() -> None:
    of = WORKFLOWS["evaluate"]
    promised = {"verdict", "pass_rate", "delta", "low", "high", "agent_usd", "judge_usd", "missing"}
    assert promised <= set(of["on"]["workflow_call"]["outputs"])
    for one in of["on"]["workflow_call"]["outputs"].values():
        job, _, output = expressions(one["value"])[0].strip().removeprefix("jobs.").partition(".outputs.")
        assert output in of["jobs"][job]["outputs"]


@pytest.mark.parametrize("name", sorted(ACTIONS))
def test_actions_get_only_inputs_that_they_have_and_all_that_they_need(name: str) -> None:
    uses = f"$/.github/actions/{name}"
    inputs = ACTIONS[name].get("inputs", {})
    found = [step.node.get("with", {}) for step in steps() if step.node.get("uses") == uses]
    assert found
    for given in found:
        assert set(given) <= set(inputs)
        assert {each for each, told in inputs.items() if told.get("required")} <= set(given)
    assert all(len(told["description"]) > 10 for told in inputs.values())


def test_each_job_that_may_build_images_has_what_they_are_built_with() -> None:
    builds = re.compile(r"scylla-gha (readiness|skill|agent-updates measure) |actions/plan$")
    jobs = {
        f"{file}/{name}": [str(step.get("run") or step.get("uses")) for step in job["steps"]]
        for file, workflow in WORKFLOWS.items()
        for name, job in workflow["jobs"].items()
        if "steps" in job
    }
    building = {name: steps for name, steps in jobs.items() if any(map(builds.search, steps))}
    assert {name.partition("/")[0] for name in building} >= {"agents", "evaluate", "readiness", "skills"}
    for name, of_job in building.items():
        first = next(number for number, step in enumerate(of_job) if builds.search(step))
        assert "$/.github/actions/images" in of_job[:first], name


def test_the_schedule_keeps_off_the_full_hour_and_has_a_twin_by_hand() -> None:
    on = WORKFLOWS["regression"]["on"]
    assert all(int(each["cron"].split()[0]) % 30 for each in on["schedule"])
    assert "workflow_dispatch" in on


def test_uv_is_the_one_of_the_lock_file() -> None:
    locked = {each["name"]: each["version"] for each in tomllib.loads((ROOT / "uv.lock").read_text())["package"]}
    (given,) = (step["with"] for step in ACTIONS["setup"]["runs"]["steps"] if "setup-uv" in step.get("uses", ""))
    assert given["version"] == locked["uv"]


def test_scripts_are_sound(tmp_path: Path) -> None:
    """In actions too, which actionlint does not read."""
    places = []
    for number, step in enumerate(each for each in steps() if each.script):
        places.append(tmp_path / f"{number}-{re.sub('[^a-z0-9]+', '-', step.at)}.sh")
        places[-1].write_text(f"#!/usr/bin/env bash\n{step.script}")
    program = str(Path(sys.executable).with_name("shellcheck"))
    done = subprocess.run([program, *places], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout


@pytest.mark.parametrize(
    "argv",
    [("actionlint",), ("zizmor", "--pedantic", "--offline", "--quiet", "--no-progress", ".github", "action.yml")],
    ids=str,
)
def test_linters_find_nothing(argv: tuple[str, ...]) -> None:
    program = str(Path(sys.executable).with_name(argv[0]))
    done = subprocess.run([program, *argv[1:]], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def test_the_site_is_deployed_only_where_it_is_switched_on_and_its_builder_only_reads() -> None:
    site, called = WORKFLOWS["site"]["jobs"], WORKFLOWS["dispatch"]["jobs"]["site"]
    assert all(WORKFLOWS["site"]["on"][event]["inputs"]["deploy"]["default"] is False
               for event in ("workflow_dispatch", "workflow_call"))  # fmt: skip
    assert site["deploy"]["if"] == "inputs.deploy"
    assert site["build"]["permissions"] == {"contents": "read"}
    assert "vars.SCYLLA_SITE != ''" in called["if"]
    assert called["with"]["deploy"] == "${{ vars.SCYLLA_SITE == 'pages' }}"
    needed = {right for job in site.values() for right in job["permissions"].items()}
    assert needed <= set(called["permissions"].items())
