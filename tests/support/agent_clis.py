"""Experiments with agent CLIs that have a manifest, at the versions with which their manifests were measured."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from scylla_gha.config.library import Library, toolkit_root
from scylla_gha.model.agent_manifest import AgentManifest
from scylla_gha.providers.scripted import scripted_provider
from tests.support.command import Said, scylla
from tests.support.materials import SERVER
from tests.support.provider import Body, Say, serve, tool_results
from tests.support.repository import write_tree

LIBRARY = Library((toolkit_root(),))
_CLI_NAMES = [name for name in LIBRARY.agent_names() if name != "claude-code"]  # which has tests of its own
MANIFESTS: dict[str, AgentManifest] = {name: LIBRARY.agent_manifest(name) for name in _CLI_NAMES}
# Model, variable of the provider's address, and variable of its key, by API style.
MODELS = {
    "anthropic-messages": ("claude-sonnet-5", "ANTHROPIC_BASE_URL", "ANTHROPIC_API_KEY"),
    "openai-responses": ("gpt-5.5", "OPENAI_BASE_URL", "OPENAI_API_KEY"),
    "gemini": ("gemini-3.8-flash", "GOOGLE_GEMINI_BASE_URL", "GEMINI_API_KEY"),
    "openai-chat": ("gpt-5.5", "OPENAI_BASE_URL", "OPENAI_API_KEY"),
}
STYLES = [(name, style) for name, manifest in sorted(MANIFESTS.items()) for style in manifest.api_styles]
OPENAI_MODEL = """\
id: gpt-5.5
provider: openai
context_tokens: 400000
max_output_tokens: 128000
price:
  {input: 1.0, output: 10.0, cache_read: 0.1, cache_write_5m: 1.0, cache_write_1h: 1.0, date: 2026-11-28, source: none}
"""
WRITE = "printf 'print(\"Hello, World!\")\\n' > hello.py && python3 hello.py"
SUBMIT = "echo COMPLETE_TASK_AND_SUBMIT_FINAL_OUTPUT"
SHELLS = ("run_shell_command", "bash", "Bash", "shell", "exec_command")
EXPERIMENT = """\
id: probe
question: What becomes of this?
scenarios: [001-hello-world]
agents: [{agent}]
variants: [{variants}]
models: [{model}]
repetitions: 1
baseline: {baseline}
sandbox: bubblewrap
limits: {{timeout_seconds: {seconds}, api_retries: 0, provider_retries: 0, rate_limit_seconds: 1{limits}}}
retry: {{attempts: 1, backoff_seconds: 0}}
"""
SENTENCE = "Always greet the reviewers of this repository in Esperanto."
FILES = {
    "AGENTS.md": f"# Rules\n\n{SENTENCE}\n",
    "config/mcp/clock/server.yaml": "description: A clock\ncommand: python3\nargs: ['{folder}/clock.py']\n",
    "config/mcp/clock/clock.py": SERVER,
    "config/skills/greeting/SKILL.md": "---\nname: greeting\ndescription: How to greet reviewers\n---\nSay hello.\n",
    "config/agents/reader.md": "---\nname: reader\ndescription: Reads the proofs\n---\nYou read all proofs.\n",
}
TREATMENTS = {
    "00-none": "agent_files: []",
    "01-instructions": "agent_files: [AGENTS.md]",
    "02-skill": "{agent_files: [], skills: [greeting]}",
    "03-server": "{agent_files: [], mcp_servers: [clock]}",
    "04-agent": "{agent_files: [], agents: [reader]}",
    "05-append": "{agent_files: [], system_prompt: {append: You work with great care today.}}",
    "06-replace": "{agent_files: [], system_prompt: {replace: You are a careful engineer.}}",
}
PART = {
    "02-skill": "skills",
    "03-server": "mcp_servers",
    "04-agent": "agents",
    "05-append": "system_prompt_append",
    "06-replace": "system_prompt_replace",
}


def pinned(name: str) -> str:
    """The agent at the newest version that its manifest was measured with."""
    return f"{name}@{max(MANIFESTS[name].package.dates, key=lambda version: MANIFESTS[name].package.dates[version])}"


def takes(name: str, sub_test: str) -> bool:
    """Whether the CLI can take the treatment of a sub-test."""
    own = MANIFESTS[name].treatment
    if sub_test in PART:
        return getattr(own, PART[sub_test]) is not None
    return sub_test == "00-none" or bool({"AGENTS.md", "/AGENTS.md"} & {*(own.agent_files or ())})


def diligent(body: Body) -> Say:
    """Write the file by the CLI's own shell tool, or in the answer if it has no tools; end when it is written."""
    if not body.get("tools"):
        return Say('hello.py\n```\nprint("Hello, World!")\n```\n')
    if tool_results(body):
        is_mini = "COMPLETE_TASK" in json.dumps(body["messages"])
        return Say("I end.", "bash", {"command": SUBMIT}) if is_mini else Say("Done.")
    shell = next(tool for tool in body["tools"] if tool.get("name") in SHELLS)
    schema = shell["input_schema"]
    values = {"boolean": False, "number": 10, "integer": 10}
    others = {
        name: values.get(schema["properties"][name].get("type"), "Write the file")
        for name in schema.get("required", ())
        if name != "command"
    }
    return Say("I write it.", shell["name"], {"command": WRITE, **others})


