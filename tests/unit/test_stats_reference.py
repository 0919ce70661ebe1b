"""Numbers that others published: each of them is computed here."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.support.stats_cases import CALLS

CASES = json.loads((Path(__file__).parents[1] / "reference" / "stats_cases.json").read_text(encoding="utf-8"))


def test_every_call_has_a_case() -> None:
    assert {case["function"] for case in CASES} == CALLS.keys()


@pytest.mark.parametrize("case", CASES, ids=lambda case: str(case["name"]))
def test_the_published_number_is_computed(case: dict[str, Any]) -> None:
    found = CALLS[case["function"]](*case["inputs"].values())
    assert close(found, case["expected"], case["tolerance"]), case["source"]


def close(found: Any, expected: Any, tolerance: float) -> bool:
    """The same shape, and each number within the absolute tolerance; null and words must be equal."""
    if isinstance(expected, dict):
        return found.keys() == expected.keys() and all(close(found[k], v, tolerance) for k, v in expected.items())
    if isinstance(expected, list):
        pairs = list(zip(found, expected, strict=True))
        return all(close(one, other, tolerance) for one, other in pairs)
    if expected is None or isinstance(expected, str):
        return bool(found == expected)
    return found is not None and abs(found - expected) <= tolerance
