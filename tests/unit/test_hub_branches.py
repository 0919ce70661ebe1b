"""Branches, their protection and tags over the hub's REST interface."""

from pathlib import Path

from tests.support.hub import READER, REPO, REVIEWER, Caller, make_hub

RULE = f"{REPO}/branches/main/protection"
STRICT = {
    "required_status_checks": {"strict": True, "contexts": ["ci"]},
    "enforce_admins": True,
    "required_pull_request_reviews": {"required_approving_review_count": 2, "dismiss_stale_reviews": True},
    "restrictions": None,
    "required_linear_history": True,
}


def test_branches_and_tags_are_listed(tmp_path: Path) -> None:
    caller = Caller(make_hub(tmp_path))
    branches = {one["name"]: one["commit"]["sha"] for one in caller.get(f"{REPO}/branches")}
    assert list(branches) == ["main", "topic"]
    branch = caller.get(f"{REPO}/branches/topic")
    assert (branch["commit"]["sha"], branch["protected"]) == (branches["topic"], False)
    assert caller.rest("GET", f"{REPO}/branches/none").body["message"] == "Branch not found"
    for name in ("v1", "v2"):
        caller.rest("POST", f"{REPO}/git/refs", {"ref": f"refs/tags/{name}", "sha": branches["main"]})
    page = caller.rest("GET", f"{REPO}/tags?per_page=1")
    assert [one["name"] for one in page.body] == ["v2"]
    assert 'tags?per_page=1&page=2>; rel="next"' in page.headers["Link"]
    assert caller.get(f"{REPO}/rules/branches/main") == []


def test_protection_is_set_changed_and_removed(tmp_path: Path) -> None:
    """https://docs.github.com/rest/branches/branch-protection"""
    caller = Caller(make_hub(tmp_path))
    assert caller.rest("GET", RULE).body["message"] == "Branch not protected"
    rule = caller.rest("PUT", RULE, STRICT).body
    assert rule["required_status_checks"]["contexts"] == ["ci"]
    assert rule["required_pull_request_reviews"]["required_approving_review_count"] == 2
    assert (rule["enforce_admins"]["enabled"], rule["required_linear_history"]["enabled"]) == (True, True)
    assert caller.get(RULE) == rule
    assert [one["name"] for one in caller.get(f"{REPO}/branches?protected=true")] == ["main"]
    added = caller.rest("POST", f"{RULE}/required_status_checks/contexts", ["lint"])
    assert added.body == ["ci", "lint"]
    assert caller.rest("PATCH", f"{RULE}/required_status_checks", {"strict": False}).body["strict"] is False
    changed = caller.rest("PATCH", f"{RULE}/required_pull_request_reviews", {"required_approving_review_count": 1})
    assert (changed.body["required_approving_review_count"], changed.body["dismiss_stale_reviews"]) == (1, True)
    assert caller.rest("DELETE", f"{RULE}/enforce_admins").status == 204
    assert caller.rest("DELETE", f"{RULE}/required_pull_request_reviews").status == 204
    assert caller.rest("GET", f"{RULE}/required_pull_request_reviews").status == 404
    assert caller.rest("DELETE", RULE).status == 204
    assert caller.rest("GET", RULE).status == 404


def test_only_administrators_see_and_change_protection(tmp_path: Path) -> None:
    """https://docs.github.com/rest/branches/branch-protection#get-branch-protection"""
    hub = make_hub(tmp_path)
    Caller(hub).rest("PUT", RULE, STRICT)
    for login in (READER, REVIEWER):
        caller = Caller(hub, login)
        assert [caller.rest(method, RULE, STRICT if method == "PUT" else None).status
                for method in ("GET", "PUT", "DELETE")] == [404, 403, 403]  # fmt: skip


def test_what_protection_the_hub_has_not_is_a_gap(tmp_path: Path) -> None:
    caller = Caller(make_hub(tmp_path))
    assert caller.rest("PUT", RULE, {**STRICT, "restrictions": {"users": ["x"], "teams": []}}).status == 501
    assert caller.rest("PUT", RULE, {"enforce_admins": True}).status == 422
    assert caller.rest("PUT", f"{REPO}/branches/none/protection", STRICT).status == 404


