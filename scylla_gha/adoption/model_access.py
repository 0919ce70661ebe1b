"""Whether agents in Actions can get at a model: by a key, or by federation."""

from typing import Final

from scylla_gha.adoption.finding import Finding, hidden, ok, problem
from scylla_gha.github.setup import Facts, Hidden, Names, Setup

KEY: Final = "ANTHROPIC_API_KEY"
FEDERATION: Final = ("ANTHROPIC_FEDERATION_RULE_ID", "ANTHROPIC_ORGANIZATION_ID")  # a service account is optional
_NAME: Final = "model"


def subjects(facts: Facts, environment: str) -> tuple[str, str]:
    """The subject of a cell job's identity: by names, and by names with ids.

    GitHub adds the ids for repositories made or renamed since 2026-07-15, and where an administrator switched them on
    (github.blog/changelog/2026-04-23-immutable-subject-claims-for-github-actions-oidc-tokens, github/docs#45221).
    """
    owner, _, name = facts.full_name.partition("/")
    end = f"environment:{environment}"
    return f"repo:{owner}/{name}:{end}", f"repo:{owner}@{facts.owner.id}/{name}@{facts.id}:{end}"


def model_finding(setup: Setup, environment: str) -> Finding:
    """Whether they can; only names of secrets and variables are known."""
    repository = setup.facts.full_name
    key_in = [place for place, names in setup.secrets.items() if isinstance(names, frozenset) and KEY in names]
    known: Names = frozenset().union(*(names for names in setup.variables.values() if isinstance(names, frozenset)))
    lacking = [each for each in FEDERATION if each not in known]
    mend = f"gh secret set {KEY} --env {environment} --repo {repository}"
    if not lacking:
        old, new = subjects(setup.facts, environment)
        what = (
            f"agents get at models by federation, if its rule trusts the subject {new} (repositories made or renamed "
            f"since 2026-07-15, or switched over) or {old} (all others)"
        )
        return ok(_NAME, what)
    if "environment" in key_in:
        return ok(_NAME, f"{KEY} is a secret of {environment}")
    if key_in:
        what = f"{KEY} is a secret of the {key_in[0]}, which all its workflows can be given; {environment} is safer"
        return ok(_NAME, what, mend)
    unseen = [names for names in (*setup.secrets.values(), *setup.variables.values()) if isinstance(names, Hidden)]
    if unseen:
        return hidden(_NAME, f"whether there is a secret {KEY}, or the variables of federation", unseen[0])
    if len(lacking) < len(FEDERATION):
        what = f"of the variables of federation there is no {', '.join(lacking)}"
        return problem(_NAME, what, f"gh variable set {lacking[0]} --repo {repository}")
    what = f"there is neither a secret {KEY} nor federation, so oracle and nop alone can run"
    return problem(_NAME, what, mend)
