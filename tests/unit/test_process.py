import os
import select
import signal
import sys
import threading
from pathlib import Path

import pytest

from scylla_gha.errors import ToolError
from scylla_gha.system import process
from scylla_gha.system.process import Cancel, FinishedProcess, LimitHit, ProcessLimits, ProcessStreams
from tests.support.bubbles import TAMPER
from tests.support.processes import cancelled_once_there, ends, number_in

ENV = {"PATH": os.environ["PATH"]}
FOREVER = 600.0


def run(
    folder: Path,
    script: str | tuple[str, ...],
    *,
    cwd: Path | None = None,
    limits: ProcessLimits | None = None,
    cancel: Cancel | None = None,
    terminal: Path | None = None,
) -> FinishedProcess:
    """Run a shell script, or a program, with its outputs in the folder, and its input from the file `in`."""
    stdin = folder / "in"
    streams = ProcessStreams(folder / "out", folder / "err", stdin if stdin.exists() else None, terminal)
    argv = ("/bin/sh", "-c", script) if isinstance(script, str) else script
    limits = limits or ProcessLimits(FOREVER)
    return process.run(argv, cwd=cwd or folder, env=ENV, streams=streams, limits=limits, cancel=cancel)


def said(folder: Path) -> str:
    return (folder / "out").read_text()


def test_on_a_terminal_it_has_that_for_all_three_and_is_its_master(tmp_path: Path) -> None:
    master, slave = os.openpty()
    script = "test -t 0 && test -t 1 && test -t 2 && echo all >/dev/tty; echo aside >&2; exit 3"
    assert run(tmp_path, script, terminal=Path(os.ttyname(slave))).code == 3
    shown = b"".join(iter(lambda: os.read(master, 1000) if select.select([master], [], [], 0.2)[0] else b"", b""))
    assert shown == b"all\r\naside\r\n"
    assert (said(tmp_path), (tmp_path / "err").read_text()) == ("", "")
    os.close(slave)
    os.close(master)


@pytest.mark.parametrize(
    ("script", "code"),
    [
        ("exit 0", 0),
        ("exit 7", 7),
        ("exit 255", 255),
        ("kill -SEGV $$", -11),
        ("kill -KILL $$", -9),
    ],
)
def test_exit_codes_and_signals_are_told(tmp_path: Path, script: str, code: int) -> None:
    ended = run(tmp_path, script)
    assert (ended.code, ended.timed_out, ended.cancelled) == (code, False, False)


def test_both_outputs_go_to_files_and_the_input_comes_from_one(tmp_path: Path) -> None:
    (tmp_path / "in").write_text("a prompt\n")
    run(tmp_path, "cat; echo wrong >&2; pwd")
    assert said(tmp_path) == f"a prompt\n{tmp_path}\n"
    assert (tmp_path / "err").read_text() == "wrong\n"


def test_what_its_descriptors_are_cannot_be_overwritten_or_truncated(tmp_path: Path) -> None:
    (tmp_path / "in").write_text("a prompt\n")
    run(tmp_path, TAMPER)
    assert said(tmp_path) == "before\nafter\n"
    assert (tmp_path / "in").read_text() == "a prompt\n"
    assert f"{tmp_path}" not in (tmp_path / "err").read_text()


def test_a_long_input_that_nobody_reads_does_not_hold_it(tmp_path: Path) -> None:
    (tmp_path / "in").write_bytes(bytes(1 << 20))
    whole = str(1 << 20)
    for script, told in (("head -c 3 | wc -c", "3"), ("wc -c", whole), ("exec <&-; sleep 0.1; echo shut", "shut")):
        assert (run(tmp_path, script).code, said(tmp_path).strip()) == (0, told)


def test_a_child_that_goes_on_writing_elsewhere_does_not_hold_it(tmp_path: Path) -> None:
    ended = run(tmp_path, "setsid -f sh -c 'echo $$ >pid; yes'; while [ ! -s pid ]; do :; done; echo done >&2")
    os.kill(number_in(tmp_path / "pid"), signal.SIGKILL)
    assert (ended.code, (tmp_path / "err").read_text()) == (0, "done\n")


