"""Attempts to leave a container, which fail; each is made from inside, on a real engine."""

import contextlib
import ipaddress
import os
import socket
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from scylla_gha.sandboxes.docker import engine
from scylla_gha.system.process import LimitHit
from tests.support.docker_runner import MEGA, DockerRunner
from tests.support.repository import write_tree

CONNECT = """
import socket, sys
for host, port in {targets!r}:
    try:
        socket.create_connection((host, port), 3)
        print("reached", host)
    except OSError as error:
        print("no", type(error).__name__)
"""
FILL = """
import itertools, os
try:
    for number in itertools.count():
        with open(f"{folder}/{{number}}", "wb") as file:
            file.write(bytes({size}))
except OSError as error:
    print(error.strerror)
"""


SUDO = () if os.geteuid() == 0 else ("sudo", "-n")


def ip(*args: str) -> None:
    subprocess.run([*SUDO, "ip", *args], check=True)


@pytest.fixture(scope="module")
def neighbour() -> Iterator[tuple[str, int]]:
    """A host in a network namespace of its own, which this machine reaches, with a port that is open."""
    number = os.getpid()  # each process of the tests makes its own link and network
    name, out, inner = f"scylla{number}", f"out{number}", f"in{number}"
    network = ipaddress.ip_network((int(ipaddress.ip_address("10.192.0.0")) + number % 2**18 * 4, 30))
    here, host = map(str, network.hosts())
    server = ("import socket\ns = socket.create_server(('0.0.0.0', 8099))\nprint('open', flush=True)\n"
              "while True: s.accept()[0].close()\n")  # fmt: skip
    ip("netns", "add", name)
    try:
        ip("link", "add", out, "type", "veth", "peer", "name", inner, "netns", name)
        ip("address", "add", f"{here}/30", "dev", out)
        ip("link", "set", out, "up")
        ip("-n", name, "address", "add", f"{host}/30", "dev", inner)
        ip("-n", name, "link", "set", inner, "up")
        argv = [*SUDO, "ip", "netns", "exec", name, "python3", "-c", server]
        with subprocess.Popen(argv, stdout=subprocess.PIPE) as process:
            assert process.stdout
            process.stdout.readline()
            yield host, 8099
            subprocess.run([*SUDO, "kill", "-9", str(process.pid)], check=True)
    finally:
        ip("netns", "delete", name)


def test_no_other_address_is_reached(runner: DockerRunner, neighbour: tuple[str, int]) -> None:
    with socket.create_connection(neighbour, 10), socket.create_server(("127.0.0.1", 0)) as local:
        targets = [neighbour, ("10.203.113.1", 22), ("127.0.0.1", local.getsockname()[1]), ("::1", 80)]
        seen = runner.python(CONNECT.format(targets=targets))
    assert "reached" not in seen.out
    assert seen.out.count("no ") == 4


def test_no_name_is_resolved_and_there_is_only_loopback(runner: DockerRunner) -> None:
    script = "import socket\nprint([name for _, name in socket.if_nameindex()])\nsocket.getaddrinfo('example.com', 80)"
    seen = runner.python(script)
    assert seen.out == "['lo']\n"
    assert "gaierror" in seen.err


def test_no_engine_can_be_reached(runner: DockerRunner) -> None:
    seen = runner.sh("ls /var/run/docker.sock /run/docker.sock /run/gateway; find / -xdev -type s 2>/dev/null")
    assert seen.out == ""
    assert seen.err.count("No such file") == 3


def test_a_process_has_no_rights_and_cannot_become_root(runner: DockerRunner) -> None:
    seen = runner.sh("""
        id -u; grep -E '^(Cap(Inh|Prm|Eff|Bnd|Amb)|NoNewPrivs|Seccomp):' /proc/self/status
        find / -xdev -perm /6000 -type f 2>/dev/null
        su -c id </dev/null; sudo id; unshare -r id; chroot / id; mount -t tmpfs x /mnt
        python3 -c 'import os; os.setuid(0)'; echo x >/proc/sys/kernel/hostname; mknod disk b 254 0; kill -9 1; dmesg
    """)
    lines = seen.out.splitlines()
    assert lines[0] == "10001"
    facts = dict(line.split(":\t") for line in lines[1:])
    assert {facts[name] for name in facts if name.startswith("Cap")} == {"0" * 16}
    assert (facts["NoNewPrivs"], facts["Seccomp"]) == ("1", "2")
    assert "uid=0" not in seen.out


def test_nothing_outside_its_folders_can_be_written(runner: DockerRunner) -> None:
    places = "/ /etc /usr/local/bin /opt/box /home /var/tmp /run /proc/sys /sys /sys/fs/cgroup /dev"
    seen = runner.sh(f'for place in {places}; do touch "$place/x" 2>/dev/null && echo "wrote $place"; done')
    assert seen.out == ""


def test_the_supervisor_cannot_be_ended_read_or_traced(runner: DockerRunner) -> None:
    seen = runner.sh("""
        for pid in /proc/[0-9]*; do
          [ "$(stat -c %u "$pid")" = 10002 ] || continue
          n=${pid#/proc/}; echo keeper; kill -9 "$n" && echo killed
          cat "$pid/environ" "$pid/mem" >/dev/null 2>&1 && echo read
          (echo x >"$pid/fd/0") 2>/dev/null && echo wrote
          (: >"$pid/oom_score_adj") 2>/dev/null && echo "changed"
        done
    """)
    assert seen.out == "keeper\nkeeper\n"
    assert seen.finished.hits == frozenset()


