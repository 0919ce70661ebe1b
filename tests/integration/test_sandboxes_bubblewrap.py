"""Attempts to leave a bubblewrap box, which fail; each is made from inside."""

import contextlib
import json
import os
import secrets
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from scylla_gha.sandboxes.base import GATEWAY_SOCKET, GATEWAY_URL, SandboxMounts, socket_folder
from scylla_gha.sandboxes.host import HostSandbox
from scylla_gha.system.process import ProcessLimits, ProcessStreams
from tests.support.bubbles import PATH, TAMPER, Bubbles
from tests.support.gateway import EACH, KEY, hosted, question, until
from tests.support.processes import cancelled_once_there, ends, number_in, wait_for
from tests.support.provider import Say, serve

CONNECT = """
import socket, sys
for host, port in [("127.0.0.1", int(sys.argv[1])), ("192.0.2.1", 80), ("169.254.169.254", 80), ("::1", 80)]:
    try:
        socket.create_connection((host, port), 3)
        print("reached", host)
    except OSError as error:
        print("no", host)
try:
    print("name", socket.getaddrinfo("example.com", 80))
except OSError:
    print("no name")
"""
ASK = """
import json, os, urllib.request
request = urllib.request.Request(os.environ["URL"] + "/v1/messages", os.environ["BODY"].encode(),
                                 {"x-api-key": os.environ["TOKEN"], "content-type": "application/json"})
print(urllib.request.urlopen(request, timeout=20).read().decode())
"""
RISE = """
import ctypes, os
libc = ctypes.CDLL(None, use_errno=True)
for name, call in (("setuid", lambda: libc.setuid(0)), ("setns", lambda: libc.unshare(0x10000000)),
                   ("mount", lambda: libc.mount(b"none", b"/tmp", b"tmpfs", 0, None)),
                   ("chroot", lambda: libc.chroot(b"/tmp"))):
    print(name, call())
"""


@pytest.fixture
def bubbles(tmp_path: Path) -> Bubbles:
    return Bubbles(tmp_path / "trial")


@pytest.fixture
def canary() -> Iterator[str]:
    """A secret in the environment of a process of this user, as a harness's key is."""
    secret = f"sk-canary-{secrets.token_hex(8)}"
    with subprocess.Popen(["sleep", "600"], env={"ANTHROPIC_API_KEY": secret}) as process:
        yield secret
        process.kill()


def test_no_process_of_the_harness_can_be_seen_or_signalled(bubbles: Bubbles, canary: str) -> None:
    bubbles.sh(
        f"cat /proc/[0-9]*/environ | tr '\\0' '\\n'; kill -0 {os.getpid()} && echo signalled; ls -d /proc/[0-9]*"
    )
    assert canary not in bubbles.out
    assert "signalled" not in bubbles.out
    assert len([line for line in bubbles.out.splitlines() if line.startswith("/proc/")]) < 10


def test_on_the_host_itself_it_can_as_is_said_there(bubbles: Bubbles, canary: str) -> None:
    box, streams = (
        SandboxMounts(bubbles.work, bubbles.home, PATH),
        ProcessStreams(bubbles.root / "out", bubbles.root / "err"),
    )
    HostSandbox().run(("/bin/sh", "-c", "cat /proc/[0-9]*/environ 2>/dev/null"), box, streams, ProcessLimits(60))
    assert canary in bubbles.out
    assert HostSandbox.isolation.keys == "exposed"


def test_nothing_but_its_own_loopback_can_be_reached(bubbles: Bubbles) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        bubbles.python(CONNECT, str(server.getsockname()[1]))
    assert bubbles.out.split("\n")[:-1] == ["no 127.0.0.1", "no 192.0.2.1", "no 169.254.169.254", "no ::1", "no name"]


def test_no_socket_of_an_engine_or_of_the_system_is_there(bubbles: Bubbles) -> None:
    bubbles.sh("find / -xdev -type s 2>/dev/null; ls -A /run /var /sys 2>/dev/null")
    assert bubbles.out.split() == ["/run:", "box"]


