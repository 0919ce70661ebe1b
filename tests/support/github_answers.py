"""Answers of the local server to each kind of request; a KeyError becomes 404."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from tests.support.github_api import BOT, REPOSITORY, Parts, State, Told, now
from tests.support.openapi import USED

Done = tuple[int, Any]


@dataclass(frozen=True)
class Call:
    """A request: the parts of its path and query, and its body."""

    state: State
    given: Parts
    body: Told


Handler = Callable[[Call], Done]


def not_found() -> Done:
    return 404, {"message": "Not Found"}


def _user(call: Call) -> Done:
    if call.state.login is None:
        return 403, {"message": "Resource not accessible by integration"}
    return 200, {"login": call.state.login, "type": "User"}


def _comments(call: Call) -> Done:
    number, since = int(call.given["issue_number"]), call.given.get("since", "")
    return 200, [one for one in call.state.comments.values() if one["issue"] == number and one["updated_at"] >= since]


def _comment(call: Call) -> Done:
    if len(call.body["body"]) > 65_536:
        return 422, {"message": "body is too long (maximum is 65536 characters)"}
    return 201, call.state.comments[
        call.state.comment(int(call.given["issue_number"]), call.body["body"], call.state.login or BOT, now())
    ]


def _edit(call: Call) -> Done:
    one = call.state.comments[int(call.given["comment_id"])]
    one.update(body=call.body["body"], updated_at=now())
    return 200, one


def _react(call: Call) -> Done:
    made = (int(call.given["comment_id"]), call.body["content"])
    if made in call.state.reactions:
        return 200, {"id": 1}
    call.state.reactions.append(made)
    return 201, {"id": 1}


def _check(call: Call) -> Done:
    call.state.checks.append(
        {"id": next(call.state.numbers), "html_url": f"https://github.com/{REPOSITORY}/runs/1", **call.body}
    )
    return 201, call.state.checks[-1]


def _checks(call: Call) -> Done:
    found = [
        one
        for one in call.state.checks
        if one["head_sha"] == call.given["ref"] and one["name"] == call.given["check_name"]
    ]
    return 200, {"check_runs": found}


def _status(call: Call) -> Done:
    call.state.statuses.append({"sha": call.given["sha"], **call.body})
    return 201, call.state.statuses[-1]


def _permission(call: Call) -> Done:
    right = call.state.rights[call.given["username"]]
    return 200, {"permission": {"maintain": "write", "triage": "read"}.get(right, right), "role_name": right}


def _activity(call: Call) -> Done:
    return 200, call.state.pushes[f"{call.given['owner']}/{call.given['repo']}:{call.given['ref']}"]


def _runs(call: Call) -> Done:
    since = call.given.get("created", ">=").removeprefix(">=")
    return 200, {"workflow_runs": [one for one in call.state.runs.values() if one["created_at"] >= since
                                   and one["head_branch"] == call.given.get("branch", one["head_branch"])
                                   and one["event"] == call.given.get("event", one["event"])]}  # fmt: skip


def _dispatch(call: Call) -> Done:
    known = {"refs/heads/main", *call.state.refs}
    if not {f"refs/heads/{call.body['ref']}", f"refs/tags/{call.body['ref']}"} & known:
        return 422, {"message": f"No ref found for: {call.body['ref']}"}
    if not all(isinstance(each, str) for each in call.body["inputs"].values()):
        return 422, {"message": "inputs are not all strings"}
    number = next(call.state.numbers)
    url = f"https://github.com/{REPOSITORY}/actions/runs/{number}"
    call.state.dispatches.append({"workflow": call.given["workflow_id"], **call.body})
    call.state.runs[number] = {"id": number, "html_url": url, "event": "workflow_dispatch", "head_sha": "a" * 40,
                          "head_branch": call.body["ref"], "created_at": now()}  # fmt: skip
    if not (call.state.details and call.body.get("return_run_details")):
        return 204, None
    return 200, {"workflow_run_id": number, "run_url": f"{call.state.url}/runs/{number}", "html_url": url}


def _ref(call: Call) -> Done:
    name = f"refs/{call.given['ref']}"
    kind = "tag" if name in call.state.annotated else "commit"
    return 200, {"ref": name, "object": {"type": kind, "sha": call.state.refs[name]}}


def _make_ref(call: Call) -> Done:
    if call.body["ref"] in call.state.refs:
        return 422, {"message": "Reference already exists"}
    call.state.refs[call.body["ref"]] = call.body["sha"]
    return 201, {"ref": call.body["ref"], "object": {"type": "commit", "sha": call.body["sha"]}}


def _issues(call: Call) -> Done:
    wanted = set(call.given["labels"].split(",")) if "labels" in call.given else set()
    found = [one for one in call.state.issues.values() if wanted <= set(one["labels"])
             and call.given.get("state", "open") in {one["state"], "all"}]  # fmt: skip
    return 200, list(reversed(found))


def _open(call: Call) -> Done:
    number = next(call.state.numbers)
    fixed = {"number": number, "state": "open", "html_url": f"https://github.com/{REPOSITORY}/issues/{number}"}
    call.state.issues[number] = {**call.body, **fixed, "user": {"login": call.state.login or BOT}}
    return 201, call.state.issues[number]


def _update(call: Call) -> Done:
    one = call.state.issues[int(call.given["issue_number"])]
    one.update(call.body)
    return 200, one


def _label(call: Call) -> Done:
    return (200, {"name": call.given["name"]}) if call.given["name"] in call.state.labels else not_found()


def _make_label(call: Call) -> Done:
    if call.body["name"] in call.state.labels:
        return 422, {"message": "Validation Failed"}
    call.state.labels.add(call.body["name"])
    return 201, {"name": call.body["name"]}


def _pulls_of(call: Call) -> Done:
    return 200, [one for one in call.state.pulls.values() if one["head"]["sha"] == call.given["commit_sha"]]


def _pulls(call: Call) -> Done:
    owner, _, ref = call.given.get("head", "").partition(":")
    found = [one for one in call.state.pulls.values() if one["head"]["ref"] == ref]
    return 200, [one for one in found if (one["head"]["repo"] or {}).get("full_name", "").startswith(owner)]


def _compare(call: Call) -> Done:
    head = call.given["basehead"].partition("...")[2]
    (found,) = [one for one in call.state.pulls.values() if one["head"]["sha"] == head]
    return 200, {"merge_base_commit": {"sha": found["base"]["sha"]}, "commits": [], "files": []}


_REPO = "/repos/{owner}/{repo}"
ANSWERS: dict[str, Handler] = {
    "GET /user": _user,
    f"GET {_REPO}": lambda call: (200, {"full_name": f"{call.given['owner']}/{call.given['repo']}"}),
    f"GET {_REPO}/pulls": _pulls,
    f"GET {_REPO}/pulls/{{pull_number}}": lambda call: (200, call.state.pulls[int(call.given["pull_number"])]),
    f"GET {_REPO}/commits": lambda _: (200, []),
    f"GET {_REPO}/compare/{{basehead}}": _compare,
    f"GET {_REPO}/commits/{{commit_sha}}/pulls": _pulls_of,
    f"GET {_REPO}/commits/{{ref}}/check-runs": _checks,
    f"GET {_REPO}/issues/{{issue_number}}/comments": _comments,
    f"POST {_REPO}/issues/{{issue_number}}/comments": _comment,
    f"PATCH {_REPO}/issues/comments/{{comment_id}}": _edit,
    f"POST {_REPO}/issues/comments/{{comment_id}}/reactions": _react,
    f"POST {_REPO}/check-runs": _check,
    f"POST {_REPO}/statuses/{{sha}}": _status,
    f"GET {_REPO}/collaborators/{{username}}/permission": _permission,
    f"GET {_REPO}/activity": _activity,
    f"GET {_REPO}/actions/runs/{{run_id}}": lambda call: (200, call.state.runs[int(call.given["run_id"])]),
    f"GET {_REPO}/actions/runs/{{run_id}}/artifacts": lambda call: (200, {"artifacts": call.state.artifacts}),
    f"GET {_REPO}/actions/workflows/{{workflow_id}}/runs": _runs,
    f"POST {_REPO}/actions/workflows/{{workflow_id}}/dispatches": _dispatch,
    f"GET {_REPO}/git/ref/{{ref}}": _ref,
    f"POST {_REPO}/git/refs": _make_ref,
    f"GET {_REPO}/issues": _issues,
    f"POST {_REPO}/issues": _open,
    f"PATCH {_REPO}/issues/{{issue_number}}": _update,
    f"GET {_REPO}/labels/{{name}}": _label,
    f"POST {_REPO}/labels": _make_label,
}
assert set(ANSWERS) == set(USED)
