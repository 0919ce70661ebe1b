"""Files and environment of a program in a container, and what is kept of it; on a real engine."""

import contextlib
import os
import signal
import subprocess
import sys
import textwrap
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from scylla_gha.errors import ToolError
from scylla_gha.sandboxes.docker import engine
from scylla_gha.sandboxes.docker.engine import ContainerEvents
from scylla_gha.system.process import Cancel, LimitHit
from tests.support.docker_runner import MEGA, DockerRunner, Seen
from tests.support.gateway import until
from tests.support.repository import write_tree

KILLED = -9


def left_over() -> list[str]:
    """Containers and volumes of this process that are still there when all removals are done."""
    engine.await_removals()
    with contextlib.closing(engine.connect()) as api:
        chosen = {"label": f"{engine.OWNER_LABEL}={engine.owner()}"}
        volumes = api.volumes(filters=chosen)["Volumes"] or []
        return [found["Id"] for found in api.containers(all=True, filters=chosen)] + [v["Name"] for v in volumes]


@pytest.fixture(autouse=True)
def _nothing_is_left(running_engine: None) -> Iterator[None]:  # noqa: ARG001
    yield
    assert left_over() == []


def test_a_program_has_its_input_its_folders_and_its_outputs(runner: DockerRunner) -> None:
    seen = runner.sh("cat; cat a.txt; pwd; echo on the side >&2; exit 3", stdin="the prompt\n")
    assert (seen.finished.code, seen.out, seen.err) == (3, "the prompt\nhello\n/home/workspace\n", "on the side\n")
    assert (seen.finished.timed_out, seen.finished.cancelled, seen.finished.hits) == (False, False, frozenset())