def test_a_protected_branch_refuses_force_pushes_over_rest(tmp_path: Path) -> None:
    """https://docs.github.com/repositories/configuring-branches-and-merges-in-your-repository/managing-protected-branches/about-protected-branches"""
    caller = Caller(make_hub(tmp_path))
    tips = {one["name"]: one["commit"]["sha"] for one in caller.get(f"{REPO}/branches")}
    caller.rest("PUT", f"{REPO}/branches/topic/protection", {**STRICT, "enforce_admins": False})
    url = f"{REPO}/git/refs/heads/topic"
    forced = caller.rest("PATCH", url, {"sha": tips["main"], "force": True})
    assert (forced.status, forced.body["message"]) == (422, "Cannot force-push to this branch")
    assert caller.rest("DELETE", url).body["message"] == "Cannot delete this protected branch"


def test_a_branch_is_merged_without_a_pull_request(tmp_path: Path) -> None:
    """https://docs.github.com/rest/branches/branches#merge-a-branch"""
    caller = Caller(make_hub(tmp_path))
    merged = caller.rest("POST", f"{REPO}/merges", {"base": "main", "head": "topic"})
    assert (merged.status, merged.body["commit"]["message"]) == (201, "Merge topic into main")
    assert [parent["sha"] for parent in merged.body["parents"]][1] == caller.get(f"{REPO}/commits/topic")["sha"]
    assert caller.rest("POST", f"{REPO}/merges", {"base": "main", "head": "topic"}).status == 204
    missing = caller.rest("POST", f"{REPO}/merges", {"base": "none", "head": "topic"})
    assert (missing.status, missing.body["message"]) == (404, "Base does not exist")
    fields = {"message": "Against", "content": "eA==", "sha": caller.get(f"{REPO}/contents/src/app.py")["sha"]}
    caller.rest("PUT", f"{REPO}/contents/src/app.py", fields)
    fields |= {"branch": "topic", "content": "eQ=="}
    caller.rest("PUT", f"{REPO}/contents/src/app.py", fields)
    assert caller.rest("POST", f"{REPO}/merges", {"base": "main", "head": "topic"}).status == 409


def test_bases_and_protection_follow_the_new_name_of_a_branch_and_heads_do_not(tmp_path: Path) -> None:
    """https://docs.github.com/repositories/configuring-branches-and-merges-in-your-repository/managing-branches-in-your-repository/renaming-a-branch"""
    hub = make_hub(tmp_path)
    caller = Caller(hub)
    caller.rest("POST", f"{REPO}/pulls", {"title": "T", "head": "topic", "base": "main"})
    caller.rest("PUT", RULE, STRICT)
    assert Caller(hub, REVIEWER).rest("POST", f"{REPO}/branches/main/rename", {"new_name": "trunk"}).status == 403
    renamed = caller.rest("POST", f"{REPO}/branches/main/rename", {"new_name": "trunk"})
    assert (renamed.status, renamed.body["name"], renamed.body["protected"]) == (201, "trunk", True)
    assert caller.get(REPO)["default_branch"] == "trunk"
    assert caller.get(f"{REPO}/pulls/1")["base"]["ref"] == "trunk"
    caller.rest("POST", f"{REPO}/branches/topic/rename", {"new_name": "topic/new"})
    pull = caller.get(f"{REPO}/pulls/1")
    assert (pull["state"], pull["base"]["ref"], pull["head"]["ref"]) == ("closed", "trunk", "topic")
    assert caller.rest("POST", f"{REPO}/branches/trunk/rename", {"new_name": "a..b"}).status == 422
    assert caller.rest("POST", f"{REPO}/branches/none/rename", {"new_name": "x"}).status == 404


def test_only_administrators_rename_a_protected_branch(tmp_path: Path) -> None:
    """https://docs.github.com/repositories/configuring-branches-and-merges-in-your-repository/managing-branches-in-your-repository/renaming-a-branch"""
    hub = make_hub(tmp_path)
    Caller(hub).rest("PUT", RULE.replace("main", "topic"), STRICT)
    names = {"new_name": "kept"}
    assert Caller(hub, REVIEWER).rest("POST", f"{REPO}/branches/topic/rename", names).status == 403
    assert Caller(hub).rest("POST", f"{REPO}/branches/topic/rename", names).status == 201