def style(name: str) -> str:
    """The API style of a CLI's models in tests of treatments and faults."""
    return next(style for style in MODELS if style in MANIFESTS[name].api_styles)


@contextmanager
def working_provider(name: str, api_style: str = "") -> Iterator[str]:
    """Serve a model that lets the CLI write the file; yield the address. aider has no tools, and gets a text."""
    if (api_style or style(name)) == "anthropic-messages":
        with serve(diligent) as provider:
            yield provider.url
    else:
        submits = f"{WRITE.partition(' && ')[0]} && {SUBMIT}"
        with scripted_provider(submits if name == "mini-swe-agent" else WRITE) as url:
            yield url


def arm(name: str, variant: str, api_style: str = "") -> str:
    """The id of an arm."""
    return f"{variant.lower().replace('/', '-')}.{name}.{MODELS[api_style or style(name)][0]}"


def evaluate(
    root: Path,
    name: str,
    url: str,
    *,
    variants: tuple[str, ...] = ("T0/01-vanilla",),
    seconds: int = 100,
    limits: str = "",
    api_style: str = "",
) -> Said:
    """Evaluate an agent in a folder, with the provider at an address."""
    write_experiment(root, name, variants, seconds, limits, api_style)
    _, address, key = MODELS[api_style or style(name)]
    env = {address: url, key: "sk-ant-canary-0123456789"}
    return scylla("evaluate", "probe.yaml", "--yes", "--json", cwd=root, env=env)


def write_experiment(
    root: Path, name: str, variants: tuple[str, ...], seconds: int = 100, limits: str = "", api_style: str = ""
) -> None:
    """Write the experiment of an agent."""
    text = EXPERIMENT.format(
        agent=pinned(name),
        variants=", ".join(variants),
        model=MODELS[api_style or style(name)][0],
        baseline=arm(name, variants[0], api_style),
        seconds=seconds,
        limits=limits,
    )
    write_tree(root, {"probe.yaml": text, "config/models/gpt-5.5.yaml": OPENAI_MODEL})


def write_treatments(root: Path) -> Path:
    """Write a repository with a tier of treatments, and the files that they name."""
    tests = "".join(
        f"  - {{id: {name}, description: x, treatment: {text}}}\n"
        if text.startswith("{")
        else f"  - {{id: {name}, description: x, treatment: {{{text}}}}}\n"
        for name, text in TREATMENTS.items()
    )
    tier = f"id: T1\nname: Ours\nfocus: Does it arrive?\nsub_tests:\n{tests}"
    return write_tree(root, {**FILES, "config/tiers/T1.yaml": tier})


def attempts(root: Path) -> dict[str, dict[str, Any]]:
    """The last attempt of each arm's trial, by the arm's id."""
    paths = sorted(root.glob("runs/probe/*/trial.json"))
    return {path.parent.name.split("--")[1]: json.loads(path.read_text())["attempts"][-1] for path in paths}


def first_requests(root: Path) -> dict[str, str]:
    """The text of each arm's first request."""
    return {
        path.parent.parent.name.split("--")[1]: path.read_text()
        for path in sorted(root.glob("runs/probe/*/attempt-1/first-request.json"))
    }
