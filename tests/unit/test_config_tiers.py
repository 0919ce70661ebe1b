"""Tiers in files and folders, inheritance of sub-tests, and what `best of` a tier stands for."""

from pathlib import Path

import pytest

from scylla_gha.config.scenario_folder import check_variants
from scylla_gha.config.tiers import Tiers
from scylla_gha.errors import ConfigError
from scylla_gha.model.variant import SystemPrompt
from tests.support.materials import FILES
from tests.support.repository import Files, write_tree

BLOCKS: Files = {"config/blocks/B01-role.md": "## Role\n", "config/blocks/B02-safety.md": "## Safety\n"}


def tier(name: str, more: str = "") -> str:
    return f"id: {name}\nname: Name\nfocus: Focus\n{more}"


def sub_test(name: str, treatment: str = "{}", inherits: str = "[]") -> str:
    return f"id: {name}\ndescription: Text\ninherits: {inherits}\ntreatment: {treatment}\n"


def tiers(root: Path, files: Files) -> Tiers:
    """The tiers T0 (two blocks, each alone) and T1 (a skill), and what the test adds."""
    return Tiers((write_tree(root, {
        **FILES, **BLOCKS,
        "config/tiers/T0.yaml": tier("T0", "representative: 02-safety\n"),
        "config/tiers/t0/01-role.yaml": sub_test("01-role", "{system_prompt: {blocks: [B01-role]}}"),
        "config/tiers/t0/02-safety.yaml": sub_test("02-safety", "{system_prompt: {blocks: [B02-safety]}}"),
        "config/tiers/T1.yaml": tier("T1", "representative: 01-greeting\n"),
        "config/tiers/t1/01-greeting.yaml": sub_test("01-greeting", "{skills: [greeting]}"),
        **files,
    }),))  # fmt: skip


def both(inherits: str, treatment: str = "{}") -> Files:
    return {"config/tiers/T5.yaml": tier("T5"),
            "config/tiers/t5/01-both.yaml": sub_test("01-both", treatment, inherits)}  # fmt: skip


def test_sub_tests_stand_in_the_folder_beside_their_tier(tmp_path: Path) -> None:
    read = tiers(tmp_path, {})
    assert read.names == ("T0/01-role", "T0/02-safety", "T1/01-greeting")
    assert list(read.tiers) == ["T0", "T1"]
    assert read.variant("T0/01-role").materials.keys() == {"blocks/B01-role"}


def test_a_sub_test_unites_what_it_inherits(tmp_path: Path) -> None:
    files = both("[T0/02-safety, T0/01-role, T1/01-greeting]", "{agents: [reader], verification: always}")
    read = tiers(tmp_path, {**files, "config/blocks/verification-always.md": "Check.\n"})
    variant = read.variant("T5/01-both")
    assert variant.treatment.system_prompt == SystemPrompt(blocks=("B02-safety", "B01-role"))
    assert (variant.treatment.skills, variant.treatment.agents) == (("greeting",), ("reader",))
    assert list(variant.materials) == ["blocks/B02-safety", "blocks/B01-role", "blocks/verification-always",
                                       "skills/greeting", "agents/reader"]  # fmt: skip


def test_best_of_a_tier_is_its_representative_until_results_decide(tmp_path: Path) -> None:
    read = tiers(tmp_path, both("[best of T0, T1/01-greeting]"))
    first, second = read.variant("T5/01-both"), read.variant("T5/01-both", {"T0": "T0/01-role"})
    assert (first.chosen, second.chosen) == ({"T0": "T0/02-safety"}, {"T0": "T0/01-role"})
    assert first.digest != second.digest
    assert first.alias_of is second.alias_of is None


def test_a_choice_that_is_another_sub_test_is_recorded_and_may_stand_beside_it(tmp_path: Path) -> None:
    read = tiers(tmp_path, both("[best of T0]"))
    variants = [read.variant(name) for name in read.names]
    assert variants[-1].alias_of == "T0/02-safety"
    check_variants(variants)
    assert len({read.declared_digest(name) for name in read.names}) == len(read.names)


