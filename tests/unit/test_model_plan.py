import datetime

import pytest
from pydantic import ValidationError

from scylla_gha.model.plan import (
    MOST_SHARDS,
    CostRange,
    Estimate,
    EstimateShare,
    Plan,
    Shard,
    ShardManifest,
    WavePacking,
    shard_name,
)
from tests.support.records import make_arm, make_cell, make_experiment, make_model_arm, make_plan


def test_arm_is_found_by_its_id() -> None:
    plan = make_plan()
    assert plan.arm("oracle") == plan.arms[0]
    with pytest.raises(KeyError, match="orcale"):
        plan.arm("orcale")


def test_an_arm_is_compared_with_the_one_that_it_names_else_with_the_baseline() -> None:
    part, whole = make_arm(id="part", against="whole"), make_arm(id="whole")
    cells = [make_cell(arm) for arm in ("oracle", "whole", "part")]
    plan = make_plan(*cells, arms=(make_arm(id="oracle"), whole, part), experiment=make_experiment(baseline="oracle"))
    assert plan.pairs == {"whole": "oracle", "part": "whole"}


def test_of_a_change_only_what_it_changes_is_compared() -> None:
    before, after = make_arm(id="part", against="whole"), make_arm(id="part.head", against="part", side="head")
    plan = make_plan(make_cell("part"), make_cell("part.head"), arms=(before, after))
    assert plan.pairs == {"part.head": "part"}
    assert plan.family == "baseline"


def test_a_plan_survives_its_file() -> None:
    plan = make_plan(make_cell("t0-00-empty.cli.m"), arms=(make_model_arm(),))
    assert Plan.model_validate_json(plan.model_dump_json()) == plan


def test_an_estimate_is_the_sum_of_agents_and_judges_and_unknown_where_one_is() -> None:
    known, unknown = CostRange(low=1.0, likely=2.0, high=3.0), CostRange(low=None, likely=None, high=None)
    agents, judges = EstimateShare(usd=known, minutes=known), EstimateShare(usd=unknown, minutes=known)
    made = Estimate(agents=agents, judges=judges, basis="none")
    assert made.usd == unknown
    assert made.minutes == CostRange(low=2.0, likely=4.0, high=6.0)


DIGEST = "a" * 64


def packing(*shards: Shard) -> WavePacking:
    return WavePacking(experiment="demo", plan=DIGEST, campaign="demo-1", lanes=4, minutes=300.0, shards=shards)


def test_a_shards_name_has_three_digits() -> None:
    assert [shard_name(number) for number in (0, 42, 249)] == ["000", "042", "249"]
    assert Shard(number=7, cells=("c",), minutes=1.0).name == "007"


def test_a_packing_counts_its_cells() -> None:
    made = packing(Shard(number=0, cells=("a", "b"), minutes=1.0), Shard(number=1, cells=("c",), minutes=1.0))
    assert made.cells == 3
    assert WavePacking.model_validate_json(made.model_dump_json()) == made


def test_there_are_no_more_shards_than_github_runs() -> None:
    one = Shard(number=0, cells=("a",), minutes=1.0)
    with pytest.raises(ValidationError, match="at most 250"):
        packing(*[one] * (MOST_SHARDS + 1))


def test_a_manifest_names_digests() -> None:
    when = datetime.datetime(2026, 1, 2, tzinfo=datetime.UTC)
    made = ShardManifest(experiment="demo", shard=0, attempt=1, plan=DIGEST, sha256=DIGEST, count=0, written_at=when)
    assert ShardManifest.model_validate_json(made.model_dump_json()) == made
    with pytest.raises(ValidationError, match="pattern"):
        ShardManifest(experiment="demo", shard=0, attempt=1, plan="x", sha256=DIGEST, count=0, written_at=when)
