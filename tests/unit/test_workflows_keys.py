"""Workflows and actions pass the keys of all providers to the steps in which agents work."""

import re

from scylla_gha.providers import PROVIDERS
from tests.support.workflows import ACTIONS, SIMPLE, WORKFLOWS, texts


def test_the_keys_of_all_providers_reach_the_steps_that_need_them() -> None:
    keys = {provider.credential_variables[0] for provider in PROVIDERS.values()}
    for name in ("evaluate", "readiness", "regression"):
        declared = WORKFLOWS[name]["on"]["workflow_call"]["secrets"]
        passed = set(re.findall(r"secrets\.(\w+)", " ".join(texts(WORKFLOWS[name]["jobs"]))))
        assert (keys - declared.keys(), keys - passed) == (set(), set()), name
    assert keys <= set(re.findall(r"secrets\.(\w+)", " ".join(texts(WORKFLOWS["dispatch"]["jobs"]))))
    for step in (*ACTIONS["cell"]["runs"]["steps"], *SIMPLE["runs"]["steps"]):
        if "scylla-gha cell" in step.get("run", "") or step.get("name") == "Evaluate":
            assert keys <= step["env"].keys(), step["name"]
