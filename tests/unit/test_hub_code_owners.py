"""Code owners: which files are whose, who is asked for a review, and whose approval a rule wants."""

from pathlib import Path

import pytest

from scylla_gha.hub.operations.code_owners import code_owners
from scylla_gha.hub.records import ProtectionRecord
from tests.support.hub import AUTHOR, READER, REVIEWER, Caller, make_hub
from tests.support.pulls import PULLS, demo, open_pull, push, refusal

OWNERS = f"""\
# who owns what
*.md @{AUTHOR}
/src/ @{REVIEWER} @nobody
docs/* @{REVIEWER}
apps/ @{REVIEWER}
**/logs @{AUTHOR} @{READER}
/src/free.py
/deep/**/x?.c @{REVIEWER}
"""


@pytest.mark.parametrize(
    ("path", "owners"),
    [
        ("README.md", [AUTHOR]),
        ("deep/README.md", [AUTHOR]),
        ("src/app.py", [REVIEWER]),
        ("other/src/app.py", []),
        ("docs/a.txt", [REVIEWER]),
        ("docs/deep/a.txt", []),
        ("x/apps/y/z", [REVIEWER]),
        ("x/logs/y", [AUTHOR]),
        ("src/free.py", []),
        ("src/free.pyc", [REVIEWER]),
        ("deep/x1.c", [REVIEWER]),
        ("deep/a/b/x1.c", [REVIEWER]),
        ("deep/a/b/x.c", []),
    ],
)
def test_the_last_pattern_that_matches_names_the_owners(tmp_path: Path, path: str, owners: list[str]) -> None:
    """https://docs.github.com/repositories/managing-your-repositorys-settings-and-features/customizing-your-repository/about-code-owners#codeowners-syntax."""
    hub = make_hub(tmp_path)
    tip = push(hub, "main", {".github/CODEOWNERS": OWNERS})
    users = code_owners(hub.session(AUTHOR), demo(hub), tip, [path])[path]
    assert sorted(user.login for login in (AUTHOR, REVIEWER, READER) if (user := hub.state.user(login))
                  and user.id in users) == owners  # fmt: skip


def test_code_owners_are_asked_and_may_be_needed(tmp_path: Path) -> None:
    """https://docs.github.com/repositories/managing-your-repositorys-settings-and-features/customizing-your-repository/about-code-owners."""
    hub = make_hub(tmp_path)
    caller, state = Caller(hub), hub.state
    push(hub, "main", {"CODEOWNERS": OWNERS})
    open_pull(caller, draft=True)
    assert caller.get(f"{PULLS}/1")["requested_reviewers"] == []
    ready = "mutation($id: ID!) {markPullRequestReadyForReview(input: {pullRequestId: $id}) {clientMutationId}}"
    caller.data(ready, id=caller.get(f"{PULLS}/1")["node_id"])
    assert [user["login"] for user in caller.get(f"{PULLS}/1")["requested_reviewers"]] == [REVIEWER]
    rule = ProtectionRecord(id=state.new_id(), created_at=state.now(), repository=demo(hub).id, pattern="main",
                            code_owner_reviews=True, enforce_admins=True)  # fmt: skip
    state.create(0, rule)
    reason = f"Waiting on code owner review from {AUTHOR}, {REVIEWER}."
    assert refusal(caller, "PUT", f"{PULLS}/1/merge", {}) == (405, reason)
    assert caller.get(f"{PULLS}/1")["mergeable_state"] == "blocked"
    push(hub, "topic", {"README.md": "# Demo\n"})
    Caller(hub, REVIEWER).rest("POST", f"{PULLS}/1/reviews", {"event": "APPROVE"})
    assert caller.rest("PUT", f"{PULLS}/1/merge", {}).status == 200