def test_without_an_input_it_is_empty(tmp_path: Path) -> None:
    run(tmp_path, "wc -c")
    assert said(tmp_path).strip() == "0"


def test_only_the_given_environment_is_seen(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SCYLLA_CANARY", "seen")
    run(tmp_path, "echo ${SCYLLA_CANARY:-unseen}")
    assert said(tmp_path) == "unseen\n"


@pytest.mark.parametrize(
    "child",
    [
        pytest.param("sleep 600", id="plain"),
        pytest.param("trap '' TERM; while :; do sleep 600; done", id="ignores TERM"),
        pytest.param("sh -c 'sleep 600 & wait'", id="with a child of its own"),
    ],
)
def test_the_time_limit_ends_the_whole_group(tmp_path: Path, child: str) -> None:
    # The leader ends at TERM, so that only KILL to the group can reach a child that ignores TERM.
    ended = run(tmp_path, f"({child}) & echo $! >pid; wait", limits=ProcessLimits(1.0))
    assert ended.timed_out
    assert not ended.cancelled
    assert ended.code == -15
    assert ends(number_in(tmp_path / "pid"))


def test_a_leader_that_tidies_up_at_the_limit_is_given_time_for_it(tmp_path: Path) -> None:
    ended = run(tmp_path, "trap 'echo tidied; exit 3' TERM; sleep 600 & wait", limits=ProcessLimits(1.0))
    assert (ended.timed_out, ended.code) == (True, 3)
    assert said(tmp_path) == "tidied\n"


def test_a_leader_that_ignores_term_is_killed(tmp_path: Path) -> None:
    ended = run(tmp_path, "trap '' TERM; while :; do sleep 1; done", limits=ProcessLimits(0.5, grace_seconds=0.5))
    assert (ended.timed_out, ended.code) == (True, -9)


def test_a_child_left_behind_neither_blocks_nor_lives_on(tmp_path: Path) -> None:
    ended = run(tmp_path, "sleep 600 & echo $! >pid; echo done")
    assert (ended.code, ended.timed_out) == (0, False)
    assert said(tmp_path) == "done\n"
    assert ends(number_in(tmp_path / "pid"))


def test_a_file_that_grows_beyond_its_limit_ends_the_writer(tmp_path: Path) -> None:
    ended = run(tmp_path, "exec head -c 8M /dev/zero >big", limits=ProcessLimits(FOREVER, file_bytes=1024 * 1024))
    assert ended.code == -25  # SIGXFSZ
    assert (tmp_path / "big").stat().st_size == 1024 * 1024


def test_endless_output_stays_within_the_limit(tmp_path: Path) -> None:
    ended = run(tmp_path, "exec head -c 8M /dev/zero", limits=ProcessLimits(FOREVER, file_bytes=64 * 1024))
    assert (ended.code, ended.hits) == (-15, {LimitHit.OUTPUT})
    assert (tmp_path / "out").stat().st_size == 64 * 1024


def test_a_writer_that_ignores_the_signal_gets_an_error_and_the_file_stays_small(tmp_path: Path) -> None:
    ended = run(tmp_path, "trap '' XFSZ; head -c 8M /dev/zero >big", limits=ProcessLimits(FOREVER, file_bytes=4096))
    assert ended.code == 1
    assert (tmp_path / "big").stat().st_size == 4096


def test_limits_smaller_than_a_block_still_allow_one(tmp_path: Path) -> None:
    assert run(tmp_path, "printf 1234", limits=ProcessLimits(FOREVER, file_bytes=1)).code == 0
    assert said(tmp_path) == "1234"


def test_no_core_is_dumped_and_the_number_of_processes_is_limited(tmp_path: Path) -> None:
    run(tmp_path, "cat /proc/self/limits", limits=ProcessLimits(FOREVER, processes=77))
    limits = {line[:25].strip(): line[25:].split()[:2] for line in said(tmp_path).splitlines()}
    assert limits["Max core file size"][0] == "0"
    assert limits["Max processes"][0] == "77"


def test_cancel_from_another_thread_ends_it(tmp_path: Path) -> None:
    with cancelled_once_there(tmp_path / "pid") as cancel:
        ended = run(tmp_path, "sleep 600 & echo $! >pid; wait", cancel=cancel)
    assert (ended.cancelled, ended.timed_out, ended.code) == (True, False, -15)
    assert ends(number_in(tmp_path / "pid"))


def test_a_cancel_that_is_set_before_ends_it_at_once(tmp_path: Path) -> None:
    cancel = Cancel()
    cancel.set()
    assert run(tmp_path, "sleep 600", cancel=cancel).cancelled


def test_one_cancel_ends_all_that_wait_on_it(tmp_path: Path) -> None:
    cancel = Cancel()
    ended: list[FinishedProcess] = []

    def worker(number: int) -> None:
        folder = tmp_path / str(number)
        folder.mkdir()
        ended.append(run(folder, "sleep 600", cancel=cancel))

    workers = [threading.Thread(target=worker, args=(number,)) for number in range(3)]
    for each in workers:
        each.start()
    cancel.set()
    for each in workers:
        each.join()
    assert [each.cancelled for each in ended] == [True, True, True]


def test_what_ended_by_itself_is_not_cancelled_afterwards(tmp_path: Path) -> None:
    cancel = Cancel()
    assert not run(tmp_path, "true", cancel=cancel).cancelled
    assert not cancel.is_set


def test_cancel_may_be_set_twice_and_tells_a_sleeper() -> None:
    cancel = Cancel()
    assert not cancel.wait(0.0)
    cancel.set()
    cancel.set()
    assert cancel.is_set
    assert cancel.wait(FOREVER)


def test_a_missing_program_is_the_shells_127(tmp_path: Path) -> None:
    assert run(tmp_path, ("no-such-program",)).code == 127
    assert "no-such-program" in (tmp_path / "err").read_text()


def test_a_missing_folder_is_a_tool_error_with_its_name(tmp_path: Path) -> None:
    with pytest.raises(ToolError, match=r"true: cannot be started in .*/nowhere"):
        run(tmp_path, ("true",), cwd=tmp_path / "nowhere")


def test_arguments_arrive_as_they_are(tmp_path: Path) -> None:
    odd = ["", " two  words ", "$HOME", "a\nb", "*", "'\""]
    program = f"{sys.executable} -c 'import sys; print(sys.argv[1:])'"
    run(tmp_path, ("/bin/sh", "-c", f'exec {program} "$@"', "sh", *odd))
    assert said(tmp_path) == f"{odd}\n"


def test_capture_returns_output_code_and_message(tmp_path: Path) -> None:
    argv = ["/bin/sh", "-c", "cat; pwd; echo wrong >&2; exit 4"]
    done = process.capture(argv, cwd=tmp_path, env=ENV, stdin=b"in\n")
    assert (done.code, done.stdout, done.stderr) == (4, f"in\n{tmp_path}\n".encode(), b"wrong\n")
    assert done.message == "wrong"


@pytest.mark.parametrize(
    ("stdout", "stderr", "message"),
    [
        (b"out", b"", "out"),
        (b"out", b"err\n", "err"),
        (b"", b"\xff", "\ufffd"),
        (b"", b"x" * 3000, "x" * 2000),
        (b"", b"", ""),
    ],
)
def test_a_tools_message_is_the_end_of_what_it_said(stdout: bytes, stderr: bytes, message: str) -> None:
    assert process.CapturedOutput(1, stdout, stderr).message == message


def test_capture_names_a_missing_program_and_what_to_do() -> None:
    with pytest.raises(ToolError, match="no-such-program: not found; install it, or put it on PATH"):
        process.capture(["no-such-program", "--version"])


def test_capture_names_a_program_that_may_not_be_executed(tmp_path: Path) -> None:
    (tmp_path / "tool").touch(0o644)
    with pytest.raises(ToolError, match=r"tool: not found; .*Permission denied"):
        process.capture([str(tmp_path / "tool")])


def test_capture_ends_a_tool_that_does_not_end() -> None:
    with pytest.raises(ToolError, match=r"^sleep 600: did not end within 0.2 s$"):
        process.capture(["sleep", "600"], seconds=0.2)
