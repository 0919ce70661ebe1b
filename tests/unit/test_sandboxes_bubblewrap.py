import os
import shutil
import subprocess
import sys
from pathlib import Path

import click
import pydantic
import pytest

from scylla_gha.errors import SandboxError
from scylla_gha.sandboxes import bubblewrap
from scylla_gha.sandboxes.bubblewrap import BubblewrapSandbox
from scylla_gha.system.process import Cancel, LimitHit, ProcessLimits
from tests.support.bubbles import PATH, Bubbles
from tests.support.processes import cancelled_once_there
from tests.support.repository import write_tree


@pytest.fixture
def bubbles(tmp_path: Path) -> Bubbles:
    return Bubbles(tmp_path / "trial")


def test_it_works_on_this_machine() -> None:
    assert BubblewrapSandbox().missing_reason() is None


def test_a_process_is_in_the_boxs_folder_with_its_environment_and_streams(bubbles: Bubbles) -> None:
    ended = bubbles.sh(
        "pwd; echo $HOME; echo $TMPDIR; echo $MINE; echo $TZ; echo said >&2; exit 3", extra={"MINE": "1"}
    )
    assert (ended.code, bubbles.err) == (3, "said\n")
    assert bubbles.out.split() == ["/home/workspace", "/home/dev", "/tmp", "1", "UTC"]


@pytest.mark.parametrize(("script", "code"), [("exit 0", 0), ("exit 7", 7), ("kill -SEGV $$", -11), ("kill -9 $$", -9)])
def test_exit_codes_and_signals_are_told(bubbles: Bubbles, script: str, code: int) -> None:
    assert bubbles.sh(script).code == code


@pytest.mark.parametrize(("program", "code"), [("/nothing/there", 127), ("/etc/hosts", 126)])
def test_a_program_that_cannot_be_started_is_the_agents_fault(bubbles: Bubbles, program: str, code: int) -> None:
    assert bubbles.run(program).code == code
    assert f"{Path(program).name}: " in bubbles.err


def test_what_is_left_in_workspace_and_home_stays(bubbles: Bubbles) -> None:
    bubbles.sh("echo w >made; echo h >$HOME/made")
    assert ((bubbles.work / "made").read_text(), (bubbles.home / "made").read_text()) == ("w\n", "h\n")
    (bubbles.work / "made").write_text("again\n")


def test_folders_to_read_can_be_read_and_not_changed(bubbles: Bubbles, tmp_path: Path) -> None:
    given = tmp_path / "checks"
    given.mkdir()
    (given / "data").write_text("hidden\n")
    bubbles.sh(f"cat {given}/data; echo x >{given}/data", read_only=(given,))
    assert (bubbles.out, "Read-only" in bubbles.err, (given / "data").read_text()) == ("hidden\n", True, "hidden\n")


def test_it_ends_at_the_time_limit_with_time_to_tidy_up(bubbles: Bubbles) -> None:
    bubbles.limits = ProcessLimits(1.0)
    ended = bubbles.sh("trap 'echo tidied; exit 3' TERM; while :; do sleep 0.05; done")
    assert (ended.timed_out, ended.code, bubbles.out) == (True, 3, "tidied\n")
    bubbles.limits = ProcessLimits(0.5, grace_seconds=0.5)
    assert bubbles.sh("trap '' TERM; while :; do sleep 1; done").timed_out


def test_it_ends_when_cancelled(bubbles: Bubbles) -> None:
    with cancelled_once_there(bubbles.work / "pid") as cancel:
        bubbles.cancel = cancel
        ended = bubbles.sh("echo $$ >pid; sleep 600")
    assert (ended.cancelled, ended.timed_out) == (True, False)
    bubbles.cancel = Cancel()


def test_too_long_an_output_ends_it_and_is_told(bubbles: Bubbles) -> None:
    bubbles.limits = ProcessLimits(60, file_bytes=512 * 100)
    ended = bubbles.sh("trap '' XFSZ; yes 2>/dev/null; sleep 600")
    assert (ended.hits, ended.timed_out) == (frozenset({LimitHit.OUTPUT}), False)
    assert len(bubbles.out) == 512 * 100