def test_nothing_of_the_harness_can_be_seen(runner: DockerRunner, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SCYLLA_CANARY", "tweet-tweet")
    seen = runner.sh(
        "cat /proc/*/environ /proc/*/cmdline 2>/dev/null | tr '\\0' '\\n'; mount; cat /proc/mounts; ps -ef"
    )
    # what the kernel tells of the host is where the engine keeps the image's files; nothing of the harness
    assert "overlay" in seen.out
    for secret in ("tweet-tweet", str(runner.folder), "pytest "):
        assert secret not in seen.out


def test_a_fork_bomb_is_contained_and_reported(runner: DockerRunner) -> None:
    seen = runner.python("import os\nwhile True:\n try: os.fork()\n except OSError: pass\n", seconds=3)
    assert seen.finished.timed_out
    assert LimitHit.PROCESSES in seen.finished.hits
    assert (runner.workspace / "a.txt").exists()


@pytest.mark.parametrize(("folder", "size"), [(".", MEGA), ("/tmp", MEGA), ("/dev/shm", MEGA), (".", 0)])
def test_a_full_disk_is_contained_and_reported(runner: DockerRunner, folder: str, size: int) -> None:
    seen = runner.python(FILL.format(folder=folder, size=size))
    assert (seen.finished.code, seen.out) == (0, "No space left on device\n")
    assert seen.finished.hits == {LimitHit.DISK}
    assert sum(path.stat().st_size for path in runner.workspace.iterdir()) <= 32 * MEGA


def test_a_file_with_a_hole_larger_than_the_disk_is_left_out(runner: DockerRunner) -> None:
    seen = runner.sh("for n in 1 2 3 4 5 6; do truncate -s 7M hole$n; done; ls | wc -l", most=8 * MEGA)
    assert seen.out == "7\n"
    assert "left out: the limit of bytes is reached" in seen.finished.note
    assert sum(path.stat().st_size for path in runner.workspace.iterdir()) <= 32 * MEGA


def test_a_process_that_uses_too_much_memory_is_ended_and_reported(runner: DockerRunner) -> None:
    seen = runner.python("held = []\nwhile True: held.append(bytearray(1 << 20))")
    assert (seen.finished.code, seen.finished.hits) == (-9, {LimitHit.MEMORY})
    assert "for lack of memory" in seen.finished.note
    assert (runner.workspace / "a.txt").exists()


def test_too_much_output_is_cut_and_reported(runner: DockerRunner) -> None:
    seen = runner.sh("yes", most=MEGA)
    assert seen.finished.hits == {LimitHit.OUTPUT}
    assert len(seen.out) == MEGA
    assert len(runner.sh("yes >&2", most=MEGA).err) == MEGA


def test_a_detached_process_does_not_outlive_the_run(runner: DockerRunner) -> None:
    seen = runner.sh("(setsid sh -c 'while :; do date +%s%N >>beat; sleep 0.1; done' >/dev/null 2>&1 &) ; sleep 0.5")
    assert (seen.finished.code, seen.finished.note) == (0, "")
    before = (runner.workspace / "beat").read_text()
    assert before
    time.sleep(0.3)
    assert (runner.workspace / "beat").read_text() == before
    engine.await_removals()
    with contextlib.closing(engine.connect()) as api:
        assert not api.containers(all=True, filters={"label": f"{engine.OWNER_LABEL}={engine.owner()}"})


def test_a_detached_process_that_holds_the_output_does_not_hold_the_harness(runner: DockerRunner) -> None:
    seen = runner.sh("setsid sleep 600 & echo started")
    assert (seen.finished.code, seen.out) == (0, "started\n")
    assert seen.finished.seconds < 30


def test_links_and_special_files_do_nothing_to_the_host(runner: DockerRunner) -> None:
    victim = write_tree(runner.folder / "victim", {"kept.txt": "kept\n"})
    seen = runner.sh(f"""
        ln -s {victim}/kept.txt a; ln -s {victim} folder; ln -s /dev/zero zero; mkfifo pipe; ln -s ../../.. up
        python3 -c 'import socket; socket.socket(socket.AF_UNIX).bind("sock")'
        rm -rf ~; ln -s {victim} ~ 2>/dev/null; chmod 4755 a.txt
    """)
    top = runner.workspace
    assert (top / "a").readlink() == Path(str(victim), "kept.txt")
    assert (top / "zero").is_symlink()
    assert not (top / "pipe").exists()
    assert "pipe: a special file, left out" in seen.finished.note
    assert (top / "a.txt").stat().st_mode & 0o7777 == 0o755
    assert [path.name for path in victim.iterdir()] == ["kept.txt"]
    assert runner.home.is_dir()
    assert not runner.home.is_symlink()


def test_a_tree_that_is_nested_too_deep_is_not_an_error_of_the_harness(runner: DockerRunner) -> None:
    script = "import os\nfor _ in range(1500): os.mkdir('d' * 50); os.chdir('d' * 50)\nprint('deep')"
    seen = runner.python(script)
    assert (seen.finished.code, seen.out) == (0, "deep\n")
    assert (runner.workspace / "a.txt").exists()
    subprocess.run(["rm", "-rf", runner.workspace], check=True)
