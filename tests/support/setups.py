"""Setups of a repository on GitHub, as the toolkit's own record."""

from dataclasses import replace
from typing import Any

from scylla_gha.github_api.setup import (
    DefaultRights,
    Environment,
    MissingResource,
    Owner,
    Pages,
    Policy,
    ProtectionRule,
    RepositoryFacts,
    RepositorySetup,
    ResultsBranchInfo,
    TokenInfo,
    Workflow,
)

FACTS = RepositoryFacts(id=456, owner=Owner(id=123), full_name="octo-org/app", html_url="https://github.com/octo-org/app",
              private=False, fork=False,
              default_branch="main")  # fmt: skip
RIGHT = RepositorySetup(
    token=TokenInfo("GH_TOKEN", ("repo",)),
    facts=FACTS,
    policy=Policy(enabled=True),
    selected=MissingResource(),
    rights=DefaultRights(default_workflow_permissions="read"),
    workflows=(Workflow(path=".github/workflows/scylla.yml", state="active"),),
    environment=Environment(protection_rules=(ProtectionRule(type="required_reviewers"),)),
    secrets={"environment": frozenset({"ANTHROPIC_API_KEY"}), "repository": frozenset()},
    variables={"environment": frozenset(), "repository": frozenset()},
    pages=Pages(build_type="workflow"),
    results=ResultsBranchInfo(protected=True),
)


def make_setup(**given: Any) -> RepositorySetup:
    """Return a setup in which all is right, but for what is given."""
    return replace(RIGHT, **given)
