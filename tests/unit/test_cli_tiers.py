"""`scylla-gha tiers list`, `show` and `diff` on the toolkit's sub-tests; `measure` is in tests/e2e/test_tiers.py."""

import json
import re

import pytest

from scylla_gha.errors import ConfigError
from scylla_gha.model.variant import Variant
from tests.support.foreign import asked

COUNTS = {"T0 Prompts": 24, "T1 Skills": 11, "T2 Tooling": 15, "T3 Delegation": 41, "T4 Hierarchy": 7, "T5 Hybrid": 15,
          "T6 Super": 1, "all": 114}  # fmt: skip


def printed(*args: str) -> str:
    done = asked("tiers", *args)
    assert done.exit_code == 0, done.output
    return done.output


def test_the_list_counts_sub_tests_and_distinct_digests_of_each_tier() -> None:
    rows = re.findall(r"^(T\d \w+|all) +(\d+) +(\d+)", printed("list"), re.MULTILINE)
    assert {name: (int(count), int(digests)) for name, count, digests in rows} == {
        name: (count, count) for name, count in COUNTS.items()
    }
    digests = [row["digest"] for row in json.loads(printed("list", "--json"))]
    assert len(digests) == len(set(digests)) == 114


def test_the_list_of_a_tier_says_what_it_is_expected_to_show() -> None:
    first, second, third, *rows = printed("list", "T1").splitlines()
    assert first == "T1 Skills: Domain expertise as skills that the agent loads when it needs them"
    assert second.startswith("hypothesis: Skills carry knowledge at fewer tokens than tools")
    assert third == "representative: 11-best-of"
    assert [row.split()[0] for row in rows][::10] == ["T1/01-agent", "T1/11-best-of"]


def test_a_sub_test_is_shown_with_what_it_inherits_and_the_size_of_its_files() -> None:
    text = printed("show", "T6/01-everything")
    assert "inherits: T1/10-all\n" in text
    sizes = {
        kind: int(parts) for kind, parts in re.findall(r"^(\w+): (\d+) parts in [\d,]+ files, ", text, re.MULTILINE)
    }
    assert sizes == {"blocks": 19, "mcp": 9, "skills": 61, "agents": 44}, "18 blocks, and that of the verification"
    assert "inherits: best of T0, which is T0/02-core until results decide" in printed("show", "T5/01-best-prompt")
    assert Variant.model_validate_json(printed("show", "T3/07-code-reviewer", "--json")).treatment.agents == (
        "code-reviewer",
    )


def test_the_difference_of_two_sub_tests_names_what_each_has_alone() -> None:
    lines = printed("diff", "T0/02-core", "T0/04-minimal").splitlines()
    assert {"- blocks/B02-safety-rules", "+ blocks/minimal"} < set(lines)
    same = printed("diff", "T5/02-best-skills", "T1/11-best-of")
    assert same == "T5/02-best-skills and T1/11-best-of are the same configuration\n"


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (("list", "T9"), "T9: there is no such tier; there are: T0, T1"),
        (("show", "T3/07-code-reviewr"), 'did you mean "T3/07-code-reviewer"'),
        (("diff", "T0/02-core", "T0/99-none"), "'T0/99-none' is not in config/tiers/"),
        (("measure", "T8/*"), "sub-tests: 'T8/*' matches nothing"),
    ],
)
def test_an_unknown_name_is_refused_with_those_that_are_there(args: tuple[str, ...], message: str) -> None:
    error = asked("tiers", *args).exception
    assert isinstance(error, ConfigError)
    assert message in str(error)
