"""Redaction of folders, records, and file names."""

import os
from collections.abc import Mapping
from pathlib import Path

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from scylla_gha.prepare.start_state import StartState, scan_tree
from scylla_gha.prepare.workspace import materialise_diff, open_workspace, scratch, snapshot
from scylla_gha.redaction import RedactionSession, Redactor, redacted_names
from tests.support.records import make_attempt
from tests.support.repository import FILES, make_start

SECRET = "kT9xQ2mZ7vB4nL8cR1wY5sD3"


def test_a_folder_is_clean_and_counted_even_where_the_work_failed(tmp_path: Path) -> None:
    sweep = RedactionSession(Redactor([SECRET]))
    (tmp_path / "below").mkdir()
    (tmp_path / "below" / "a.txt").write_text(f"{SECRET} {SECRET}")
    (tmp_path / "elsewhere").write_text(SECRET)
    (tmp_path / "below" / "link").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(ValueError, match="broken"), sweep.guarding(tmp_path / "below"):
        raise ValueError("broken")
    assert (tmp_path / "below" / "a.txt").read_text() == "[redacted] [redacted]"
    assert ((tmp_path / "elsewhere").read_text(), sweep.count) == (SECRET, 2)
    sweep.file(tmp_path / "absent")


def test_what_only_shows_once_a_secret_is_gone_goes_too(tmp_path: Path) -> None:
    glued = f"{SECRET}ghp_{'a1B2' * 9}"
    (tmp_path / "a").write_text(glued)
    sweep = RedactionSession(Redactor([SECRET]))
    sweep.folder(tmp_path)
    assert ((tmp_path / "a").read_text(), sweep.clean(glued.encode())) == ("[redacted]" * 2, b"[redacted]" * 2)
    assert sweep.count == 4


def test_a_record_stays_one() -> None:
    sweep = RedactionSession(Redactor([SECRET]))
    attempt = make_attempt(reason=f"it said {SECRET}\nand more")
    assert sweep.record(attempt).reason == "it said [redacted]\nand more"
    clean = make_attempt(reason="nothing")
    assert sweep.record(clean) is clean
    assert sweep.count == 1


SLASHED = "aB3dE5fG7/hJ9kL2mN4"
TOKENS = ("ghp_" + "a1B2" * 9, "ghp_" + "Z9y8" * 9, "AKIA" + "Q7W3" * 4)
KEY = "-----BEGIN PRIVATE KEY-----"
MARKS = ("[redacted]", "[redacted-1]", "[redacted-2]", "[redacted-999999999]")
PARTS = (SECRET, SLASHED, SECRET.encode().hex(), *TOKENS, KEY, *MARKS, "x", " ", "\n", "\\", '"', "\t", "\xe9", "/",
         "ecret_access_key", "A" * 40, "diff --git a/x b/x\n", "index 0..1\n", "-----END PRIVATE KEY-----",
         "\udcff")  # fmt: skip
TEXTS = st.lists(st.sampled_from(PARTS), min_size=1, max_size=5).map("".join)
NAMES = TEXTS.map(lambda text: "/".join(part for part in text.split("/") if part) or "x")
CONTENTS = st.one_of(TEXTS, TEXTS.map(lambda text: f"\0{text}"))


@pytest.fixture(scope="module")
def start(tmp_path_factory: pytest.TempPathFactory) -> StartState:
    return make_start(tmp_path_factory.mktemp("names") / "fixture")


def clean(data: bytes) -> bytes:
    return RedactionSession(Redactor((SECRET, SLASHED))).clean(data)


def write(root: Path, files: Mapping[str, str]) -> None:
    """The files that can stand beside the others: of a file and a folder of one name, the first."""
    for name, content in files.items():
        path = root / name
        if not any(parent.is_file() for parent in path.parents) and not path.is_dir():
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(os.fsencode(content))


@example({f"{TOKENS[0]}/a": "1", "[redacted]": "2"})
@example({TOKENS[0]: "1", TOKENS[1]: "2", "[redacted-1]": "3"})
@example({"KEYS.md": KEY, "Z.md": "x" * 40})
@example({"greet.sh": f"{KEY}\n", f"{SLASHED}/x": "", SLASHED: ""})
@example({"notes/secret_access_key/" + "A" * 40: ""})
@given(st.dictionaries(st.one_of(NAMES, st.sampled_from(sorted(FILES))), CONTENTS, min_size=1, max_size=5))
@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_a_stored_patch_applies_and_holds_no_secret(start: StartState, files: dict[str, str]) -> None:
    sweep = RedactionSession(Redactor((SECRET, SLASHED)))
    with scratch() as root:
        workspace = open_workspace(start, root / "w")
        write(workspace.repo, files)
        left = scan_tree(workspace.repo)
        diff, patch = snapshot(start, workspace, 10_000_000, sweep.clean)
        materialise_diff(start, patch, root / "judged")
        judged = scan_tree(root / "judged")
        kept = [*map(os.fsencode, judged.entries), *((root / "judged" / path).read_bytes() for path in judged.entries)]
    assert len(judged.entries) == len(left.entries), "no file is lost, and none becomes another"
    assert judged.skipped == ()
    assert [clean(each) for each in kept] == kept
    assert not [secret for secret in (SECRET, SLASHED, SECRET.encode().hex()) if secret.encode() in patch]
    assert len(set(diff.files)) == len(left.changed(start.manifest))


def test_a_name_keeps_its_place_and_what_is_no_secret_in_it() -> None:
    added = [f"src/{TOKENS[0]}/a.py", f"src/{TOKENS[0]}/b.py", f"src/{TOKENS[1]}.py", f"x/y/{SLASHED}", "plain"]
    assert redacted_names([name.encode() for name in added], [b"src/old.py", b"[redacted-2]"], clean) == {
        added[0].encode(): b"src/[redacted-1]/a.py",
        added[1].encode(): b"src/[redacted-1]/b.py",
        added[2].encode(): b"src/[redacted-3].py",
        added[3].encode(): b"x/y/[redacted-4]",
    }


def test_folders_of_the_start_state_keep_their_names() -> None:
    assert redacted_names([f"{TOKENS[0]}/{SECRET}".encode()], [f"{TOKENS[0]}/old".encode()], clean) == {
        f"{TOKENS[0]}/{SECRET}".encode(): f"{TOKENS[0]}/[redacted-1]".encode()
    }


def test_a_name_is_never_longer_than_a_file_system_allows() -> None:
    grown = ("x" * 245 + "hunter2!Q").encode()
    short = RedactionSession(Redactor(("hunter2!Q",))).clean
    assert redacted_names([grown], [], short) == {grown: b"[redacted-1]"}
