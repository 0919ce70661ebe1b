"""Repositories of the hub: reading, creation, settings, forks, accounts."""

from pathlib import Path

from tests.support.hub import AUTHOR, NAME, OWNER, READER, REPO, REVIEWER, Caller, make_hub


def test_a_repository_is_read_by_those_who_may(tmp_path: Path) -> None:
    """https://docs.github.com/rest/using-the-rest-api/troubleshooting-the-rest-api#404-not-found-for-an-existing-resource"""
    hub = make_hub(tmp_path)
    author, nobody = Caller(hub), Caller(hub, None)
    demo = author.get(REPO)
    assert (demo["full_name"], demo["default_branch"], demo["language"]) == ("octo-org/demo", "main", "Python")
    assert demo["organization"]["login"] == OWNER
    assert demo["permissions"]["admin"]
    assert "allow_squash_merge" not in Caller(hub, READER).get(REPO), "how merges are done is for those who may push"
    assert author.get(f"{REPO}/languages") == {"Python": 32}
    author.rest("PATCH", REPO, {"private": True})
    assert (nobody.rest("GET", REPO).status, nobody.rest("GET", "/users/octo-org/repos").body) == (404, [])


def test_who_may_read_and_not_write_is_told_so(tmp_path: Path) -> None:
    """https://docs.github.com/rest/repos/repos#update-a-repository"""
    hub = make_hub(tmp_path)
    for login in (READER, REVIEWER):
        answer = Caller(hub, login).rest("PATCH", REPO, {"description": "Mine"})
        assert (answer.status, answer.body["message"]) == (403, "Must have admin rights to Repository.")
    assert Caller(hub, None).rest("PATCH", REPO, {"description": "Mine"}).status == 401
    assert Caller(hub).rest("DELETE", REPO).status == 403, "the token has not the scope delete_repo"


def test_a_repository_is_created_and_found(tmp_path: Path) -> None:
    hub = make_hub(tmp_path)
    caller = Caller(hub)
    created = caller.rest("POST", "/user/repos", {"name": "my tool", "auto_init": True, "private": True}).body
    assert (created["full_name"], created["private"]) == ("octocat/my-tool", True)
    assert [one["name"] for one in caller.get("/user/repos")] == ["demo", "my-tool"]
    assert caller.get("/user/repos?affiliation=owner")[0]["name"] == "my-tool"
    assert [one["name"] for one in Caller(hub, READER).get("/user/repos")] == ["demo"]
    twice = caller.rest("POST", "/user/repos", {"name": "My-Tool"})
    assert (twice.status, twice.body["errors"][0]["message"]) == (422, "name already exists on this account")
    assert caller.rest("POST", f"/orgs/{OWNER}/repos", {"name": "second"}).status == 201
    assert Caller(hub, REVIEWER).rest("POST", f"/orgs/{OWNER}/repos", {"name": "third"}).status == 403
    assert [one["name"] for one in caller.get(f"/orgs/{OWNER}/repos")] == ["second", "demo"]
    assert caller.rest("POST", "/user/repos", {"name": "x", "license_template": "mit"}).status == 501


def test_a_name_that_cannot_be_is_refused(tmp_path: Path) -> None:
    caller = Caller(make_hub(tmp_path))
    for name in ("..", "", "x" * 101, "wiki.git"):
        assert caller.rest("POST", "/user/repos", {"name": name}).status == 422, name


def test_settings_change_and_a_former_name_leads_to_the_repository(tmp_path: Path) -> None:
    """https://docs.github.com/repositories/creating-and-managing-repositories/renaming-a-repository"""
    hub = make_hub(tmp_path)
    caller = Caller(hub)
    changes = {"name": "renamed", "description": "Text", "has_wiki": False, "default_branch": "topic",
               "delete_branch_on_merge": True}  # fmt: skip
    changed = caller.rest("PATCH", REPO, changes).body
    assert {name: changed[name] for name in changes} == changes
    assert caller.get(REPO)["full_name"] == "octo-org/renamed"
    answer = caller.rest("PATCH", REPO, {"default_branch": "absent"})
    assert answer.body["errors"][0]["message"].startswith("The branch absent was not found.")
    none = dict.fromkeys(("allow_merge_commit", "allow_squash_merge", "allow_rebase_merge"), False)
    assert caller.rest("PATCH", REPO, none).status == 422
    assert caller.rest("PATCH", REPO, {"is_template": True}).status == 501
    assert caller.rest("PUT", f"{REPO}/topics", {"names": ["B", "a-1", "b"]}).body == {"names": ["b", "a-1"]}
    assert caller.rest("PUT", f"{REPO}/topics", {"names": ["no spaces"]}).status == 422


def test_an_archived_repository_is_read_only(tmp_path: Path) -> None:
    """https://docs.github.com/repositories/archiving-a-github-repository/archiving-repositories"""
    caller = Caller(make_hub(tmp_path))
    assert caller.rest("PATCH", REPO, {"archived": True}).body["archived"]
    answer = caller.rest("PATCH", REPO, {"description": "New"})
    assert (answer.status, answer.body["message"]) == (403, "Repository was archived so is read-only.")
    assert caller.rest("PATCH", REPO, {"archived": False, "description": "New"}).body["description"] == "New"


