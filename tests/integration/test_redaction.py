"""A canary among the harness's own secrets, which an agent got hold of: told in all forms, it is in no stored file."""

import base64
import hashlib
import json
import urllib.parse
from pathlib import Path
from typing import Any

import pytest

from scylla_gha.agents import AGENTS
from scylla_gha.evaluate.model_access import RecordingOptions, open_services
from scylla_gha.evaluate.run_cells import run_cells
from scylla_gha.model.trial import DiffStat, Outcome, Trial
from scylla_gha.prepare.workspace import materialise_diff
from scylla_gha.store.run_folder import AttemptFolder
from tests.support.agents import ShellAgent
from tests.support.ask import ASK
from tests.support.gateway import ask, hosted, question
from tests.support.in_process_run import InProcessRun, make_run_context
from tests.support.provider import Say, serve
from tests.support.repository import Repository, make_repository

CANARY = "kT9xQ2mZ7vB4nL8cR1wY5sD3/+e"
OTHER = "ghp_" + "a1B2" * 9  # nobody's, known by its form
RAW = CANARY.encode()
FORMS = {
    "exact": RAW,
    "url": urllib.parse.quote(CANARY, safe="").encode(),
    "json": json.dumps(CANARY).encode(),
    "basic": base64.b64encode(b"x-access-token:" + RAW),
    "lines": base64.encodebytes(b"before " * 6 + RAW + b" after" * 9),
    "hex": RAW.hex().encode(),
    "base32": base64.b32encode(RAW),
}
SECRETS = {"GITHUB_TOKEN": CANARY, "ANTHROPIC_API_KEY": "sk-ant-canary-0123456789"}


FILES_OF_BYE = {"greet.sh": "#!/bin/sh\necho bye\n", "notes/kept.txt": "kept\n"}


def transcript() -> bytes:
    forms = [*FORMS.values(), f"{CANARY} {OTHER}".encode()]
    return b"".join(json.dumps({"said": form.decode()}).encode() + b"\n" for form in forms)


SCRIPT = f"""\
cat FORMS/transcript.jsonl
cat FORMS/* >&2
mkdir new; cp FORMS/* new
printf 'bin\\0' >new/binary; cat FORMS/exact >>new/binary
ln -s "$(cat FORMS/exact)" new/link
: >"new/$(cat FORMS/hex)"
echo 'echo hello' >>greet.sh; cat FORMS/exact >>greet.sh
{ASK} dear "$(cat FORMS/exact)"
tail -c 20 FORMS/exact >&2; cat FORMS/exact >&2
exit 3
"""


def run_agents(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, script: str = SCRIPT, **scenario: Any) -> InProcessRun:
    for name, value in SECRETS.items():
        monkeypatch.setenv(name, value)
    forms = tmp_path / "forms"
    forms.mkdir()
    for name, form in {**FORMS, "transcript.jsonl": transcript()}.items():
        (forms / name).write_bytes(form)
    agent = ShellAgent(script.replace("FORMS", str(forms)), package=AGENTS["claude-code"].package)
    repository = make_repository(tmp_path / "repo", **scenario)
    said = Say(f"Your key is {CANARY}.", pieces=9)
    with serve(lambda _: said) as provider:
        monkeypatch.setenv("ANTHROPIC_BASE_URL", provider.url)
        travelled = InProcessRun(
            make_run_context(repository, tmp_path / "runs", {"claude-code": agent}, retry={"attempts": 1})
        )
        with open_services(travelled.journey.settings, RecordingOptions(record=tmp_path / "tapes")) as context:
            run_cells(context, context.settings.plan.cells, lambda *told: travelled.told.append(told))
    return travelled


def stored(tmp_path: Path) -> bytes:
    """Return all bytes that are kept of the run."""
    files = [path for root in ("runs", "tapes") for path in (tmp_path / root).rglob("*") if path.is_file()]
    assert {"diff.patch", "transcript.jsonl", "stderr.txt", "traffic.jsonl", "judgment.json", "trial.json"} <= {
        path.name for path in files
    }
    return b"\0".join(path.read_bytes() for path in files)


