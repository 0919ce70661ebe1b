"""The box of a cell, opened again in a container: what is in it, a terminal, and that nothing of it is left."""

import contextlib
import signal
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from scylla_gha.evaluate.shell import open_sandbox
from scylla_gha.sandboxes.docker import engine
from scylla_gha.system.process import ProcessStreams
from tests.integration.test_boxing import boxed, travelled
from tests.support.agents import ShellAgent
from tests.support.command import Said, scylla
from tests.support.engine import found_by
from tests.support.gateway import until
from tests.support.in_process_run import make_run_context, with_settings
from tests.support.repository import SCENARIO, make_repository, write_greet_experiment
from tests.support.scripted_claude import running
from tests.support.terminal import SIZE, Terminal

ORACLE = f"{SCENARIO}--oracle--r01"
PATH = "/opt/tools/bin:/usr/local/bin:/usr/bin:/bin"
LOOK = """\
id; pwd; env | sort; ls -lAn . ~ /home | sed 's/ [A-Z][a-z][a-z] .* / /'; git log --format=%H; git status --short
touch /x 2>/dev/null || echo read-only; cat /proc/net/dev | tr -d ' ' | cut -d: -f1; ulimit -a; cd /sys/fs/cgroup
cat pids.max pids/pids.max memory.max memory/memory.limit_in_bytes cpu.max cpu/cpu.cfs_quota_us 2>/dev/null
cat /proc/self/status | grep -E 'Cap|NoNewPrivs|Seccomp'
"""


@pytest.fixture(autouse=True)
def _nothing_is_left(running_engine: None) -> Iterator[None]:  # noqa: ARG001
    yield
    with contextlib.closing(engine.connect()) as api:
        ours = {"label": engine.TOOLKIT_LABEL}
        gone = [found["Labels"] for found in api.containers(all=True, filters=ours)]
        assert [labels for labels in gone if engine.is_gone(labels[engine.OWNER_LABEL])] == []
        volumes = api.volumes(filters=ours)["Volumes"] or []
        assert [found["Name"] for found in volumes if engine.is_gone(found["Labels"][engine.OWNER_LABEL])] == []


def test_the_box_is_the_one_that_the_agent_had(tmp_path: Path) -> None:
    repository = make_repository(tmp_path / "repo")
    journey = boxed(repository, tmp_path / "runs", LOOK)
    cell = travelled(journey).told[0][0]
    seen = (journey.settings.folder.cell(cell.id).attempt(1).file("transcript.jsonl")).read_text()
    opened = open_sandbox(journey, cell, tmp_path / "again")
    streams = ProcessStreams(tmp_path / "out", tmp_path / "err")
    assert opened.running(("/bin/sh", "-c", LOOK))(streams).code == 0
    assert streams.stdout.read_text() == seen
    lines = seen.splitlines()
    assert lines[0].startswith("uid=10001(")
    assert lines[1] == "/home/workspace"
    assert {"HOME=/home/dev", "TERM=dumb", "USER=dev", "read-only"} <= set(lines)
    assert [line for line in lines if line.startswith("PATH=")] == [f"PATH={PATH}"]
    assert [line for line in lines if line in {"lo", "eth0"}] == ["lo"], "no network but loopback"
    assert "NoNewPrivs:\t1" in lines
    assert "512" in lines, "the limit of processes"


def test_so_it_is_in_bubblewrap(tmp_path: Path) -> None:
    look = "id; pwd; env | sort; ls -A / .; ls -A ~; grep -E 'Cap|NoNewPrivs' /proc/self/status; ls /proc/*/exe"
    made = make_run_context(make_repository(tmp_path / "repo"), tmp_path / "runs", {"shell": ShellAgent(look)})
    journey = with_settings(made, plan=made.settings.plan.model_copy(update={"sandbox": "bubblewrap"}))
    cell = travelled(journey).told[0][0]
    seen = (journey.settings.folder.cell(cell.id).attempt(1).file("transcript.jsonl")).read_text()
    opened = open_sandbox(journey, cell, tmp_path / "again")
    streams = ProcessStreams(tmp_path / "out", tmp_path / "err")
    opened.running(("/bin/sh", "-c", look))(streams)
    again = streams.stdout.read_text()
    first, second = (text.replace(str(Path(text.splitlines()[1]).parent), "/PLACE") for text in (seen, again))
    assert first == second
    assert first.startswith("uid=1000(")


@dataclass(frozen=True)
class Run:
    """A run in containers of the two built-in agents."""

    root: Path

    def shell(self, *args: str) -> Said:
        return scylla("shell", *args, cwd=self.root, env=found_by())


@pytest.fixture
def run(tmp_path: Path) -> Run:
    root = make_repository(tmp_path / "repo").root
    write_greet_experiment(root, sandbox="docker", agents=("oracle", "nop"))
    said = scylla("run", "greet", "--only", "*oracle*", cwd=root, env=found_by())
    assert said.code == 0, said.err
    return Run(root)


def test_a_command_and_what_the_agent_left(run: Run) -> None:
    said = run.shell(ORACLE, "--", "sh", "-c", "cat greet.sh; exit 7")
    assert (said.code, said.out) == (7, "#!/bin/sh\necho hi\n")
    assert f"shell: {ORACLE}: docker, image sha256:" in said.err
    assert "user 10001; the same sandbox as the agent's, except: no time limit; changes are discarded\n" in said.err
    after = run.shell(ORACLE, "--after", "--", "sh", "-c", "git status --short; sh greet.sh")
    assert (after.code, after.out) == (0, " M greet.sh\nhello\n")


def test_a_terminal_is_like_one_and_is_as_before_afterwards(run: Run) -> None:
    at = Terminal(("shell", ORACLE), run.root, found_by())
    waits = "sh -c 'stty size; tty; sleep 100'\n"  # one command, which all of it ends with
    at.converse(("workspace", waits), ("dev/pts", "\x03"), ("^C", "id -u; echo $TERM; exit 3\n"))
    assert (at.code, at.restored) == (3, True), at.shown + at.err
    assert f"{SIZE[0]} {SIZE[1]}" in at.shown
    assert "10001" in at.shown
    assert "xterm" in at.shown
    assert "TERM is yours" in at.err


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_who_leaves_leaves_nothing(run: Run, number: signal.Signals, code: int) -> None:
    with running("shell", ORACLE, "--", "sh", "-c", "echo here; sleep 600", cwd=run.root, env=found_by()) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "here\n", "what is said is passed on at once"
        process.send_signal(number)
        assert process.wait(60) == code


def test_a_terminal_that_is_closed_ends_the_box(run: Run) -> None:
    at = Terminal(("shell", ORACLE), run.root, found_by())

    def hang_up(process: subprocess.Popen[bytes]) -> None:
        process.send_signal(signal.SIGHUP)

    at.converse(("workspace", "sleep 600\n"), ("sleep", ""), then=hang_up)
    assert (at.code, at.restored) == (129, True), at.shown + at.err
    with contextlib.closing(engine.connect()) as api:
        until(lambda: not api.containers(all=True, filters={"label": engine.TOOLKIT_LABEL}), 60)
