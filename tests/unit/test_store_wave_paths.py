from pathlib import Path

from scylla_gha.store.run_folder import WavePaths


def test_the_files_of_a_wave_lie_in_the_runs_folder() -> None:
    shelves = WavePaths(Path("runs/demo"))
    assert [shelves.packing, shelves.reused] == [Path("runs/demo/shards.json"), Path("runs/demo/reused.jsonl")]
    shelf = shelves.shard(7)
    assert [shelf.rows, shelf.manifest] == [
        Path("runs/demo/shards/007/results.jsonl"), Path("runs/demo/shards/007/manifest.json"),
    ]  # fmt: skip
