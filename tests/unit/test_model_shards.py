import datetime

import pytest
from pydantic import ValidationError

from scylla_gha.model.plan import MOST_SHARDS, Shard, ShardManifest, WavePacking, shard_name

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


@pytest.mark.parametrize(
    "given", [{"number": MOST_SHARDS}, {"number": -1}, {"cells": ()}, {"minutes": -1.0}, {"budget_usd": 0.0}]
)
def test_a_shard_is_one_that_github_runs_and_has_cells(given: dict[str, object]) -> None:
    with pytest.raises(ValidationError):
        Shard.model_validate({"number": 0, "cells": ("a",), "minutes": 1.0, **given})


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
