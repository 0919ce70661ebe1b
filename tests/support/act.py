"""The real workflows, run by act on this machine without any container, service or network.

What act cannot take is rendered away in a copy: `$/` becomes a named repository whose folder is that copy, `queue` and
`deployment` are left out. Actions that need GitHub's services are stood in for by small ones of our own (`stand_ins/`).
"""

import atexit
import functools
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import pytest
from uv import find_uv_bin

from scylla_gha.prepare.tools import cache_root
from tests.support.command import NO_ENGINE

ROOT = Path(__file__).parents[2]
STAND_INS = Path(__file__).with_name("stand_ins")
ACT = Path(sys.executable).with_name("act")
TOOLKIT, REF = "scylla-org/scylla-gha", "rendered"
OF_CERTIFICATES = ("NODE_EXTRA_CA_CERTS", "SSL_CERT_FILE")  # a runner has those of its network, and npm asks them
REPOSITORY = "octo-org/app"
PARTS = (
    ".github",
    "action.yml",
    "config",
    "fixtures",
    "scenarios",
    "scylla_gha",
    "pyproject.toml",
    "uv.lock",
    "README.md",
    "LICENSE",
)
PINNED = re.compile(r"uses:\s*([\w.-]+/[\w.-]+)(?:/[\w./-]+)?@([0-9a-f]{40})")


@dataclass(frozen=True)
class Line:
    """Of act's log; `job` is the id of the innermost job."""

    job: str
    text: str
    matrix: Mapping[str, Any]
    is_output: bool


@dataclass(frozen=True)
class Ran:
    """A finished run."""

    code: int
    lines: Sequence[Line]

    def log(self, job: str = "", shard: int | None = None) -> str:
        """Return what the steps of a job printed, and how act says they ended."""
        return "\n".join(line.text for line in self.lines if job in {"", line.job}
                         and (shard is None or line.matrix.get("shard") == shard))  # fmt: skip

    def save(self, place: Path) -> None:
        place.write_text(json.dumps([self.code, [asdict(line) for line in self.lines]]))

    @classmethod
    def load(cls, place: Path) -> "Ran":
        code, lines = json.loads(place.read_text())
        return cls(code, [Line(**line) for line in lines])

    @property
    def ended(self) -> dict[str, str]:
        """Return how each job ended, by its id, and its shard where it has one: succeeded, failed."""
        ends = (
            (line, line.text.rpartition("Job ")[2]) for line in self.lines if line.text.startswith("\N{CHEQUERED FLAG}")
        )
        return {_named(line): how.strip() for line, how in ends}

    @property
    def summaries(self) -> list[str]:
        """All step summaries."""
        marked = (line.text.partition("Summary - ") for line in self.lines)
        return [text.strip() for before, found, text in marked if found and not before.strip(" \N{GEAR}\ufe0f")]


def _named(line: Line) -> str:
    return f"{line.job} {line.matrix['shard']}" if "shard" in line.matrix else line.job


@dataclass
class Actions:
    """GitHub Actions of one repository: its services' folder, and what is told to every run."""

    folder: Path
    repository: Path
    env: dict[str, str] = field(default_factory=dict)
    variables: dict[str, str] = field(default_factory=dict)

    @property
    def services(self) -> Path:
        return self.folder / "services"

    def artifact(self, name: str) -> Path:
        return self.services / "artifacts" / name

    @property
    def artifacts(self) -> set[str]:
        return {path.name for path in (self.services / "artifacts").glob("*")}

    @property
    def origin(self) -> Path:
        return self.services / "git" / f"{REPOSITORY}.git"

    def run(
        self,
        workflow: str,
        event: str = "workflow_dispatch",
        payload: Mapping[str, Any] | None = None,
        *,
        env: Mapping[str, str] | None = None,
        secrets: Mapping[str, str] | None = None,
        job: str = "",
        seconds: float = 900,
    ) -> Ran:
        """Run a workflow of the repository to its end, or one job of it."""
        (told := self.folder / "event.json").write_text(json.dumps(payload or {}))
        argv = [str(ACT), event, "--json", "-W", f".github/workflows/{workflow}", "-e", str(told),
                "-P", "ubuntu-latest=-self-hosted", "--no-cache-server", "--no-skip-checkout", "--concurrent-jobs", "2",
                "--action-offline-mode", "--rm"]  # fmt: skip
        argv += ["-j", job] if job else []
        argv += [f"--local-repository={name}={place}" for name, place in self._stand_ins()]
        whole = {**self._environment(), **self.env, **(env or {})}
        argv += [word for name, value in whole.items() for word in ("--env", f"{name}={value}")]
        argv += [word for name, value in (secrets or {}).items() for word in ("-s", f"{name}={value}")]
        argv += [word for name, value in self.variables.items() for word in ("--var", f"{name}={value}")]
        mine = {"HOME": str(self.folder / "home"), "PATH": _path()}
        done = subprocess.run(argv, cwd=self.repository, env=mine, capture_output=True, text=True, timeout=seconds,
                              check=False)  # fmt: skip
        return Ran(done.returncode, [*_lines(done.stdout), *_lines(done.stderr)])

    def _environment(self) -> dict[str, str]:
        uv = subprocess.run([find_uv_bin(), "cache", "dir"], capture_output=True, text=True, check=True)
        return {
            "STAND_IN": str(self.services),
            "STAND_IN_ORIGIN": str(self.origin),
            "STAND_IN_PYTHON": sys.executable,
            "NPM_CONFIG_USERCONFIG": str(Path.home() / ".npmrc"),
            **{name: os.environ[name] for name in OF_CERTIFICATES if name in os.environ},
            "UV_CACHE_DIR": uv.stdout.strip(),
            "UV_LINK_MODE": "symlink",
            "SCYLLA_CACHE": str(cache_root()),
            "SCYLLA_WORK": str(self.folder / "work"),
            "DOCKER_HOST": NO_ENGINE,
            "GITHUB_API_URL": "http://127.0.0.1:9",
            "GITHUB_RUN_ID": "7001",
        }

    def _stand_ins(self) -> Iterator[tuple[str, Path]]:
        yield f"{TOOLKIT}@{REF}", _toolkit()
        texts = (path.read_text() for path in (ROOT / ".github").rglob("*.yml"))
        for name, commit in sorted({found for text in texts for found in PINNED.findall(text)}):
            yield f"{name}@{commit}", STAND_INS / name

    def commit(self, message: str = "A change", branch: str = "main") -> str:
        """Commit all that is in the repository, and push it to where runs check out from."""
        who = ("-c", "user.name=octocat", "-c", "user.email=octocat@example.com")
        git(self.repository, "add", "-A")
        git(self.repository, *who, "commit", "-q", "--allow-empty", "-m", message)
        git(self.repository, "push", "-q", f"file://{self.origin}", f"HEAD:refs/heads/{branch}")
        return git(self.repository, "rev-parse", "HEAD")


