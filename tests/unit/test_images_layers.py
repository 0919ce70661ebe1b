import hashlib
import tarfile
from pathlib import Path

import pytest

from scylla_gha.errors import ToolError
from scylla_gha.images import layers
from scylla_gha.images.archive import ImageLayer
from scylla_gha.model.agent_manifest import CliPackage
from scylla_gha.model.sandbox import ImageRecipe
from scylla_gha.sandboxes.docker import supervisor
from tests.support.repository import write_tree


def names(layer: ImageLayer) -> set[str]:
    with tarfile.open(layer.path) as archive:
        return set(archive.getnames())


def content(layer: ImageLayer, name: str) -> bytes:
    with tarfile.open(layer.path) as archive:
        file = archive.extractfile(name)
        assert file
        return file.read()


def test_the_supervisor_is_in_its_layer(tmp_path: Path) -> None:
    made = layers.supervisor_layer(tmp_path)
    assert content(made, "opt/box/supervisor.py") == Path(supervisor.__file__).read_bytes()
    assert made.sha256 == hashlib.sha256(made.path.read_bytes()).hexdigest()


def test_the_base_layer_is_built_once_and_then_needs_no_build_tool(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    recipe = ImageRecipe(id="base", release="bookworm", packages=("python3",))
    programs = {"mmdebstrap": "#!/bin/sh\nfor into; do :; done; echo system >$into\n", "newuidmap": "#!/bin/sh\n"}
    makers = write_tree(tmp_path / "bin", programs)
    for name in programs:
        (makers / name).chmod(0o755)
    monkeypatch.setenv("PATH", f"{makers}:/usr/bin:/bin")
    assert layers.missing_build_tool() is None
    assert not layers.is_base_made(recipe, tmp_path)
    made = layers.base_layer(recipe, tmp_path)
    monkeypatch.setenv("PATH", "/nowhere")
    assert layers.is_base_made(recipe, tmp_path)
    assert layers.base_layer(recipe, tmp_path) == made


@pytest.mark.parametrize(("user", "why"), [(0, None), (1000, "apt-get install uidmap")])
def test_a_user_other_than_root_needs_another_tool_for_the_base_layer(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, user: int, why: str | None
) -> None:
    (write_tree(tmp_path, {"mmdebstrap": "#!/bin/sh\n"}) / "mmdebstrap").chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr("os.geteuid", lambda: user)
    found = layers.missing_build_tool()
    assert found is None if why is None else (found or "").endswith(why)


def test_a_layer_is_made_once(tmp_path: Path) -> None:
    first = layers.supervisor_layer(tmp_path)
    first.path.write_bytes(b"as it was")
    assert layers.supervisor_layer(tmp_path) == first
    assert first.path.read_bytes() == b"as it was"


def test_an_unfinished_layer_is_made_anew(tmp_path: Path) -> None:
    first = layers.supervisor_layer(tmp_path)
    first.path.with_suffix(".sha256").unlink()
    first.path.write_bytes(b"half")
    assert layers.supervisor_layer(tmp_path) == first
    assert "opt/box/supervisor.py" in names(first)


def test_tools_are_an_environment_of_the_images_python(tmp_path: Path) -> None:
    made = layers.tools_layer({"iniconfig": "2.1.0", "docopt-ng": "0.9.0"}, tmp_path)
    site = "opt/tools/lib/python3.11/site-packages"
    assert {f"{site}/iniconfig/__init__.py", "opt/tools/bin/python3", "opt/tools/pyvenv.cfg"} <= names(made)
    assert content(made, "opt/tools/pyvenv.cfg").startswith(b"home = /usr/bin\n")
    with tarfile.open(made.path) as archive:
        assert archive.getmember("opt/tools/bin/python3").linkname == "/usr/bin/python3"
    assert str(tmp_path).encode() not in made.path.read_bytes(), "where it was made is nowhere in it"


def test_a_command_of_a_tool_starts_the_images_python(tmp_path: Path) -> None:
    made = layers.tools_layer({"pytest": "9.2.0"}, tmp_path)
    assert content(made, "opt/tools/bin/pytest").startswith(b"#!/opt/tools/bin/python3\n")


def test_equal_tools_make_equal_layers(tmp_path: Path) -> None:
    pins = {"iniconfig": "2.1.0"}
    assert layers.tools_layer(pins, tmp_path / "a").sha256 == layers.tools_layer(pins, tmp_path / "b").sha256


def test_a_tool_that_cannot_be_installed_is_named(tmp_path: Path) -> None:
    with pytest.raises(ToolError, match=r"^uv could not install iniconfig==0.0.0.dev999 for an image: "):
        layers.tools_layer({"iniconfig": "0.0.0.dev999"}, tmp_path)


def test_an_agent_is_on_path(tmp_path: Path) -> None:
    package = write_tree(tmp_path / "npm", {"node_modules/x/x.sh": "#!/bin/sh\n", "package.json": "{}"})
    (package / "node_modules" / ".bin").mkdir()
    (package / "node_modules" / ".bin" / "x").symlink_to("../x/x.sh")
    made = layers.agent_layer(package, "x", "x@1", tmp_path / "cache")
    with tarfile.open(made.path) as archive:
        assert archive.getmember("usr/local/bin/x").linkname == "/opt/agent/node_modules/.bin/x"
    assert {"opt/agent/node_modules/x/x.sh", "opt/agent/node_modules/.bin/x"} <= names(made)
    assert "package.json" not in {Path(name).name for name in names(made)}


def test_an_agent_that_needs_node_is_refused(tmp_path: Path) -> None:
    package = write_tree(tmp_path / "npm", {"node_modules/.bin/x": "#!/usr/bin/env node\n"})
    with pytest.raises(ToolError, match=r"^x@1: x is a script for node"):
        layers.agent_layer(package, "x", "x@1", tmp_path / "cache")


def test_a_missing_mmdebstrap_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(ToolError, match=r"apt-get install mmdebstrap$"):
        layers.base_layer(ImageRecipe(id="base", release="bookworm", packages=("python3",)), tmp_path)


def test_a_release_that_does_not_exist_is_named(tmp_path: Path) -> None:
    recipe = ImageRecipe(id="odd", release="no-such-release", packages=("python3",))
    with pytest.raises(ToolError, match=r"^mmdebstrap could not make the image odd: "):
        layers.base_layer(recipe, tmp_path)
    assert not list((tmp_path / "layers").glob("*.sha256"))


def test_tools_are_files_of_the_layer_whatever_link_mode_the_user_has_set(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    plain = layers.tools_layer({"iniconfig": "2.1.0"}, tmp_path / "a")
    monkeypatch.setenv("UV_LINK_MODE", "symlink")
    assert layers.tools_layer({"iniconfig": "2.1.0"}, tmp_path / "b").sha256 == plain.sha256


def test_the_cli_of_a_manifest_is_known_by_all_that_the_manifest_says_of_its_package() -> None:
    known = layers.AgentCli(CliPackage(npm="@acme/cli", program="acme", oldest="1.0", node="22.23.3"), "1.2.3")
    other = layers.AgentCli(CliPackage(npm="@acme/cli", program="acme", oldest="1.0"), "1.2.3")
    assert (known.package.id, other.identity) == ("@acme/cli", "@acme/cli@1.2.3")
    assert known.identity.startswith("@acme/cli@1.2.3 "), "another Node.js makes another image"
    assert layers.AgentCli(CliPackage(pypi="mini-acme", program="mini", oldest="1.0"), "1").package.id == "mini-acme"


def test_an_environment_of_a_cli_has_a_link_on_path(tmp_path: Path) -> None:
    layers.write_environment(tmp_path / "layer.tar", "/opt/agent", [], links={"/usr/local/bin/x": "/opt/agent/bin/x"})
    with tarfile.open(tmp_path / "layer.tar") as archive:
        assert archive.getmember("usr/local/bin/x").linkname == "/opt/agent/bin/x"