def test_pinned_tools_and_the_agents_program_can_be_started(bubbles: Bubbles, tmp_path: Path) -> None:
    tool = tmp_path / "tools" / "bin" / "pinned"
    package = tmp_path / "npm" / "node_modules" / "agent" / "cli.sh"
    for place, says in ((tool, "tool"), (package, 'agent of $(cat "$(dirname "$(readlink -f "$0")")/name")')):
        place.parent.mkdir(parents=True)
        place.write_text(f'#!/bin/sh\necho "{says}"\n' if says == "tool" else f"#!/bin/sh\necho {says}\n")
        place.chmod(0o755)
    (package.parent / "name").write_text("npm\n")
    program = tmp_path / "bin" / "agent"
    program.parent.mkdir()
    program.symlink_to(package)
    bubbles.sh("pinned; command -v pinned", path=f"{tool.parent}:{PATH}")
    assert bubbles.out == "tool\n/opt/tools/bin/pinned\n"
    bubbles.run(str(program))
    assert (bubbles.out, bubbles.err) == ("agent of npm\n", "")


def test_where_there_is_no_bubblewrap_it_says_what_to_do(bubbles: Bubbles, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nothing")
    with pytest.raises(SandboxError, match="apt-get install bubblewrap"):
        bubbles.sh("true")


def test_one_that_may_not_make_namespaces_says_why(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fake = tmp_path / "bwrap"
    fake.write_text("#!/bin/sh\necho 'bwrap: No permissions to create new namespace' >&2\nexit 1\n")
    fake.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    why = BubblewrapSandbox().missing_reason() or ""
    assert "No permissions to create new namespace" in why
    assert "unprivileged_userns" in why


def test_a_box_that_is_not_made_is_no_end_of_an_agent(bubbles: Bubbles, tmp_path: Path) -> None:
    with pytest.raises(SandboxError, match=r"made no sandbox.*nowhere"):
        bubbles.sh("true", read_only=(tmp_path / "nowhere",))


def test_the_python_of_the_toolkit_is_there(bubbles: Bubbles) -> None:
    bubbles.python("import sys; print(sys.version_info[:2])")
    assert bubbles.out == f"{sys.version_info[:2]}\n"


def test_where_the_toolkit_is_installed_beside_python_nothing_of_it_is_in_the_box(
    bubbles: Bubbles, tmp_path: Path
) -> None:
    # An environment of copies, in which the toolkit is a plain folder, as of a wheel.
    venv = tmp_path / "venv"
    subprocess.run([sys.executable, "-m", "venv", "--copies", "--without-pip", venv], check=True)
    (site,) = venv.glob("lib/python3*/site-packages")
    package = Path(bubblewrap.__file__).parents[1]
    shutil.copytree(package, site / "scylla_gha", ignore=shutil.ignore_patterns("__pycache__"))
    write_tree(site / "scylla_gha" / "_data", {"scenarios/s/solution/solution.patch": "right\n", "config/x": ""})
    (others,) = {Path(found.__file__ or "").parents[1] for found in (pydantic, click)}
    (site / "others.pth").write_text(f"{others}\n")
    for base in ("", f"sys.base_prefix = {str(venv)!r}\n"):  # the second: installed into the Python itself
        script = f"import sys\nfrom pathlib import Path\n{base}{IN_BOX}"
        argv = [str(venv / "bin" / "python"), "-c", script, str(bubbles.root / "inner"), FIND, str(venv)]
        env = {"PATH": os.environ["PATH"], "PYTHONPATH": ""}
        done = subprocess.run(argv, capture_output=True, text=True, check=False, cwd="/", env=env)
        assert (done.stdout, done.stderr) == ("", "")
        shutil.rmtree(bubbles.root / "inner")


FIND = """
import os, sys
for top in sys.argv[1:]:
    for folder, _, files in os.walk(top):
        for name in files:
            if "scylla" in folder or name == "solution.patch":
                print(folder, name)
"""
IN_BOX = """
from scylla_gha.system.process import ProcessLimits, ProcessStreams
from scylla_gha.sandboxes.base import SandboxMounts
from scylla_gha.sandboxes.bubblewrap import BubblewrapSandbox
root = Path(sys.argv[1])
box = SandboxMounts(root / "workspace", root / "home", "/usr/bin:/bin")
for folder in (box.cwd, box.home):
    folder.mkdir(parents=True)
argv = ("python3", "-c", sys.argv[2], sys.argv[3], "/root", "/opt", "/home", "/run")
ended = BubblewrapSandbox().run(argv, box, ProcessStreams(root / "out", root / "err"), ProcessLimits(60))
print((root / "out").read_text(), (root / "err").read_text(), "" if ended.code == 0 else ended, sep="", end="")
"""
