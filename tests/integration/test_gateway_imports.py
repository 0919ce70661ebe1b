"""The gateway holds the key, so it imports nothing of the folder that it is started in."""

from pathlib import Path

import pytest

from tests.support.gateway import ask, hosted, question
from tests.support.provider import Say, serve
from tests.support.repository import write_tree


def test_modules_of_the_current_folder_are_not_for_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    planted = "raise SystemExit('planted')\n"
    names = ("aiohttp", "orjson", "pydantic", "json", "multidict", "scylla_gha")
    monkeypatch.chdir(write_tree(tmp_path / "stranger", {f"{name}.py": planted for name in names}))
    with serve(lambda _: Say("Hi.")) as provider, hosted(tmp_path, provider.url) as host:
        assert ask(host.open(), question()).status == 200
