"""How a repository may be set up on GitHub, as the toolkit's own record."""

from dataclasses import replace
from typing import Any

from scylla_gha.github.setup import (
    Branch,
    DefaultRights,
    Environment,
    Facts,
    Missing,
    Owner,
    Pages,
    Policy,
    Rule,
    Setup,
    Token,
    Workflow,
)

FACTS = Facts(id=456, owner=Owner(id=123), full_name="octo-org/app", html_url="https://github.com/octo-org/app",
              private=False, fork=False,
              default_branch="main")  # fmt: skip
RIGHT = Setup(
    token=Token("GH_TOKEN", ("repo",)),
    facts=FACTS,
    policy=Policy(enabled=True),
    selected=Missing(),
    rights=DefaultRights(default_workflow_permissions="read"),
    workflows=(Workflow(path=".github/workflows/scylla.yml", state="active"),),
    environment=Environment(protection_rules=(Rule(type="required_reviewers"),)),
    secrets={"environment": frozenset({"ANTHROPIC_API_KEY"}), "repository": frozenset()},
    variables={"environment": frozenset(), "repository": frozenset()},
    pages=Pages(build_type="workflow"),
    results=Branch(protected=True),
)


def make_setup(**given: Any) -> Setup:
    """Where all is right, but for what is given."""
    return replace(RIGHT, **given)
