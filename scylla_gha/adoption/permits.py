"""Whether Actions are on, which actions may be used, and what a workflow's token may do."""

from collections.abc import Iterator
from typing import Final

from scylla_gha.adoption.finding import Finding, hidden, ok, optional, problem
from scylla_gha.github.setup import Hidden, Missing, Policy, Selected, Setup

_FOREIGN: Final = "astral-sh/setup-uv"  # besides GitHub's own actions, what the toolkit uses


def action_findings(setup: Setup) -> Iterator[Finding]:
    """Whether they are on, and which may be used."""
    policy, name = setup.policy, setup.facts.full_name
    if not isinstance(policy, Policy):
        yield hidden("actions", "whether Actions are on", policy)
    elif not policy.enabled:
        mend = f"gh api --method PUT repos/{name}/actions/permissions -F enabled=true -f allowed_actions=all"
        yield problem("actions", "Actions are off", mend)
    else:
        yield ok("actions", "Actions are on")
        yield _allowed(setup, policy)


def _allowed(setup: Setup, policy: Policy) -> Finding:
    chosen, page = setup.selected, f"{setup.facts.html_url}/settings/actions"
    if policy.allowed_actions == "all":
        return ok("allowed-actions", "all actions may be used")
    if policy.allowed_actions == "local_only":
        what = f"only actions of this repository's owner may be used; the toolkit takes GitHub's and {_FOREIGN}"
        return problem("allowed-actions", what, page)
    if not isinstance(chosen, Selected):
        return hidden("allowed-actions", "which actions may be used", chosen)
    lacks = [] if chosen.github_owned_allowed else ["actions of GitHub"]
    lacks += [] if any(_admits(each, _FOREIGN) for each in chosen.patterns_allowed) else [f"{_FOREIGN}@*"]
    if lacks:
        return problem("allowed-actions", f"not allowed: {', '.join(lacks)}", page)
    what = "selected actions may be used; see that the toolkit's repository that you call is among them"
    return ok("allowed-actions", what, page)


def _admits(pattern: str, action: str) -> bool:
    """Whether a pattern of the policy lets some version of an action pass; `*` at its end stands for anything."""
    named = pattern.partition("@")[0]
    return action == named or (named.endswith("*") and action.startswith(named[:-1]))


def rights_finding(setup: Setup) -> Finding:
    """What a workflow's token may do where the workflow says nothing."""
    rights, name = setup.rights, "token of workflows"
    if isinstance(rights, Missing | Hidden):
        return hidden(name, "what it may do where a workflow says nothing", rights)
    if rights.default_workflow_permissions == "read":
        return ok(name, "may read, where a workflow says nothing")
    path = f"repos/{setup.facts.full_name}/actions/permissions/workflow"
    what = "may write, where a workflow says nothing; the toolkit's say what they need"
    return optional(name, what, f"gh api --method PUT {path} -f default_workflow_permissions=read")
