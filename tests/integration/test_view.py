"""`scylla-gha view`: the page in a browser, and the local server with live progress, as a person starts them."""

import contextlib
import fcntl
import http.client
import json
import os
import re
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from scylla_gha.model.plan import Plan
from scylla_gha.store import write_lines, write_record, write_text
from scylla_gha.store.run_folder import RunFolder
from tests.support.claude import said, text, tool_result, tool_use, write_transcript
from tests.support.command import COMMAND, scylla
from tests.support.dossiers import answered, asked
from tests.support.records import make_cell, make_judgment, make_plan, make_score, make_trial
from tests.support.report_pages import write_run

CELLS = tuple(make_cell("nop", repetition) for repetition in (1, 2, 3))


@contextlib.contextmanager
def served(runs: Path) -> Iterator[int]:
    """The port of a server of the folder; at the end it is interrupted as by Ctrl-C."""
    argv = [COMMAND, "view", "--serve", "--port", "0", "--runs", str(runs)]
    with subprocess.Popen(argv, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as server:
        try:
            assert server.stdout
            address = re.fullmatch(r"http://127\.0\.0\.1:(\d+)/\n", server.stdout.readline())
            assert address
            yield int(address[1])
        finally:
            server.send_signal(signal.SIGINT)
            _, complaints = server.communicate(timeout=30)
        assert (server.returncode, complaints) == (130, "")


def get(port: int, path: str, host: str = "") -> tuple[int, str, dict[str, str]]:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
    with contextlib.closing(connection):
        connection.request("GET", path, headers={"Host": host} if host else {})
        answer = connection.getresponse()
        return answer.status, answer.read().decode(), dict(answer.getheaders())


def states(text: str) -> dict[str, str]:
    return dict(
        re.findall(r'<th scope="row">([^<]+)</th><td class="words status \w+">(\w+)(?: <a[^<]*</a>)?</td>', text)
    )


@pytest.fixture
def going_on(tmp_path: Path) -> Iterator[tuple[Path, Plan]]:
    """A run of three cells in whose folder a command works: one has failed, one is worked on, one waits."""
    plan = make_plan(*CELLS)
    folder = RunFolder(tmp_path / "runs" / "demo")
    write_record(folder.plan, plan)
    write_record(folder.cell(CELLS[0].id).trial, make_trial(CELLS[0]))
    lost = make_judgment(CELLS[0], result=make_score(passed=False))
    write_record(folder.cell(CELLS[0].id).judgment, lost)
    write_record(folder.cell(CELLS[1].id).cell, CELLS[1])
    with at_work(folder):
        yield tmp_path / "runs", plan


def test_the_server_follows_a_run_by_its_records(going_on: tuple[Path, Plan]) -> None:
    runs, _ = going_on
    with served(runs) as port:
        status, text, _ = get(port, "/")
        assert status == 200
        assert "1 of 3 cells done: 1 failed, 1 working, 1 waiting" in text
        assert '<meta http-equiv="refresh" content="2">' in text
        _, text, _ = get(port, "/demo/")
        assert list(states(text).values()) == ["failed", "working", "waiting"]
        cell = RunFolder(runs / "demo").cell(CELLS[1].id)
        write_record(cell.trial, make_trial(CELLS[1]))
        assert states(get(port, "/demo/")[1])[CELLS[1].id] == "judging"
        write_record(cell.judgment, make_judgment(CELLS[1]))
        assert states(get(port, "/demo/")[1])[CELLS[1].id] == "passed"


def test_the_messages_of_a_trial_that_goes_on_are_followed(tmp_path: Path) -> None:
    cells = (make_cell("claude-code"), make_cell("claude-code", 2))
    folder = RunFolder(tmp_path / "runs" / "demo")
    write_record(folder.plan, make_plan(*cells))
    write_record(folder.cell(cells[0].id).cell, cells[0])
    attempt = folder.cell(cells[0].id).attempt(1)
    write_text(attempt.file("prompt.md"), "Say hello.")
    write_lines(attempt.file("traffic.jsonl"), (asked(1), answered(1, usd=0.25), asked(2)))
    key = f"sk-ant-api03-{'x1Y2' * 24}"
    first = said("a", text(f"I look. <b>{key}</b>"), tool_use("t1"))
    write_transcript(attempt.file("transcript.jsonl"), first, tool_result("t1", "hello.py"), '{"type": "assis')
    address = f"/demo/{cells[0].id}/live"
    with served(tmp_path / "runs") as port:
        assert f'<a href="{cells[0].id}/live">messages</a>' in get(port, "/demo/")[1]
        assert "The agent is not working" in get(port, address)[1]
        assert get(port, f"/demo/{cells[1].id}/live")[0] == 404
        with at_work(folder):
            page = get(port, address)[1]
            assert "The agent is working: 1 step, 2 requests, ? so far." in page
            assert '<meta http-equiv="refresh" content="2">' in page
            assert "Say hello." in page
            assert "I look. &lt;b&gt;[redacted" in page
            assert key not in page
            assert all(part in page for part in ("Bash, command", "ls", "Bash, result", "hello.py"))
            with attempt.file("transcript.jsonl").open("a") as transcript:
                transcript.write(f"{json.dumps(said('b', text('It is done.')))}\n")
            page = get(port, address)[1]
            assert page.index("It is done.") < page.index("I look.")


@contextlib.contextmanager
def at_work(folder: RunFolder) -> Iterator[None]:
    """Hold the lock of a run's folder, as a command that works in it."""
    descriptor = os.open(folder.root, os.O_RDONLY)
    fcntl.flock(descriptor, fcntl.LOCK_EX)
    try:
        yield
    finally:
        os.close(descriptor)


def test_the_server_answers_this_machine_only_and_serves_files_as_text(tmp_path: Path) -> None:
    runs = tmp_path / "runs"
    write_run(runs / "demo")
    cell = next((runs / "demo").glob("001-*--r01"))
    (cell / "attempt-1" / "evil.html").write_text("<script>alert(1)</script>")
    (runs / "demo" / "link").symlink_to("/etc/passwd")
    (tmp_path / "secret").write_text("secret")
    with served(runs) as port:
        status, page, headers = get(port, "/demo/report.html")
        assert (status, headers["Content-Type"]) == (200, "text/html; charset=utf-8")
        assert "Does the skill help, and what does it cost?" in page
        status, text, headers = get(port, f"/demo/{cell.name}/attempt-1/evil.html")
        assert (status, text) == (200, "<script>alert(1)</script>")
        assert headers["Content-Type"] == "text/plain; charset=utf-8"
        assert headers["X-Content-Type-Options"] == "nosniff"
        assert headers["Content-Security-Policy"] == "default-src 'none'; sandbox"
        assert f'<a href="report.html#cell={cell.name}">' in get(port, "/demo/")[1]
        assert "attempt-1/diff.patch" in get(port, f"/demo/{cell.name}/")[1]
        assert get(port, "/", host=f"evil.example:{port}")[0] == 403
        assert get(port, "/", host=f"localhost:{port}")[0] == 200
        for path in (
            "/demo/link",
            "/demo/../../secret",
            "/demo/%2e%2e/%2e%2e/secret",
            "/other/report.html",
            "/%2e%2e/",
        ):
            assert get(port, path)[0] == 404


def test_the_page_of_the_newest_run_opens_in_the_browser_that_is_set(tmp_path: Path) -> None:
    page = write_run(tmp_path / "runs" / "demo")
    page.unlink()  # as a run of an older version
    script = tmp_path / "browser"
    script.write_text(f'#!/bin/sh\necho "$1" >{tmp_path}/opened\n')
    script.chmod(0o755)
    said = scylla("view", cwd=tmp_path, env={"BROWSER": str(script)})
    assert (said.code, said.out, said.err) == (0, f"{page}\n", "")
    assert (tmp_path / "opened").read_text() == f"{page.as_uri()}\n"
    alone = scylla("view", "demo", cwd=tmp_path, env={"BROWSER": "", "DISPLAY": "", "WAYLAND_DISPLAY": ""})
    assert (alone.code, alone.out) == (0, f"{page}\n")
    assert alone.err == "no browser was found; open the file in a browser\n"


@pytest.mark.parametrize(("args", "words"), [((), "run `scylla-gha evaluate` first"), (("x",), "evaluate x` first")])
def test_without_a_report_it_says_what_to_do(tmp_path: Path, args: tuple[str, ...], words: str) -> None:
    said = scylla("view", *args, cwd=tmp_path)
    assert said.code == 3
    assert words in said.err


def test_a_port_that_is_taken_is_named(tmp_path: Path) -> None:
    with served(tmp_path) as port:
        said = scylla("view", "--serve", "--port", str(port), "--runs", str(tmp_path), cwd=tmp_path)
    assert said.code == 5
    assert f"127.0.0.1:{port}: " in said.err
    assert "choose another port with --port" in said.err
