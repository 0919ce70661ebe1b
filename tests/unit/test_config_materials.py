"""Skills, sub-agents and MCP servers: lookup, checks, digests, and links that lead out of a root."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from scylla_gha.config.library import Library
from scylla_gha.config.materials import material_path, materials, read_agent, resolve_inside
from scylla_gha.errors import ConfigError
from scylla_gha.model.variant import Treatment
from tests.support.library import write
from tests.support.materials import AGENT, AGENT_AT, ALL, FILES, SERVER_AT, SKILL, SKILL_AT
from tests.support.repository import write_tree


def faults(*roots: Path, treatment: Treatment = ALL) -> str:
    with pytest.raises(ConfigError) as caught:
        materials(treatment, roots)
    return str(caught.value)


def test_all_that_a_treatment_names_has_a_digest(tmp_path: Path) -> None:
    found = materials(ALL, (write_tree(tmp_path, FILES),))
    assert list(found) == ["mcp/clock", "skills/greeting", "agents/reader"]
    assert len(set(found.values())) == 3
    assert materials(Treatment(), ()) == {}


@pytest.mark.parametrize(
    ("path", "content", "changed"),
    [
        ("config/mcp/clock/clock.py", "print()\n", "mcp/clock"),
        (SERVER_AT, "description: A clock\ncommand: python\n", "mcp/clock"),
        ("config/skills/greeting/words/hello.txt", b"\xff\x00", "skills/greeting"),
        ("config/skills/greeting/more.md", "", "skills/greeting"),
        (AGENT_AT, AGENT + " ", "agents/reader"),
    ],
)
def test_a_digest_covers_each_file(tmp_path: Path, path: str, content: str, changed: str) -> None:
    before = materials(ALL, (write_tree(tmp_path, FILES),))
    after = materials(ALL, (write_tree(tmp_path, {path: content}),))
    assert [name for name in before if before[name] != after[name]] == [changed]


def test_a_digest_covers_what_is_executable_but_no_leftovers_and_no_place(tmp_path: Path) -> None:
    here, there = write_tree(tmp_path / "here", FILES), write_tree(tmp_path / "__pycache__" / "there", FILES)
    write_tree(there, {"config/mcp/clock/__pycache__/clock.pyc": b"\x00"})
    assert materials(ALL, (here,)) == materials(ALL, (there,))
    (there / "config/mcp/clock/clock.py").chmod(0o755)
    assert materials(ALL, (here,))["mcp/clock"] != materials(ALL, (there,))["mcp/clock"]


def test_a_link_counts_as_the_file_that_it_stands_for(tmp_path: Path) -> None:
    before = materials(ALL, (write_tree(tmp_path, FILES),))
    file = tmp_path / "config/skills/greeting/words/hello.txt"
    file.unlink()
    write_tree(tmp_path, {"config/skills/greeting/words/again.txt": "Hello\n"})
    before_too = materials(ALL, (tmp_path,))
    file.symlink_to("again.txt")
    after = materials(ALL, (tmp_path,))
    assert [name for name in before if before[name] != after[name]] == ["skills/greeting"]
    assert [name for name in before if before_too[name] != after[name]] == ["skills/greeting"]
    (file.parent / "again.txt").rename(file)
    assert materials(ALL, (tmp_path,)) == before


@pytest.mark.parametrize("target", ["nowhere", "."])
def test_a_link_to_no_file_is_refused_since_no_digest_covers_it(tmp_path: Path, target: str) -> None:
    write_tree(tmp_path, FILES)
    (tmp_path / "config/skills/greeting/more").symlink_to(target)
    said = f"{tmp_path}/config/skills/greeting/more: is a broken link; replace it with the file that it stands for"
    assert faults(tmp_path) == said


def test_a_pipe_beside_the_files_is_not_read(tmp_path: Path) -> None:
    before = materials(ALL, (write_tree(tmp_path, FILES),))
    os.mkfifo(tmp_path / "config/skills/greeting/pipe")
    assert materials(ALL, (tmp_path,)) == before


def test_the_users_go_before_the_toolkits(tmp_path: Path) -> None:
    user, toolkit = tmp_path / "user", write_tree(tmp_path / "toolkit", FILES)
    write_tree(user, {AGENT_AT: AGENT})
    assert material_path((user, toolkit), "agents", "reader") == user / AGENT_AT
    assert material_path((user, toolkit), "skills", "greeting") == toolkit / "config/skills/greeting"


@pytest.mark.parametrize(
    ("treatment", "said"),
    [
        (Treatment(mcp_servers=("clok",)), "mcp: 'clok' is not in config/mcp/ of this repository or of the toolkit;"),
        (Treatment(skills=("x",)), "in config/skills/ of this repository or of the toolkit; there are: greeting"),
        (Treatment(agents=("readr",)), 'did you mean "reader"?'),
    ],
)  # fmt: skip
def test_a_name_that_there_is_not_is_told_with_those_that_there_are(
    tmp_path: Path, treatment: Treatment, said: str
) -> None:
    assert said in faults(write_tree(tmp_path, FILES), treatment=treatment)
    assert faults(tmp_path / "none", treatment=treatment).endswith("; there are: none")


def test_all_faults_are_told_at_once(tmp_path: Path) -> None:
    write_tree(tmp_path, {**FILES, SERVER_AT: "comand: x\n", AGENT_AT: "You read.\n"})
    (tmp_path / SKILL_AT).unlink()
    said = faults(tmp_path).splitlines()
    assert len(said) == 5, "two keys missing, one unknown, and a file each"
    assert f'{tmp_path}/{SERVER_AT}:1: comand: unknown key; did you mean "command"?' in said
    assert (
        f"{tmp_path}/{SKILL_AT}: there is no such file; write it, with a front matter of name and description" in said
    )


@pytest.mark.parametrize(
    ("path", "content", "said"),
    [
        (AGENT_AT, "You read.\n", "must begin with a front matter between two lines `---`"),
        (AGENT_AT, "", "must begin with a front matter"),
        (AGENT_AT, "---\n---\n", "must begin with a front matter"),
        (AGENT_AT, "---\nname: reader\n", "must begin with a front matter"),
        (AGENT_AT, "First.\n" + AGENT, "must begin with a front matter"),
        (AGENT_AT, "---\n- a\n---\n", "must begin with a front matter"),
        (AGENT_AT, "---\nname: reader\ndescription: Use: this\n---\nx\n",
         "reader.md:3: the front matter is not valid YAML: mapping values are not allowed in this context; put"),
        (AGENT_AT, "---\nname: [\n---\nx\n", "the front matter is not valid YAML"),
        (AGENT_AT, "---\nname: 2026-13-41\n---\nx\n", "the front matter is not valid YAML: month must be"),
        (AGENT_AT, "---\nname: \x00\n---\nx\n", "the front matter is not valid YAML"),
        (AGENT_AT, b"---\nname: \xff\n---\nx\n", "reader.md: cannot be read: 'utf-8' codec"),
        (AGENT_AT, AGENT.replace("reader", "writer"), "name: is 'writer', but the file is named 'reader'; make them"),
        (AGENT_AT, AGENT.replace("You read.\n", ""), "reader.md: prompt: string should have at least 1 character"),
        (AGENT_AT, AGENT.replace("description: Reads\n", ""), "reader.md: description: missing; add it"),
        (AGENT_AT, AGENT.replace("Reads", "Reads\ntool: Read"), 'tool: unknown key; did you mean "tools"?'),
        (AGENT_AT, AGENT.replace("Reads", "Reads\ntools: [Read, 3]"), "tools.1: input should be a valid string, not 3"),
        (AGENT_AT, AGENT.replace("Reads", "Reads\ntools: Read,,Grep"), "tools.1: string should have at least 1"),
        (SKILL_AT, SKILL.replace("greeting", "greet"), "name: is 'greet', but the folder is named 'greeting'; make"),
        (SKILL_AT, SKILL.replace("name: greeting\n", ""), "name: is None, but the folder is named 'greeting'"),
        (SKILL_AT, SKILL.replace("How to greet", "[a]"), "description: is missing or not text; write one"),
        (SKILL_AT, SKILL.replace("How to greet", "' '"), "description: is missing or not text; write one"),
        (SERVER_AT, "description: A clock\n", "server.yaml:1: command: missing; add it"),
        (SERVER_AT, "- a\n", "server.yaml:1: the file: "),
    ],
)  # fmt: skip
def test_a_broken_file_is_named_with_what_is_wrong(tmp_path: Path, path: str, content: str | bytes, said: str) -> None:
    assert said in faults(write_tree(tmp_path, {**FILES, path: content}))
    assert str(tmp_path / path) in faults(tmp_path)


def test_a_file_where_a_folder_should_be_is_told(tmp_path: Path) -> None:
    write_tree(tmp_path, {"config/mcp/clock": "", "config/skills/greeting": "", "config/agents/reader.md/x": ""})
    said = faults(tmp_path)
    assert said.count("cannot be read: [Errno") == 3


@pytest.mark.parametrize(
    ("front", "tools"),
    [("", None), ("tools:\n", None), ("tools: Read, Grep\n", ("Read", "Grep")), ("tools: [Read]\n", ("Read",)),
     ("tools: Read\n", ("Read",))],
)  # fmt: skip
def test_tools_are_a_list_or_words_between_commas(tmp_path: Path, front: str, tools: tuple[str, ...] | None) -> None:
    write_tree(tmp_path, {"reader.md": AGENT.replace("---\nYou", f"{front}---\nYou")})
    assert read_agent(tmp_path / "reader.md").tools == tools


def test_a_prompt_is_all_below_the_front_matter(tmp_path: Path) -> None:
    body = "You read.\n\n---\n\nname: x\n---\nMore.\n"
    write_tree(tmp_path, {"reader.md": AGENT.replace("You read.\n", body).replace("\n", "\r\n")})
    assert read_agent(tmp_path / "reader.md").prompt == body.strip()


SKILL = "---\nname: greet\ndescription: Greets.\n---\nGreet.\n"


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A repository with a skill, and beside it what its runner has."""
    write(tmp_path / "secret" / "token", "hush")
    write(tmp_path / "repo/config/skills/greet/SKILL.md", SKILL)
    write(tmp_path / "repo/config/skills/other/notes.md", "theirs")
    return tmp_path / "repo"


