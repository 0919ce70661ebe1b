import json
from pathlib import Path

import pytest

from scylla_gha.errors import ConfigError
from scylla_gha.github_api.responses import CommentEvent, DispatchEvent, read_event


def test_an_event_without_inputs_has_none(tmp_path: Path) -> None:
    (tmp_path / "e").write_text('{"schedule": "23 3 * * 1"}')
    assert read_event(tmp_path / "e", DispatchEvent).inputs is None


def test_what_is_not_needed_is_passed_over(tmp_path: Path) -> None:
    told = {
        "action": "created", "issue": {"number": 7, "labels": []}, "repository": {"full_name": "o/r",
        "default_branch": "main"}, "comment": {"id": 1, "body": None, "user": {"login": "x", "id": 9},
        "created_at": "2026-01-01T00:00:00Z"},
    }  # fmt: skip
    (tmp_path / "e").write_text(json.dumps(told))
    assert read_event(tmp_path / "e", CommentEvent).issue.pull_request is None


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("{}", "not a CommentEvent: action; does another trigger start this job"),
        ("x", "not a CommentEvent"),
        (" " * (9 << 20), "not a GitHub event: larger than 8 MiB"),
    ],
    ids=["other", "no JSON", "large"],
)
def test_another_file_is_named(text: str, why: str, tmp_path: Path) -> None:
    (tmp_path / "e").write_text(text)
    with pytest.raises(ConfigError, match=why):
        read_event(tmp_path / "e", CommentEvent)
    with pytest.raises(ConfigError, match="GITHUB_EVENT_PATH names it"):
        read_event(tmp_path / "none", CommentEvent)
