import io
import json
import subprocess
import tarfile
import threading
from collections.abc import Mapping
from importlib.metadata import version
from pathlib import Path

import pytest

from scylla_gha.errors import ToolError
from scylla_gha.model.sandbox import Tools
from scylla_gha.prepare.tools import cache_root, find_program, locked, npm_program, search_path, toolbox_digest
from tests.support.repository import cache, write_tree

SYSTEM = ["/usr/local/bin", "/usr/bin", "/bin"]


PINNED = version("iniconfig")  # small, pure, and what pytest needs anyway


def python(path: str, code: str) -> str:
    """Return what the Python prints that is first on a PATH."""
    argv = ["python3", "-c", code]
    done = subprocess.run(argv, cwd="/", env={"PATH": path}, capture_output=True, text=True, check=True)
    return done.stdout.strip()


@pytest.fixture(scope="module")
def path() -> str:
    return search_path(Tools(python={"iniconfig": PINNED}), cache())


def test_a_pinned_package_is_there_at_its_version(path: str) -> None:
    assert python(path, "from importlib.metadata import version; print(version('iniconfig'))") == PINNED


def test_a_pinned_package_is_compiled_as_sandboxes_cannot_write_there(path: str) -> None:
    compiled = "from importlib.util import cache_from_source as c, find_spec; print(c(find_spec('iniconfig').origin))"
    assert Path(python(path, compiled)).is_file()


def test_the_pinned_tools_come_before_the_systems(path: str) -> None:
    first, *others = path.split(":")
    assert others == SYSTEM
    assert Path(first).is_relative_to(cache())
    assert python(path, "import sys; print(sys.executable)").startswith(first)


@pytest.mark.parametrize("module", ["pydantic", "scylla_gha", "pytest", "yaml"])
def test_nothing_of_the_toolkits_own_is_there(path: str, module: str) -> None:
    assert python(path, f"import importlib.util; print(importlib.util.find_spec({module!r}))") == "None"


def test_without_pins_there_is_a_python_all_the_same() -> None:
    code = "from importlib.metadata import distributions; print([d.name for d in distributions()])"
    assert python(search_path(Tools(), cache()), code) == "[]"


def test_equal_pins_share_an_environment_in_any_order_and_others_do_not() -> None:
    one = Tools(python={"a": "1", "b": "2"})
    assert toolbox_digest(one) == toolbox_digest(Tools(python={"b": "2", "a": "1"}, system=("git",)))
    assert toolbox_digest(one) != toolbox_digest(Tools(python={"a": "2", "b": "1"}))


def test_an_environment_that_was_not_finished_is_made_anew(tmp_path: Path) -> None:
    place = Path(search_path(Tools(), tmp_path / "cache").split(":")[0]).parent
    (place / "relocatable").unlink()
    (place / "bin" / "python3").unlink()
    (tmp_path / "again").symlink_to("cache")  # another name, so that nothing held in memory answers
    assert python(search_path(Tools(), tmp_path / "again"), "print(1)") == "1"


def test_a_version_that_does_not_exist_is_named(tmp_path: Path) -> None:
    with pytest.raises(ToolError) as caught:
        search_path(Tools(python={"iniconfig": "0.0.0.dev999"}), tmp_path)
    assert "uv pip install failed" in str(caught.value)
    assert "iniconfig==0.0.0.dev999" in str(caught.value)
    assert str(caught.value).endswith("check that a package registry can be reached")


def test_a_missing_system_tool_is_named_with_how_to_get_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tool = write_tree(tmp_path, {"bin/some-tool": "#!/bin/sh\n"}) / "bin" / "some-tool"
    tool.chmod(0o755)
    monkeypatch.setenv("PATH", str(tool.parent))  # the user's PATH is not what agents and checks get
    with pytest.raises(ToolError, match=r"'some-tool', which is not on /usr/local/bin:.*apt-get install some-tool$"):
        search_path(Tools(system=("sh", "some-tool")), cache())


def test_a_program_is_found_on_the_users_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_tree(tmp_path, {"bin/agent": "#!/bin/sh\n"})
    (tmp_path / "bin" / "agent").chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    assert find_program("agent", "@x/agent") == str(tmp_path / "bin" / "agent")