def test_the_canary_is_in_no_stored_file_and_the_diff_is_whole(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    travelled = run_agents(tmp_path, monkeypatch)
    (trial,) = travelled.trials()
    whole = stored(tmp_path)
    for name, form in FORMS.items():
        core = form[2:-6] if name in {"basic", "lines", "base32"} else form.strip(b'"')
        assert core not in whole, name
    assert RAW not in whole.replace(b"\n", b"").replace(b"+", b"")
    assert RAW[:12] not in whole
    assert OTHER.encode() not in whole
    assert SECRETS["ANTHROPIC_API_KEY"].encode() not in whole
    assert trial.last.outcome is Outcome.AGENT_ERROR
    assert trial.last.redactions > len(FORMS)
    assert_diff_is_judged(travelled, trial, tmp_path)


def assert_diff_is_judged(travelled: InProcessRun, trial: Trial, tmp_path: Path) -> None:
    diff = trial.last.diff
    assert isinstance(diff, DiffStat)
    patch = AttemptFolder(travelled.cell().root / "attempt-1").file("diff.patch").read_bytes()
    assert diff.sha256 == hashlib.sha256(patch).hexdigest()
    prepared = travelled.journey.prepared_scenario(trial_scenario(travelled))
    materialise_diff(prepared.start, patch, tmp_path / "judged")
    judged = tmp_path / "judged"
    assert (judged / "new/binary").read_bytes() == b"bin\0[redacted]"
    assert (judged / "new/link").readlink() == Path("[redacted]")
    assert (judged / "new/[redacted-1]").is_file()
    assert (judged / "greet.sh").read_bytes().endswith(b"echo hello\n[redacted]")
    assert "new/[redacted-1]" in diff.files
    assert travelled.told[0][2] is not None
    assert travelled.told[0][2].error is None


def trial_scenario(travelled: InProcessRun) -> str:
    return travelled.journey.settings.plan.cells[0].scenario


def test_what_the_task_itself_holds_stays_and_its_patch_applies(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A fixture's token looks like one; without it in its place no patch beside it would apply."""
    files = {"greet.sh": f"#!/bin/sh\n# {OTHER}\necho bye\n"}
    script = f"cat greet.sh; sed -i s/bye/hello/ greet.sh; cp greet.sh copy; echo 'x {OTHER[:-1]}Z' >new"
    travelled = run_agents(tmp_path, monkeypatch, script, files=files)
    (trial,) = travelled.trials()
    attempt = AttemptFolder(travelled.cell().root / "attempt-1")
    patch = attempt.file("diff.patch").read_text()
    assert patch.count(OTHER) == 2
    assert "+x [redacted]\n" in patch
    assert OTHER in attempt.file("transcript.jsonl").read_text()
    assert trial.last.redactions == 1
    assert travelled.told[0][2] is not None
    assert travelled.told[0][2].result is not None
    assert travelled.told[0][2].result.progress == 1.0


LONG = "head -c 250 /dev/zero | tr '\\0' y"
HOSTILE = {
    "a folder named like a token, and a file like its mark": f"mkdir {OTHER}; touch {OTHER}/a '[redacted]'",
    "names that differ in their tokens only": f"touch x.{OTHER} {OTHER} {OTHER[:-1]}Z '[redacted-1]'",
    "our own key in names": 'k=$(cat FORMS/hex); mkdir -p "$k/a/$k"; touch "$k/a/$k/x"',
    "a name that grows by its mark": f'touch "$({LONG} | head -c 199)$(cat FORMS/hex)x"',
    "the first line of a key at the end of a file": "echo '-----BEGIN PRIVATE KEY-----' >KEYS.md; echo >Z.md",
    "a path longer than any in a judge's folder": f"p=$({LONG}); for i in $(seq 17); do mkdir $p; cd $p; echo >x; done",
}


@pytest.mark.parametrize("hostile", HOSTILE.values(), ids=HOSTILE)
def test_whatever_else_it_leaves_a_right_solution_passes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, hostile: str
) -> None:
    """No name and no content keeps a right solution from being judged, nor a wrong one from failing."""
    travelled = run_agents(tmp_path, monkeypatch, f"sed -i s/bye/hello/ greet.sh; ({hostile})", files=FILES_OF_BYE)
    ((_, trial, judgment),) = travelled.told
    assert isinstance(trial, Trial)
    assert (trial.outcome, judgment and judgment.error) == ("completed", None), trial.last.reason
    assert judgment is not None
    assert judgment.result is not None
    assert (judgment.result.score, judgment.result.progress) == (0.5, 1.0), "it is right, and more than was asked"
    assert not [name for name in (OTHER, CANARY, RAW.hex()) if name.encode() in stored(tmp_path)]


def test_a_killed_run_is_swept_when_it_is_taken_up_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    left = tmp_path / "runs"
    journey = make_run_context(Repository(make_repository(tmp_path / "r").root), left, {"a": ShellAgent()})
    folder = journey.settings.folder.cell(journey.settings.plan.cells[0].id).attempt(1).root
    folder.mkdir(parents=True)
    (folder / "transcript.jsonl").write_bytes(transcript())
    monkeypatch.setenv("GITHUB_TOKEN", CANARY)
    told: list[Any] = []
    with open_services(journey.settings, RecordingOptions()) as journey:
        run_cells(journey, journey.settings.plan.cells, lambda *each: told.append(each[1]))
    assert RAW not in (folder / "transcript.jsonl").read_bytes()
    assert told[0].attempts[0].redactions > 0


def test_a_recording_without_the_secret_is_replayed(tmp_path: Path) -> None:
    """The answer comes back with the mark, and the next question, which has it, is the recorded one."""
    said = Say(f"Use {CANARY}.", pieces=7)

    def talk(session: Any, secret: str) -> list[bytes]:
        asked = question("More", system=f"You were told: {secret}.")
        return [ask(session, question()).body, ask(session, asked).body]

    with serve(lambda _: said) as provider, \
            hosted(tmp_path / "a", provider.url, record=tmp_path / "t", hidden=(CANARY,)) as host:  # fmt: skip
        live = talk(host.open(), CANARY)
    assert CANARY.encode() in b"".join(text(body) for body in live)
    assert RAW[:9] not in (tmp_path / "t/cell--agent.jsonl").read_bytes()
    with hosted(tmp_path / "b", replay=tmp_path / "t") as host:
        again = talk(host.open(), "[redacted]")
    assert [text(body) for body in again] == [b"Use [redacted]."] * 2


def text(body: bytes) -> bytes:
    lines = [json.loads(line[5:]) for line in body.splitlines() if line.startswith(b"data:")]
    return "".join(line["delta"].get("text", "") for line in lines if "delta" in line).encode()
