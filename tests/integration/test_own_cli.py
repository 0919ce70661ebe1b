"""The example of a user's own program for GitHub works on the hub: its commands, its client's name, and its faults."""

import json
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from scylla_gha.config.library import Library, toolkit_root
from scylla_gha.config.tiers import program_files
from tests.support.hub import AUTHOR, NAME, OWNER, make_hub
from tests.support.hub_server import ServedHub, serving_hub

HERE = Library((toolkit_root(),))
MODE = HERE.mode("own-cli")
OCTO = program_files(MODE, HERE.roots)["octo"]


@pytest.fixture
def served(tmp_path: Path) -> Iterator[ServedHub]:
    with serving_hub(make_hub(tmp_path / "hub"), tmp_path / "served") as running:
        yield running


def octo(served: ServedHub, *arguments: str, code: int = 0, content: str = "") -> str:
    """Run a command in the environment that the mode declares, and return what it printed; of a fault, its message."""
    values = {"address": f"http://127.0.0.1:{served.port}", "token": AUTHOR, "socket": ""}
    declared = {name: value.format(**values) for name, value in MODE.env.items()}
    env = {"PATH": os.environ["PATH"], "OCTO_REPO": f"{OWNER}/{NAME}", **declared}
    ran = subprocess.run([OCTO, *arguments], env=env, input=content, capture_output=True, text=True, timeout=60,
                         check=False)  # fmt: skip
    assert ran.returncode == code, ran.stderr
    return ran.stderr if code else ran.stdout


def test_lists_have_all_pages_and_chosen_fields(served: ServedHub) -> None:
    for number in range(1, 104):
        octo(served, "create", "labels", f"name=label-{number:03d}", "color=ffffff")
    names = octo(served, "list", "labels", "--show", "name").split()
    assert {f"label-{number:03d}" for number in range(1, 104)} <= set(names)
    assert octo(served, "list", "labels", "--if", "name=label-042", "--show", "name,color") == "label-042\tffffff\n"
    octo(served, "delete", "labels/label-042")
    assert octo(served, "list", "labels", "--if", "name=label-042", "--show", "name") == ""


def test_an_issue_from_its_start_to_its_end(served: ServedHub, tmp_path: Path) -> None:
    (tmp_path / "body.md").write_text("Two\nlines\n")
    number = octo(served, "create", "issues", "title=A fault", f"body@={tmp_path}/body.md", "--show", "number").strip()
    assert octo(served, "show", f"issues/{number}", "--show", "body") == "Two\nlines\n\n"
    octo(served, "create", f"issues/{number}/comments", "-", content=json.dumps({"body": "Why?"}))
    octo(served, "edit", f"issues/{number}", "state=closed", "state_reason=not_planned")
    issue: dict[str, Any] = json.loads(octo(served, "show", f"issues/{number}"))
    assert (issue["state"], issue["state_reason"], issue["comments"]) == ("closed", "not_planned", 1)
    assert octo(served, "search", "is:issue A fault", "--show", "number,title") == f"{number}\tA fault\n"


def test_a_thread_of_a_review_is_answered_and_resolved(served: ServedHub) -> None:
    pull = octo(served, "create", "pulls", "title=Topic", "head=topic", "base=main", "--show", "number").strip()
    comment = {"path": "src/app.py", "line": 1, "side": "RIGHT", "body": "Which\ntypes?"}
    octo(
        served, "create", f"pulls/{pull}/reviews", "-", content=json.dumps({"event": "COMMENT", "comments": [comment]})
    )
    shown = octo(served, "threads", pull, "--if", "isResolved=false", "--show", "id,comment.databaseId,comment.body")
    thread, remark, body = shown.rstrip("\n").split("\t")
    assert body == "Which types?"
    octo(served, "create", f"pulls/{pull}/comments/{remark}/replies", "body=Integers")
    octo(served, "resolve", thread)
    assert octo(served, "threads", pull, "--show", "isResolved") == "true\n"
    octo(served, "set", f"pulls/{pull}/merge", "merge_method=squash")
    assert octo(served, "show", f"pulls/{pull}", "--show", "merged") == "true\n"


def test_a_release_gets_a_file(served: ServedHub, tmp_path: Path) -> None:
    (tmp_path / "demo.tar").write_bytes(b"content")
    octo(served, "create", "releases", "tag_name=v1", "target_commitish=main")
    octo(served, "upload", "v1", str(tmp_path / "demo.tar"))
    assert octo(served, "show", "releases/tags/v1", "--show", "assets.name") == "demo.tar\n"


def test_requests_are_counted_for_the_client_that_the_mode_declares(served: ServedHub) -> None:
    octo(served, "show", ".", "--show", "full_name")
    octo(served, "query", "{ viewer { login } }")
    assert MODE.clients is not None
    assert set(served.endpoint.log.traffic.clients) == {*MODE.clients}


def test_a_fault_is_an_error_with_the_answer(served: ServedHub) -> None:
    assert "404" in octo(served, "show", "issues/99", code=1)
    assert "nothing" in octo(served, "query", "{ nothing }", code=1)
    assert octo(served, "frobnicate", code=1).startswith("octo list PATH")
    assert octo(served, "help").startswith("octo list PATH")
