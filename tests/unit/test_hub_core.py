"""Ground of the hub: records with a journal, git without a work tree, and requests outside the contract."""

from pathlib import Path

import pytest

from scylla_gha.hub.errors import HubError
from scylla_gha.hub.git_objects import merged_tree, rebased
from scylla_gha.hub.records import LabelRecord, node_id
from scylla_gha.hub.state import HubState
from tests.support.hub import AUTHOR, NAME, OWNER, Caller, commit, make_hub


def test_a_write_is_in_the_journal_and_ticks_the_clock(tmp_path: Path) -> None:
    state = make_hub(tmp_path).state
    repository = state.repository(OWNER.upper(), NAME)
    assert repository is not None
    before, time = len(state.journal), state.now()
    label = state.create(1, LabelRecord(id=state.new_id(), created_at=time, repository=repository.id, name="bug"))
    assert state.update(1, label, color="ff0000").color == "ff0000"
    assert state.update(1, label, color="ff0000").color == "ff0000", "no write"
    state.delete(1, label)
    entries = state.journal[before:]
    assert [(entry.action, entry.fields) for entry in entries] == [
        ("create", ()),
        ("update", ("color",)),
        ("delete", ()),
    ]
    assert (state.now() - time).seconds == len(entries)
    assert state.where(LabelRecord, repository=repository.id) == []


def test_a_restored_state_is_equal_and_its_own(tmp_path: Path) -> None:
    state = make_hub(tmp_path).state
    copy = HubState.restored(state.snapshot())
    assert list(copy.records()) == list(state.records())
    user = copy.user(AUTHOR)
    assert user is not None
    copy.update(user, user, name="Somebody")
    assert state.user(AUTHOR) != copy.user(AUTHOR)
    assert copy.by_node(node_id(user)) == copy.user(AUTHOR)
    assert copy.by_node(node_id(user).replace("U_", "PR_")) is None


def test_changes_between_branches_are_read_from_git(tmp_path: Path) -> None:
    hub = make_hub(tmp_path)
    repository = hub.state.repository(OWNER, NAME)
    assert repository is not None
    git = hub.git(repository)
    main, topic = git.branches()["main"], git.branches()["topic"]
    changes = {file.path: (file.status, file.additions, file.deletions) for file in git.changed_files(main, topic)}
    assert changes == {"README.md": ("removed", 0, 1), "docs/new.md": ("added", 1, 0), "src/app.py": ("modified", 1, 1)}
    assert [(one.headline, one.body) for one in git.commits_between(main, topic)] == [("Change the sum", "And more.")]
    assert git.ahead_behind(topic, main) == (1, 0)


def test_merge_and_rebase_conflict_or_give_what_git_gives(tmp_path: Path) -> None:
    hub = make_hub(tmp_path)
    repository = hub.state.repository(OWNER, NAME)
    assert repository is not None
    git, author = hub.git(repository), hub.session(AUTHOR).signature()
    main, topic = git.branches()["main"], git.branches()["topic"]
    beside = commit(git, {"other.txt": "x\n"}, "Beside", author, main)
    against = commit(git, {"src/app.py": "def add(*all):\n    return sum(all)\n"}, "Against", author, main)
    assert merged_tree(git, against, topic) is None
    assert rebased(git, against, topic, author) is None
    moved = rebased(git, beside, topic, author)
    assert moved is not None
    assert git.commit(moved).parents == (beside,)
    assert git.commit(moved).tree == merged_tree(git, beside, topic)
    assert merged_tree(git, topic, main, base=topic) == git.commit(main).tree, "a revert"


HOSTILE = ("refs/heads/../x", "refs/heads/a..b", "refs/heads/-x y", "refs/heads/x.lock", "HEAD", "refs/heads/.x",
           "refs/heads/a//b", "refs/heads/x\n", "refs/heads/" + "x" * 300)  # fmt: skip


@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_name_becomes_no_ref(tmp_path: Path, name: str) -> None:
    hub = make_hub(tmp_path)
    repository = hub.state.repository(OWNER, NAME)
    assert repository is not None
    git = hub.git(repository)
    assert not git.set_ref(name, git.branches()["main"])


def test_what_is_outside_the_contract_is_said_and_named(tmp_path: Path) -> None:
    answer = Caller(make_hub(tmp_path)).rest("GET", "/marketplace_listing/plans")
    assert (answer.status, answer.body["message"][:33]) == (501, "GET /marketplace_listing/plans is")


def test_a_token_of_another_cell_is_refused(tmp_path: Path) -> None:
    with pytest.raises(HubError) as caught:
        make_hub(tmp_path).session("ghp_other")
    assert caught.value.status == 401


@pytest.mark.parametrize(
    "body", [rb'{"title": "\ud83d"}', b'{"title": "caf\xe9"}', b'\xef\xbb\xbf{"title": "a"}', b'{"title": NaN}']
)
def test_a_body_that_is_not_strict_json_is_refused_as_github_refuses_it(tmp_path: Path, body: bytes) -> None:
    answer = Caller(make_hub(tmp_path)).rest("POST", "/repos/octo-org/demo/issues", body)
    assert (answer.status, answer.body["message"]) == (400, "Problems parsing JSON")