def test_files_of_this_user_are_not_there(bubbles: Bubbles, tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.write_text("hidden\n")
    places = [secret, Path.home() / ".ssh", Path.home() / ".bashrc", Path("/etc/shadow"), Path(__file__)]
    bubbles.sh("\n".join(f"[ -e {place} ] && echo there {place}" for place in places) + f"\nls -A {tmp_path} /home")
    assert bubbles.out.split() == ["/home:", "dev", "workspace"], bubbles.out


@pytest.mark.parametrize(
    "place",
    ["/", "/usr", "/usr/bin", "/etc", "/dev", "/run/box", "/proc/sys/kernel", str(Path(sys.prefix).resolve())],
)
def test_nothing_can_be_written_outside(bubbles: Bubbles, place: str) -> None:
    assert bubbles.sh(f"echo x >{place}/planted").code != 0
    assert not Path(place, "planted").exists()


SET = """
for folder in sys irq bus fs acpi driver; do
  find "/proc/$folder" -type f -writable 2>/dev/null | while read -r file; do
    cat "$file" >copy 2>/dev/null && cat copy 2>/dev/null >"$file" && echo "wrote $file"
  done 2>/dev/null
done
cat /proc/sys/kernel/core_pattern; cat /proc/sys/kernel/core_pattern >copy; cat copy >/proc/sys/kernel/core_pattern
"""


def test_the_kernels_settings_can_only_be_read(bubbles: Bubbles) -> None:
    # Where the harness is root, the kernel would take what is in the box for root here: it asks for the number alone.
    # What is written is what was there, so that a box that is open does no harm.
    bubbles.sh(SET)
    assert bubbles.out == Path("/proc/sys/kernel/core_pattern").read_text()
    assert "Read-only file system" in bubbles.err


def test_it_has_no_rights_and_gets_none(bubbles: Bubbles) -> None:
    bubbles.sh("id -u; grep -E 'Cap(Prm|Eff|Bnd)|NoNewPrivs' /proc/self/status; unshare -U true && echo nested")
    assert bubbles.out.split() == [
        "1000",
        "CapPrm:",
        "0" * 16,
        "CapEff:",
        "0" * 16,
        "CapBnd:",
        "0" * 16,
        "NoNewPrivs:",
        "1",
    ]
    bubbles.python(RISE)
    assert bubbles.out.split() == ["setuid", "-1", "setns", "-1", "mount", "-1", "chroot", "-1"]


def test_neither_its_prompt_nor_its_transcript_is_a_file_in_its_reach(bubbles: Bubbles) -> None:
    prompt = bubbles.root / "prompt.md"
    prompt.write_text("a prompt\n")
    bubbles.sh(TAMPER, stdin=prompt)
    assert bubbles.out == "before\nafter\n"
    assert prompt.read_text() == "a prompt\n"
    assert str(bubbles.root) not in bubbles.err


def test_the_scratch_folder_is_full_at_its_limit(bubbles: Bubbles) -> None:
    bubbles.limits = ProcessLimits(60, file_bytes=1 << 30)
    bubbles.sh("head -c 600M /dev/zero >/tmp/x; stat -c %s /tmp/x")
    assert int(bubbles.out) <= 512 << 20
    assert "No space left" in bubbles.err


def test_a_detached_process_does_not_outlive_it(bubbles: Bubbles) -> None:
    beat = bubbles.work / "beat"
    bubbles.sh("setsid -f sh -c 'while :; do date +%N >beat; done' >/dev/null 2>&1; while [ ! -s beat ]; do :; done")
    last = beat.read_text()
    time.sleep(0.1)
    assert beat.read_text() == last, "it still wrote when the box had ended"


HARNESS = """
import sys
from pathlib import Path
from tests.support.bubbles import PATH, Bubbles
Bubbles(Path(sys.argv[1])).sh("echo $$ >pid; setsid -f sh -c 'while :; do date +%N >beat; sleep 0.05; done'; sleep 600")
"""


def test_it_does_not_outlive_a_harness_that_is_killed(tmp_path: Path) -> None:
    root = tmp_path / "trial"
    with subprocess.Popen([sys.executable, "-c", HARNESS, str(root)], cwd=Path(__file__).parents[2]) as harness:
        number_in(root / "workspace" / "pid")
        assert wait_for((root / "workspace" / "beat").exists)
        children = Path(f"/proc/{harness.pid}/task/{harness.pid}/children").read_text().split()
        harness.send_signal(signal.SIGKILL)
    assert all(ends(int(child)) for child in children)
    assert wait_for(lambda: quiet(root / "workspace" / "beat"))


def quiet(beat: Path) -> bool:
    """Return whether nobody writes to it any more."""
    before = beat.stat().st_mtime_ns
    time.sleep(0.3)
    return beat.stat().st_mtime_ns == before


def test_the_gateway_is_reached_by_its_socket_and_by_nothing_else(bubbles: Bubbles, tmp_path: Path) -> None:
    with (
        socket_folder() as sockets,
        serve(lambda _: Say("Hi.")) as provider,
        hosted(tmp_path, provider.url) as host,
    ):
        session = host.open(socket=sockets / GATEWAY_SOCKET)
        extra = {"URL": GATEWAY_URL, "TOKEN": session.token, "BODY": json.dumps(question())}
        bubbles.python(ASK, extra=extra, sockets=sockets)
        assert "Hi." in bubbles.out, bubbles.err
        bubbles.python(ASK, extra={**extra, "URL": session.url}, sockets=sockets)
        assert "Connection refused" in bubbles.err
        bubbles.python(ASK, extra=extra)
        assert "Connection refused" in bubbles.err
        until(lambda: host.gateway.alive)
        made = host.gateway.close(session)
    assert (made.requests, made.usage.usd, provider.keys) == (1, pytest.approx(EACH), [KEY])


KILL = """
import os, pathlib, signal
for process in pathlib.Path("/proc").glob("[0-9]*"):
    number = int(process.name)
    if number not in (os.getpid(), os.getppid()) or number == 1:
        for sign in (signal.SIGSTOP, signal.SIGKILL):
            os.kill(number, sign)
"""


def test_the_way_to_the_gateway_cannot_be_ended_or_stopped_from_inside(bubbles: Bubbles, tmp_path: Path) -> None:
    with (
        socket_folder() as sockets,
        serve(lambda _: Say("Hi.")) as provider,
        hosted(tmp_path, provider.url) as host,
    ):
        session = host.open(socket=sockets / GATEWAY_SOCKET)
        extra = {"URL": GATEWAY_URL, "TOKEN": session.token, "BODY": json.dumps(question())}
        ended = bubbles.python(KILL + ASK, extra=extra, sockets=sockets)
        assert (ended.code, "Hi." in bubbles.out) == (0, True), bubbles.err


MANY = """
import os, time
started = 0
try:
    while started < 300:  # enough to show it; the machine has room for more
        if os.fork() == 0:
            time.sleep(600.0523)
        started += 1
except OSError:
    pass
print(started, file=open("started", "w"), flush=True)
time.sleep(600)
"""


def test_as_many_processes_as_it_starts_end_with_it_and_their_number_is_limited_where_it_is_not_root(
    bubbles: Bubbles,
) -> None:
    uid = os.geteuid()
    own = sum(owner(path) == uid for path in Path("/proc").iterdir() if path.name.isdecimal())
    bubbles.limits = ProcessLimits(300, processes=own + 100)
    with cancelled_once_there(bubbles.work / "started") as bubbles.cancel:
        ended = bubbles.python(MANY)
    assert (ended.cancelled, ended.timed_out) == (True, False)
    started = number_in(bubbles.work / "started")
    assert started == 300 if uid == 0 else 0 < started < 300
    left = [path for path in Path("/proc").glob("[0-9]*/cmdline") if b"600.0523" in content(path)]
    assert left == []


def owner(path: Path) -> int | None:
    """The user of a process by its folder; None: it has ended since."""
    try:
        return path.stat().st_uid
    except FileNotFoundError:
        return None


def content(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError:
        return b""


def test_a_box_that_a_signal_ends_counts_as_a_program_that_a_signal_ends(tmp_path: Path) -> None:
    """As the kernel does where memory is short, which a program can bring about."""
    bubbles = Bubbles(tmp_path / "trial")

    def end_box() -> None:
        assert wait_for((bubbles.work / "there").exists)
        for path in Path("/proc").glob("[0-9]*/cmdline"):
            said = content(path).split(b"\0")
            if said[0].endswith(b"bwrap") and os.fsencode(bubbles.work) in said:
                with contextlib.suppress(ProcessLookupError):  # it is one of two, which end together
                    os.kill(int(path.parent.name), signal.SIGKILL)

    thread = threading.Thread(target=end_box)
    thread.start()
    ended = bubbles.sh("echo begun; touch there; sleep 600")
    thread.join()
    assert (ended.code, ended.timed_out, ended.hits, bubbles.out) == (-signal.SIGKILL, False, frozenset(), "begun\n")


def test_where_memory_is_short_the_program_is_ended_before_its_box(bubbles: Bubbles) -> None:
    bubbles.sh("cat /proc/self/oom_score_adj /proc/1/oom_score_adj")
    program, box = map(int, bubbles.out.split())
    assert program == 500 > box
