"""What of a repository's set-up on GitHub is right, what is not, and how each is mended."""

from collections.abc import Iterator
from typing import Final

from scylla_gha.adoption.finding import Finding, hidden, ok, optional, plain, problem, unknown
from scylla_gha.adoption.model_access import model_finding
from scylla_gha.adoption.permits import action_findings, rights_finding
from scylla_gha.github.setup import Facts, Hidden, Missing, Setup

_CALLERS: Final = ("scylla.yml", "dispatch.yml")  # start an evaluation
_OURS: Final = (*_CALLERS, "scylla-comment.yml", "scylla-regression.yml", "scylla-pull-request.yml", "comment.yml",
                "regression.yml", "evaluate.yml")  # fmt: skip
_WHY: Final = {
    "disabled_fork": "is off, as all are in a new fork",
    "disabled_inactivity": "is off, since nothing was committed for 60 days",
    "disabled_manually": "was switched off by somebody",
}
_PLANS: Final = "https://docs.github.com/en/billing/concepts/product-billing/github-actions"


def findings(setup: Setup, environment: str, results: str) -> list[Finding]:
    """All that is to be said of it, in the order in which it is best set up."""
    return [
        _token(setup),
        *_repository(setup.facts),
        *action_findings(setup),
        *_workflows(setup),
        _environment(setup, environment),
        model_finding(setup, environment),
        rights_finding(setup),
        _results(setup, results),
        _pages(setup),
    ]


def _token(setup: Setup) -> Finding:
    token = setup.token
    if token.name is None:
        what = "there is none, so GitHub tells what is public alone"
        return unknown("token", what, "GH_TOKEN=$(gh auth token) scylla-gha doctor")
    ends = f"; it expires {plain(token.expires)}" if token.expires else ""
    if token.scopes is None:
        return ok("token", f"{token.name}, which has permissions and no scopes{ends}")
    named = ", ".join(map(plain, token.scopes)) or "none"
    if {"repo"} & set(token.scopes) or (not setup.facts.private and "public_repo" in token.scopes):
        return ok("token", f"{token.name}, with the scopes {named}{ends}")
    what = f"{token.name} has the scopes {named}, and `repo` is not among them"
    return problem("token", what, "gh auth refresh --scopes repo")


def _repository(facts: Facts) -> Iterator[Finding]:
    if facts.archived:
        yield problem("repository", "is archived: nothing runs in it", f"gh repo unarchive {facts.full_name}")
    elif facts.private:
        what = "is private: hosted runners cost minutes of your plan, which decides on secrets of environments as well"
        yield ok("repository", what, _PLANS)
    else:
        yield ok("repository", "is public")
    if facts.fork:
        what = "is a fork: it has no secrets of the original's, and schedules are off until they are switched on"
        yield ok("fork", what, "docs/in-a-fork.md")


def _workflows(setup: Setup) -> Iterator[Finding]:
    listed, facts = setup.workflows, setup.facts
    if isinstance(listed, Missing | Hidden):
        yield hidden("workflows", "which workflows there are", listed)
        return
    ours = {each.path.rpartition("/")[2]: each.state for each in listed if each.state != "deleted"}
    ours = {file: state for file, state in ours.items() if file in _OURS}
    if not ours.keys() & set(_CALLERS):
        button = f"press the button in {facts.html_url}/actions, or: " if facts.fork else ""
        what = f"none that starts an evaluation is on the default branch {plain(facts.default_branch)}"
        yield problem("workflows", what, f"{button}scylla-gha init, commit, push")
    for file, state in ours.items():
        if state == "active":
            yield ok(f"workflow {file}", "is on")
        else:
            mend = f"gh workflow enable {file} --repo {facts.full_name}"
            yield problem(f"workflow {file}", _WHY.get(state, f"is {plain(state)}"), mend)


def _environment(setup: Setup, environment: str) -> Finding:
    found, facts = setup.environment, setup.facts
    if isinstance(found, Hidden):
        return hidden("environment", environment, found)
    if isinstance(found, Missing):
        what = f"there is no {environment}, which is to hold the secrets; the first run makes one open to all branches"
        mend = f"gh api --method PUT repos/{facts.full_name}/environments/{environment}"
        return problem("environment", what, mend)
    if any(rule.type == "required_reviewers" for rule in found.protection_rules):
        return ok("environment", f"{environment} has reviewers, who are asked before its secrets are used")
    what = f"{environment} has no reviewers: whoever may start a workflow may spend on models"
    return optional("environment", what, f"{facts.html_url}/settings/environments")


def _results(setup: Setup, results: str) -> Finding:
    branch, page = setup.results, f"{setup.facts.html_url}/settings/rules"
    if isinstance(branch, Hidden):
        return hidden("results branch", results, branch)
    if isinstance(branch, Missing):
        return ok("results branch", f"{results} is not there yet; the first report makes it")
    if branch.protected:
        return ok("results branch", f"{results} is protected; see that workflows may still push to it", page)
    what = f"{results} is there, and whoever may push can rewrite it"
    return optional("results branch", what, f"forbid force pushes and deletion: {page}")


def _pages(setup: Setup) -> Finding:
    pages, page = setup.pages, f"{setup.facts.html_url}/settings/pages"
    if isinstance(pages, Hidden):
        return hidden("pages", "whether there is a site", pages)
    if isinstance(pages, Missing):
        return optional("pages", "there is no site; only a page of the reports wants one", page)
    if pages.build_type == "workflow":
        return ok("pages", "a workflow may publish the site")
    what = "the site is made from a branch; for reports its source has to be GitHub Actions"
    return optional("pages", what, page)
