"""Commits and comparisons over the hub's REST interface."""

from pathlib import Path

from tests.support.hub import AUTHOR, NAME, OWNER, READER, REPO, Caller, commit, make_hub


def test_commits_are_listed_by_branch_path_author_and_time(tmp_path: Path) -> None:
    """https://docs.github.com/rest/commits/commits#list-commits"""
    hub = make_hub(tmp_path)
    caller = Caller(hub)
    url = f"{REPO}/commits?sha=topic"

    def heads(query: str) -> list[str]:
        return [one["commit"]["message"].split("\n")[0] for one in caller.get(f"{url}&{query}")]

    assert heads("") == ["Change the sum", "Begin"]
    assert heads("path=docs") == ["Change the sum"]
    assert heads(f"author={AUTHOR}") == ["Change the sum", "Begin"]
    assert heads(f"author={READER}") == []
    assert heads("since=2030-01-01T00:00:00Z") == []
    assert len(heads("until=2030-01-01T00:00:00Z")) == 2
    page = caller.rest("GET", f"{url}&per_page=1&page=2")
    assert [one["author"]["login"] for one in page.body] == [AUTHOR]
    assert caller.rest("GET", f"{REPO}/commits?sha=none").status == 404
    caller.rest("POST", "/user/repos", {"name": "empty"})
    assert caller.rest("GET", "/repos/octocat/empty/commits").body["message"] == "Git Repository is empty."


def test_a_commit_is_read_with_its_files_or_as_a_diff(tmp_path: Path) -> None:
    """https://docs.github.com/rest/commits/commits#get-a-commit"""
    caller = Caller(make_hub(tmp_path))
    topic = caller.get(f"{REPO}/commits/topic")
    changes = {file["filename"]: (file["status"], file["changes"]) for file in topic["files"]}
    assert changes == {"README.md": ("removed", 1), "docs/new.md": ("added", 1), "src/app.py": ("modified", 2)}
    assert topic["stats"] == {"total": 4, "additions": 2, "deletions": 2}
    url = f"{REPO}/commits/{topic['sha'][:8]}"
    diff = caller.rest("GET", url, accept="application/vnd.github.v3.diff").content
    assert diff is not None
    assert diff.startswith(b"diff --git a/README.md b/README.md\n")
    patch = caller.rest("GET", f"{REPO}/commits/main", accept="application/vnd.github.patch").content
    assert patch is not None
    assert b"\nSubject: [PATCH] Begin\n" in patch
    assert caller.rest("GET", url, accept="application/vnd.github.sha").content == topic["sha"].encode()
    answer = caller.rest("GET", f"{REPO}/commits/none")
    assert (answer.status, answer.body["message"]) == (422, "No commit found for SHA: none")
    branches = caller.get(f"{REPO}/commits/{topic['sha']}/branches-where-head")
    assert [one["name"] for one in branches] == ["topic"]


def test_branches_are_compared_also_with_a_fork(tmp_path: Path) -> None:
    """https://docs.github.com/rest/commits/commits#compare-two-commits"""
    hub = make_hub(tmp_path)
    caller = Caller(hub)
    ahead = caller.get(f"{REPO}/compare/main...topic")
    assert (ahead["status"], ahead["ahead_by"], ahead["behind_by"], len(ahead["files"])) == ("ahead", 1, 0, 3)
    assert [one["commit"]["message"] for one in ahead["commits"]] == ["Change the sum\n\nAnd more."]
    assert caller.get(f"{REPO}/compare/topic...main")["status"] == "behind"
    assert caller.get(f"{REPO}/compare/main...main")["status"] == "identical"
    fork = Caller(hub, READER).rest("POST", f"{REPO}/forks").body
    git, author = hub.git(fork["id"]), hub.session(READER).signature()
    git.set_ref("refs/heads/own", commit(git, {"own.txt": "x\n"}, "Own", author, git.branch("main")))
    diverged = caller.get(f"{REPO}/compare/topic...{READER}:own")
    assert (diverged["status"], [file["filename"] for file in diverged["files"]]) == ("diverged", ["own.txt"])
    for pair in ("main...none", "main", f"main...{READER}:none", "main...nobody:main"):
        assert caller.rest("GET", f"{REPO}/compare/{pair}").status == 404, pair
    assert caller.get(f"{REPO}/compare/topic~1...topic")["ahead_by"] == 1
    assert caller.get(f"{REPO}/compare/HEAD...topic^")["status"] == "identical"
    assert caller.rest("GET", f"{REPO}/compare/main~1...main").status == 404
    diff = caller.rest("GET", f"{REPO}/compare/main...topic", accept="application/vnd.github.diff").content
    assert diff is not None
    assert diff.count(b"diff --git") == 3


def test_a_commit_names_its_pull_requests(tmp_path: Path) -> None:
    """https://docs.github.com/rest/commits/commits#list-pull-requests-associated-with-a-commit"""
    hub = make_hub(tmp_path)
    caller = Caller(hub)
    pull = caller.rest("POST", f"{REPO}/pulls", {"title": "Topic", "head": "topic", "base": "main"}).body
    repository = hub.state.repository(OWNER, NAME)
    assert repository is not None
    tips = hub.git(repository).branches()
    assert [one["number"] for one in caller.get(f"{REPO}/commits/{tips['topic']}/pulls")] == [pull["number"]]
    assert caller.get(f"{REPO}/commits/{tips['main']}/pulls") == []
