"""`scylla-gha scenario new`: a proved task of commits, or a skeleton that `validate` refuses until it is finished."""

import json
from pathlib import Path

import pytest

from tests.integration.test_init import run
from tests.support.adopters import DISCOUNT, TOOLKIT, commit, till
from tests.support.command import Said
from tests.support.git import shell
from tests.support.repository import write_tree

ISSUE = "# Totals of nothing\n\n`total([])` should be 0 and not fail.\n"


def repository(root: Path) -> Path:
    """A repository in which `init` has written its files."""
    till(root)
    done = run(root, "init", "--toolkit", TOOLKIT, "--example")
    assert done.code == 0, done.err
    (root / ".git/info/exclude").write_text("config/\nfixtures/\nruns/\nscenarios/\n.github/\n")
    return root


def new(root: Path, *args: str) -> Said:
    return run(root, "scenario", "new", *args)


def test_an_issue_makes_a_skeleton_that_is_refused_until_its_check_is_written(tmp_path: Path) -> None:
    root = repository(tmp_path / "till")
    (root / "issue.md").write_text(ISSUE)
    made = new(root, "--from-issue", "issue.md")
    assert made.code == 0, made.err
    folder = root / "scenarios/till/102-totals-of-nothing"
    assert made.out.startswith("new: scenarios/till/102-totals-of-nothing/ and its start state (")
    assert "Still missing: the check in scenario.yaml (in place of TODO), solution/solution.patch, two of" in made.out
    assert (folder / "prompt.md").read_text() == "Totals of nothing\n\n`total([])` should be 0 and not fail.\n"
    assert (root / "fixtures/till-102/src/till/money.py").exists()
    refused = run(root, "validate", str(folder))
    assert refused.code != 0
    assert "checkpoints.solved: the check is not written yet; put a command in place of 'false  # TODO" in refused.err


def test_the_first_message_of_a_session_is_the_task(tmp_path: Path) -> None:
    root = repository(tmp_path / "till")
    events = [
        {"type": "user", "isMeta": True, "message": {"role": "user", "content": "caveat"}},
        {
            "type": "user",
            "cwd": "/home/ada/other",
            "message": {"role": "user", "content": [{"type": "text", "text": "Round halves up"}]},
        },
        {"type": "user", "message": {"role": "user", "content": "And commit"}},
    ]
    (tmp_path / "s.jsonl").write_text("not json\n" + "".join(f"{json.dumps(event)}\n" for event in events))
    made = new(root, "--from-session", str(tmp_path / "s.jsonl"), "--json")
    assert json.loads(made.out)["scenario"] == "scenarios/till/102-round-halves-up"
    assert json.loads(made.out)["finished"] is False
    assert f"note: the session was in /home/ada/other, and the task starts from the last commit of {root}" in made.err
    assert (root / "scenarios/till/102-round-halves-up/prompt.md").read_text() == "Round halves up\n"
    (tmp_path / "s.jsonl").write_text("{}\n")
    assert "contains no user message" in new(root, "--from-session", str(tmp_path / "s.jsonl")).err


def test_commits_and_pull_requests_make_proved_tasks(tmp_path: Path) -> None:
    root = repository(tmp_path / "till")
    shell(root, "git reset -q --hard HEAD~2 && git checkout -q -b work")
    code = {path: text for path, text in DISCOUNT.items() if path.startswith("src")}
    commit(root, "wip", code)
    commit(root, "Discounts in percent", {path: text for path, text in DISCOUNT.items() if path not in code})
    shell(root, "git update-ref refs/pull/7/head HEAD && git checkout -q -")
    made = new(root, "--from-pull-request", "7")
    assert made.code == 0, made.err
    assert "new: scenarios/till/102-discounts-in-percent/" in made.out
    proved = run(root, "validate", "scenarios/till/102-discounts-in-percent", "--execute")
    assert proved.code == 0, proved.err
    refused = new(root, "--from-commits", "HEAD..work~1")
    assert (
        "no task can be made from these commits: it does not change code together with tests that can be run"
        in refused.err
    )


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (("--from-commits", "HEAD"), "--from-commits: 'HEAD' is not a range of commits; write A..B"),
        (("--from-commits", "nowhere..HEAD"), "--from-commits: 'nowhere' is not a commit, branch or tag of"),
        (("--from-pull-request", "9"), "run `git fetch origin pull/9/head:pr-9` first"),
        (("--from-issue", "empty.md"), "scenario new: the text is empty"),
        ((), "give one of --from-issue, --from-session, --from-commits, --from-pull-request"),
    ],
)
def test_what_cannot_be_made_is_said_and_nothing_is_written(
    tmp_path: Path, args: tuple[str, ...], message: str
) -> None:
    root = repository(tmp_path / "till")
    write_tree(root, {"empty.md": "\n"})
    before = shell(root, "git status --porcelain -uall --ignored")
    refused = new(root, *args)
    assert refused.code != 0
    assert message in refused.err
    assert shell(root, "git status --porcelain -uall --ignored") == before
