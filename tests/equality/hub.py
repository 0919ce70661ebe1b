"""The hub of a checkout: GET requests, every GraphQL field of the contract, `gh --json`, and journeys of clients."""

import json
import re
import signal
import subprocess
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from tests.equality.checkouts import Checkout, write
from tests.equality.comparison import masked

_MOST_NODES: Final = 2  # of each type and fixture
_TYPE: Final = "kind name ofType { kind name ofType { kind name ofType { kind name } } }"
_SCHEMA: Final = (
    "{ __schema { types { name kind possibleTypes { name } "
    f"fields {{ name args {{ name type {{ {_TYPE} }} }} type {{ {_TYPE} }} }} }} }} }}"
)
# Values of arguments, by name; a field with another required argument is asked without it, and refused.
_ARGUMENTS: Final[dict[str, str]] = {
    "first": "3", "number": "1", "qualifiedName": '"refs/heads/main"', "name": '"main"', "path": '"README.md"',
    "tagName": '"v1.0.0"', "expression": '"main"', "headRef": '"main"', "pullRequestNumber": "1",
    "login": '"octo-org"', "slug": '"none"', "databaseId": "1", "refPrefix": '"refs/heads/"',
    "capabilities": "[CAN_BE_ASSIGNED]", "orderBy": "{field: NAME, direction: ASC}",
}  # fmt: skip
_COMMANDS: Final = (
    "issue list --state all", "pr list --state all", "release list", "run list", "workflow list --all", "label list",
    "cache list", "issue status", "pr status",
    "issue view 1", "pr view NUMBER", "pr checks NUMBER", "repo view REPOSITORY",
    "release view", "search issues fix", "search prs fix", "search repos a", "search code def", "search commits fix",
)  # fmt: skip
_TIMED_HEADERS: Final = frozenset({"Date", "Content-Length", "X-RateLimit-Reset", "X-GitHub-Request-Id"})
_TIMED_LINE: Final = re.compile(r"\* Request (?:at|took).*\n|^< (?:Date|Content-Length).*\n", re.MULTILINE)
_SECRET: Final = re.compile(
    r"\b(gh[a-z]_|github_pat_)\w+|(?<=127\.0\.0\.1:)\d+|(?<=X-Ratelimit-Reset: )\d+"
    r"|(?<=X-Github-Request-Id: )\S+|(?<=Etag: )\S+"
)
_DRAWN_COLOR: Final = re.compile(r'(?<="color": ")[0-9A-F]{6}(?=")|(?<="color":")[0-9A-F]{6}(?=")')  # by gh
_SHA: Final = re.compile(r"\b[0-9a-f]{40}\b")


@dataclass(frozen=True)
class ServedFixture:
    """A fixture that `hub serve` of a checkout serves; `facts` is what the command printed."""

    side: Checkout
    facts: dict[str, Any]

    @property
    def repository(self) -> str:
        name: str = self.facts["bindings"]["repo.main"]["full_name"]
        return name

    def numbers(self, kind: str) -> list[int]:
        """Return the numbers of the seeded issues ("issue.") or pull requests ("pr.")."""
        bindings: dict[str, Any] = self.facts["bindings"]
        return [facts["number"] for name, facts in bindings.items() if name.startswith(kind)]

    def ask(self, path: str, query: str = "") -> str:
        """Return status, headers and text of an answer, of GraphQL if there is a query."""
        environment = self.facts["environment"]
        root = environment["GITHUB_API_URL"]
        address = f"{root.removesuffix('/v3')}/graphql" if query else f"{root}{path}"
        data = json.dumps({"query": query}).encode() if query else None
        headers = {"Authorization": f"Bearer {environment['GH_TOKEN']}", "User-Agent": "equality"}
        try:
            with urllib.request.urlopen(urllib.request.Request(address, data, headers), timeout=60) as answer:
                status, fields, text = answer.status, answer.headers, answer.read().decode(errors="replace")
        except urllib.error.HTTPError as error:
            status, fields, text = error.code, error.headers, error.read().decode(errors="replace")
        lines = [f"{name}: {value}" for name, value in sorted(fields.items()) if name not in _TIMED_HEADERS]
        return text if query else "\n".join([str(status), *lines, text])