@pytest.mark.parametrize(
    ("link", "target"),
    [
        ("config/skills/greet/token", "../../../../secret/token"),
        ("config/skills/greet/more/home", "/"),
        ("config/skills/greet/notes.md", "../other/notes.md"),
        ("config/skills/greet/none", "../nothing"),
    ],
)
def test_a_link_that_leads_out_of_a_skill_is_refused(root: Path, link: str, target: str) -> None:
    (root / link).parent.mkdir(exist_ok=True)
    (root / link).symlink_to(target)
    with pytest.raises(ConfigError, match=f"{link}: is a symbolic link that leads out of"):
        materials(Treatment(skills=("greet",)), (root,))


@pytest.mark.parametrize("moved", ["config", "config/skills", "config/skills/greet", "config/skills/greet/SKILL.md"])
def test_what_lies_elsewhere_is_refused(root: Path, moved: str) -> None:
    (root / moved).rename(root.parent / "elsewhere")
    (root / moved).symlink_to(root.parent / "elsewhere")
    with pytest.raises(ConfigError, match="symbolic link"):
        materials(Treatment(skills=("greet",)), (root,))


def test_a_link_within_a_skill_is_followed(root: Path) -> None:
    (root / "config/skills/greet/again.md").symlink_to("SKILL.md")
    assert materials(Treatment(skills=("greet",)), (root,)).keys() == {"skills/greet"}


@pytest.mark.parametrize("folder", ["fixtures/app", "scenarios/mine/001-x", "config/experiments"])
def test_fixtures_scenarios_and_experiments_too(root: Path, folder: str) -> None:
    (root / folder).mkdir(parents=True)
    write(root / "scenarios/mine/001-x/scenario.yaml", "")
    (root / folder / "demo.yaml").symlink_to(root.parent / "secret" / "token")
    library = Library((root,))
    asks: dict[str, Callable[[], object]] = {
        "fixtures": lambda: library.fixture("app"),
        "scenarios": lambda: library.scenario("001-x"),
        "config": lambda: library.experiment("demo"),
    }
    with pytest.raises(ConfigError, match="symbolic link"):
        asks[folder.partition("/")[0]]()


def test_the_root_itself_may_be_reached_by_a_link(root: Path) -> None:
    (root.parent / "alias").symlink_to(root)
    skill = root.parent / "alias/config/skills/greet"
    assert resolve_inside(skill, (root.parent / "alias",)) == skill
