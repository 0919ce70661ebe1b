"""Check a repository's settings on GitHub for `doctor`: token, Actions, workflows, secrets, results branch, site."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Final

from scylla_gha.errors import GitHubError
from scylla_gha.github_api.setup import (
    HiddenResource,
    MissingResource,
    Names,
    Policy,
    RepositoryFacts,
    RepositorySetup,
    SelectedActions,
)
from scylla_gha.model import printable
from scylla_gha.onboarding.doctor import Finding
from scylla_gha.providers import PROVIDERS

_FOREIGN: Final = "astral-sh/setup-uv"  # the only action in the toolkit's workflows that GitHub does not own
_CALLERS: Final = ("scylla.yml", "dispatch.yml")  # workflows that start an evaluation
_OURS: Final = (
    *_CALLERS,
    "scylla-comment.yml",
    "scylla-regression.yml",
    "scylla-pull-request.yml",
    "comment.yml",
    "regression.yml",
    "evaluate.yml",
)
_WHY: Final = {
    "disabled_fork": "is disabled, like all workflows of a new fork",
    "disabled_inactivity": "is disabled, because nothing was committed for 60 days",
    "disabled_manually": "was disabled manually",
}
_PLANS: Final = "https://docs.github.com/en/billing/concepts/product-billing/github-actions"


def findings(setup: RepositorySetup, environment: str, results: str, providers: Sequence[str] = ()) -> list[Finding]:
    """Return all findings in the order in which they should be corrected.

    Args:
        setup: settings of the repository.
        environment: name of the environment with the secrets.
        results: name of the results branch.
        providers: providers of the experiments' models; empty: access to any provider is enough.
    """
    return [
        _token(setup),
        *_repository(setup.facts),
        *action_findings(setup),
        *_workflows(setup),
        _environment(setup, environment),
        *model_findings(setup, environment, providers),
        rights_finding(setup),
        _results(setup, results),
        _pages(setup),
    ]


def unread_finding(error: GitHubError) -> Finding:
    """Return the finding that GitHub could not be read, with the reason and what to do."""
    reason, _, mend = str(error).partition("; ")
    return Finding("github", "unknown", f"nothing could be checked: {reason}", mend)


def requires_pins(setup: RepositorySetup) -> bool:
    """Return whether GitHub refuses actions that are not pinned by a full SHA."""
    return isinstance(setup.policy, Policy) and setup.policy.sha_pinning_required


def _hidden(name: str, what: str, resource: MissingResource | HiddenResource) -> Finding:
    """Return the finding about a resource that the token cannot access."""
    status = resource.status if isinstance(resource, HiddenResource) else 404
    mend = "ask with an administrator's token: GH_TOKEN=$(gh auth token) scylla-gha doctor"
    return Finding(name, "unknown", f"{what}: this token has no access ({status})", mend)


def _token(setup: RepositorySetup) -> Finding:
    token = setup.token
    if token.name is None:
        what = "no token is set, so only public settings can be read"
        return Finding("token", "unknown", what, "GH_TOKEN=$(gh auth token) scylla-gha doctor")
    ends = f"; it expires {printable(token.expires)}" if token.expires else ""
    if token.scopes is None:
        return Finding("token", "ok", f"{token.name}, a token with permissions instead of scopes{ends}")
    named = ", ".join(map(printable, token.scopes)) or "none"
    if {"repo"} & set(token.scopes) or (not setup.facts.private and "public_repo" in token.scopes):
        return Finding("token", "ok", f"{token.name}, with the scopes {named}{ends}")
    what = f"{token.name} has the scopes {named}; `repo` is missing"
    return Finding("token", "problem", what, "gh auth refresh --scopes repo")


def _repository(facts: RepositoryFacts) -> Iterator[Finding]:
    if facts.archived:
        yield Finding(
            "repository", "problem", "is archived: workflows do not run", f"gh repo unarchive {facts.full_name}"
        )
    elif facts.private:
        what = "is private: hosted runners use minutes of your plan; whether environments have secrets depends on it"
        yield Finding("repository", "ok", what, _PLANS)
    else:
        yield Finding("repository", "ok", "is public")
    if facts.fork:
        what = "is a fork: it lacks the original's secrets, and schedules are disabled at first"
        yield Finding("fork", "ok", what, "docs/workflows.md")


def _workflows(setup: RepositorySetup) -> Iterator[Finding]:
    listed, facts = setup.workflows, setup.facts
    if isinstance(listed, MissingResource | HiddenResource):
        yield _hidden("workflows", "which workflows exist", listed)
        return
    ours = {workflow.path.rpartition("/")[2]: workflow.state for workflow in listed if workflow.state != "deleted"}
    ours = {file: state for file, state in ours.items() if file in _OURS}
    if not ours.keys() & set(_CALLERS):
        button = f"press the button in {facts.html_url}/actions, or: " if facts.fork else ""
        what = f"no workflow that starts an evaluation is on the default branch {printable(facts.default_branch)}"
        yield Finding("workflows", "problem", what, f"{button}scylla-gha init, commit, push")
    for file, state in ours.items():
        if state == "active":
            yield Finding(f"workflow {file}", "ok", "is enabled")
        else:
            mend = f"gh workflow enable {file} --repo {facts.full_name}"
            yield Finding(f"workflow {file}", "problem", _WHY.get(state, f"is {printable(state)}"), mend)


def action_findings(setup: RepositorySetup) -> Iterator[Finding]:
    """Yield findings on whether Actions are enabled, and on which actions are allowed."""
    policy, name = setup.policy, setup.facts.full_name
    if not isinstance(policy, Policy):
        yield _hidden("actions", "whether Actions are enabled", policy)
    elif not policy.enabled:
        mend = f"gh api --method PUT repos/{name}/actions/permissions -F enabled=true -f allowed_actions=all"
        yield Finding("actions", "problem", "Actions are disabled", mend)
    else:
        yield Finding("actions", "ok", "Actions are enabled")
        yield _allowed(setup, policy)


def _allowed(setup: RepositorySetup, policy: Policy) -> Finding:
    chosen, page = setup.selected, f"{setup.facts.html_url}/settings/actions"
    if policy.allowed_actions == "all":
        return Finding("allowed-actions", "ok", "all actions are allowed")
    if policy.allowed_actions == "local_only":
        what = f"only actions of this repository's owner are allowed; the toolkit uses GitHub's and {_FOREIGN}"
        return Finding("allowed-actions", "problem", what, page)
    if not isinstance(chosen, SelectedActions):
        return _hidden("allowed-actions", "which actions are allowed", chosen)
    missing = [] if chosen.github_owned_allowed else ["actions of GitHub"]
    missing += [] if any(_admits(pattern, _FOREIGN) for pattern in chosen.patterns_allowed) else [f"{_FOREIGN}@*"]
    if missing:
        return Finding("allowed-actions", "problem", f"not allowed: {', '.join(missing)}", page)
    what = "selected actions are allowed; check that the toolkit's repository is among them"
    return Finding("allowed-actions", "ok", what, page)


def _admits(pattern: str, action: str) -> bool:
    """Return whether a pattern of the policy allows a version of an action; a final `*` matches any text."""
    name = pattern.partition("@")[0]
    return action == name or (name.endswith("*") and action.startswith(name[:-1]))


def rights_finding(setup: RepositorySetup) -> Finding:
    """Return the finding about the default permissions of workflows' tokens."""
    rights, name = setup.rights, "token of workflows"
    if isinstance(rights, MissingResource | HiddenResource):
        return _hidden(name, "its default permissions", rights)
    if rights.default_workflow_permissions == "read":
        return Finding(name, "ok", "may only read by default")
    path = f"repos/{setup.facts.full_name}/actions/permissions/workflow"
    what = "may write by default; the toolkit's workflows declare what they need"
    return Finding(name, "optional", what, f"gh api --method PUT {path} -f default_workflow_permissions=read")


