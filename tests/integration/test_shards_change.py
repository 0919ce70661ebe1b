"""A change against what it changes, in jobs: both versions of a variant, each from its own checkout."""

from pathlib import Path

import pytest

from tests.support.provider import Say, serve
from tests.support.repository import write_tree
from tests.support.scripted_claude import ARM, ask, claude_environment, tell, write_claude_experiment
from tests.support.shards import Shop, make_shop

TIER = """\
id: T0
name: Prompts
focus: One that changes
sub_tests:
  - {id: 00-empty, description: Ours, treatment: {system_prompt: {replace: Work.}, setting_sources: []}}
"""


@pytest.fixture
def shop(tmp_path: Path) -> Shop:
    made = make_shop(tmp_path)
    write_claude_experiment(made.repo, repetitions=1)
    write_tree(tmp_path / "change", {"config/tiers/T0.yaml": TIER})
    return made


def test_each_version_is_run_from_its_own_checkout(shop: Shop, tmp_path: Path) -> None:
    with serve(lambda _: Say("Hello.")) as provider:
        shop.env |= claude_environment(tmp_path, f"{ask('a')}; {tell('ok')}") | {"ANTHROPIC_BASE_URL": provider.url}
        said, given = shop.plan("--head", "../change", "--most-shards", "1")
        assert (said.code, given["cells"]) == (0, "2"), said.err
        without, _ = shop.cell(0)
        assert (without.code, "name the checkout with --head" in without.err) == (3, True), without.err
        said, _ = shop.cell(0, "--head", "../change", attempt=2)
    assert said.code in {0, 8}, said.err
    assert {row["arm"] for row in shop.rows()} == {ARM, f"{ARM}.head"}
    assert {row["outcome"] for row in shop.rows() if row["arm"] == ARM} == {"completed"}


def test_a_change_that_moved_on_is_refused(shop: Shop, tmp_path: Path) -> None:
    shop.env |= claude_environment(tmp_path, tell("ok"))
    shop.plan("--head", "../change", "--most-shards", "1")
    write_tree(tmp_path / "change", {"config/tiers/T0.yaml": TIER.replace("Work.", "Rest.")})
    said, _ = shop.cell(0, "--head", "../change")
    assert (said.code, "variant T0/00-empty of the change" in said.err) == (6, True), said.err
