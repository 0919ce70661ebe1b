"""`scylla-gha slash`, the real command, against a local server that knows GitHub's API."""

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from tests.support.actions import read_outputs
from tests.support.command import Said, scylla
from tests.support.github_api import BOT, FORK, REPOSITORY, TOKEN, Broken, State, serving, sha

HEAD, MOVED = sha("a"), sha("e")
BEFORE, AT, AFTER = "2026-01-01T00:00:00Z", "2026-01-01T12:00:00Z", "2026-01-01T12:00:01Z"


@dataclass
class Stage:
    """A pull request with a comment on it."""

    state: State
    folder: Path
    outputs: dict[str, str] = field(default_factory=dict)

    def say(self, body: str, login: str = "octocat", **given: Any) -> Said:
        """Comment, and run the command on the event."""
        number = self.state.comment(7, body, login, AT)
        user = {"login": login, "type": given.get("type", "User")}
        event = {
            "action": given.get("action", "created"), "sender": user,
            "comment": {"id": number, "body": body, "user": user, "created_at": AT},
            "issue": {"number": 7, "pull_request": {"url": "x"} if given.get("is_pull", True) else None},
            "repository": {"full_name": REPOSITORY, "default_branch": "main"},
        }  # fmt: skip
        return self.take(event, *given.get("options", ()))

    def push(self, *options: str, **given: Any) -> Said:
        """Run the command on the event of a push to the pull request, as it is then; `given` changes its head."""
        told = json.loads(json.dumps(self.state.pulls[7]))
        told["head"].update(given)
        event = {"action": "synchronize", "number": 7, "pull_request": told,
                 "repository": {"full_name": REPOSITORY, "default_branch": "main"}}  # fmt: skip
        return self.take(event, *(options or ("--compare", "demo", "--workflow", "scylla.yml")))

    def take(self, event: dict[str, Any], *options: str) -> Said:
        """Run the command on an event."""
        (self.folder / "event.json").write_text(json.dumps(event))
        env = {
            "GITHUB_API_URL": self.state.url, "GITHUB_TOKEN": TOKEN, "GH_TOKEN": "", "NO_PROXY": "127.0.0.1",
            "GITHUB_REPOSITORY": REPOSITORY, "GITHUB_EVENT_PATH": str(self.folder / "event.json"),
            "GITHUB_OUTPUT": str(self.folder / "outputs"),
        }  # fmt: skip
        said = scylla("slash", *options, cwd=self.folder, env=env, seconds=120)
        assert "Traceback" not in said.err
        assert TOKEN not in said.out + said.err
        self.outputs = read_outputs(self.folder / "outputs")
        return said

    def replies(self) -> list[str]:
        return [body for body in self.state.bodies(7) if body.startswith("<!-- scylla:reply")]


@pytest.fixture
def stage(tmp_path: Path) -> Iterator[Stage]:
    state = State(rights={"octocat": "write", "reader": "read"})
    with serving(state):
        state.pull(7, HEAD, pushed=BEFORE)
        yield Stage(state, tmp_path)


def refused(stage: Stage, why: str) -> None:
    assert stage.state.dispatches == []
    assert [content for _, content in stage.state.reactions][-1] == "confused"
    (reply,) = stage.replies()
    assert why in reply
    assert stage.outputs == {"accepted": "false"}


def test_an_order_is_dispatched_at_the_head_that_stood_there(stage: Stage) -> None:
    said = stage.say("/scylla evaluate demo --only '001-*' --only '*--r01' --repetitions 5\nthanks!")
    assert said.code == 0, said.err
    (made,) = stage.state.dispatches
    given = {"experiment": "demo", "only": "001-* *--r01", "repetitions": "5", "pull": "7", "head": HEAD}
    assert (made["workflow"], made["ref"], made["inputs"]) == ("dispatch.yml", "main", given)
    assert [content for _, content in stage.state.reactions] == ["eyes"]
    (run,) = stage.state.runs.values()
    assert stage.outputs == {"accepted": "true", "run": run["html_url"], **given}
    assert "6 API calls" in said.err
    assert stage.replies() == []