def subjects(facts: RepositoryFacts, environment: str) -> tuple[str, str]:
    """Return the subject claim of a cell job's OIDC token, with names only and with names and ids.

    GitHub adds ids for repositories created or renamed since 2026-07-15, or if an administrator enabled them
    (github.blog/changelog/2026-04-23-immutable-subject-claims-for-github-actions-oidc-tokens, github/docs#45221).
    """
    owner, _, name = facts.full_name.partition("/")
    end = f"environment:{environment}"
    return f"repo:{owner}/{name}:{end}", f"repo:{owner}@{facts.owner.id}/{name}@{facts.id}:{end}"


def model_findings(setup: RepositorySetup, environment: str, providers: Sequence[str] = ()) -> list[Finding]:
    """Return for each provider whether agents can reach its models; without `providers`, whether they reach any."""
    answers = [
        _model_finding(setup, environment, name, is_any=not providers)
        if PROVIDERS[name].needs_key
        else _address_finding(setup, name)
        for name in providers or PROVIDERS
    ]
    if not providers:
        return [next((finding for finding in answers if finding.state == "ok"), answers[0])]
    if len(answers) == 1:
        return answers
    return [replace(finding, id=f"model of {name}") for name, finding in zip(providers, answers, strict=True)]


def _model_finding(setup: RepositorySetup, environment: str, provider: str, *, is_any: bool) -> Finding:
    """Return the finding on whether agents can reach a provider's models, by the names of secrets and variables.

    `is_any`: the experiments name no provider, so this finding stands for all providers.
    """
    repository, api = setup.facts.full_name, PROVIDERS[provider]
    key, federation = api.credential_variables[0], api.federation_variables
    key_scopes = [scope for scope, names in setup.secrets.items() if isinstance(names, frozenset) and key in names]
    known = _known_variables(setup)
    missing = [name for name in federation if name not in known]
    mend = f"gh secret set {key} --env {environment} --repo {repository}"
    if federation and not missing:
        old, new = subjects(setup.facts, environment)
        what = (
            f"agents reach models by federation if its rule trusts the subject {new} (repositories created or renamed "
            f"since 2026-07-15, or switched over) or {old} (all others)"
        )
        return Finding("model", "ok", what)
    if "environment" in key_scopes:
        return Finding("model", "ok", f"{key} is a secret of {environment}")
    if key_scopes:
        what = f"{key} is a secret of the {key_scopes[0]}, so all its workflows can read it; {environment} is safer"
        return Finding("model", "ok", what, mend)
    hidden = [
        names for names in (*setup.secrets.values(), *setup.variables.values()) if isinstance(names, HiddenResource)
    ]
    if hidden:
        or_variables = " or the variables of federation exist" if federation else " exists"
        return _hidden("model", f"whether a secret {key}{or_variables}", hidden[0])
    if len(missing) < len(federation):
        what = f"variables of federation are missing: {', '.join(missing)}"
        return Finding("model", "problem", what, f"gh variable set {missing[0]} --repo {repository}")
    lack = f"neither a secret {key} nor federation is set up" if federation else f"no secret {key} is set up"
    who = "only oracle and nop can run" if is_any else f"models of {provider} cannot be asked"
    what = f"{lack}, so {who}"
    return Finding("model", "problem", what, mend)


