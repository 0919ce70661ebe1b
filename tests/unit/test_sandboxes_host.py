from pathlib import Path

import pytest

from scylla_gha.sandboxes import SANDBOXES
from scylla_gha.sandboxes.base import SandboxMounts, names_inside
from scylla_gha.sandboxes.host import HostSandbox
from scylla_gha.system.process import Cancel, ProcessLimits, ProcessStreams

OWN_OF_THE_SHELL = {"PWD", "SHLVL", "_", "OLDPWD"}
BOX_PATH = "/usr/bin:/bin"


def environment(folder: Path, **extra: str) -> dict[str, str]:
    """Return the environment of a process in the sandbox."""
    box = SandboxMounts(folder, folder / "home", BOX_PATH, extra)
    streams = ProcessStreams(folder / "out", folder / "err")
    HostSandbox().run(("env", "-0"), box, streams, ProcessLimits(60))
    pairs = (pair.partition("=") for pair in streams.stdout.read_text().split("\0") if pair)
    return {name: value for name, _, value in pairs if name not in OWN_OF_THE_SHELL}


def test_the_environment_is_the_allow_list_and_nothing_else(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("SCYLLA_CANARY", "ANTHROPIC_API_KEY", "GITHUB_TOKEN", "PYTHONPATH", "LD_LIBRARY_PATH", "VIRTUAL_ENV"):
        monkeypatch.setenv(name, str(tmp_path))
    assert environment(tmp_path) == {
        "PATH": BOX_PATH, "HOME": f"{tmp_path}/home", "TMPDIR": f"{tmp_path}/home", "LANG": "C.UTF-8", "TZ": "UTC",
        "TERM": "dumb", "USER": "dev", "LOGNAME": "dev", "SHELL": "/bin/sh",
        "GIT_AUTHOR_NAME": "dev", "GIT_AUTHOR_EMAIL": "dev@example.com",
        "GIT_COMMITTER_NAME": "dev", "GIT_COMMITTER_EMAIL": "dev@example.com",
    }  # fmt: skip


def test_what_the_box_adds_is_there_and_goes_before_the_rest(tmp_path: Path) -> None:
    seen = environment(tmp_path, CHECKS="/checks", TZ="Asia/Tokyo")
    assert (seen["CHECKS"], seen["TZ"], seen["USER"]) == ("/checks", "Asia/Tokyo", "dev")


def test_a_process_is_in_the_boxs_folder_with_its_limits_and_streams(tmp_path: Path) -> None:
    (tmp_path / "in").write_text("read\n")
    streams = ProcessStreams(tmp_path / "out", tmp_path / "err", tmp_path / "in")
    script = "pwd; cat; ulimit -f; echo said >&2; exit 3"
    box = SandboxMounts(tmp_path, tmp_path, BOX_PATH)
    ended = HostSandbox().run(("/bin/sh", "-c", script), box, streams, ProcessLimits(60, file_bytes=5120))
    assert ended.code == 3
    assert streams.stdout.read_text() == f"{tmp_path}\nread\n10\n"
    assert streams.stderr.read_text() == "said\n"


def test_it_ends_at_the_time_limit_and_when_cancelled(tmp_path: Path) -> None:
    cancel = Cancel()
    box, streams = SandboxMounts(tmp_path, tmp_path, BOX_PATH), ProcessStreams(tmp_path / "out", tmp_path / "err")
    assert HostSandbox().run(("sleep", "600"), box, streams, ProcessLimits(0.2), cancel).timed_out
    cancel.set()
    assert HostSandbox().run(("sleep", "600"), box, streams, ProcessLimits(600), cancel).cancelled


def test_folders_are_called_what_they_are(tmp_path: Path) -> None:
    box = SandboxMounts(tmp_path / "w", tmp_path / "h", "", read_only=(tmp_path / "c",))
    assert names_inside(HostSandbox(), box) == {tmp_path / name: f"{tmp_path}/{name}" for name in "whc"}


def test_it_is_known_by_its_name() -> None:
    names = ("host", "bubblewrap", "docker")
    assert {name: sandbox.name for name, sandbox in SANDBOXES.items()} == {name: name for name in names}


def test_what_each_gives_is_said() -> None:
    given = {name: tuple(sandbox.isolation.model_dump().values()) for name, sandbox in SANDBOXES.items()}
    own = ("gateway", "hidden", "own")
    assert given == {"host": ("open", "exposed", "open"), "bubblewrap": own, "docker": own}