@pytest.mark.parametrize(
    ("files", "message"),
    [
        (both("[T5/01-both]"), r"01-both.yaml: inherits: T5/01-both -> T5/01-both is a cycle"),
        (both("[T0/03-safety]"), r"inherits: there is no sub-test 'T0/03-safety'; did you mean \"T0/02-safety\""),
        (both("[best of T2]"), r"inherits: 'best of T2' needs a `representative` in config/tiers/T2.yaml"),
        (both("[T0/01-role]", "{system_prompt: {append: Mine}}"), ""),
        (both("[T1/01-greeting, T1/01-greeting]"), "a sub-test is listed twice"),
        (
            {"config/tiers/t1/02-again.yaml": sub_test("02-other")},
            "id: is '02-other', but the file is named '02-again'",
        ),
        ({"config/tiers/T2.yaml": tier("T2")}, "T2.yaml: the tier has no sub-test"),
        ({"config/tiers/t3/01-a.yaml": sub_test("01-a")}, "there is no T3.yaml beside it"),
        ({"config/tiers/T1.yaml": tier("T1", "representative: 01-greting\n")}, 'did you mean "01-greeting"'),
        (
            {"config/tiers/t0/03-x.yaml": sub_test("03-x", "{system_prompt: {blocks: [B03-x]}}")},
            "blocks: 'B03-x' is not",
        ),
        ({"config/tiers/t0/03-x.yaml": sub_test("03-x", "{orchestration: {lead: readr}}")}, 'did you mean "reader"'),
        (
            {"config/tiers/t0/03-x.yaml": sub_test("03-x", "{system_prompt: {append: a, mode: append}}")},
            "`mode` needs `blocks`",
        ),
        ({"config/blocks/B01-role.md": " \n"}, "B01-role.md: is empty"),
    ],
)
def test_a_fault_of_a_sub_test_names_its_file_and_what_to_do(tmp_path: Path, files: Files, message: str) -> None:
    if not message:  # its own text hides the blocks that it inherits
        prompt = tiers(tmp_path, files).variant("T5/01-both").treatment.system_prompt
        assert prompt == SystemPrompt(append="Mine")
        return
    with pytest.raises(ConfigError, match=message):
        [read.variant(name) for read in [tiers(tmp_path, files)] for name in read.names]


def test_parents_that_differ_in_a_setting_are_refused_unless_the_sub_test_decides(tmp_path: Path) -> None:
    more: Files = {"config/tiers/t0/03-a.yaml": sub_test("03-a", "{tools: [Bash]}"),
            "config/tiers/t0/04-b.yaml": sub_test("04-b", "{tools: [Read]}")}  # fmt: skip
    with pytest.raises(ConfigError, match="T0/03-a and T0/04-b set tools differently; set it here"):
        tiers(tmp_path / "one", {**more, **both("[T0/03-a, T0/04-b]")}).variant("T5/01-both")
    decided = tiers(tmp_path / "two", {**more, **both("[T0/03-a, T0/04-b]", "{tools: [Edit]}")}).variant("T5/01-both")
    assert decided.treatment.tools == ("Edit",)


def test_sub_tests_of_the_user_stand_beside_those_of_the_toolkit_and_change_none(tmp_path: Path) -> None:
    toolkit = tiers(tmp_path / "toolkit", both("[T1/01-greeting]")).roots[0]
    user = write_tree(
        tmp_path / "user", {"config/tiers/T1.yaml": tier("T1", "sub_tests:\n- id: 01-mine\n  description: x\n")}
    )
    write_tree(user, {"config/tiers/t1/01-greeting.yaml": sub_test("01-greeting", "{agents: [reader]}")})
    read = Tiers((user, toolkit))
    assert read.names == ("T0/01-role", "T0/02-safety", "T1/01-greeting", "T1/01-mine", "T5/01-both")
    assert read.variant("T1/01-greeting").treatment.agents == ("reader",)
    assert read.variant("T5/01-both").treatment.skills == ("greeting",)
    assert (read.tiers["T1"].representative, read.tiers["T0"].representative) == (None, "02-safety")


def test_one_block_after_the_other_is_left_out(tmp_path: Path) -> None:
    full = {"config/tiers/t0/03-full.yaml": sub_test("03-full", "{system_prompt: {blocks: [B01-role, B02-safety]}}")}
    read = tiers(tmp_path, full)
    without = {variant.id: variant for variant in read.without_each_block("T0/03-full")}
    assert list(without) == ["T0/03-full-without-b01-role", "T0/03-full-without-b02-safety"]
    first = without["T0/03-full-without-b01-role"]
    assert first.treatment.system_prompt == SystemPrompt(blocks=("B02-safety",))
    assert list(first.materials) == ["blocks/B02-safety"]
    assert read.current(first) == first
    assert read.current(first.model_copy(update={"id": "T0/03-full-without-b09-gone"})) is None
    with pytest.raises(ConfigError, match="leave_one_out: T0/01-role has fewer than two prompt blocks"):
        read.without_each_block("T0/01-role")