def _known_variables(setup: RepositorySetup) -> Names:
    """Return the names of all variables that are visible."""
    return frozenset().union(*(names for names in setup.variables.values() if isinstance(names, frozenset)))


def _address_finding(setup: RepositorySetup, provider: str) -> Finding:
    """Return the finding on a server that needs an address and perhaps no key."""
    variable = PROVIDERS[provider].base_url_variable
    if variable in _known_variables(setup):
        return Finding("model", "ok", f"the variable {variable} names the server of {provider}")
    what = f"the variable {variable} is not visible here or not set, so models of {provider} cannot be asked"
    return Finding("model", "problem", what, f"gh variable set {variable} --repo {setup.facts.full_name}")


def _environment(setup: RepositorySetup, environment: str) -> Finding:
    settings, facts = setup.environment, setup.facts
    if isinstance(settings, HiddenResource):
        return _hidden("environment", environment, settings)
    if isinstance(settings, MissingResource):
        what = (
            f"{environment} does not exist, but should contain the secrets; the first run would create it, open to all "
            "branches"
        )
        mend = f"gh api --method PUT repos/{facts.full_name}/environments/{environment}"
        return Finding("environment", "problem", what, mend)
    if any(rule.type == "required_reviewers" for rule in settings.protection_rules):
        return Finding(
            "environment", "ok", f"{environment} has reviewers, who must approve before its secrets are used"
        )
    what = f"{environment} has no required reviewers: everybody who may start a workflow can spend money on models"
    return Finding("environment", "optional", what, f"{facts.html_url}/settings/environments")


def _results(setup: RepositorySetup, results: str) -> Finding:
    branch, page = setup.results, f"{setup.facts.html_url}/settings/rules"
    if isinstance(branch, HiddenResource):
        return _hidden("results branch", results, branch)
    if isinstance(branch, MissingResource):
        return Finding("results branch", "ok", f"{results} does not exist yet; the first report creates it")
    if branch.protected:
        return Finding(
            "results branch", "ok", f"{results} is protected; check that workflows may still push to it", page
        )
    what = f"{results} is not protected: everybody who may push can rewrite it"
    return Finding("results branch", "optional", what, f"forbid force pushes and deletion: {page}")


def _pages(setup: RepositorySetup) -> Finding:
    pages, page = setup.pages, f"{setup.facts.html_url}/settings/pages"
    if isinstance(pages, HiddenResource):
        return _hidden("pages", "whether a site exists", pages)
    if isinstance(pages, MissingResource):
        return Finding(
            "pages", "optional", "no site exists; only `site.yml` with `deploy` needs one (docs/report-page.md)", page
        )
    if pages.build_type == "workflow":
        return Finding("pages", "ok", "workflows may publish the site")
    what = "the site is built from a branch; `site.yml` with `deploy` needs GitHub Actions as its source"
    return Finding("pages", "optional", what, page)
