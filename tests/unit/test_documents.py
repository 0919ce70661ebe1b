"""Reference pages and CONTRIBUTING.md name everything that the code has, and nothing else."""

import re
from pathlib import Path
from typing import get_args

import pytest

from scylla_gha import errors
from scylla_gha.agents.manifest import agent_matrix
from scylla_gha.analysis import COMPONENTS, TOKENS
from scylla_gha.config.library import Library
from scylla_gha.model.experiment import SandboxName
from scylla_gha.report import metrics
from scylla_gha.sandboxes import SANDBOXES
from tests.benchmarks.agent_matrix import TABLES, head_of
from tests.support.agent_clis import CLIS, pinned
from tests.support.pages import PAGES, ROOT, anchors, anchors_in_order, links, section

PLUG_IN_PAGES = sorted(str(path.relative_to(ROOT)) for path in (ROOT / "scylla_gha").rglob("README.md"))
OTHER_PAGES = [
    ROOT / name for name in ("README.md", "CONTRIBUTING.md", "SECURITY.md", "CHANGELOG.md", "tests/README.md")
]


def table_keys(page: str, title: str) -> set[str]:
    """Return the codes in the first column of the tables below a heading."""
    rows = re.findall(r"^\| (`[^|]+) \|", section(page, title), re.MULTILINE)
    return {name for row in rows for name in re.findall(r"`(\w+)`", row)}


def test_the_glossary_explains_each_metric() -> None:
    shares = {f"{name}_share" for name in (*TOKENS, *COMPONENTS)}
    missing = (metrics._METRICS.keys() | shares) - table_keys("docs/how-a-result-is-computed.md", "Metrics")
    assert missing == set()


def test_the_page_of_exit_codes_has_those_of_the_code() -> None:
    codes = {error.exit_code for error in vars(errors).values() if hasattr(error, "exit_code")}
    listed = {int(code) for code in table_keys("docs/troubleshooting.md", "Exit codes")}
    assert listed == codes | {0, 2, 130}


@pytest.mark.parametrize("page", [*PAGES, *OTHER_PAGES], ids=lambda page: str(page.relative_to(ROOT)))
def test_links_lead_somewhere(page: Path) -> None:
    for link in links(page):
        if link.startswith("https://"):
            continue
        name, _, anchor = link.partition("#")
        target = (page.parent / name).resolve() if name else page
        assert target.exists(), link
        assert not anchor or anchor in anchors(target), link


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_a_page_has_no_heading_twice(page: Path) -> None:
    names = anchors_in_order(page)
    assert sorted(names) == sorted(set(names))


def test_every_page_is_in_the_map() -> None:
    listed = {link.partition("#")[0] for link in links(ROOT / "docs/README.md")}
    assert {page.name for page in PAGES} - {"README.md"} <= listed


def test_pages_that_the_program_names_exist() -> None:
    texts = [path.read_text(encoding="utf-8") for path in (ROOT / "scylla_gha").rglob("*.py")]
    named = {name for text in texts for name in re.findall(r"docs/[\w-]+\.md", text)}
    assert len(named) > 3
    assert [name for name in sorted(named) if not (ROOT / name).is_file()] == []


def test_pages_for_contributors_name_files_that_exist() -> None:
    names = ("CONTRIBUTING.md", "tests/README.md", "docs/design.md", *PLUG_IN_PAGES)
    texts = [(ROOT / name).read_text(encoding="utf-8") for name in names]
    text = "".join(text.partition("## Where files went")[0] for text in texts)
    paths = re.findall(r"`((?:scylla_gha|tests|docs|config|scenarios|\.github)/[\w./-]*)`", text)
    assert len(paths) > 40
    assert [path for path in paths if "NAME" not in path and not (ROOT / path).exists()] == []


def test_the_table_of_moved_files_names_files_that_exist() -> None:
    rows = re.findall(r"^\| `.+` \| `([^`]+)` \|$", section("CONTRIBUTING.md", "Where files went"), re.MULTILINE)
    assert len(rows) > 80
    folders = [ROOT / "docs", ROOT / "scylla_gha"]
    assert [row for row in rows if not any((folder / row).exists() for folder in folders)] == []


def test_the_page_on_isolation_and_the_configuration_name_each_sandbox() -> None:
    header = re.search(r"^\| \| (.+) \|$", section("docs/security.md", "Isolation"), re.MULTILINE)
    assert header is not None
    assert header[1].split(" | ") == list(SANDBOXES)
    assert set(get_args(SandboxName)) == set(SANDBOXES)


def test_the_page_of_agents_has_the_table_of_manifests() -> None:
    rows = agent_matrix(Library((ROOT,)))
    lines = [f"| {' | '.join(row)} |" for row in rows]
    lines.insert(1, f"| {' | '.join('---' for _ in rows[0])} |")
    assert "\n".join(lines) in section("docs/agents.md", "What each agent can take")


@pytest.mark.parametrize("table", TABLES, ids=lambda table: table[0])
def test_each_agent_cli_is_measured_at_its_pinned_version_and_nothing_ended_wrongly(table: tuple[str, ...]) -> None:
    _, _, rest = section("docs/agents.md", "Measured sessions").partition(f"{head_of(table)}\n")
    rows = [row.strip("| ").split(" | ") for row in rest.partition("\n\n")[0].splitlines()[1:]]
    assert [f"{row[0]}@{row[1]}" for row in rows] == [pinned(name) for name in CLIS]
    assert {len(row) for row in rows} == {len(table) + 2}
    assert not [row for row in rows if "**" in " ".join(row)]