@contextmanager
def serving(side: Checkout, fixture: Path) -> Iterator[ServedFixture]:
    """Serve the GitHub of a fixture until the block ends."""
    argv = [str(side.root / ".venv/bin/scylla-gha"), "hub", "serve", str(fixture), "--json", "--workflows", "none"]
    with subprocess.Popen(argv, cwd=side.root, env=side.environment(), stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        try:
            lines = iter(process.stdout.readline, "}\n")
            yield ServedFixture(side, json.loads("".join([*lines, "}"])))
        finally:
            process.send_signal(signal.SIGINT)


def collect_hub(side: Checkout, contract: dict[str, Any], out: Path) -> None:
    """Write the answers of each fixture's GitHub, and what clients of the journeys sent and got."""
    for file in sorted((side.root / "fixtures").glob("*/github.yaml")):
        with serving(side, file.parent) as hub:
            for name, text in _answers(hub, contract):
                write(out / file.parent.name / name, clean(side, text))
    journeys = side.folder("journeys")
    side.script("hub_journeys.py", journeys)
    for file in sorted(journeys.glob("*.txt")):
        write(out / "journeys" / file.name, in_any_order(clean(side, file.read_text(encoding="utf-8"))))


def _answers(hub: ServedFixture, contract: dict[str, Any]) -> Iterator[tuple[str, str]]:
    yield "rest.txt", _rest(hub, contract["rest"])
    for kind, text in GraphQLQueries(hub, contract).answers():
        yield f"graphql-{kind}.txt", text
    for words, text in _gh(hub):
        yield f"gh-{words}.txt", text


def clean(side: Checkout, text: str) -> str:
    """Mask tokens, ports and times."""
    return masked(_SECRET.sub(r"\1<secret>", _TIMED_LINE.sub("", side.masked(text))))


def in_any_order(text: str) -> str:
    """Sort the lines of each command, since gh sends requests at once; hashes of commits have the time in them."""
    text = _DRAWN_COLOR.sub("<color>", text)
    commits = {sha[:7] for sha in _SHA.findall(text)}
    text = _SHA.sub("<commit>", text)
    text = re.sub(r"\b[0-9a-f]{7}\b", lambda found: "<commit>" if found[0] in commits else found[0], text)
    commands = (command.splitlines() for command in re.split(r"^(?=\$ )", text, flags=re.MULTILINE) if command)
    return "".join("\n".join([first, *sorted(lines), ""]) for first, *lines in commands)


def _rest(hub: ServedFixture, contract: dict[str, Any]) -> str:
    """Ask each GET request of the contract, for each number of an issue or pull request if its path has one."""
    owner, repo = hub.repository.split("/")
    start = hub.facts["bindings"]["commit.start"]
    values: dict[str, list[Any]] = {
        "owner": [owner], "repo": [repo], "org": [owner], "username": [owner], "pull_number": hub.numbers("pr."),
        "issue_number": [*hub.numbers("issue."), *hub.numbers("pr.")], "branch": [start["branch"]],
        "ref": [start["branch"], f"heads/{start['branch']}"], "sha": [start["sha"]], "commit_sha": [start["sha"]],
        "tree_sha": [start["sha"]], "path": ["README.md"], "basehead": [f"{start['sha']}...{start['branch']}"],
    }  # fmt: skip
    for name, listed, key in _LISTED:
        answer = hub.ask(f"/repos/{hub.repository}/{listed}?per_page=3").rpartition("\n")[2]
        rows = json.loads(answer)
        rows = rows if isinstance(rows, list) else next((part for part in rows.values() if isinstance(part, list)), [])
        values[name] = [row[key] for row in rows if isinstance(row, dict) and key in row]
    paths = [line.removeprefix("GET ") for line in contract if line.startswith("GET ") and line != "GET /rate_limit"]
    requests = [path for template in paths for path in _filled(template, values)]
    return "\n".join(f"=== GET {path}\n{hub.ask(path)}" for path in requests) + "\n"


_LISTED: Final = (
    ("comment_id", "issues/comments", "id"), ("release_id", "releases", "id"), ("run_id", "actions/runs", "id"),
    ("milestone_number", "milestones", "number"), ("label", "labels", "name"), ("name", "labels", "name"),
    ("tag", "releases", "tag_name"), ("workflow_id", "actions/workflows", "id"),
)  # fmt: skip


def _filled(template: str, values: dict[str, list[Any]]) -> Iterator[str]:
    found = re.search(r"\{(\w+)\}", template)
    if found is None:
        yield template
        return
    for value in values.get(found[1]) or [1]:
        yield from _filled(template.replace(found[0], str(value)), values)


@dataclass
class GraphQLQueries:
    """Queries of all fields of the contract: on each type's first nodes, which are found from the repository."""

    hub: ServedFixture
    contract: dict[str, Any]
    types: dict[str, Any] = field(default_factory=dict)
    nodes: dict[str, list[str]] = field(default_factory=dict)  # type -> ids

    def answers(self) -> Iterator[tuple[str, str]]:
        """Yield each type with the answers for its nodes."""
        schema = json.loads(self.hub.ask("", _SCHEMA))
        self.types = {kind["name"]: kind for kind in schema["data"]["__schema"]["types"]}
        owner, name = self.hub.repository.split("/")
        roots = (f'repository(owner: "{owner}", name: "{name}")', "viewer", f'organization(login: "{owner}")')
        yield "Query", self._answer(*(f"query {{ {root} {{ __typename id }} }}" for root in roots))
        asked: set[str] = set()
        while pending := [kind for kind in self.nodes if kind not in asked]:
            kind = pending[0]
            asked.add(kind)
            queries = (query for node in self.nodes[kind][:_MOST_NODES] for query in self._queries(kind, node))
            yield kind, self._answer(*queries)

    def _queries(self, kind: str, node: str) -> Iterator[str]:
        allowed = self.contract["types"].get(kind, {}).get("fields", [])
        for one in self.types[kind]["fields"]:
            if one["name"] in allowed:
                yield f'query {{ node(id: "{node}") {{ ... on {kind} {{ {self._selected(one, 3)} }} }} }}'

    def _answer(self, *queries: str) -> str:
        lines = []
        for query in queries:
            answer = json.loads(self.hub.ask("", query))
            self._remember(answer)
            lines.append(f"{query}\n{json.dumps(answer, indent=1)}\n")
        return "".join(lines)

    def _remember(self, value: Any) -> None:
        if isinstance(value, dict):
            if value.get("__typename") in self.types and isinstance(value.get("id"), str):
                known = self.nodes.setdefault(value["__typename"], [])
                if value["id"] not in known:
                    known.append(value["id"])
            for part in value.values():
                self._remember(part)
        elif isinstance(value, list):
            for part in value:
                self._remember(part)

    def _selected(self, one: dict[str, Any], depth: int) -> str:
        """Return a field with its arguments, and what is asked of its value."""
        numbers = self.hub.numbers("issue." if one["name"] == "issue" else "pr.")
        values = {**_ARGUMENTS, "number": str(next(iter(numbers), 1))}
        given = [f"{arg['name']}: {values[arg['name']]}" for arg in one["args"] if _is_given(arg)]
        kind = one["type"]
        while kind.get("ofType"):
            kind = kind["ofType"]
        arguments = f"({', '.join(given)})" if given else ""
        return f"{one['name']}{arguments}{self._parts(kind['name'], depth)}"

    def _parts(self, kind: str, depth: int) -> str:
        declared = self.types[kind]
        if declared["kind"] in {"SCALAR", "ENUM"}:
            return ""
        names = [part["name"] for part in declared["fields"] or []]
        if "id" in names:
            return " { __typename id }"
        if declared["kind"] in {"UNION", "INTERFACE"}:
            kinds = [part["name"] for part in declared["possibleTypes"]]
            nodes = [name for name in kinds if "id" in [part["name"] for part in self.types[name]["fields"]]]
            return f" {{ __typename {' '.join(f'... on {name} {{ id }}' for name in nodes)} }}"
        allowed = self.contract["types"].get(kind, {}).get("fields", names)
        asked = [part for part in declared["fields"] if part["name"] in allowed and part["name"] != "edges"]
        if depth == 0:
            asked = [part for part in asked if not part["args"] and part["type"]["kind"] in {"SCALAR", "ENUM"}]
        return f" {{ __typename {' '.join(self._selected(part, depth - 1) for part in asked)} }}"


def _is_given(arg: dict[str, Any]) -> bool:
    return arg["name"] == "first" or (arg["type"]["kind"] == "NON_NULL" and arg["name"] in _ARGUMENTS)


def _gh(hub: ServedFixture) -> Iterator[tuple[str, str]]:
    """Yield commands of gh with each field that their --json knows, and what they print."""
    environment = {**hub.side.environment(), **hub.facts["environment"], "GH_REPO": hub.repository}
    number = str(next(iter(hub.numbers("pr.")), 1))
    for command in _COMMANDS:
        words = [
            str(hub.side.root / ".venv/bin/gh"),
            *command.replace("NUMBER", number).replace("REPOSITORY", hub.repository).split(),
            "--json",
        ]
        fields = re.findall(r"^  (\w+)$", run_gh(words, hub, environment).stderr, re.MULTILINE)
        done = run_gh([*words, ",".join(fields)], hub, environment)
        yield command.replace(" ", "-"), f"exit code {done.returncode}\n{_lines(done.stdout)}{done.stderr}"


def run_gh(words: list[str], hub: ServedFixture, env: dict[str, str]) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(words, cwd=hub.side.work, env=env, text=True, capture_output=True, stdin=subprocess.DEVNULL,
                          timeout=120, check=False)  # fmt: skip


def _lines(text: str) -> str:
    try:
        return json.dumps(json.loads(text), indent=1) + "\n"
    except ValueError:
        return text