def test_a_comparison_is_with_where_the_pull_request_branched_off(stage: Stage) -> None:
    said = stage.say("/scylla compare demo")
    assert (said.code, "7 API calls" in said.err) == (0, True), said.err
    (made,) = stage.state.dispatches
    assert made["inputs"] == {"experiment": "demo", "pull": "7", "head": HEAD, "base": sha("b")}


def test_a_pull_request_orders_its_comparison_on_the_default_branch(stage: Stage) -> None:
    said = stage.push()
    assert (said.code, "4 API calls" in said.err) == (0, True), said.err
    (made,) = stage.state.dispatches
    given = {"experiment": "demo", "pull": "7", "head": HEAD, "base": sha("b")}
    assert (made["workflow"], made["ref"], made["inputs"]) == ("scylla.yml", "main", given)
    assert stage.outputs["accepted"] == "true"
    assert stage.state.bodies(7) == []


@pytest.mark.parametrize("name", ["", "pdf"])
def test_skills_are_measured_against_where_the_pull_request_branched_off(stage: Stage, name: str) -> None:
    said = stage.say(f"/scylla skill {name}", options=("--workflow", "scylla-skills.yml"))
    assert (said.code, "7 API calls" in said.err) == (0, True), said.err
    (made,) = stage.state.dispatches
    assert made["workflow"] == "scylla-skills.yml"
    named = {"skill": name} if name else {}
    assert made["inputs"] == {**named, "pull": "7", "head": HEAD, "base": sha("b")}


def test_a_pull_request_orders_a_measurement_of_its_skills(stage: Stage) -> None:
    said = stage.push("--skills", "--workflow", "scylla-skills.yml")
    (made,) = stage.state.dispatches
    assert (said.code, made["inputs"]) == (0, {"pull": "7", "head": HEAD, "base": sha("b")})
    assert "dispatched skills at" in said.err


def test_a_fork_orders_no_measurement_of_skills(stage: Stage) -> None:
    stage.state.pull(7, HEAD, repository=FORK, ref="patch-1", pushed=BEFORE)
    said = stage.push("--skills", "--workflow", "scylla-skills.yml")
    assert (said.code, stage.state.dispatches) == (0, [])
    assert "a maintainer can review it and comment `/scylla skill`" in said.err


def test_a_pull_request_whose_head_is_no_longer_that_of_the_event_orders_nothing(stage: Stage) -> None:
    said = stage.push(sha=MOVED)
    assert (said.code, stage.state.dispatches, stage.outputs) == (0, [], {"accepted": "false"})
    assert f"refused: the pull request is closed, or its head has moved to `{HEAD[:10]}`" in said.err


def test_a_pull_request_of_a_fork_orders_nothing(stage: Stage) -> None:
    stage.state.pull(7, HEAD, repository=FORK, ref="patch-1", pushed=BEFORE)
    said = stage.push()
    assert (said.code, stage.state.dispatches, stage.outputs) == (0, [], {"accepted": "false"})
    assert "a maintainer can review it and comment `/scylla compare demo`" in said.err


def test_a_commit_that_is_named_must_be_the_head(stage: Stage) -> None:
    stage.state.pushes.clear()
    assert stage.say(f"/scylla evaluate demo {HEAD[:7]}").code == 0
    assert stage.state.dispatches[0]["inputs"]["head"] == HEAD


def test_another_commit_than_the_head_is_refused(stage: Stage) -> None:
    stage.say(f"/scylla evaluate demo {MOVED[:9]}")
    refused(stage, f"the head is `{HEAD[:10]}`, not `{MOVED[:9]}`; review it, and comment `/scylla evaluate demo")


@pytest.mark.parametrize("pushed", [AT, AFTER])
def test_a_push_after_the_comment_is_refused(stage: Stage, pushed: str) -> None:
    stage.state.pull(7, MOVED, pushed=pushed)
    stage.say("/scylla evaluate demo")
    refused(stage, f"the head `{MOVED[:10]}` was pushed after your comment; review it, and comment")


def test_a_head_whose_push_nobody_dates_must_be_named(stage: Stage) -> None:
    stage.state.pushes.clear()
    stage.say("/scylla evaluate demo")
    refused(stage, f"GitHub does not show when the head `{HEAD[:10]}` was pushed")


