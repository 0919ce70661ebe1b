"""Folders to names and back."""

import json

import pytest

from scylla_gha.gateway.path_aliases import PathAliases
from scylla_gha.redaction.redactor import Redactor


def test_the_longest_folder_goes_first_and_comes_back() -> None:
    names = PathAliases({"/w": "/N", "/w/home": "/H", "": "/nothing", "/x": ""})
    assert names.hide(b"/w/home/a /w/b /w-2 /x") == b"/H/a /N/b /N-2 /x"
    assert names.show(names.hide(b"/w/home/a /w/b /w-2")) == b"/w/home/a /w/b /w-2"


@pytest.mark.parametrize("folder", ["/tmp/plain", "/tmp/with space", "/tmp/Ünïcode/ß", "/tmp/日本"])
@pytest.mark.parametrize("ascii_only", [True, False])
def test_folders_inside_json_inside_json(folder: str, ascii_only: bool) -> None:
    inner = json.dumps({"path": f"{folder}/a"}, ensure_ascii=ascii_only)
    text = json.dumps({"partial_json": inner, "text": f"in {folder}"}, ensure_ascii=ascii_only).encode()
    names = PathAliases({folder: "/N"})
    hidden = names.hide(text)
    assert json.loads(hidden) == {"partial_json": '{"path": "/N/a"}', "text": "in /N"}
    shown = json.loads(names.show(hidden))
    assert (shown["text"], json.loads(shown["partial_json"])) == (f"in {folder}", {"path": f"{folder}/a"})


def test_spans() -> None:
    names = PathAliases({"/w": "/N", "/w/home": "/H"})
    assert names.spans("a /w/home b /w/home/w /w") == [(2, 9), (12, 19), (19, 21), (22, 24)]
    assert names.spans("nothing") == []


def test_secrets_are_hidden_for_good_and_have_spans() -> None:
    names = PathAliases({"/w": "/N"}, Redactor(["s3cret-0123456789"]))
    assert names.show(names.hide(b"/w/s3cret-0123456789")) == b"/w/[redacted]"
    assert names.spans("/w s3cret-0123456789") == [(0, 2), (3, 20)]