def test_a_long_input_is_whole_and_may_be_left_unread(runner: DockerRunner) -> None:
    text = "0123456789abcdef" * (MEGA // 4)
    assert runner.sh("wc -c", stdin=text).out.split() == [str(len(text))]
    assert runner.sh("echo done", stdin=text).out == "done\n"


def test_without_an_input_there_is_an_end_of_it(runner: DockerRunner) -> None:
    assert runner.sh("cat; echo end").out == "end\n"


def test_the_environment_is_the_allow_list_and_nothing_else(
    runner: DockerRunner, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SCYLLA_CANARY", "tweet")
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-ant-canary")
    names = {line.partition("=")[0] for line in runner.run(("env",), TZ="Asia/Tokyo").out.splitlines()}
    assert names == {
        "PATH", "HOME", "TMPDIR", "LANG", "TZ", "TERM", "USER", "LOGNAME", "SHELL", "HOSTNAME", "PWD",
        "GIT_AUTHOR_NAME", "GIT_AUTHOR_EMAIL", "GIT_COMMITTER_NAME", "GIT_COMMITTER_EMAIL",
    }  # fmt: skip
    assert runner.run(("sh", "-c", "echo $TZ $HOME $TMPDIR"), TZ="Asia/Tokyo").out == "Asia/Tokyo /home/dev /tmp\n"


def test_paths_of_the_host_are_replaced_by_their_names_inside(runner: DockerRunner) -> None:
    checks = write_tree(runner.folder / "checks", {"inner/verify.py": "print('checked')\n"})
    (checks / "inner").chmod(0o700)
    runner.read_only = (checks,)
    argv = ("/bin/sh", "-c", f"python3 {checks}/inner/verify.py; echo $CONFIG; echo x >$CHECKS/inner/verify.py; true")
    seen = runner.run(argv, CHECKS=str(checks), CONFIG=f"{runner.home}/.config")
    assert seen.out == "checked\n/home/dev/.config\n"
    assert "Permission denied" in seen.err
    assert (checks / "inner" / "verify.py").read_text() == "print('checked')\n"


def test_changed_files_are_copied_out(runner: DockerRunner) -> None:
    runner.sh("""
        rm a.txt; mkdir -p deep/er; printf 'x\\n' >deep/er/new; chmod 755 deep/er/new; ln -s deep/er/new link
        ln deep/er/new hard; echo setting >~/.rc; printf '' >"$(printf 'n\\303\\274 \\377')"; chmod 500 deep
    """)
    top = runner.workspace
    assert sorted(os.fsencode(path.name) for path in top.iterdir()) == [b"deep", b"hard", b"link", b"n\xc3\xbc \xff"]
    assert (top / "deep/er/new").read_text() == "x\n"
    assert (top / "deep/er/new").stat().st_mode & 0o777 == 0o755
    assert (top / "deep").stat().st_mode & 0o777 == 0o500
    assert (top / "link").readlink() == Path("deep/er/new")
    assert (top / "hard").samefile(top / "deep/er/new")
    assert (runner.home / ".rc").read_text() == "setting\n"
    assert {path.stat().st_uid for path in top.rglob("*") if not path.is_symlink()} == {os.getuid()}


def test_nothing_is_copied_out_unless_it_is_to_be_kept(runner: DockerRunner) -> None:
    runner.keep = False
    runner.sh("rm a.txt")
    assert (runner.workspace / "a.txt").exists()


def test_a_time_limit_ends_a_process_and_keeps_its_files(runner: DockerRunner) -> None:
    seen = runner.sh("echo begun; echo half >half.txt; trap 'echo asked; exit 7' TERM; sleep 600 & wait", seconds=2)
    assert (seen.finished.timed_out, seen.finished.code, seen.out) == (True, 7, "begun\nasked\n")
    assert (runner.workspace / "half.txt").read_text() == "half\n"


def test_a_process_that_ignores_term_is_killed(runner: DockerRunner) -> None:
    seen = runner.sh("trap '' TERM; while :; do sleep 1; done", seconds=1, grace=0.5)
    assert (seen.finished.timed_out, seen.finished.code) == (True, KILLED)
    assert 1 <= seen.finished.seconds < 60


def test_a_cancel_ends_a_process(runner: DockerRunner) -> None:
    cancel = Cancel()
    threading.Timer(1.5, cancel.set).start()
    seen = runner.sh("sleep 600", cancel=cancel)
    assert (seen.finished.cancelled, seen.finished.timed_out) == (True, False)


def test_a_signal_is_reported_as_on_the_host(runner: DockerRunner) -> None:
    assert runner.sh("kill -SEGV $$").finished.code == -signal.SIGSEGV


def test_a_missing_program_is_not_an_error_of_the_harness(runner: DockerRunner) -> None:
    seen = runner.run(("no-such-program",))
    assert seen.finished.code == 127
    assert "no-such-program" in seen.err


def test_a_missing_image_is_named(runner: DockerRunner) -> None:
    runner.image = f"sha256:{'0' * 64}"
    with pytest.raises(ToolError, match=r"the image sha256:0+ is not in the engine; build it with `scylla-gha image"):
        runner.sh("true")


def test_an_image_of_another_tool_is_refused(runner: DockerRunner) -> None:
    with contextlib.closing(engine.connect()) as api:
        archive = write_tree(runner.folder / "other", {"x": "y"})
        other = subprocess.run(["tar", "-c", "-C", archive, "."], capture_output=True, check=True).stdout
        api.import_image_from_data(other, repository="other", tag="test")
        try:
            runner.image = "other:test"
            with pytest.raises(
                ToolError, match=r"^other:test is not an image of the toolkit; `scylla-gha image list` shows"
            ):
                runner.sh("true")
        finally:
            api.remove_image("other:test", force=True)


def within(runner: DockerRunner, act: Callable[[str], object], script: str = "echo begun; sleep 600") -> Seen:
    """Run a script that prints `begun`; do something to its container then, by the container's id."""

    def find_and_act() -> None:
        stdout = runner.folder / "stdout"
        until(lambda: stdout.exists() and stdout.read_text() == "begun\n", 60)
        with contextlib.closing(engine.connect()) as api:
            for container in api.containers(filters={"label": f"{engine.OWNER_LABEL}={engine.owner()}"}):
                act(container["Id"])

    thread = threading.Thread(target=find_and_act)
    thread.start()
    seen = runner.sh(script)
    thread.join()
    return seen


def test_a_container_that_is_removed_through_the_engine_is_lost(runner: DockerRunner) -> None:
    def remove(container: str) -> None:
        with contextlib.closing(engine.connect()) as api:
            engine.remove(api, container)

    seen = within(runner, remove)
    assert LimitHit.LOST in seen.finished.hits
    assert (runner.workspace / "a.txt").exists(), "what was there stays"


def first_process(container: str) -> int:
    with contextlib.closing(engine.connect()) as api:
        number: int = api.inspect_container(container)["State"]["Pid"]
    return number


def test_a_container_that_a_signal_ends_is_not_lost(runner: DockerRunner) -> None:
    """As where the kernel ends its first process for want of memory."""
    seen = within(runner, lambda box: os.kill(first_process(box), signal.SIGKILL))
    assert (seen.finished.code, seen.finished.timed_out, seen.finished.hits) == (KILLED, False, frozenset())
    assert seen.finished.note.startswith("the whole sandbox was ended from inside (exit code 137)")
    assert seen.out == "begun\n"


HOG = "held = []\nwhile True: held.append(bytearray(1 << 20))"


@contextlib.contextmanager
def little_memory(image: str, argv: list[str]) -> Iterator[tuple[Any, str, ContainerEvents]]:
    """Start a container with 32 MB; yield a connection, the container's name, and its events."""
    name = f"hog-{os.getpid()}"
    with contextlib.closing(engine.connect()) as api, contextlib.closing(ContainerEvents(api, name)) as events:
        limits = api.create_host_config(mem_limit=32 * MEGA, memswap_limit=32 * MEGA, auto_remove=True)
        api.create_container(image, argv, name=name, host_config=limits)
        api.start(name)
        yield api, name, events


OF_MEMORY = ({LimitHit.MEMORY}, "the whole sandbox was ended for lack of memory, and its files are gone")


def test_the_engine_reports_that_a_container_ended_for_lack_of_memory(runner: DockerRunner) -> None:
    with little_memory(runner.image, ["python3", "-c", HOG]) as (api, name, events):
        until(lambda: not api.containers(all=True, filters={"name": name}), 60)
        assert events.end() == OF_MEMORY


def test_a_lack_of_memory_counts_also_where_the_engine_states_a_kill(runner: DockerRunner) -> None:
    with little_memory(runner.image, ["sh", "-c", f"python3 -c '{HOG}'; sleep 600"]) as (api, name, events):
        until(lambda: "sleep 600" in [process[-1] for process in api.top(name)["Processes"]], 60)
        api.kill(name)
        until(lambda: not api.containers(all=True, filters={"name": name}), 60)
        assert events.end() == OF_MEMORY


def test_a_running_container_whose_supervisor_does_not_answer_is_not_lost(runner: DockerRunner) -> None:
    def silence(box: str) -> None:
        children = Path(f"/proc/{first_process(box)}/task/{first_process(box)}/children").read_text().split()
        os.kill(int(children[0]), signal.SIGSTOP)

    runner.answer_seconds = 4  # a busy machine needs that long to start the supervisor
    seen = within(runner, silence, "echo kept >a.txt; echo begun; sleep 3")
    assert (seen.finished.code, seen.finished.hits) == (0, frozenset())
    assert seen.finished.note == "the sandbox was too busy to report which limits were reached"
    assert (runner.workspace / "a.txt").read_text() == "kept\n"


KILLED_HARNESS = textwrap.dedent("""
    import sys
    from pathlib import Path
    from tests.support.docker_runner import DockerRunner
    DockerRunner(Path(sys.argv[1]), sys.argv[2]).sh("sleep 600")
""")


def test_a_harness_that_is_killed_leaves_no_container_and_no_volume(runner: DockerRunner) -> None:
    argv = [sys.executable, "-c", KILLED_HARNESS, str(runner.folder), runner.image]
    with contextlib.closing(engine.connect()) as api:
        harness = subprocess.Popen(argv, cwd=Path(__file__).parents[2])

        def its() -> list[dict[str, Any]]:
            every: list[dict[str, Any]] = api.containers(filters={"label": engine.TOOLKIT_LABEL})
            return [found for found in every if f"/{harness.pid}/" in found["Labels"][engine.OWNER_LABEL]]

        until(its, 60)
        (ours,) = its()
        label = ours["Labels"][engine.OWNER_LABEL]
        assert not engine.is_gone(label)
        engine.remove_stale(api)
        assert api.containers(filters={"id": ours["Id"]}), "a living harness's container is left alone"
        harness.kill()
        harness.wait()
        assert engine.is_gone(label)
        until(lambda: not api.containers(all=True, filters={"id": ours["Id"]}), 90)
        until(lambda: not api.volumes(filters={"label": f"{engine.OWNER_LABEL}={label}"})["Volumes"], 90)


def test_a_harness_does_not_end_before_its_containers_are_gone(runner: DockerRunner) -> None:
    argv = [
        sys.executable,
        "-c",
        KILLED_HARNESS.replace("sleep 600", "sleep 600 & true"),
        str(runner.folder),
        runner.image,
    ]
    with contextlib.closing(engine.connect()) as api:
        with subprocess.Popen(argv, cwd=Path(__file__).parents[2]) as harness:
            assert harness.wait(60) == 0
        every = api.containers(all=True, filters={"label": engine.TOOLKIT_LABEL})
        assert not [found for found in every if f"/{harness.pid}/" in found["Labels"][engine.OWNER_LABEL]]


def test_containers_and_volumes_of_killed_harnesses_are_removed(runner: DockerRunner) -> None:
    labels = {engine.TOOLKIT_LABEL: "1", engine.OWNER_LABEL: "another-boot/pid:[1]/1/1"}
    with contextlib.closing(engine.connect()) as api:
        made = api.create_container(runner.image, ["true"], labels=labels, name="scylla-left-over")
        volume = api.create_volume("scylla-left-over", labels=labels)
        assert set(engine.remove_stale(api)) >= {"scylla-left-over", volume["Name"]}
        assert not api.containers(all=True, filters={"id": made["Id"]})
        assert "scylla-left-over" not in engine.remove_stale(api)
