from typing import Any

import pytest
from pydantic import ValidationError

from scylla_gha.model.variant import Delivery, Inventory, Observed
from tests.support.delivery import make_declared, make_inventory


@pytest.mark.parametrize(
    ("given", "reason"),
    [
        ({}, ""),
        ({"missing": ("tool Bash", "skill a")}, "missing: tool Bash, skill a"),
        ({"undeclared": ("tool Bash",)}, "not declared: tool Bash"),
        ({"missing": ("a",), "undeclared": ("b", "c")}, "missing: a; not declared: b, c"),
        ({"unverified": ("much",)}, ""),
    ],
)
def test_the_reason_is_what_is_wrong_and_not_what_is_unknown(given: dict[str, Any], reason: str) -> None:
    assert Delivery.model_validate({"proved": not reason, **given}).reason == reason


def test_what_no_source_says_is_unknown_and_not_empty() -> None:
    said = Observed(source="start event")
    silent = (said.tools, said.mcp_servers, said.skills, said.agents, said.plugins, said.instructions, said.offered)
    assert silent == (None,) * 7
    made = Delivery(proved=False)
    assert (made.system_prompt_bytes, made.tools) == (None, None)


def test_a_source_is_one_of_three() -> None:
    with pytest.raises(ValidationError, match="'start event', 'first request' or 'hook events'"):
        Observed.model_validate({"source": "rumour"})


def test_a_proof_survives_its_file() -> None:
    made = Delivery(proved=False, seen=("start event",), missing=("a\n\u202e",), system_prompt_bytes=0, tools=0)
    assert Delivery.model_validate_json(made.model_dump_json()) == made


@pytest.mark.parametrize("field", ["tools", "skills", "agents", "prompt_lines", "models"])
def test_an_inventory_leaves_nothing_out(field: str) -> None:
    with pytest.raises(ValidationError, match=field):
        Inventory.model_validate(make_inventory().model_dump(exclude={field}))


def test_a_declaration_of_nothing_asks_for_the_default() -> None:
    made = make_declared()
    assert (made.tools, made.side_tools, made.usual_tools, made.usual_prompt) == (None, (), True, True)
    assert (made.mcp_servers, made.skills, made.agents, made.plugins) == ((), (), (), ())