def test_a_head_that_moves_while_it_is_looked_at_is_refused(stage: Stage) -> None:
    stage.state.before["reactions"] = lambda now: now.pulls[7]["head"].update(sha=MOVED)
    stage.say("/scylla evaluate demo")
    refused(stage, f"the head has just moved to `{MOVED[:10]}`")


def test_a_fork_is_dated_by_its_own_pushes(stage: Stage) -> None:
    stage.state.pull(7, HEAD, repository=FORK, ref="patch-1", pushed=BEFORE)
    assert stage.say("/scylla evaluate demo").code == 0
    assert len(stage.state.dispatches) == 1


@pytest.mark.parametrize("login", ["reader", "stranger"])
def test_who_may_not_write_gets_nothing(stage: Stage, login: str) -> None:
    stage.say("/scylla evaluate demo", login)
    refused(stage, "only accounts that can write to this repository start one")


@pytest.mark.parametrize("login", ["helper[bot]", "robot"])
def test_a_bot_is_passed_over_unless_it_is_named_and_may_write(stage: Stage, login: str) -> None:
    stage.state.rights[login] = "write"
    said = stage.say("/scylla evaluate demo", login, type="Bot")
    assert (said.code, stage.state.asked, stage.outputs) == (0, [], {"accepted": "false"})
    stage.say("/scylla evaluate demo", login, type="Bot", options=("--bot", login))
    assert len(stage.state.dispatches) == 1


def test_what_cannot_be_read_gets_one_short_answer(stage: Stage) -> None:
    said = stage.say("/scylla evaluate demo --budget 9 @everyone fixes #1")
    assert said.code == 0
    refused(stage, "the only options are `--only` and `--repetitions`")
    (reply,) = stage.replies()
    assert "Usage: `/scylla evaluate|compare EXPERIMENT" in reply
    assert "everyone" not in reply


def test_a_job_that_is_run_again_does_not_answer_again(stage: Stage) -> None:
    stage.state.login = BOT
    said = stage.say("/scylla do")
    assert said.code == 0
    number = next(n for n, one in stage.state.comments.items() if one["body"] == "/scylla do")
    event = json.loads((stage.folder / "event.json").read_text())
    assert event["comment"]["id"] == number
    env = {"GITHUB_API_URL": stage.state.url, "GITHUB_TOKEN": TOKEN, "GH_TOKEN": "", "NO_PROXY": "127.0.0.1",
           "GITHUB_REPOSITORY": REPOSITORY, "GITHUB_EVENT_PATH": str(stage.folder / "event.json")}  # fmt: skip
    assert scylla("slash", cwd=stage.folder, env=env, seconds=120).code == 0
    assert len(stage.replies()) == 1


@pytest.mark.parametrize(
    ("body", "given"),
    [
        ("looks good", {}),
        ("/scyllax evaluate demo", {}),
        ("/scylla evaluate demo", {"action": "edited"}),
        ("/scylla evaluate demo", {"is_pull": False}),
    ],
)
def test_what_is_not_to_us_is_passed_over(stage: Stage, body: str, given: dict[str, Any]) -> None:
    said = stage.say(body, **given)
    assert (said.code, said.out, stage.state.asked, stage.outputs) == (0, "", [], {})


def test_a_closed_pull_request_is_not_evaluated(stage: Stage) -> None:
    stage.state.pulls[7]["state"] = "closed"
    stage.say("/scylla evaluate demo")
    refused(stage, "the pull request is closed")


def test_a_dispatch_whose_answer_is_lost_is_not_repeated(stage: Stage) -> None:
    stage.state.broken = [Broken(502, "dispatches", done=True)]
    assert stage.say("/scylla evaluate demo").code == 0
    assert len(stage.state.dispatches) == 1
    assert stage.outputs["accepted"] == "true"


def test_a_workflow_that_is_not_there_is_told(stage: Stage) -> None:
    stage.state.broken = [Broken(404, "dispatches", "Not Found")]
    said = stage.say("/scylla evaluate demo")
    assert said.code == 11
    assert "cannot dispatch dispatch.yml on main" in said.err
    assert "`actions: write`" in said.err
    (reply,) = stage.replies()
    assert "see the log of the workflow that reads comments" in reply
