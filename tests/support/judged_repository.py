"""A repository whose one trial of the oracle is judged by a panel; the provider is scripted, all else is real."""

import atexit
import json
import shutil
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.support.command import Said, scylla
from tests.support.library import write, write_model
from tests.support.panel import asked_for, fault, raw, reply
from tests.support.provider import Body, Fail, Hang, Provider, Say, serve
from tests.support.records import make_category, make_item, make_model, make_rubric
from tests.support.repository import SCENARIO, environment, make_repository, write_greet_experiment

ROOT = Path(__file__).parents[2]
JUDGES = ("opus", "sonnet", "haiku")
EACH = (100 * 1 + 25 * 10) / 1e6  # USD of one scripted answer at the prices of `make_model`
ORACLE, NOP = f"{SCENARIO}--oracle--r01", f"{SCENARIO}--nop--r01"
RUBRIC = make_rubric(
    make_category(make_item(id="F1", checks=("greets",)), id="functional", weight=0.5),
    make_category(
        make_item(id="Q1", type="subjective", checks=()),
        make_item(id="Q2", type="subjective", checks=()),
        id="quality",
        weight=0.5,
    ),
)
Script = Callable[[Body], Say | Fail | Hang]


def sees(body: Body) -> bool:
    """Return whether the answer that is shown prints `hello`, as it must."""
    return "greets: holds" in body["messages"][0]["content"]


def fair(body: Body) -> Say:
    """Full points for what works, and few for what does not."""
    deductions = [] if sees(body) else [fault("major", 0.6)]
    return Say(reply(*(raw(name, deductions=deductions) for name in asked_for(body))))


def lenient(body: Body) -> Say:
    """Full points for whatever is shown."""
    return Say(reply(*(raw(name) for name in asked_for(body))))


@dataclass
class JudgedRepository:
    """The repository's command line, with a key unless told otherwise."""

    root: Path
    provider: Provider

    @property
    def run(self) -> Path:
        return self.root / "runs" / "greet"

    def judge(self, *args: str, key: str = "sk-canary-0123456789") -> Said:
        return self.scylla("judge", "greet", "--yes", *args, key=key)

    def scylla(self, *args: str, key: str = "sk-canary-0123456789") -> Said:
        env = environment(self.root.parent, ANTHROPIC_API_KEY=key, ANTHROPIC_AUTH_TOKEN="",
                          ANTHROPIC_BASE_URL=self.provider.url if key else "http://127.0.0.1:9")  # fmt: skip
        said = scylla(*args, cwd=self.root, env=env)
        assert "Traceback" not in said.err, said.err
        return said

    def json(self, *args: str, **how: Any) -> dict[str, Any]:
        """Return what `judge --json` prints."""
        said = self.judge(*args, "--json", **how)
        assert said.code == 0, said.err
        found: dict[str, Any] = json.loads(said.out)
        return found

    def record(self, name: str, cell: str = ORACLE) -> dict[str, Any]:
        found: dict[str, Any] = json.loads((self.run / cell / name).read_text())
        return found

    def report(self) -> dict[str, Any]:
        for step in ("collect", "aggregate"):
            assert self.scylla(step, "greet").code == 0
        found: dict[str, Any] = json.loads((self.run / "report.json").read_text())
        return found

    def limit(self, **given: Any) -> None:
        """Change the experiment as it is planned."""
        plan = json.loads((self.run / "plan.json").read_text())
        plan["experiment"].update(given)
        (self.run / "plan.json").write_text(json.dumps(plan))

    def asked(self) -> list[str]:
        """The models that were asked since it was last looked at."""
        found = sorted(body["model"] for body in self.provider.requests)
        self.provider.requests.clear()
        return found


def wording(folder: Path, system: str = "Judge fairly.\n") -> Path:
    """A folder with another system prompt, and the toolkit's own template."""
    write(folder / "user_template.md", (ROOT / "config/judge/user_template.md").read_bytes())
    write(folder / "system_prompt.md", system)
    return folder


@contextmanager
def judged_repository(
    folder: Path, script: Script = fair, judges: tuple[str, ...] = JUDGES, **given: Any
) -> Iterator[JudgedRepository]:
    """The experiment `greet` is run and not yet judged; `given` are its other fields."""
    shutil.copytree(_run_once(folder, judges, tuple(given.items())), folder / "repo", symlinks=True)
    with serve(script) as provider:
        yield JudgedRepository(folder / "repo", provider)


_RUN: dict[object, Path] = {}


def _run_once(folder: Path, judges: tuple[str, ...], fields: tuple[tuple[str, Any], ...]) -> Path:
    """Run the experiment once in this test process; the built-in agents ask no provider."""
    key = (judges, repr(fields))
    if key not in _RUN:
        root = make_repository(folder / "first" / "repo", rubric=RUBRIC).root
        write_greet_experiment(root, judges=judges, **dict(fields))
        for name in (*JUDGES, "other"):
            write_model(root, make_model(id=name))
        with serve(fair) as provider:
            for step in ("plan", "run"):
                said = JudgedRepository(root, provider).scylla(step, "greet")
                assert said.code == 0, said.err
        _RUN[key] = Path(tempfile.mkdtemp(prefix="judged_repository-")) / "repo"
        atexit.register(shutil.rmtree, _RUN[key].parent, ignore_errors=True)
        root.rename(_RUN[key])
    return _RUN[key]