def actions(folder: Path, repository: Path) -> Actions:
    """Make the repository at a folder one of GitHub's."""
    made = Actions(folder, repository)
    alone = folder.parents[1] if "PYTEST_XDIST_WORKER" in os.environ else folder.parent
    # One of all runs, as on a runner that is kept.
    tools = Path(os.environ.get("SCYLLA_TEST_SESSION") or alone) / "tool_cache"
    tools.mkdir(exist_ok=True)
    (folder / "home/.cache/act").mkdir(parents=True)
    (folder / "home/.cache/act/tool_cache").symlink_to(tools)
    (made.services / "bin").mkdir(parents=True)
    (made.services / "bin" / "uv").symlink_to(find_uv_bin())
    git(folder, "init", "-q", "--bare", "-b", "main", str(made.origin))
    git(repository, "init", "-q", "-b", "main")
    git(repository, "remote", "add", "origin", f"https://github.com/{REPOSITORY}.git")
    return made


@functools.cache
def _toolkit() -> Path:
    """The toolkit as act takes it: each job copies it once for each action, so large folders are links."""
    folder = Path(tempfile.mkdtemp(prefix="scylla-gha-toolkit-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    shutil.copytree(ROOT / ".github", folder / ".github")
    for part in PARTS:
        if part not in {".github", "action.yml"}:
            (folder / part).symlink_to(ROOT / part)
    shutil.copy(ROOT / "action.yml", folder)
    for path in (folder / "action.yml", *(folder / ".github").rglob("*.yml")):
        path.write_text(rendered(path.read_text()))
    return folder


def look_at(flow: Path, checks: Iterable[Callable[[Path], None]], subtests: pytest.Subtests) -> None:
    """Each check of what a run left in its folder, as a test of its own."""
    for check in checks:
        with subtests.test(check.__name__):
            check(flow)


def rendered(text: str) -> str:
    """A workflow or action as act takes it."""
    text = re.sub(r"(uses:\s*)\$/(\S+)", rf"\1{TOOLKIT}/\2@{REF}", text)
    return re.sub(r"^ +(queue|deployment): .*\n", "", text, flags=re.MULTILINE)


def add_workflow(repository: Path, name: str, text: str | None = None) -> None:
    """Give the repository a workflow: one of the toolkit's own, or the text."""
    place = repository / ".github" / "workflows" / name
    place.parent.mkdir(parents=True, exist_ok=True)
    place.write_text(rendered(text or (ROOT / ".github" / "workflows" / name).read_text()))


def git(folder: Path, *args: str) -> str:
    """Run git; what it printed."""
    done = subprocess.run(["git", *args], cwd=folder, capture_output=True, text=True, check=True)
    return done.stdout.strip()


def _path() -> str:
    """Folders in which act's jobs find programs: no `scylla-gha` but the one that they install."""
    own = Path(sys.executable).parent
    return os.pathsep.join(each for each in os.environ["PATH"].split(os.pathsep) if Path(each) != own)


def _lines(text: str) -> Iterator[Line]:
    for line in text.splitlines():
        try:
            said = json.loads(line)
        except ValueError:
            said = {"msg": line}
        yield Line(said.get("jobID", ""), said.get("msg", ""), said.get("matrix") or {}, bool(said.get("raw_output")))
