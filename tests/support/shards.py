"""A repository whose experiment is planned in shards, by the real command line, as steps of a workflow do it."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from scylla_gha.model.plan import ShardManifest, WavePacking
from tests.support.actions import Step, step_in
from tests.support.command import Said, scylla
from tests.support.repository import environment, make_repository, write_greet_experiment


@dataclass
class Shop:
    """Folders of a run. `env` is added to every step's environment."""

    root: Path
    env: dict[str, str]
    steps: int = 0

    @property
    def repo(self) -> Path:
        return self.root / "repo"

    @property
    def run(self) -> Path:
        return self.repo / "runs" / "greet"

    def step(self, *args: str, attempt: int = 1, **given: str) -> tuple[Said, Step]:
        """A command as a step of a workflow; on the runner of these tests a tool may say what it likes of itself."""
        self.steps += 1
        step = step_in(self.root / f"step-{self.steps}")
        env = {**self.env, **step.environment(GITHUB_RUN_ATTEMPT=str(attempt)), **given}
        said = scylla(*args, cwd=self.repo, env=env)
        assert "Traceback" not in said.err, said.err
        return said, step

    def plan(self, *args: str) -> tuple[Said, dict[str, str]]:
        said, step = self.step("plan", "greet", "--github", *args)
        return said, step.given()

    def cell(self, shard: int, *args: str, attempt: int = 1) -> tuple[Said, dict[str, str]]:
        said, step = self.step("cell", "greet", "--github", "--shard", str(shard), *args, attempt=attempt)
        return said, step.given()

    def packing(self) -> WavePacking:
        return WavePacking.model_validate_json((self.run / "shards.json").read_text())

    def manifest(self, shard: int = 0) -> ShardManifest:
        return ShardManifest.model_validate_json((self.run / "shards" / f"{shard:03d}" / "manifest.json").read_text())

    def rows(self, shard: int = 0) -> list[dict[str, Any]]:
        return rows_in(self.run / "shards" / f"{shard:03d}" / "results.jsonl")


def rows_in(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text().splitlines()]


def make_shop(root: Path, **experiment: Any) -> Shop:
    """The experiment `greet` of the built-in agents, with other fields."""
    repo = make_repository(root / "repo").root
    write_greet_experiment(repo, **{"repetitions": 2, **experiment})
    return Shop(root, environment(root))