def test_a_program_that_is_nowhere_is_named_with_what_to_do(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(ToolError, match=r"^'agent' is not on PATH; install it with `npm install -g @x/agent`, or pin"):
        find_program("agent", "@x/agent")


@pytest.fixture(scope="module")
def package(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A tiny npm package with one program, as the registry would give it."""
    program = "#!/usr/bin/env node\nconsole.log('tiny 1.2.3')\n"
    return packed(tmp_path_factory.mktemp("npm"), {"name": "tiny", "bin": {"tiny": "tiny.js"}}, {"tiny.js": program})


def packed(folder: Path, about: Mapping[str, object], files: dict[str, str]) -> Path:
    """An npm package as the registry would give it."""
    place = folder / f"{about['name']}-1.2.3.tgz"
    whole = {"package.json": json.dumps({"version": "1.2.3", **about}), **files}
    with tarfile.open(place, "w:gz") as archive:
        for name, content in whole.items():
            entry = tarfile.TarInfo(f"package/{name}")
            entry.size, entry.mode = len(content), 0o755
            archive.addfile(entry, io.BytesIO(content.encode()))
    return place


@pytest.fixture(scope="module")
def npm_cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("cache")


def test_a_program_of_a_package_is_installed_once(
    package: Path, npm_cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = npm_program("tiny", f"file:{package}", "tiny", npm_cache)
    assert subprocess.run([program], capture_output=True, text=True, check=True).stdout == "tiny 1.2.3\n"
    monkeypatch.setenv("PATH", "/nowhere")
    assert npm_program("tiny", f"file:{package}", "tiny", npm_cache) == program, "npm must not be asked again"


def test_a_program_that_the_package_has_not_is_named(package: Path, npm_cache: Path) -> None:
    with pytest.raises(ToolError, match=rf"^tiny@file:{package} has no program 'other'$"):
        npm_program("tiny", f"file:{package}", "other", npm_cache)


def test_a_package_that_cannot_be_had_is_named(tmp_path: Path) -> None:
    with pytest.raises(ToolError) as caught:
        npm_program("tiny", f"file:{tmp_path}/none.tgz", "tiny", tmp_path)
    assert str(caught.value).startswith(f"npm could not install tiny@file:{tmp_path}/none.tgz: ")
    assert str(caught.value).endswith("; check that the npm registry can be reached")


def test_a_missing_npm_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nowhere")
    with pytest.raises(ToolError, match=r"^npm: not found; install it, or put it on PATH"):
        npm_program("tiny", "1.2.3", "tiny", tmp_path)


def scripted(folder: Path, **optional: Path) -> Path:
    """A package whose program is placed by a script, which would also write down its environment."""
    write_env = f"node -e \"require('fs').writeFileSync('{folder}/env', JSON.stringify(process.env))\""
    about = {"name": "agent", "bin": {"agent": "stub"}, "scripts": {"postinstall": write_env},
             "optionalDependencies": {name: f"file:{path}" for name, path in optional.items()}}  # fmt: skip
    return packed(folder, about, {"stub": "#!/bin/sh\necho not installed; exit 1\n"})


def test_no_script_of_a_package_is_run_and_its_program_is_that_of_the_platforms_package(tmp_path: Path) -> None:
    native = packed(tmp_path, {"name": "agent-here"}, {"agent": "#!/bin/sh\necho native\n"})
    program = npm_program("agent", f"file:{scripted(tmp_path, **{'agent-here': native})}", "agent", tmp_path / "cache")
    assert subprocess.run([program], capture_output=True, text=True, check=True).stdout == "native\n"
    assert not (tmp_path / "env").exists()


def test_a_package_that_needs_its_script_is_refused(tmp_path: Path) -> None:
    package = scripted(tmp_path)
    for _ in range(2):  # it must not count as installed the second time
        with pytest.raises(ToolError, match=r"^agent: its postinstall script would make 'agent', and scripts of packa"):
            npm_program("agent", f"file:{package}", "agent", tmp_path / "cache")
    assert not (tmp_path / "env").exists()


@pytest.mark.parametrize(
    ("scylla", "xdg", "expected"),
    [
        ("/mine", "/xdg", "/mine"),
        ("", "/xdg", "/xdg/boxes"),
        ("", "", "/home/dev/.cache/boxes"),
    ],
)
def test_the_cache_is_where_the_user_says(
    monkeypatch: pytest.MonkeyPatch, scylla: str, xdg: str, expected: str
) -> None:
    monkeypatch.setenv("HOME", "/home/dev")
    monkeypatch.setenv("SCYLLA_CACHE", scylla)
    monkeypatch.setenv("XDG_CACHE_HOME", xdg)
    assert cache_root() == Path(expected)


def test_one_at_a_time_makes_a_place(tmp_path: Path) -> None:
    place = tmp_path / "new" / "place"
    inside = threading.Lock()
    overlaps: list[int] = []

    def make() -> None:
        for _ in range(50):
            with locked(place):
                if not inside.acquire(blocking=False):
                    overlaps.append(1)
                    continue
                inside.release()

    makers = [threading.Thread(target=make) for _ in range(4)]
    for maker in makers:
        maker.start()
    for maker in makers:
        maker.join()
    assert overlaps == []
    assert not place.exists(), "the place itself is for the caller to make"


def test_a_lock_is_free_again_after_an_error(tmp_path: Path) -> None:
    with pytest.raises(ZeroDivisionError), locked(tmp_path / "place"):
        _ = 1 / 0
    with locked(tmp_path / "place"):
        assert (tmp_path / "place.lock").exists()
