from pathlib import Path

import pytest

from scylla_gha.redaction.redactor import Redactor
from scylla_gha.redaction.session import RedactionSession
from tests.support.records import make_attempt

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
    assert ((tmp_path / "elsewhere").read_text(), sweep.found) == (SECRET, 2)
    sweep.file(tmp_path / "absent")


def test_what_only_shows_once_a_secret_is_gone_goes_too(tmp_path: Path) -> None:
    glued = f"{SECRET}ghp_{'a1B2' * 9}"
    (tmp_path / "a").write_text(glued)
    sweep = RedactionSession(Redactor([SECRET]))
    sweep.folder(tmp_path)
    assert ((tmp_path / "a").read_text(), sweep.clean(glued.encode())) == ("[redacted]" * 2, b"[redacted]" * 2)
    assert sweep.found == 4


def test_a_record_stays_one() -> None:
    sweep = RedactionSession(Redactor([SECRET]))
    attempt = make_attempt(reason=f"it said {SECRET}\nand more")
    assert sweep.record(attempt).reason == "it said [redacted]\nand more"
    clean = make_attempt(reason="nothing")
    assert sweep.record(clean) is clean
    assert sweep.found == 1