def test_a_new_repository_has_githubs_default_labels(tmp_path: Path) -> None:
    """https://docs.github.com/issues/using-labels-and-milestones-to-track-work/managing-labels#about-default-labels"""
    hub = make_hub(tmp_path)
    caller = Caller(hub)
    assert caller.rest("POST", "/user/repos", {"name": "new"}).body["allow_update_branch"] is False
    labels = {label["name"]: label for label in caller.get(f"/repos/{AUTHOR}/new/labels")}
    assert {name: label["color"] for name, label in labels.items()} == {
        "bug": "d73a4a", "documentation": "0075ca", "duplicate": "cfd3d7", "enhancement": "a2eeef",
        "good first issue": "7057ff", "help wanted": "008672", "invalid": "e4e669", "question": "d876e3",
        "wontfix": "ffffff",
    }  # fmt: skip
    assert all(label["default"] and label["description"] for label in labels.values())
    assert labels["bug"]["description"] == "Something isn't working"
    assert {entry.actor for entry in hub.state.journal if entry.kind == "LabelRecord"} == {0}


def test_an_organization_forks_its_own_repository_under_another_name(tmp_path: Path) -> None:
    """https://docs.github.com/rest/repos/forks#create-a-fork"""
    caller = Caller(make_hub(tmp_path))
    assert caller.rest("POST", f"{REPO}/forks", {"organization": OWNER, "name": NAME}).status == 422
    fork = caller.rest("POST", f"{REPO}/forks", {"organization": OWNER, "name": "copy"})
    assert (fork.status, fork.body["full_name"], fork.body["fork"]) == (202, f"{OWNER}/copy", True)
    own = caller.rest("POST", "/user/repos", {"name": "own", "auto_init": True}).body["full_name"]
    assert caller.rest("POST", f"/repos/{own}/forks", {"name": "other"}).status == 422


def test_a_fork_has_the_branches_and_follows_its_upstream(tmp_path: Path) -> None:
    """https://docs.github.com/pull-requests/collaborating-with-pull-requests/working-with-forks/about-forks"""
    hub = make_hub(tmp_path)
    reader = Caller(hub, READER)
    fork = reader.rest("POST", f"{REPO}/forks", {"default_branch_only": True}).body
    assert (fork["full_name"], fork["parent"]["full_name"], fork["has_issues"]) == (
        "monalisa/demo",
        "octo-org/demo",
        False,
    )
    assert reader.rest("POST", f"{REPO}/forks").body["id"] == fork["id"], "it is there already"
    assert [one["id"] for one in reader.get(f"{REPO}/forks")] == [fork["id"]]
    parent, mine = hub.git(hub.state.repository(OWNER, NAME)), hub.git(fork["id"])  # type: ignore[arg-type]
    assert mine.branches() == {"main": parent.branch("main")}
    url = f"/repos/{READER}/demo/merge-upstream"
    assert reader.rest("POST", url, {"branch": "main"}).body["merge_type"] == "none"
    parent.set_ref("refs/heads/main", parent.branches()["topic"])
    assert reader.rest("POST", url, {"branch": "main"}).body["merge_type"] == "fast-forward"
    assert mine.branch("main") == parent.branch("topic")


def test_accounts_and_permissions_are_named(tmp_path: Path) -> None:
    """https://docs.github.com/rest/collaborators/collaborators#get-repository-permissions-for-a-user"""
    hub = make_hub(tmp_path)
    caller = Caller(hub)
    assert caller.get("/user")["login"] == AUTHOR
    assert caller.get("/users/octo-org")["type"] == "Organization"
    assert caller.get("/orgs/octo-org")["public_repos"] == 1
    assert [one["login"] for one in caller.get("/user/orgs")] == [OWNER]
    assert caller.rest("GET", "/").headers["X-OAuth-Scopes"] == "gist, read:org, repo, workflow"
    assert [(one["login"], one["contributions"]) for one in caller.get(f"{REPO}/contributors")] == [(AUTHOR, 1)]
    assert caller.get("/rate_limit")["rate"]["limit"] == 5000
    people = {one["login"]: one["role_name"] for one in caller.get(f"{REPO}/collaborators")}
    assert people == {AUTHOR: "admin", REVIEWER: "write", READER: "read"}
    caller.rest("PUT", f"{REPO}/collaborators/{READER}", {"permission": "maintain"})
    answer = caller.get(f"{REPO}/collaborators/{READER}/permission")
    assert (answer["permission"], answer["role_name"]) == ("write", "maintain")
    assert caller.rest("DELETE", f"{REPO}/collaborators/{READER}").status == 204
    assert caller.rest("GET", f"{REPO}/collaborators/{READER}").status == 404
    assert caller.rest("GET", f"{REPO}/collaborators/{REVIEWER}").status == 204
