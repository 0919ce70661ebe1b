"""Whether agents in Actions can get at a model: by a key, or by federation."""

from typing import Final

from scylla_gha.adoption.finding import Finding, hidden, ok, problem
from scylla_gha.github.setup import Hidden, Names, Setup

KEY: Final = "ANTHROPIC_API_KEY"
FEDERATION: Final = ("ANTHROPIC_FEDERATION_RULE_ID", "ANTHROPIC_ORGANIZATION_ID", "ANTHROPIC_SERVICE_ACCOUNT_ID")
_NAME: Final = "model"


def model_finding(setup: Setup, environment: str) -> Finding:
    """Whether they can; only names of secrets and variables are known."""
    repository = setup.facts.full_name
    key_in = [place for place, names in setup.secrets.items() if isinstance(names, frozenset) and KEY in names]
    known: Names = frozenset().union(*(names for names in setup.variables.values() if isinstance(names, frozenset)))
    lacking = [each for each in FEDERATION if each not in known]
    mend = f"gh secret set {KEY} --env {environment} --repo {repository}"
    if not lacking:
        return ok(_NAME, "agents get at models by federation")
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
