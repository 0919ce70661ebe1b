"""The contract of the hub: the file, what is registered, GitHub's descriptions and the page agree."""

from pathlib import Path

from graphql import GraphQLInterfaceType, GraphQLObjectType

from scylla_gha.config import load_yaml
from scylla_gha.config.library import toolkit_root
from scylla_gha.hub.contract import Contract, contract, contract_page
from scylla_gha.hub.graphql.schema import github_schema
from scylla_gha.hub.rest.documentation import documentation_url
from tests.support.hub import REPO, Caller, make_hub
from tests.support.hub_contract import FILE, as_yaml, registered_graphql, registered_rest, updated
from tests.support.hub_journey import JOURNEYS, read_journey
from tests.support.openapi import VERSION
from tests.support.openapi_answers import described, description
from tests.support.openapi_operations import LICENSE, PACKED, from_npm, packed

ADVICE = "run `python -m tests.support.hub_contract`, name the clients, then run `scylla-gha schemas`"


def test_each_registered_operation_is_listed_and_each_listed_one_is_registered() -> None:
    assert registered_rest() ^ contract().rest.keys() == set(), ADVICE
    assert registered_graphql() ^ contract().graphql == set(), ADVICE


def test_the_file_is_as_it_is_written() -> None:
    assert FILE.read_text(encoding="utf-8") == as_yaml(updated(load_yaml(FILE, Contract))), ADVICE


def test_each_operation_is_one_of_github() -> None:
    assert [name for name in contract().rest if not described(name)] == []
    kinds = github_schema().type_map
    unknown = []
    for kind, name in contract().graphql:
        declared = kinds.get(kind)
        assert isinstance(declared, GraphQLObjectType | GraphQLInterfaceType), kind
        if name not in declared.fields:
            unknown.append(f"{kind}.{name}")
    assert unknown == []


def test_the_packed_operations_are_those_of_the_package() -> None:
    assert packed() == from_npm()
    assert LICENSE.read_text() == description()["license"]
    assert f"@octokit/openapi {VERSION}" in PACKED.with_name("documentation.py").read_text()


def test_an_error_names_the_page_of_its_operation(tmp_path: Path) -> None:
    """https://docs.github.com/rest/using-the-rest-api/troubleshooting-the-rest-api"""
    caller = Caller(make_hub(tmp_path))
    pages = {
        ("GET", f"{REPO}/issues/9"): "/issues/issues#get-an-issue",
        ("POST", f"{REPO}/labels"): "/issues/labels#create-a-label",
        ("GET", f"{REPO}/git/refs/heads/none"): "/git/refs#get-a-reference",
        ("GET", f"{REPO}/pages"): "/pages/pages#get-a-apiname-pages-site",
        ("GET", f"{REPO}/nothing"): "",
    }
    answers = {(method, url): caller.rest(method, url, {}).body["documentation_url"] for method, url in pages}
    assert answers == {asked: f"https://docs.github.com/rest{page}" for asked, page in pages.items()}
    known = [name for name in contract().rest if documentation_url(name) == "https://docs.github.com/rest"]
    assert known == []


def test_each_operation_names_a_client() -> None:
    listed = contract()
    rows = [*listed.rest.items(), *listed.queries.items(), *listed.mutations.items()]
    assert [name for name, clients in rows if not clients] == []


def test_each_command_of_the_contract_is_in_a_journey() -> None:
    """The journeys run in tests/integration/test_hub_clients.py."""
    scripts = {path.stem: read_journey(path) for path in JOURNEYS.glob("*.txtar")}
    run = [(name, step.rest) for name, steps in scripts.items() for step in steps
           if step.verb == "exec" and (name != "gaps" or step.fails)]  # fmt: skip
    missing = []
    for support in contract().commands.values():
        for entry, is_gap in [(entry, False) for entry in support.works] + [(entry, True) for entry in support.gaps]:
            command, _, options = entry.removesuffix(")").partition(" (")
            words = [f"{text} " for name, text in run if text.startswith(command.partition(" --")[0])
                     and (name == "gaps") == is_gap]  # fmt: skip
            wanted = [*options.split(), *(word for word in command.split() if word.startswith("--"))]
            missing += [entry] if not words else []
            missing += [f"{command} {option}" for option in wanted if not any(f" {option} " in text for text in words)]
    assert missing == []


def test_the_page_is_current() -> None:
    assert (toolkit_root() / "docs/hub-contract.md").read_text(encoding="utf-8") == contract_page()
